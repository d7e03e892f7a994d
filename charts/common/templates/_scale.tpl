{{/*
common.scale.conflict: would Helm's server-side apply be refused because somebody else has set the number of replicas?
The API server would say "conflict with "kubectl" with subresource "scale"", after the rest of the upgrade has been done.
Takes: object (a StatefulSet or Deployment as lookup gives it; may be empty), replicas (wanted), value (its path in messages).
Gives: a message, or nothing: Helm owns the number, nobody does, or it is the wanted one already.
*/}}
{{- define "common.scale.conflict" -}}
{{- $name := dig "metadata" "name" "" .object -}}
{{- $now := dig "spec" "replicas" 0 .object | int -}}
{{- $applies := false -}}
{{- $other := "" -}}
{{- range dig "metadata" "managedFields" list .object -}}
  {{- $owns := hasKey (dig "fieldsV1" "f:spec" dict .) "f:replicas" -}}
  {{- if and (eq .manager "helm") (eq .operation "Apply") -}}
    {{- $applies = true -}}
  {{- else if $owns -}}
    {{- $other = .manager -}}
  {{- end -}}
{{- end -}}
{{- if and $applies $other (ne $now (int .replicas)) -}}
{{ .value }}: {{ .replicas }} is asked for, but {{ $other }} has set {{ .object.kind }} {{ $name }} to {{ $now }}, and Kubernetes would refuse Helm's change of it. Keep its number with --set {{ .value }}={{ $now }}, or give Helm's first: kubectl scale -n {{ .object.metadata.namespace }} {{ lower .object.kind }}/{{ $name }} --replicas={{ .replicas }}, and then run Helm again
{{- end -}}
{{- end -}}
