{{/*
common.network.dns: an egress rule that lets pods ask for names. Policies see the port of the DNS pods, 5353 on OpenShift.
Takes: nothing.
Gives: YAML, a list of one rule.
*/}}
{{- define "common.network.dns" -}}
- ports:
    - port: 53
      protocol: UDP
    - port: 53
      protocol: TCP
    - port: 5353
      protocol: UDP
    - port: 5353
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
