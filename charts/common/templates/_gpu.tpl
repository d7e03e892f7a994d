{{/*
common.gpu.apply: what GPUs add to a role's settings: the resource (request and limit are equal, as Kubernetes demands), the
nodes that have the right type, and the toleration of their taint. Nothing at all for 0: "nvidia.com/gpu: 0" makes pods fail on
nodes without a GPU.
Takes: settings (see common.pod.settings; changed in place), count, types (a list; empty: any), gpu (resource, typeLabel,
tolerate).
Gives: nothing.
*/}}
{{- define "common.gpu.apply" -}}
{{- $settings := .settings -}}
{{- if gt (int64 .count) 0 -}}
  {{- $amount := dict .gpu.resource (int64 .count) -}}
  {{- $_ := set $settings "resources" (merge (dict "requests" $amount "limits" (deepCopy $amount)) ($settings.resources | default dict)) -}}
  {{- with .types -}}
    {{- $_ := set $settings "affinity" ($settings.affinity | default dict) -}}
    {{- include "common.affinity.require" (dict "affinity" $settings.affinity "expression" (dict "key" $.gpu.typeLabel "operator" "In" "values" .)) -}}
  {{- end -}}
  {{- if .gpu.tolerate -}}
    {{- $tolerations := $settings.tolerations | default list -}}
    {{- range $key := include "common.gpu.taints" .gpu.resource | fromJsonArray -}}
      {{- $toleration := dict "key" $key "operator" "Exists" "effect" "NoSchedule" -}}
      {{- if not (has $toleration $tolerations) -}}
        {{- $tolerations = append $tolerations $toleration -}}
      {{- end -}}
    {{- end -}}
    {{- $_ := set $settings "tolerations" $tolerations -}}
  {{- end -}}
{{- end -}}
{{- end -}}

{{/*
common.gpu.taints: the taints of nodes that have an accelerator. A node whose GPUs are in parts (MIG) offers these, and yet has
the taint that all nodes with NVIDIA's GPUs have.
Takes: the resource.
Gives: JSON, a list of the taints' keys.
*/}}
{{- define "common.gpu.taints" -}}
{{- $taints := list . -}}
{{- if hasPrefix "nvidia.com/" . -}}
  {{- $taints = append $taints "nvidia.com/gpu" -}}
{{- end -}}
{{- toJson (uniq $taints) -}}
{{- end -}}

{{/*
common.gpu.check: GPUs are counted in one place, which gives them all they need.
Takes: resources (requests, limits), path (the value's name in messages), gpu (resource), counts (a list of the values' names
that count GPUs, such as worker.gpu.count).
Gives: JSON, a list of messages.
*/}}
{{- define "common.gpu.check" -}}
{{- $messages := list -}}
{{- $found := "" -}}
{{- range $part := list "requests" "limits" -}}
  {{- $amounts := index ($.resources | default dict) $part | default dict -}}
  {{- $amount := get $amounts $.gpu.resource | default "" | toString -}}
  {{- if ne (include "common.quantity.number" $amount) "0" -}}
    {{- $found = $amount -}}
  {{- end -}}
{{- end -}}
{{- with $found -}}
  {{- $messages = append $messages (printf "%s: %s of %s would come without toleration, type of node and /dev/shm; set %s, and remove it here" $.path . $.gpu.resource (join " or " $.counts)) -}}
{{- end -}}
{{- toJson $messages -}}
{{- end -}}

{{/*
common.gpu.nccl: a setting of NCCL is named without the prefix that all have.
Takes: nccl (as in common.gpu.env), path (the value's name in messages).
Gives: JSON, a list of messages.
*/}}
{{- define "common.gpu.nccl" -}}
{{- $messages := list -}}
{{- range $name := keys .nccl | sortAlpha -}}
  {{- if hasPrefix "NCCL_" $name -}}
    {{- $messages = append $messages (printf "%s.%s: it would become NCCL_%s, for the chart writes the prefix; write %s.%s" $.path $name $name $.path (trimPrefix "NCCL_" $name)) -}}
  {{- end -}}
{{- end -}}
{{- toJson $messages -}}
{{- end -}}

{{/*
common.gpu.env: the variables of a role's container: NCCL's settings where it has GPUs; else the GPUs of the node are hidden,
which a container of an image made for CUDA would see without having asked for any.
Takes: count, hide (true or false), nccl (a map of NCCL's settings without the prefix NCCL_).
Gives: YAML, a list.
*/}}
{{- define "common.gpu.env" -}}
{{- $env := list -}}
{{- if gt (int64 .count) 0 -}}
  {{- range $name, $value := .nccl -}}
    {{- $env = append $env (dict "name" (printf "NCCL_%s" $name) "value" (include "common.values.text" $value)) -}}
  {{- end -}}
{{- else if .hide -}}
  {{- $env = append $env (dict "name" "NVIDIA_VISIBLE_DEVICES" "value" "void") -}}
{{- end -}}
{{- toYaml $env -}}
{{- end -}}
