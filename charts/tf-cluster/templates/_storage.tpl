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
{{- include "tf-cluster.tasks" (dict "context" .context "roles" $mounting) -}}
{{- end -}}

{{/*
tf-cluster.volume: a volume of the shorthand with what common.volumes.* take.
Takes: context, name.
Gives: a map to include with: {context, fullname, name, as, volume, pods, shared, readOnly}, without the context, as JSON.
*/}}
{{- define "tf-cluster.volume" -}}
{{- $pods := include "tf-cluster.podsOn" . | int -}}
{{- /* Workers and parameter servers may become more, and the claim's modes can never change. */ -}}
{{- $mounting := include "tf-cluster.mountedBy" . | fromJsonArray -}}
{{- $shared := or (gt $pods 1) (has "worker" $mounting) (has "ps" $mounting) -}}
{{- $volume := index .context.Values.volumes .name -}}
{{- $as := include "tf-cluster.volumeName" . -}}
{{- dict "fullname" (include "tf-cluster.fullname" .context) "name" .name "as" $as "volume" $volume "pods" $pods "shared" $shared "readOnly" (eq $as "data") | toJson -}}
{{- end -}}

{{/*
tf-cluster.claimOf: the claim behind a volume of the shorthand, or behind the program.
Takes: context, name ("code": the program's).
Gives: its name; nothing where no claim is behind it.
*/}}
{{- define "tf-cluster.claimOf" -}}
{{- $values := .context.Values -}}
{{- if eq .name "code" -}}
  {{- ternary $values.code.claim.name "" (eq $values.code.source "claim") -}}
{{- else -}}
  {{- $volume := index $values.volumes .name -}}
  {{- if eq (include "common.volumes.kind" $volume) "claim" -}}
    {{- include "common.volumes.claimName" (dict "fullname" (include "tf-cluster.fullname" .context) "name" .name "volume" $volume) -}}
  {{- end -}}
{{- end -}}
{{- end -}}

{{/*
tf-cluster.volumeName: what a pod calls the volume behind a name. A pod that names one claim in two of its volumes never starts
(Kubernetes' issue 127004), so those that lie in one claim are one volume, called after the first of them. Where one of them is
written to, the first is.
Takes: context, name ("code": the program's).
Gives: a name.
*/}}
{{- define "tf-cluster.volumeName" -}}
{{- $name := .name -}}
{{- with $claim := include "tf-cluster.claimOf" . -}}
  {{- range $other := list "data" "models" "logs" "checkpoints" -}}
    {{- if eq (include "tf-cluster.claimOf" (dict "context" $.context "name" $other)) $claim -}}
      {{- $name = $other -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- $name -}}
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
    {{- $volume := include "tf-cluster.volume" $scope | fromJson -}}
    {{- $volumes = concat $volumes (include "common.volumes.source" $volume | fromYamlArray) -}}
    {{- $mounts = concat $mounts (include "common.volumes.mount" (merge (dict "readOnly" (eq $name "data")) $volume) | fromYamlArray) -}}
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
{{- $as := include "tf-cluster.volumeName" (dict "context" . "name" "code") -}}
{{- $volumes := include "common.code.volume" (dict "code" .Values.code "configMap" $configMap "as" $as "readOnly" (has $as (list "code" "data"))) | fromYamlArray -}}
{{- $mounts := include "common.code.mount" (dict "code" .Values.code "mountPath" (include "tf-cluster.codeMountPath" .) "as" $as) | fromYamlArray -}}
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
