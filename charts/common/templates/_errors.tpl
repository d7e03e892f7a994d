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

{{/*
common.errors.releaseSize: Helm keeps each release in a Secret, which ends at 1 MiB, as base64 of what gzip makes of chart, values
and manifest. Text of values that goes into a ConfigMap is in there twice, and grows by a third each time where gzip finds
nothing to shorten.
Takes: name (in the message), data (a map of texts), budget (bytes: 3/8 of what the rest of the release leaves), remedy.
Gives: a message, or nothing when it fits.
*/}}
{{- define "common.errors.releaseSize" -}}
{{- $size := 0 -}}
{{- range $key, $text := .data -}}
  {{- $size = add $size (len $key) (len $text) -}}
{{- end -}}
{{- if gt $size (int64 .budget) -}}
{{ .name }} has {{ $size }} bytes, and at most {{ .budget }} are sure to fit: Helm keeps it twice in the release's Secret, in values and manifest, and a Secret may hold 1048576; {{ .remedy }}
{{- end -}}
{{- end -}}
