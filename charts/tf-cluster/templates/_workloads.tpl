{{/*
tf-cluster.workload: what runs the pods of a role: a Job, or a StatefulSet in a session.
Takes: context, role.
Gives: YAML, a whole object; nothing when the release has no such role.
*/}}
{{- define "tf-cluster.workload" -}}
{{- if has .role (include "tf-cluster.roles" .context | fromJsonArray) -}}
  {{- include (ternary "tf-cluster.job" "tf-cluster.statefulSet" (eq .context.Values.mode "job")) . -}}
{{- end -}}
{{- end -}}

{{/*
tf-cluster.workloadMetadata: the metadata of a role's workload. Kueue reads its queue from here, and never from the pods.
Takes: context, role.
Gives: YAML lines.
*/}}
{{- define "tf-cluster.workloadMetadata" -}}
name: {{ include "tf-cluster.workloadName" . | quote }}
namespace: {{ .context.Release.Namespace | quote }}
labels:
  {{- include "common.labels.object" (dict "context" .context "component" .role) | nindent 2 }}
  {{- with .context.Values.run.suffixes.run }}
  trainyard/run: {{ . | quote }}
  {{- end }}
  {{- with .context.Values.queue }}
  kueue.x-k8s.io/queue-name: {{ . | quote }}
  {{- end }}
{{- end -}}

{{/*
tf-cluster.failurePolicy: which ends of a role's pods count. Exit code 3 of the waiter says that the deciding Job has failed or
is gone: then the role's Job fails at once.
Takes: context, role.
Gives: YAML lines.
*/}}
{{- define "tf-cluster.failurePolicy" -}}
{{- if include "tf-cluster.waits" . -}}
{{- include "common.jobs.failurePolicy" (dict "container" "await-end" "permanent" (list 3)) -}}
{{- else -}}
{{- include "common.jobs.failurePolicy" (merge (dict "container" "tensorflow") .context.Values.runPolicy.exitCodes) -}}
{{- end -}}
{{- end -}}

{{/*
tf-cluster.backoff: how many failures a role's Job puts up with.
The chief: runPolicy.backoffLimit starts more than the first. Workers that decide: each of them as many, for the loss of one
brings the others down, and who does not know the exit code for that counts, too; the first that has no more fails the Job.
The others hold no result, so a lost pod is simply made anew: their failures decide nothing.
Takes: context, role.
Gives: YAML lines of a Job's spec.
*/}}
{{- define "tf-cluster.backoff" -}}
{{- $limit := int64 .context.Values.runPolicy.backoffLimit -}}
{{- if include "tf-cluster.waits" . -}}
backoffLimit: 1000
{{- else if eq .role "chief" -}}
backoffLimit: {{ $limit }}
{{- else -}}
backoffLimitPerIndex: {{ $limit }}
maxFailedIndexes: 0
{{- end -}}
{{- end -}}

{{/*
tf-cluster.ttl: how long a role's Job stays when it has ended. The others read their result from the deciding one, so that one
stays for a while in any case. cleanPodPolicy removes the others at once and never that one: it is the release's result, and a
`helm upgrade` would make it anew and train again.
Takes: context, role.
Gives: seconds; nothing when it stays until `helm uninstall`.
*/}}
{{- define "tf-cluster.ttl" -}}
{{- $policy := .context.Values.runPolicy -}}
{{- $ttl := $policy.ttlSecondsAfterFinished -}}
{{- $waits := eq (include "tf-cluster.waits" .) "true" -}}
{{- if and $waits (eq $policy.cleanPodPolicy "All") -}}
  {{- $ttl = 0 -}}
{{- end -}}
{{- if not (kindIs "invalid" $ttl) -}}
  {{- ternary (int64 $ttl) (max 300 (int64 $ttl)) $waits -}}
{{- end -}}
{{- end -}}

{{/*
tf-cluster.job: the Job of a role. Indexed also where it has one pod: only then a pod has a host name that lasts.
Takes: context, role.
Gives: YAML, a whole object.
*/}}
{{- define "tf-cluster.job" -}}
{{- $values := .context.Values -}}
{{- $waits := include "tf-cluster.waits" . -}}
apiVersion: batch/v1
kind: Job
metadata: {{- include "tf-cluster.workloadMetadata" . | nindent 2 }}
spec:
  completionMode: Indexed
  # Kubernetes lets both change together: this is how a role is scaled.
  completions: {{ include "tf-cluster.replicas" . }}
  parallelism: {{ include "tf-cluster.replicas" . }}
  {{- include "tf-cluster.backoff" . | nindent 2 }}
  {{- if and (not $waits) (not (kindIs "invalid" $values.runPolicy.activeDeadlineSeconds)) }}
  activeDeadlineSeconds: {{ int64 $values.runPolicy.activeDeadlineSeconds }}
  {{- end }}
  {{- with include "tf-cluster.ttl" . }}
  ttlSecondsAfterFinished: {{ . }}
  {{- end }}
  {{- if $values.runPolicy.suspend }}
  suspend: true
  {{- end }}
  podFailurePolicy: {{- include "tf-cluster.failurePolicy" . | nindent 4 }}
  {{- if include "tf-cluster.firstDecides" . }}
  successPolicy:
    rules:
      - succeededIndexes: "0"
  {{- end }}
  template: {{- include "tf-cluster.pod" . | nindent 4 }}
{{- end -}}

{{/*
tf-cluster.statefulSet: the servers of a role in a session. Their pods come and go at the highest index, all at once.
Takes: context, role.
Gives: YAML, a whole object.
*/}}
{{- define "tf-cluster.statefulSet" -}}
apiVersion: apps/v1
kind: StatefulSet
metadata: {{- include "tf-cluster.workloadMetadata" . | nindent 2 }}
spec:
  serviceName: {{ include "tf-cluster.fullname" .context | quote }}
  replicas: {{ include "tf-cluster.replicas" . }}
  podManagementPolicy: Parallel
  selector:
    matchLabels: {{- include "common.labels.selector" (dict "context" .context "component" .role) | nindent 6 }}
  template: {{- include "tf-cluster.pod" . | nindent 4 }}
{{- end -}}
