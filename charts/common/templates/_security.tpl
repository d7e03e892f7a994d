{{/*
common.security.pod: a pod's security context that Pod Security "restricted" admits.
Takes: user (a map, laid over key by key).
Gives: YAML lines.
*/}}
{{- define "common.security.pod" -}}
{{- $security := dict "runAsNonRoot" true "seccompProfile" (dict "type" "RuntimeDefault") -}}
{{- include "common.values.overlay" (dict "base" $security "over" .user) -}}
{{- toYaml $security -}}
{{- end -}}

{{/*
common.security.container: a container's security context that Pod Security "restricted" admits. Every container takes it,
init containers, sidecars and tests too.
Takes: user (a map, laid over key by key).
Gives: YAML lines.
*/}}
{{- define "common.security.container" -}}
{{- $security := dict
      "allowPrivilegeEscalation" false
      "capabilities" (dict "drop" (list "ALL"))
      "runAsNonRoot" true
      "seccompProfile" (dict "type" "RuntimeDefault") -}}
{{- include "common.values.overlay" (dict "base" $security "over" .user) -}}
{{- toYaml $security -}}
{{- end -}}
