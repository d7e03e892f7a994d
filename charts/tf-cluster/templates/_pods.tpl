{{/*
tf-cluster.codeMountPath: where the training program lies.
Takes: the root context.
Gives: a path; nothing when the program is in the image.
*/}}
{{- define "tf-cluster.codeMountPath" -}}
{{- if eq .Values.code.source "sample" -}}
/opt/trainyard/mnist
{{- else if eq .Values.code.source "configMap" -}}
{{- .Values.code.configMap.mountPath -}}
{{- end -}}
{{- end -}}

{{/*
tf-cluster.volumesOf: which volumes of the shorthand a role has. The chief alone writes, so one pod alone mounts what is written.
Takes: context, role.
Gives: JSON, a list of names.
*/}}
{{- define "tf-cluster.volumesOf" -}}
{{- $names := list -}}
{{- if eq .role "chief" -}}
  {{- $names = list "checkpoints" "logs" "models" -}}
{{- end -}}
{{- if and .context.Values.volumes.data.enabled (has .role (list "chief" "worker")) -}}
  {{- $names = append $names "data" -}}
{{- end -}}
{{- toJson $names -}}
{{- end -}}

{{/*
tf-cluster.codeVolume: the volume with the training program.
Takes: the root context.
Gives: YAML, a list of one volume, or nothing.
*/}}
{{- define "tf-cluster.codeVolume" -}}
{{- if include "tf-cluster.codeMountPath" . -}}
- name: code
  configMap:
    name: {{ ternary (printf "%s-sample" (include "tf-cluster.fullname" .)) .Values.code.configMap.name (eq .Values.code.source "sample") | quote }}
{{- end -}}
{{- end -}}

{{/*
tf-cluster.codeMount: where the training program goes.
Takes: the root context.
Gives: YAML, a list of one volumeMount, or nothing.
*/}}
{{- define "tf-cluster.codeMount" -}}
{{- with include "tf-cluster.codeMountPath" . -}}
- name: code
  mountPath: {{ . | quote }}
  readOnly: true
{{- end -}}
{{- end -}}

{{/*
tf-cluster.programsVolume: the chart's own programs (waiter, test).
Takes: the root context.
Gives: YAML, a list of one volume.
*/}}
{{- define "tf-cluster.programsVolume" -}}
- name: programs
  configMap:
    name: {{ include "tf-cluster.fullname" . }}-programs
{{- end -}}

{{/*
tf-cluster.programsMount: where the chart's own programs go.
Takes: nothing.
Gives: YAML, a list of one volumeMount.
*/}}
{{- define "tf-cluster.programsMount" -}}
- name: programs
  mountPath: /opt/trainyard/bin
  readOnly: true
{{- end -}}

{{/*
tf-cluster.container: the training container of a role.
Takes: context, role, settings (from tf-cluster.role), server (true: a native sidecar, which the kubelet restarts in place and
stops when the main container has ended).
Gives: YAML, a list of one container.
*/}}
{{- define "tf-cluster.container" -}}
{{- $values := .context.Values -}}
{{- $settings := .settings -}}
{{- $command := $settings.command -}}
{{- $args := $settings.args -}}
{{- if eq $values.code.source "sample" -}}
  {{- $command = $command | default (list "python3" "-u" "/opt/trainyard/mnist/train.py") -}}
  {{- if kindIs "invalid" $args -}}
    {{- $args = include "tf-cluster.sampleFlags" .context | fromJsonArray -}}
  {{- end -}}
{{- end -}}
- name: tensorflow
  image: {{ include "common.images.reference" (dict "image" $settings.image "global" $values.global) }}
  {{- with $settings.image.pullPolicy }}
  imagePullPolicy: {{ . }}
  {{- end }}
  {{- if .server }}
  restartPolicy: Always
  {{- end }}
  {{- with $command }}
  command: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $args }}
  args: {{- toYaml . | nindent 4 }}
  {{- end }}
  env: {{- include "common.env.list" (dict "lists" (list (include "tf-cluster.env" . | fromYamlArray) $settings.env $settings.roleEnv)) | nindent 4 }}
  {{- with $settings.envFrom }}
  envFrom: {{- toYaml . | nindent 4 }}
  {{- end }}
  ports:
    - name: grpc
      containerPort: {{ int $values.service.port }}
      protocol: TCP
  {{- with $settings.resources }}
  resources: {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext: {{- include "common.security.container" (dict "user" $values.containerSecurityContext) | nindent 4 }}
  {{- $mounts := include "tf-cluster.codeMount" .context | fromYamlArray }}
  {{- range $name := include "tf-cluster.volumesOf" . | fromJsonArray }}
  {{- $mount := dict "name" $name "mountPath" (index $values.volumes $name "mountPath") }}
  {{- if eq $name "data" }}
  {{- $_ := set $mount "readOnly" true }}
  {{- end }}
  {{- $mounts = append $mounts $mount }}
  {{- end }}
  {{- with concat $mounts ($values.extraVolumeMounts | default list) }}
  volumeMounts: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{/*
tf-cluster.waiter: the main container of a role whose program never ends by itself. It ends with the chief's Job.
Takes: context, settings (from tf-cluster.role).
Gives: YAML, a list of one container.
*/}}
{{- define "tf-cluster.waiter" -}}
{{- $values := .context.Values -}}
{{- $waiter := $values.waiter -}}
{{- $image := deepCopy .settings.image -}}
{{- include "common.images.overlay" (dict "base" $image "over" $waiter.image) -}}
- name: await-chief
  image: {{ include "common.images.reference" (dict "image" $image "global" $values.global) }}
  {{- with $image.pullPolicy }}
  imagePullPolicy: {{ . }}
  {{- end }}
  command: {{- toYaml ($waiter.command | default (list "python3" "-u" "/opt/trainyard/bin/await_job.py")) | nindent 4 }}
  args:
    - --job={{ include "tf-cluster.jobName" (dict "context" .context "role" "chief") }}
    - --poll-seconds={{ include "common.values.text" $waiter.pollSeconds }}
  {{- with $waiter.resources }}
  resources: {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext: {{- include "common.security.container" (dict "user" $values.containerSecurityContext) | nindent 4 }}
  volumeMounts:
    {{- include "tf-cluster.programsMount" . | nindent 4 }}
    {{- include "common.pod.apiAccessMount" "api-access" | nindent 4 }}
{{- end -}}

{{/*
tf-cluster.pod: the pod template of a role's Job. Nothing in it depends on a number of replicas or on the chart's version.
Takes: context, role.
Gives: YAML lines: metadata and spec.
*/}}
{{- define "tf-cluster.pod" -}}
{{- $root := .context -}}
{{- $values := $root.Values -}}
{{- $server := ne .role "chief" -}}
{{- $settings := include "tf-cluster.role" . | fromJson -}}
{{- $scope := dict "context" $root "role" .role "settings" $settings "server" $server -}}
metadata:
  labels: {{- include "common.labels.pod" (dict "context" $root "component" .role "extra" (dict "trainyard/cluster-member" "true") "user" $settings.podLabels) | nindent 4 }}
  annotations: {{- include "common.labels.annotations" (dict "user" $settings.podAnnotations) | nindent 4 }}
spec:
  subdomain: {{ include "tf-cluster.fullname" $root | quote }}
  serviceAccountName: {{ include "tf-cluster.serviceAccountName" $root | quote }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  restartPolicy: Never
  terminationGracePeriodSeconds: {{ int64 $settings.terminationGracePeriodSeconds }}
  securityContext: {{- include "common.security.pod" (dict "user" $values.podSecurityContext) | nindent 4 }}
  {{- with include "common.images.pullSecrets" (dict "lists" (list $values.global.imagePullSecrets $values.imagePullSecrets)) }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- with include "common.pod.placement" $settings }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- if $server }}
  initContainers:
    {{- include "tf-cluster.container" $scope | nindent 4 }}
  containers:
    {{- include "tf-cluster.waiter" $scope | nindent 4 }}
  {{- else }}
  containers:
    {{- include "tf-cluster.container" $scope | nindent 4 }}
  {{- end }}
  {{- $volumes := include "tf-cluster.codeVolume" $root | fromYamlArray }}
  {{- if $server }}
  {{- $volumes = concat $volumes (include "tf-cluster.programsVolume" $root | fromYamlArray) (include "common.pod.apiAccess" "api-access" | fromYamlArray) }}
  {{- end }}
  {{- range $name := include "tf-cluster.volumesOf" . | fromJsonArray }}
  {{- $volume := dict "fullname" (include "tf-cluster.fullname" $root) "name" $name "volume" (index $values.volumes $name) "readOnly" (eq $name "data") }}
  {{- $volumes = concat $volumes (include "common.volumes.source" $volume | fromYamlArray) }}
  {{- end }}
  volumes: {{- concat $volumes ($values.extraVolumes | default list) | toYaml | nindent 4 }}
{{- end -}}

{{/*
tf-cluster.failurePolicy: which ends of a pod count for a role that ends with the chief.
Exit code 3 of the waiter says that the chief has failed or is gone: the Job fails at once. An eviction, a preemption or a lost
node is no fault of the program and is not counted.
Takes: server (true: a role with a waiter).
Gives: YAML lines.
*/}}
{{- define "tf-cluster.failurePolicy" -}}
rules:
  {{- if .server }}
  - action: FailJob
    onExitCodes:
      containerName: await-chief
      operator: In
      values: [3]
  {{- end }}
  - action: Ignore
    onPodConditions:
      - type: DisruptionTarget
        status: "True"
{{- end -}}
