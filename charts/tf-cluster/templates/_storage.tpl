{{/*
tf-cluster.mountedBy: which roles mount a volume of the shorthand.
Takes: context, name.
Gives: JSON, a list of roles that the release has.
*/}}
{{- define "tf-cluster.mountedBy" -}}
{{- $volume := index .context.Values.volumes .name -}}
{{- $roles := $volume.roles -}}
{{- if kindIs "invalid" $roles -}}
  {{- $lead := include "tf-cluster.leadRole" .context -}}
  {{- $byName := dict
        "checkpoints" (list $lead "evaluator")
        "logs" (list $lead "evaluator")
        "models" (list $lead)
        "data" (ternary (list "chief" "worker" "evaluator") list $volume.enabled) -}}
  {{- $roles = get $byName .name -}}
{{- end -}}
{{- $present := list -}}
{{- range $role := include "tf-cluster.roles" .context | fromJsonArray -}}
  {{- if has $role $roles -}}
    {{- $present = append $present $role -}}
  {{- end -}}
{{- end -}}
{{- toJson $present -}}
{{- end -}}

{{/*
tf-cluster.podsOn: how many pods mount a volume of the shorthand, in a training container or in a waiter.
Takes: context, name.
Gives: a number.
*/}}
{{- define "tf-cluster.podsOn" -}}
{{- $mounting := include "tf-cluster.mountedBy" . | fromJsonArray -}}
{{- if and (eq .name "checkpoints") (include "tf-cluster.byMarker" .context) -}}
  {{- $mounting = include "tf-cluster.roles" .context | fromJsonArray -}}
{{- end -}}
{{- $pods := 0 -}}
{{- range $role := $mounting -}}
  {{- $pods = add $pods (include "tf-cluster.replicas" (dict "context" $.context "role" $role)) -}}
{{- end -}}
{{- $pods -}}
{{- end -}}

{{/*
tf-cluster.volume: a volume of the shorthand with what common.volumes.* take.
Takes: context, name.
Gives: a map to include with: {context, fullname, name, volume, pods, shared, readOnly}, without the context, as JSON.
*/}}
{{- define "tf-cluster.volume" -}}
{{- $pods := include "tf-cluster.podsOn" . | int -}}
{{- /* Workers and parameter servers may become more, and the claim's modes can never change. */ -}}
{{- $mounting := include "tf-cluster.mountedBy" . | fromJsonArray -}}
{{- $shared := or (gt $pods 1) (has "worker" $mounting) (has "ps" $mounting) -}}
{{- $volume := index .context.Values.volumes .name -}}
{{- dict "fullname" (include "tf-cluster.fullname" .context) "name" .name "volume" $volume "pods" $pods "shared" $shared "readOnly" (eq .name "data") | toJson -}}
{{- end -}}

{{/*
tf-cluster.storage: the volumes of the shorthand that a role has.
Takes: context, role.
Gives: JSON, {volumes, mounts}.
*/}}
{{- define "tf-cluster.storage" -}}
{{- $volumes := list -}}
{{- $mounts := list -}}
{{- range $name := list "checkpoints" "logs" "models" "data" -}}
  {{- $scope := dict "context" $.context "name" $name -}}
  {{- if has $.role (include "tf-cluster.mountedBy" $scope | fromJsonArray) -}}
    {{- $volumes = concat $volumes (include "common.volumes.source" (include "tf-cluster.volume" $scope | fromJson) | fromYamlArray) -}}
    {{- $mount := dict "name" $name "mountPath" (index $.context.Values.volumes $name "mountPath") -}}
    {{- if eq $name "data" -}}
      {{- $_ := set $mount "readOnly" true -}}
    {{- end -}}
    {{- $mounts = append $mounts $mount -}}
  {{- end -}}
{{- end -}}
{{- dict "volumes" $volumes "mounts" $mounts | toJson -}}
{{- end -}}

{{/*
tf-cluster.codeMountPath: where the training program lies.
Takes: the root context.
Gives: a path; nothing when the program is in the image.
*/}}
{{- define "tf-cluster.codeMountPath" -}}
{{- if eq .Values.code.source "sample" -}}
/opt/trainyard/mnist
{{- else if ne .Values.code.source "image" -}}
{{- .Values.code.mountPath -}}
{{- end -}}
{{- end -}}

{{/*
tf-cluster.code: the volume with the training program, and where it goes.
Takes: the root context.
Gives: JSON, {volumes, mounts}.
*/}}
{{- define "tf-cluster.code" -}}
{{- $configMap := printf "%s-%s" (include "tf-cluster.fullname" .) (ternary "sample" "code" (eq .Values.code.source "sample")) -}}
{{- $volumes := include "common.code.volume" (dict "code" .Values.code "configMap" $configMap) | fromYamlArray -}}
{{- $mounts := include "common.code.mount" (dict "code" .Values.code "mountPath" (include "tf-cluster.codeMountPath" .)) | fromYamlArray -}}
{{- dict "volumes" $volumes "mounts" $mounts | toJson -}}
{{- end -}}

{{/*
tf-cluster.sharesMemory: does a role get a /dev/shm in memory, as told or for its GPUs?
Takes: context, role.
Gives: "true", or nothing.
*/}}
{{- define "tf-cluster.sharesMemory" -}}
{{- $wanted := .context.Values.sharedMemory.enabled -}}
{{- if kindIs "invalid" $wanted -}}
  {{- $wanted = gt (include "tf-cluster.gpus" . | int) 0 -}}
{{- end -}}
{{- if $wanted -}}true{{- end -}}
{{- end -}}

{{/*
tf-cluster.sharedMemory: /dev/shm in memory for the roles that need it.
Takes: context, role.
Gives: JSON, {volumes, mounts}.
*/}}
{{- define "tf-cluster.sharedMemory" -}}
{{- if include "tf-cluster.sharesMemory" . -}}
  {{- $volume := dict "name" "shared-memory" "emptyDir" (dict "medium" "Memory" "sizeLimit" .context.Values.sharedMemory.size) -}}
  {{- dict "volumes" (list $volume) "mounts" (list (dict "name" "shared-memory" "mountPath" "/dev/shm")) | toJson -}}
{{- else -}}
  {{- dict "volumes" list "mounts" list | toJson -}}
{{- end -}}
{{- end -}}

{{/*
tf-cluster.clusterVolume: the cluster spec and the deciding Job's name, in files that follow the ConfigMap.
Takes: the root context.
Gives: YAML, a list of one volume.
*/}}
{{- define "tf-cluster.clusterVolume" -}}
- name: cluster
  configMap:
    name: {{ include "tf-cluster.fullname" . }}-cluster
{{- end -}}

{{/*
tf-cluster.clusterMount: where they are.
Takes: nothing.
Gives: YAML, a list of one volumeMount.
*/}}
{{- define "tf-cluster.clusterMount" -}}
- name: cluster
  mountPath: /etc/trainyard/cluster
  readOnly: true
{{- end -}}

{{/*
tf-cluster.programsVolume: the chart's own programs (waiters, test).
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
