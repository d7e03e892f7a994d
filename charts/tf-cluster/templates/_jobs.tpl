{{/*
tf-cluster.serverJob: the Job of a role whose TensorFlow servers never end by themselves and end with the chief's Job.
Takes: context, role ("worker" or "ps").
Gives: YAML, a whole object.
*/}}
{{- define "tf-cluster.serverJob" -}}
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ include "tf-cluster.jobName" . | quote }}
  namespace: {{ .context.Release.Namespace | quote }}
  labels: {{- include "common.labels.object" (dict "context" .context "component" .role) | nindent 4 }}
spec:
  completionMode: Indexed
  # Kubernetes lets both change together: this is how the role is scaled.
  completions: {{ include "tf-cluster.replicas" . }}
  parallelism: {{ include "tf-cluster.replicas" . }}
  # A server holds no result, so a lost pod is simply made anew. Its failures decide nothing: the chief's Job does.
  backoffLimit: 1000
  {{- if not (kindIs "invalid" .context.Values.runPolicy.ttlSecondsAfterFinished) }}
  ttlSecondsAfterFinished: {{ int64 .context.Values.runPolicy.ttlSecondsAfterFinished }}
  {{- end }}
  podFailurePolicy: {{- include "tf-cluster.failurePolicy" (dict "server" true) | nindent 4 }}
  template: {{- include "tf-cluster.pod" . | nindent 4 }}
{{- end -}}
