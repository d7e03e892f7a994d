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
    {{- $toleration := dict "key" .gpu.resource "operator" "Exists" "effect" "NoSchedule" -}}
    {{- $_ := set $settings "tolerations" (append ($settings.tolerations | default list) $toleration) -}}
  {{- end -}}
{{- end -}}
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
