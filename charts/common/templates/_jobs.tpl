{{/*
common.jobs.failurePolicy: which ends of a pod count. An eviction, a preemption or a lost node is no fault of the program, and
is not counted.
Takes: container (whose exit codes speak), permanent (a list: the Job fails at once), retryable (a list: not counted).
Gives: YAML lines of a podFailurePolicy.
*/}}
{{- define "common.jobs.failurePolicy" -}}
rules:
  {{- with .permanent }}
  - action: FailJob
    onExitCodes:
      containerName: {{ $.container }}
      operator: In
      values: {{ include "common.jobs.exitCodes" . }}
  {{- end }}
  - action: Ignore
    onPodConditions:
      - type: DisruptionTarget
        status: "True"
  {{- with .retryable }}
  - action: Ignore
    onExitCodes:
      containerName: {{ $.container }}
      operator: In
      values: {{ include "common.jobs.exitCodes" . }}
  {{- end }}
{{- end -}}

{{/*
common.jobs.exitCodes: exit codes as Kubernetes wants them: in ascending order, each once.
Takes: a list of numbers from 1 to 255.
Gives: JSON, a list of numbers.
*/}}
{{- define "common.jobs.exitCodes" -}}
{{- $texts := list -}}
{{- range . -}}
  {{- $texts = append $texts (printf "%03d" (int .)) -}}
{{- end -}}
{{- $codes := list -}}
{{- range $texts | uniq | sortAlpha -}}
  {{- $codes = append $codes (trimPrefix "0" . | trimPrefix "0" | int) -}}
{{- end -}}
{{- toJson $codes -}}
{{- end -}}

{{/*
common.jobs.named: the Jobs of a release, as the cluster has them.
Takes: namespace, labels (a map that the Jobs have), ended (true: those that have come to an end, well or not; false: the others).
Gives: JSON, a list of names; empty where Helm cannot look (`helm template`).
*/}}
{{- define "common.jobs.named" -}}
{{- $names := list -}}
{{- range (lookup "batch/v1" "Job" .namespace "").items -}}
  {{- $has := .metadata.labels | default dict -}}
  {{- $ended := regexMatch "\"status\":\"True\",\"type\":\"(Complete|Failed)\"" (dig "status" "conditions" list . | toJson) -}}
  {{- if and (eq (merge (deepCopy $.labels) $has | toJson) (toJson $has)) (eq $ended $.ended) -}}
    {{- $names = append $names .metadata.name -}}
  {{- end -}}
{{- end -}}
{{- toJson $names -}}
{{- end -}}
