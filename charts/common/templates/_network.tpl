{{/*
common.network.dns: an egress rule that lets pods ask for names.
Takes: nothing.
Gives: YAML, a list of one rule.
*/}}
{{- define "common.network.dns" -}}
- ports:
    - port: 53
      protocol: UDP
    - port: 53
      protocol: TCP
{{- end -}}

{{/*
common.network.ports: TCP ports of a NetworkPolicy's rule.
Takes: a list of numbers, not empty.
Gives: YAML, a list.
*/}}
{{- define "common.network.ports" -}}
{{- $ports := list -}}
{{- range . -}}
  {{- $ports = append $ports (dict "port" (int .) "protocol" "TCP") -}}
{{- end -}}
{{- toYaml (uniq $ports) -}}
{{- end -}}
