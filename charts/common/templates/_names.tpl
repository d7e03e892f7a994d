{{/*
common.names.shorten: make any text a DNS-1035 label (what a Service needs) of limited length.
Takes: name, budget (the most characters it may have, at least 9).
Gives: the name. When something had to change (cut, a dot, a first digit), six characters of the full name's hash
go to the end, so that two names that differ only in what was lost stay different.
*/}}
{{- define "common.names.shorten" -}}
{{- $budget := int .budget -}}
{{- $clean := regexReplaceAll "[^a-z0-9-]+" (lower .name) "-" | trimAll "-" -}}
{{- if not (regexMatch "^[a-z]" $clean) -}}
  {{- $clean = printf "r-%s" $clean -}}
{{- end -}}
{{- if and (eq $clean .name) (le (len $clean) $budget) -}}
{{- $clean -}}
{{- else -}}
{{- printf "%s-%s" (trunc (int (sub $budget 7)) $clean | trimAll "-") (sha256sum .name | trunc 6) -}}
{{- end -}}
{{- end -}}

{{/*
common.names.chart: the chart's name in labels and names, or nameOverride.
Takes: the root context.
Gives: a label value.
*/}}
{{- define "common.names.chart" -}}
{{- include "common.labels.value" (.Values.nameOverride | default .Chart.Name) -}}
{{- end -}}

{{/*
common.names.fullname: the first part of every object's name in a release.
Takes: context (the root context), budget (the most characters it may have, so that the longest suffix still fits).
Gives: fullnameOverride as it is (common.names.override has judged it), or <release>-<chart>, shortened to the budget.
A release whose name ends with the chart's name stands for itself: "my-tf-cluster", not "my-tf-cluster-tf-cluster".
Only the end counts, so that charts of one umbrella release never fall on the same name.
*/}}
{{- define "common.names.fullname" -}}
{{- $context := .context -}}
{{- $chart := include "common.names.chart" $context -}}
{{- $release := $context.Release.Name -}}
{{- if $context.Values.fullnameOverride -}}
{{- $context.Values.fullnameOverride -}}
{{- else if or (eq $release $chart) (hasSuffix (printf "-%s" $chart) $release) -}}
{{- include "common.names.shorten" (dict "name" $release "budget" .budget) -}}
{{- else -}}
{{- include "common.names.shorten" (dict "name" (printf "%s-%s" $release $chart) "budget" .budget) -}}
{{- end -}}
{{- end -}}

{{/*
common.names.override: judge fullnameOverride. A name that somebody chose is refused rather than changed.
Takes: context (the root context), budget (as in common.names.fullname).
Gives: a message, or nothing when all is well.
*/}}
{{- define "common.names.override" -}}
{{- $name := .context.Values.fullnameOverride | default "" | toString -}}
{{- if gt (len $name) (int .budget) -}}
fullnameOverride: {{ $name | quote }} has {{ len $name }} characters, and at most {{ .budget }} leave room for the names made from it (such as -worker-99999); choose a shorter name, or leave it out: release names are shortened by the chart
{{- else if and $name (not (regexMatch "^[a-z]([a-z0-9-]*[a-z0-9])?$" $name)) -}}
fullnameOverride: {{ $name | quote }} is no host name; use lower-case letters, digits and "-", begin with a letter and do not end with "-"
{{- end -}}
{{- end -}}
