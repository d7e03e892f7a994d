{{/*
tf-cluster.start: how the training container is started. Without a right to ask the API server, the deciding program runs below
a wrapper that leaves a marker when it ends.
Takes: context, role, settings (from tf-cluster.role).
Gives: YAML lines of a container: command and args, or nothing.
*/}}
{{- define "tf-cluster.start" -}}
{{- $program := include "tf-cluster.program" . | fromJson -}}
{{- $command := $program.command -}}
{{- if include "tf-cluster.marks" . -}}
  {{- $wrapper := list "python3" "-u" "/opt/trainyard/bin/mark_end.py" (printf "--marker=%s/$(TRAINYARD_JOB)-$(TASK_INDEX)" (include "tf-cluster.markers" .context)) -}}
  {{- $permanent := include "common.jobs.exitCodes" .context.Values.runPolicy.exitCodes.permanent | fromJsonArray | toStrings -}}
  {{- $command = concat $wrapper (list "--permanent") $permanent (list "--") ($command | default list) -}}
{{- end -}}
{{- with $command }}
command: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $program.args }}
args: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/*
tf-cluster.container: the training container of a role.
Takes: context, role, settings (from tf-cluster.role).
Gives: YAML, a list of one container. Where the role waits for the deciding one it is a native sidecar, which the kubelet
restarts in place, and stops when the main container has ended.
*/}}
{{- define "tf-cluster.container" -}}
{{- $values := .context.Values -}}
{{- $settings := .settings -}}
{{- $marks := include "tf-cluster.marks" . -}}
{{- $env := include "tf-cluster.env" . | fromYamlArray -}}
{{- if $marks -}}
  {{- $job := dict "fieldRef" (dict "apiVersion" "v1" "fieldPath" "metadata.labels['batch.kubernetes.io/job-name']") -}}
  {{- $env = append $env (dict "name" "TRAINYARD_JOB" "valueFrom" $job) -}}
{{- end -}}
- name: tensorflow
  {{- include "common.images.container" (dict "image" $settings.image "global" $values.global) | nindent 2 }}
  {{- if include "tf-cluster.waits" . }}
  restartPolicy: Always
  {{- end }}
  {{- include "tf-cluster.start" . | nindent 2 }}
  env: {{- include "common.env.list" (dict "lists" (list $env $settings.env $settings.roleEnv)) | nindent 4 }}
  {{- with $settings.envFrom }}
  envFrom: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- /* An evaluator serves nobody, and on the nodes' network a port that it names would keep it off the others' nodes. */}}
  {{- if ne .role "evaluator" }}
  ports:
    - name: grpc
      containerPort: {{ include "tf-cluster.port" . }}
      protocol: TCP
  {{- end }}
  {{- if eq $values.mode "session" }}
  readinessProbe:
    tcpSocket:
      port: grpc
    periodSeconds: 5
  {{- end }}
  resources: {{- toYaml $settings.resources | nindent 4 }}
  securityContext: {{- include "common.security.container" (dict "user" $values.containerSecurityContext) | nindent 4 }}
  {{- $mounts := (include "tf-cluster.code" .context | fromJson).mounts }}
  {{- if ne .role "evaluator" }}
  {{- $mounts = concat $mounts (include "tf-cluster.clusterMount" . | fromYamlArray) }}
  {{- end }}
  {{- if $marks }}
  {{- $mounts = concat $mounts (include "tf-cluster.programsMount" . | fromYamlArray) }}
  {{- end }}
  {{- $mounts = concat $mounts (include "tf-cluster.storage" . | fromJson).mounts (include "tf-cluster.sharedMemory" . | fromJson).mounts }}
  volumeMounts: {{- concat $mounts ($values.extraVolumeMounts | default list) | toYaml | nindent 4 }}
{{- end -}}

{{/*
tf-cluster.volumes: the volumes of a role's pod.
Takes: context, role, settings (from tf-cluster.role).
Gives: YAML, a list.
*/}}
{{- define "tf-cluster.volumes" -}}
{{- $root := .context -}}
{{- $waits := include "tf-cluster.waits" . -}}
{{- $marker := include "tf-cluster.byMarker" $root -}}
{{- $volumes := (include "tf-cluster.code" $root | fromJson).volumes -}}
{{- if or $waits (ne .role "evaluator") -}}
  {{- $volumes = concat $volumes (include "tf-cluster.clusterVolume" $root | fromYamlArray) -}}
{{- end -}}
{{- if or $waits $marker (include "tf-cluster.waitsForPeers" .) -}}
  {{- $volumes = concat $volumes (include "tf-cluster.programsVolume" $root | fromYamlArray) -}}
{{- end -}}
{{- if and $waits (not $marker) -}}
  {{- $volumes = concat $volumes (include "common.pod.apiAccess" "api-access" | fromYamlArray) -}}
{{- end -}}
{{- $storage := (include "tf-cluster.storage" . | fromJson).volumes -}}
{{- if and $waits $marker (not (has .role (include "tf-cluster.mountedBy" (dict "context" $root "name" "checkpoints") | fromJsonArray))) -}}
  {{- $checkpoints := include "tf-cluster.volume" (dict "context" $root "name" "checkpoints") | fromJson -}}
  {{- $storage = concat $storage (include "common.volumes.source" $checkpoints | fromYamlArray) -}}
{{- end -}}
{{- concat $volumes $storage (include "tf-cluster.sharedMemory" . | fromJson).volumes ($root.Values.extraVolumes | default list) | uniq | toYaml -}}
{{- end -}}

{{/*
tf-cluster.gangParts: what the pods that start together ask for: the program's container of each, and the waiter's beside it.
Takes: the root context.
Gives: JSON, a list of {resources, times}.
*/}}
{{- define "tf-cluster.gangParts" -}}
{{- $parts := list -}}
{{- range $role := include "tf-cluster.clusterRoles" . | fromJsonArray -}}
  {{- $scope := dict "context" $ "role" $role -}}
  {{- $times := include "tf-cluster.replicas" $scope | int -}}
  {{- $parts = append $parts (dict "resources" (include "tf-cluster.role" $scope | fromJson).resources "times" $times) -}}
  {{- if include "tf-cluster.waits" $scope -}}
    {{- $parts = append $parts (dict "resources" $.Values.waiter.resources "times" $times) -}}
  {{- end -}}
{{- end -}}
{{- toJson $parts -}}
{{- end -}}

{{/*
tf-cluster.pod: the pod template of a role. Nothing in it depends on a number of replicas or on the chart's version, nor on the
run: the run's name is a hash of it, so nothing here may ask for tf-cluster.workloadName.
Takes: context, role.
Gives: YAML lines: metadata and spec.
*/}}
{{- define "tf-cluster.pod" -}}
{{- $root := .context -}}
{{- $values := $root.Values -}}
{{- $settings := include "tf-cluster.role" . | fromJson -}}
{{- if $values.hostNetwork -}}
  {{- $_ := set $settings "affinity" ($settings.affinity | default dict) -}}
  {{- include "common.affinity.apart" (dict "affinity" $settings.affinity "labels" (include "common.labels.selector" (dict "context" $root "component" .role) | fromYaml)) -}}
{{- end -}}
{{- $scope := dict "context" $root "role" .role "settings" $settings -}}
{{- $member := ne .role "evaluator" -}}
{{- $labels := dict -}}
{{- $annotations := dict -}}
{{- if $member -}}
  {{- $_ := set $labels "trainyard/cluster-member" "true" -}}
  {{- with include "tf-cluster.podGroup" $root -}}
    {{- $_ := set $labels "scheduling.x-k8s.io/pod-group" . -}}
    {{- $_ := set $annotations "scheduling.k8s.io/group-name" . -}}
  {{- end -}}
{{- end -}}
{{- $fetch := include "common.code.fetch" (dict "code" $values.code "global" $values.global "securityContext" $values.containerSecurityContext) | fromYamlArray -}}
{{- $program := include "tf-cluster.container" $scope | fromYamlArray -}}
{{- $init := concat $fetch (include "tf-cluster.awaitPeers" $scope | fromYamlArray) -}}
{{- $main := $program -}}
{{- if include "tf-cluster.waits" . -}}
  {{- $init = concat $init $program -}}
  {{- $main = include "tf-cluster.awaitEnd" $scope | fromYamlArray -}}
{{- end -}}
metadata:
  labels: {{- include "common.labels.pod" (dict "context" $root "component" .role "extra" $labels "user" $settings.podLabels) | nindent 4 }}
  annotations: {{- include "common.labels.annotations" (dict "user" $settings.podAnnotations "chart" $annotations) | nindent 4 }}
spec:
  {{- if and $member (eq $values.mode "job") }}
  subdomain: {{ include "tf-cluster.fullname" $root | quote }}
  {{- end }}
  serviceAccountName: {{ include "tf-cluster.serviceAccountName" $root | quote }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  restartPolicy: {{ ternary "Never" "Always" (eq $values.mode "job") }}
  terminationGracePeriodSeconds: {{ include "tf-cluster.grace" . }}
  {{- if $values.hostNetwork }}
  hostNetwork: true
  dnsPolicy: ClusterFirstWithHostNet
  {{- end }}
  securityContext: {{- include "common.security.pod" (dict "user" $values.podSecurityContext) | nindent 4 }}
  {{- with include "common.images.pullSecrets" (dict "lists" (list $values.global.imagePullSecrets $values.imagePullSecrets)) }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- with include "common.pod.placement" $settings }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- if and (gt (include "tf-cluster.gpus" . | int) 0) $values.gpu.runtimeClassName }}
  runtimeClassName: {{ $values.gpu.runtimeClassName | quote }}
  {{- end }}
  {{- with $init }}
  initContainers: {{- toYaml . | nindent 4 }}
  {{- end }}
  containers: {{- toYaml $main | nindent 4 }}
  volumes: {{- include "tf-cluster.volumes" $scope | nindent 4 }}
{{- end -}}
