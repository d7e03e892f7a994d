{{/*
common.labels.value: make any text a valid label value.
Takes: a string, such as a chart version with +build.
Gives: at most 63 of the characters A-Z a-z 0-9 - _ . that begin and end with a letter or a digit (or nothing).
*/}}
{{- define "common.labels.value" -}}
{{- $text := regexReplaceAll "[^A-Za-z0-9_.-]" (toString .) "_" -}}
{{- $text = regexReplaceAll "^[^A-Za-z0-9]+" $text "" | trunc 63 -}}
{{- regexReplaceAll "[^A-Za-z0-9]+$" $text "" -}}
{{- end -}}

{{/*
common.labels.selector: what finds the pods of this release, and nothing that an upgrade could change.
Takes: context (the root context), component (a role; left out: all of the release).
Gives: YAML lines.
*/}}
{{- define "common.labels.selector" -}}
app.kubernetes.io/name: {{ include "common.names.chart" .context | quote }}
app.kubernetes.io/instance: {{ include "common.labels.value" .context.Release.Name | quote }}
{{- with .component }}
app.kubernetes.io/component: {{ . | quote }}
{{- end }}
{{- end -}}

{{/*
common.labels.object: the labels of an object's metadata. They hold versions, so they belong to no selector and no pod template.
The chart's value commonLabels is added, where it has one.
Takes: context (the root context), component (a role or a part; may be left out).
Gives: YAML lines.
*/}}
{{- define "common.labels.object" -}}
{{- $chart := .context.Chart -}}
{{ include "common.labels.selector" . }}
app.kubernetes.io/part-of: trainyard
app.kubernetes.io/managed-by: {{ include "common.labels.value" .context.Release.Service | quote }}
app.kubernetes.io/version: {{ include "common.labels.value" ($chart.AppVersion | default $chart.Version) | quote }}
helm.sh/chart: {{ include "common.labels.value" (printf "%s-%s" $chart.Name $chart.Version) | quote }}
{{- $common := dict -}}
{{- include "common.values.overlay" (dict "base" $common "over" .context.Values.commonLabels) -}}
{{- with $common }}
{{ include "common.labels.print" . }}
{{- end }}
{{- end -}}

{{/*
common.labels.pod: the labels of a pod template. Istio reads its switch from the label since 1.10 or so, and a mesh proxy
would keep a pod of a Job from ending, so it is off unless the user turns it on.
Takes: context, component, extra (a map that the chart adds, may be left out), user (a map, wins over Istio's).
Gives: YAML lines; every value is a string.
*/}}
{{- define "common.labels.pod" -}}
{{- $labels := dict "sidecar.istio.io/inject" "false" -}}
{{- include "common.values.overlay" (dict "base" $labels "over" .user) -}}
{{- include "common.values.overlay" (dict "base" $labels "over" .extra) -}}
{{- include "common.values.overlay" (dict "base" $labels "over" (include "common.labels.selector" . | fromYaml)) -}}
{{- include "common.labels.print" $labels -}}
{{- end -}}

{{/*
common.labels.annotations: the annotations of a pod template, with the same word to Istio for its older versions.
Takes: user (a map, wins over Istio's), chart (a map of the chart's own, wins over all; may be left out).
Gives: YAML lines; every value is a string.
*/}}
{{- define "common.labels.annotations" -}}
{{- $annotations := dict "sidecar.istio.io/inject" "false" -}}
{{- include "common.values.overlay" (dict "base" $annotations "over" .user) -}}
{{- include "common.values.overlay" (dict "base" $annotations "over" .chart) -}}
{{- include "common.labels.print" $annotations -}}
{{- end -}}

{{/*
common.labels.print: a map of labels or annotations, each value a string whatever the user wrote.
Takes: a map.
Gives: YAML lines.
*/}}
{{- define "common.labels.print" -}}
{{- $strings := dict -}}
{{- range $key, $value := . -}}
  {{- $_ := set $strings $key (include "common.values.text" $value) -}}
{{- end -}}
{{- toYaml $strings -}}
{{- end -}}

{{/*
common.labels.reservedOnObjects: refuse labels for all objects that would take the place of the charts' own.
Takes: user (a map), path (the value's name in messages), instead (a map: labels that another value is for, and that value's name).
Gives: JSON, a list of messages.
*/}}
{{- define "common.labels.reservedOnObjects" -}}
{{- $messages := list -}}
{{- range $key, $value := .user -}}
  {{- with get $.instead $key -}}
    {{- $messages = append $messages (printf "%s: the label %q is for the value %s; set that" $.path $key .) -}}
  {{- else -}}
    {{- if regexMatch "^(app\\.kubernetes\\.io|helm\\.sh|trainyard)/" $key -}}
      {{- $messages = append $messages (printf "%s: the label %q is the chart's own; remove it or use another key" $.path $key) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- toJson $messages -}}
{{- end -}}

{{/*
common.labels.reserved: refuse pod labels that would cut a pod off from its Service or its Job.
Takes: user (a map), path (the value's name in messages), reserved (a list of keys).
Gives: JSON, a list of messages.
*/}}
{{- define "common.labels.reserved" -}}
{{- $messages := list -}}
{{- range $key, $value := .user -}}
  {{- if or (has $key $.reserved) (hasPrefix "batch.kubernetes.io/" $key) (has $key (list "job-name" "controller-uid" "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/component")) -}}
    {{- $messages = append $messages (printf "%s: the label %q is the chart's own, the pods are found by it; remove it or use another key" $.path $key) -}}
  {{- end -}}
{{- end -}}
{{- toJson $messages -}}
{{- end -}}
