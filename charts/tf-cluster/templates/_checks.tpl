{{/*
tf-cluster.check: what the schema cannot say: values that do not go together, names and sizes. All mistakes come in one message.
Takes: the root context.
Gives: nothing, or fails.
*/}}
{{- define "tf-cluster.check" -}}
{{- $messages := list (include "common.names.override" (dict "context" . "budget" (include "tf-cluster.budget" .))) -}}
{{- range list "code" "env" "labels" "volumes" "mounts" "sizes" -}}
  {{- $messages = concat $messages (include (printf "tf-cluster.check.%s" .) $ | fromJsonArray) -}}
{{- end -}}
{{- include "common.errors.report" (dict "context" . "messages" $messages) -}}
{{- end -}}

{{/*
tf-cluster.check.code: a program must come from somewhere.
Takes: the root context.
Gives: JSON, a list of messages.
*/}}
{{- define "tf-cluster.check.code" -}}
{{- $code := .Values.code -}}
{{- $messages := list -}}
{{- if ne $code.source "sample" -}}
  {{- $without := list -}}
  {{- range $role := list "chief" "worker" "ps" -}}
    {{- $settings := include "tf-cluster.role" (dict "context" $ "role" $role) | fromJson -}}
    {{- if not (or $settings.command $settings.args) -}}
      {{- $without = append $without $role -}}
    {{- end -}}
  {{- end -}}
  {{- with $without -}}
    {{- $messages = append $messages (printf "code.source: %q needs to know what to run, and there is neither command nor args for %s; set `command` (for all roles) or `<role>.command`" $code.source (join ", " .)) -}}
  {{- end -}}
{{- end -}}
{{- if and (eq $code.source "configMap") (not $code.configMap.name) -}}
  {{- $messages = append $messages "code.configMap.name: is empty, and code.source is \"configMap\"; name the ConfigMap that holds the program" -}}
{{- end -}}
{{- if and (ne $code.source "configMap") $code.configMap.name -}}
  {{- $messages = append $messages (printf "code.configMap.name: %q would not be used, for code.source is %q; set code.source to \"configMap\", or remove the name" $code.configMap.name $code.source) -}}
{{- end -}}
{{- if and (eq $code.source "sample") (eq .Values.sample.dataset "idx") (not .Values.sample.dataDir) (not .Values.volumes.data.enabled) -}}
  {{- $messages = append $messages "sample.dataset: \"idx\" needs a folder of files; enable volumes.data with existingClaim, or set sample.dataDir to a folder of the image" -}}
{{- end -}}
{{- toJson $messages -}}
{{- end -}}

{{/*
tf-cluster.check.env: TF_CONFIG is the chart's work.
Takes: the root context.
Gives: JSON, a list of messages.
*/}}
{{- define "tf-cluster.check.env" -}}
{{- $reserved := include "tf-cluster.reserved" . | fromJsonArray -}}
{{- $messages := list -}}
{{- range $path, $env := dict "env" .Values.env "chief.env" .Values.chief.env "worker.env" .Values.worker.env "ps.env" .Values.ps.env -}}
  {{- $messages = concat $messages (include "common.env.reserved" (dict "env" $env "path" $path "reserved" $reserved "why" "each task's place in the cluster is made of it") | fromJsonArray) -}}
{{- end -}}
{{- toJson $messages -}}
{{- end -}}

{{/*
tf-cluster.check.labels: pods must stay with their Job and their Service.
Takes: the root context.
Gives: JSON, a list of messages.
*/}}
{{- define "tf-cluster.check.labels" -}}
{{- $messages := list -}}
{{- range $path, $labels := dict "podLabels" .Values.podLabels "chief.podLabels" .Values.chief.podLabels "worker.podLabels" .Values.worker.podLabels "ps.podLabels" .Values.ps.podLabels -}}
  {{- $messages = concat $messages (include "common.labels.reserved" (dict "user" $labels "path" $path "reserved" (list "trainyard/cluster-member")) | fromJsonArray) -}}
{{- end -}}
{{- toJson $messages -}}
{{- end -}}

{{/*
tf-cluster.check.volumes: the volumes shorthand.
Takes: the root context.
Gives: JSON, a list of messages.
*/}}
{{- define "tf-cluster.check.volumes" -}}
{{- $messages := list -}}
{{- $defaults := (include "tf-cluster.defaults" . | fromYaml).volumes -}}
{{- range $name, $volume := .Values.volumes -}}
  {{- if $volume.existingClaim -}}
    {{- if not $volume.enabled -}}
      {{- $messages = append $messages (printf "volumes.%s.existingClaim: %q would not be used, for volumes.%s.enabled is false; set it to true, or remove the claim" $name $volume.existingClaim $name) -}}
    {{- end -}}
    {{- range $key := list "size" "storageClass" -}}
      {{- if and (hasKey $volume $key) (ne (index $volume $key) (index $defaults $name $key)) -}}
        {{- $messages = append $messages (printf "volumes.%s.%s: %q would not be used, for the claim %q exists already; remove one of the two" $name $key (index $volume $key) $volume.existingClaim) -}}
      {{- end -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- if and .Values.volumes.data.enabled (not .Values.volumes.data.existingClaim) -}}
  {{- $messages = append $messages "volumes.data.existingClaim: is empty, and a new volume would hold no data; name the claim that holds them" -}}
{{- end -}}
{{- toJson $messages -}}
{{- end -}}

{{/*
tf-cluster.check.mounts: volumes have one name each and mounts one path each, and a mount has its volume.
Takes: the root context.
Gives: JSON, a list of messages.
*/}}
{{- define "tf-cluster.check.mounts" -}}
{{- $messages := list -}}
{{- $names := list "code" "programs" "api-access" "cluster" "checkpoints" "logs" "models" "data" -}}
{{- $paths := dict -}}
{{- with include "tf-cluster.codeMountPath" . -}}
  {{- $_ := set $paths (trimSuffix "/" .) "the training program" -}}
{{- end -}}
{{- range $name := include "tf-cluster.volumesOf" (dict "context" . "role" "chief") | fromJsonArray -}}
  {{- $path := index $.Values.volumes $name "mountPath" | trimSuffix "/" -}}
  {{- if hasKey $paths $path -}}
    {{- $messages = append $messages (printf "volumes.%s.mountPath: %q is taken by %s; choose another" $name $path (get $paths $path)) -}}
  {{- end -}}
  {{- $_ := set $paths $path (printf "volumes.%s" $name) -}}
{{- end -}}
{{- $extra := list -}}
{{- range .Values.extraVolumes -}}
  {{- if or (has .name $names) (has .name $extra) -}}
    {{- $messages = append $messages (printf "extraVolumes: the name %q is taken; choose another" .name) -}}
  {{- end -}}
  {{- $extra = append $extra .name -}}
{{- end -}}
{{- range .Values.extraVolumeMounts -}}
  {{- if not (has .name $extra) -}}
    {{- $messages = append $messages (printf "extraVolumeMounts: there is no volume %q in extraVolumes; add it, or remove the mount" .name) -}}
  {{- end -}}
  {{- $path := trimSuffix "/" .mountPath -}}
  {{- if hasKey $paths $path -}}
    {{- $messages = append $messages (printf "extraVolumeMounts: the path %q is taken by %s; choose another" $path (get $paths $path)) -}}
  {{- end -}}
  {{- $_ := set $paths $path (printf "extraVolumeMounts (%s)" .name) -}}
{{- end -}}
{{- toJson $messages -}}
{{- end -}}

{{/*
tf-cluster.check.sizes: what Linux and Kubernetes can hold.
Takes: the root context.
Gives: JSON, a list of messages.
*/}}
{{- define "tf-cluster.check.sizes" -}}
{{- $spec := include "tf-cluster.spec" . -}}
{{- $messages := list -}}
{{- $tasks := add (include "tf-cluster.replicas" (dict "context" . "role" "worker") | int64) (include "tf-cluster.replicas" (dict "context" . "role" "ps") | int64) -}}
{{- $each := add 3 (len (include "tf-cluster.address" (dict "context" . "role" "worker" "index" 9999))) -}}
{{- $value := include "tf-cluster.config" "worker" | replace "$(CLUSTER)" $spec | replace "$(TASK_INDEX)" "99999" -}}
{{- $remedy := printf "worker.replicas and ps.replicas ask for %d tasks at up to %d bytes each, so about %d fit; ask for fewer, or shorten the addresses (release name, namespace, clusterDomain: \"\")" $tasks $each (div 130900 $each) -}}
{{- $messages = append $messages (include "common.errors.envSize" (dict "name" "TF_CONFIG" "value" $value "remedy" $remedy)) -}}
{{- if eq .Values.code.source "sample" -}}
  {{- $files := dict -}}
  {{- range $path, $text := .Files.Glob "samples/mnist/*.py" -}}
    {{- $_ := set $files $path (toString $text) -}}
  {{- end -}}
  {{- $messages = append $messages (include "common.errors.configMapSize" (dict "name" "the ConfigMap of samples/mnist" "data" $files "remedy" "take large files out of the chart's samples/mnist, or set code.source to \"image\"")) -}}
{{- end -}}
{{- toJson $messages -}}
{{- end -}}
