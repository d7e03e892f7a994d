{{/*
common.env.list: merge environment lists by name. A later list wins, and each name comes out once, as Kubernetes' server-side
apply demands. A variable stands where its last definition stands, so that $(NAME) sees what the user put before it.
Takes: lists (a list of lists of {name, value | valueFrom}; value may be text, a number or true/false).
Gives: YAML, a list.
*/}}
{{- define "common.env.list" -}}
{{- $byName := dict -}}
{{- $order := list -}}
{{- range .lists -}}
  {{- range . -}}
    {{- $variable := dict "name" .name -}}
    {{- if not (kindIs "invalid" .valueFrom) -}}
      {{- $_ := set $variable "valueFrom" .valueFrom -}}
    {{- else if kindIs "invalid" .value -}}
      {{- $_ := set $variable "value" "" -}}
    {{- else -}}
      {{- $_ := set $variable "value" (include "common.values.text" .value) -}}
    {{- end -}}
    {{- $_ := set $byName .name $variable -}}
    {{- $order = append (without $order .name) .name -}}
  {{- end -}}
{{- end -}}
{{- $env := list -}}
{{- range $order -}}
  {{- $env = append $env (get $byName .) -}}
{{- end -}}
{{- toYaml $env -}}
{{- end -}}

{{/*
common.env.twofold: refuse variables that are given a value and a source of one.
Takes: env (a list), path (the value's name in messages).
Gives: JSON, a list of messages.
*/}}
{{- define "common.env.twofold" -}}
{{- $messages := list -}}
{{- range .env -}}
  {{- if not (or (kindIs "invalid" .value) (kindIs "invalid" .valueFrom)) -}}
    {{- $messages = append $messages (printf "%s: %s has both value and valueFrom, and Kubernetes takes one; remove the other" $.path .name) -}}
  {{- end -}}
{{- end -}}
{{- toJson $messages -}}
{{- end -}}

{{/*
common.env.reserved: refuse user variables that the chart sets itself and depends on.
Takes: env (a list), path (the value's name in messages), reserved (a list of names), why (ends the message).
Gives: JSON, a list of messages.
*/}}
{{- define "common.env.reserved" -}}
{{- $messages := list -}}
{{- range .env -}}
  {{- if has .name $.reserved -}}
    {{- $messages = append $messages (printf "%s: %s is set by the chart, %s; remove it" $.path .name $.why) -}}
  {{- end -}}
{{- end -}}
{{- toJson $messages -}}
{{- end -}}
