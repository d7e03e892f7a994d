{{/*
The chart's own containers in the pods: one waits for peers before the deciding program starts, one ends the others after it.
*/}}

{{/*
tf-cluster.byMarker: is the end told by a file on the checkpoints' volume, rather than by the API server?
Takes: the root context.
Gives: "true" or nothing.
*/}}
{{- define "tf-cluster.byMarker" -}}
{{- if and (eq .Values.mode "job") (eq .Values.waiter.method "marker") -}}true{{- end -}}
{{- end -}}

{{/*
tf-cluster.asksApi: is the end told by the API server?
Takes: the root context.
Gives: "true" or nothing.
*/}}
{{- define "tf-cluster.asksApi" -}}
{{- if and (eq .Values.mode "job") (not (include "tf-cluster.byMarker" .)) -}}true{{- end -}}
{{- end -}}

{{/*
tf-cluster.marks: does the training container of a role leave the marker?
Takes: context, role.
Gives: "true" or nothing.
*/}}
{{- define "tf-cluster.marks" -}}
{{- if and (include "tf-cluster.byMarker" .context) (not (include "tf-cluster.waits" .)) -}}true{{- end -}}
{{- end -}}

{{/*
tf-cluster.markers: the folder of the files that tell the end.
Takes: the root context.
Gives: a path.
*/}}
{{- define "tf-cluster.markers" -}}
{{- trimSuffix "/" .Values.volumes.checkpoints.mountPath -}}/.trainyard
{{- end -}}

{{/*
tf-cluster.silence: how long the deciding task may be silent on its port before it counts as ended for good. A program that starts
again is silent until all its peers have come, and Kubernetes waits before it starts it. Where a start may last for ever, silence
tells nothing.
Takes: the root context.
Gives: seconds; 0: for ever.
*/}}
{{- define "tf-cluster.silence" -}}
{{- $start := int64 .Values.runPolicy.startDeadlineSeconds -}}
{{- .Values.waiter.silenceSeconds | default (ternary 0 (add 600 $start) (eq $start 0)) | int64 -}}
{{- end -}}

{{/*
tf-cluster.programsImage: what is laid over a role's image for the chart's own programs, which need Python. Where waiter.command takes
the place of one, waiter.image is that command's alone.
Takes: the root context.
Gives: JSON, a map.
*/}}
{{- define "tf-cluster.programsImage" -}}
{{- ternary .Values.waiter.image dict (empty .Values.waiter.command) | toJson -}}
{{- end -}}

{{/*
tf-cluster.helper: what the chart's own containers have in common: image, resources, security.
Takes: context, settings (from tf-cluster.role), image (what is laid over the role's).
Gives: YAML lines of a container.
*/}}
{{- define "tf-cluster.helper" -}}
{{- $values := .context.Values -}}
{{- $image := deepCopy .settings.image -}}
{{- include "common.images.overlay" (dict "base" $image "over" .image) -}}
{{ include "common.images.container" (dict "image" $image "global" $values.global) }}
resources: {{- include "common.resources.merged" (dict "layers" (list $values.waiter.resources)) | fromJson | toYaml | nindent 2 }}
securityContext: {{- include "common.security.container" (dict "user" $values.containerSecurityContext) | nindent 2 }}
{{- end -}}

{{/*
tf-cluster.waitsForPeers: has a role an init container that waits for its peers, and for those of an earlier run to end? Only the
program that decides needs one: servers are the peers.
Takes: context, role.
Gives: "true" or nothing.
*/}}
{{- define "tf-cluster.waitsForPeers" -}}
{{- if eq .role (include "tf-cluster.leadRole" .context) -}}true{{- end -}}
{{- end -}}

{{/*
tf-cluster.awaitPeers: the init container that waits for peers, with a deadline, and until nobody of an earlier run is left.
On the nodes' network pods cannot be told apart by their addresses, so there it does not look for earlier ones.
Takes: context, role, settings (from tf-cluster.role).
Gives: YAML, a list of one container; an empty list for a role that needs none.
*/}}
{{- define "tf-cluster.awaitPeers" -}}
{{- if include "tf-cluster.waitsForPeers" . -}}
- name: await-peers
  command: [python3, -u, /opt/trainyard/bin/await_peers.py]
  args:
    - --cluster-file=/etc/trainyard/cluster/cluster
    - --role={{ .role }}
    - --index=$(TASK_INDEX)
    {{- if not .context.Values.hostNetwork }}
    - --service={{ include "tf-cluster.zone" .context }}
    {{- end }}
    - --deadline={{ int64 .context.Values.runPolicy.startDeadlineSeconds }}
  env: {{- include "tf-cluster.indexEnv" . | nindent 4 }}
  {{- include "tf-cluster.helper" (dict "context" .context "settings" .settings "image" (include "tf-cluster.programsImage" .context | fromJson)) | nindent 2 }}
  volumeMounts:
    {{- include "tf-cluster.programsMount" . | nindent 4 }}
    {{- include "tf-cluster.clusterMount" . | nindent 4 }}
{{- else -}}
[]
{{- end -}}
{{- end -}}

{{/*
tf-cluster.awaitEnd: the main container of a role whose program runs until the deciding role has ended.
Takes: context, settings (from tf-cluster.role).
Gives: YAML, a list of one container.
*/}}
{{- define "tf-cluster.awaitEnd" -}}
{{- $values := .context.Values -}}
- name: await-end
  command: {{- toYaml ($values.waiter.command | default (list "python3" "-u" "/opt/trainyard/bin/await_job.py")) | nindent 4 }}
  args:
    - --job-file=/etc/trainyard/cluster/job
    - --cluster-file=/etc/trainyard/cluster/cluster
    - --poll-seconds={{ include "common.values.text" $values.waiter.pollSeconds }}
    - --after-end={{ ternary "stay" "stop" (eq $values.runPolicy.cleanPodPolicy "None") }}
    {{- if include "tf-cluster.byMarker" .context }}
    - --marker-folder={{ include "tf-cluster.markers" .context }}
    {{- end }}
    - --silence-seconds={{ include "tf-cluster.silence" .context }}
    {{- if eq $values.strategy "mirrored" }}
    - --no-ports
    {{- end }}
  {{- include "tf-cluster.helper" (dict "context" .context "settings" .settings "image" $values.waiter.image) | nindent 2 }}
  volumeMounts:
    {{- include "tf-cluster.programsMount" . | nindent 4 }}
    {{- include "tf-cluster.clusterMount" . | nindent 4 }}
    {{- if include "tf-cluster.byMarker" .context }}
    {{- $checkpoints := include "tf-cluster.volume" (dict "context" .context "name" "checkpoints") | fromJson }}
    {{- include "common.volumes.mount" (merge (dict "readOnly" true) $checkpoints) | nindent 4 }}
    {{- else }}
    {{- include "common.pod.apiAccessMount" "api-access" | nindent 4 }}
    {{- end }}
{{- end -}}
