{{/*
common.errors.report: end the render with every mistake at once, so that nobody mends them one a run.
Takes: context (the root context), messages (a list; empty ones do not count).
Gives: nothing when there is none, else fails.
*/}}
{{- define "common.errors.report" -}}
{{- with compact .messages -}}
{{- fail (printf "\n\n%s: %d %s to mend in the values:\n\n  - %s\n" $.context.Chart.Name (len .) (ternary "thing" "things" (eq (len .) 1)) (join "\n  - " .)) -}}
{{- end -}}
{{- end -}}

{{/*
common.errors.configMapSize: the API server takes no ConfigMap with more than 1 MiB of data.
Takes: name (in the message), data (a map of texts), remedy.
Gives: a message, or nothing when it fits.
*/}}
{{- define "common.errors.configMapSize" -}}
{{- $size := 0 -}}
{{- range $key, $text := .data -}}
  {{- $size = add $size (len $key) (len $text) -}}
{{- end -}}
{{- if gt $size 1048576 -}}
{{ .name }} would hold {{ $size }} bytes, and a ConfigMap may hold 1048576; {{ .remedy }}
{{- end -}}
{{- end -}}
