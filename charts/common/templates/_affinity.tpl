{{/*
common.affinity.require: demand a node label beside what the user's node affinity demands. Its terms are alternatives, so each
one takes the expression.
Takes: affinity (a map, changed in place), expression ({key, operator, values}).
Gives: nothing.
*/}}
{{- define "common.affinity.require" -}}
{{- $kind := "requiredDuringSchedulingIgnoredDuringExecution" -}}
{{- $node := .affinity.nodeAffinity | default dict -}}
{{- $terms := dig $kind "nodeSelectorTerms" list $node | default (list dict) -}}
{{- $both := list -}}
{{- range $terms -}}
  {{- $both = append $both (merge (dict "matchExpressions" (append (default list .matchExpressions) $.expression)) .) -}}
{{- end -}}
{{- $_ := set .affinity "nodeAffinity" (merge (dict $kind (dict "nodeSelectorTerms" $both)) $node) -}}
{{- end -}}

{{/*
common.affinity.apart: no two of these pods on one node.
Takes: affinity (a map, changed in place), labels (a map: the pods).
Gives: nothing.
*/}}
{{- define "common.affinity.apart" -}}
{{- $kind := "requiredDuringSchedulingIgnoredDuringExecution" -}}
{{- $term := dict "topologyKey" "kubernetes.io/hostname" "labelSelector" (dict "matchLabels" .labels) -}}
{{- $pods := .affinity.podAntiAffinity | default dict -}}
{{- $_ := set .affinity "podAntiAffinity" (merge (dict $kind (append (dig $kind list $pods) $term)) $pods) -}}
{{- end -}}

{{/*
common.affinity.topology: the wish that pods are apart or close together, where the user has said nothing more exact.
Takes: settings (see common.pod.settings; changed in place), topology (policy: "", spread or pack; key: a node label), role
(a map of labels: the pods of the role), all (a map of labels: the pods of the cluster).
Gives: nothing.
*/}}
{{- define "common.affinity.topology" -}}
{{- $settings := .settings -}}
{{- if and (eq .topology.policy "spread") (not $settings.topologySpreadConstraints) -}}
  {{- $spread := dict "maxSkew" 1 "topologyKey" .topology.key "whenUnsatisfiable" "ScheduleAnyway" "labelSelector" (dict "matchLabels" .role) -}}
  {{- $_ := set $settings "topologySpreadConstraints" (list $spread) -}}
{{- else if and (eq .topology.policy "pack") (not (dig "podAffinity" dict ($settings.affinity | default dict))) -}}
  {{- $term := dict "topologyKey" .topology.key "labelSelector" (dict "matchLabels" .all) -}}
  {{- $wish := dict "preferredDuringSchedulingIgnoredDuringExecution" (list (dict "weight" 100 "podAffinityTerm" $term)) -}}
  {{- $_ := set $settings "affinity" (merge (dict "podAffinity" $wish) ($settings.affinity | default dict)) -}}
{{- end -}}
{{- end -}}
