{{/*
common.quantity.number: a Kubernetes quantity as a number that can be compared: "500m", "1.5", "2Gi", "1e3", "128M", or a number.
It is multiplied as a decimal and rounded once, at the end: two ways to write one amount give one number (0.1 and 100m, 1.5Gi
and 1536Mi), and a larger amount never gives a smaller one. Amounts that differ after their fifteenth digit may give one number.
Takes: text or a number; nothing counts as 0.
Gives: a number, to be read with float64.
*/}}
{{- define "common.quantity.number" -}}
{{- $text := toString . -}}
{{- /* A suffix ends the text: the E of 1E is one, and that of 1E3 is not. */ -}}
{{- $suffix := regexFind "([numkMGTPE]|[KMGTPE]i)$" $text -}}
{{- $decimal := get (dict "n" 1e-9 "u" 1e-6 "m" 1e-3 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "E" 1e18) $suffix | default 1.0 -}}
{{- $power := get (dict "Ki" 1 "Mi" 2 "Gi" 3 "Ti" 4 "Pi" 5 "Ei" 6) $suffix | default 0 -}}
{{- $of := list -}}
{{- range $place := until 6 -}}
  {{- $of = append $of (ternary 1024 1 (lt $place $power)) -}}
{{- end -}}
{{- mulf (trimSuffix $suffix $text) $decimal (index $of 0) (index $of 1) (index $of 2) (index $of 3) (index $of 4) (index $of 5) -}}
{{- end -}}
