{{/*
What a release consists of: which roles there are, which of them decides, and what their objects are called.
*/}}

{{/*
tf-cluster.lead: whose end is the end of the cluster.
Takes: the root context.
Gives: "chief", "worker0" or "allWorkers"; nothing in a session, which has no end of its own.
*/}}
{{- define "tf-cluster.lead" -}}
{{- if eq .Values.mode "job" -}}
{{- .Values.success.role | default (ternary "chief" "allWorkers" (has .Values.strategy (list "parameterServer" "mirrored"))) -}}
{{- end -}}
{{- end -}}

{{/*
tf-cluster.leadRole: the role of those tasks.
Takes: the root context.
Gives: "chief" or "worker"; nothing in a session.
*/}}
{{- define "tf-cluster.leadRole" -}}
{{- get (dict "chief" "chief" "worker0" "worker" "allWorkers" "worker") (include "tf-cluster.lead" .) -}}
{{- end -}}

{{/*
tf-cluster.firstDecides: is the end of the first worker alone the end of the cluster?
Takes: context, role.
Gives: "true" or nothing.
*/}}
{{- define "tf-cluster.firstDecides" -}}
{{- if and (eq (include "tf-cluster.lead" .context) "worker0") (eq .role "worker") -}}true{{- end -}}
{{- end -}}

{{/*
tf-cluster.clusterRoles: the roles that are in the cluster spec. An evaluator is not: it serves nobody, and a coordinator that
dials it would wait for ever.
Takes: the root context.
Gives: JSON, a list.
*/}}
{{- define "tf-cluster.clusterRoles" -}}
{{- $roles := list -}}
{{- if eq (include "tf-cluster.leadRole" .) "chief" -}}
  {{- $roles = append $roles "chief" -}}
{{- end -}}
{{- if ne .Values.strategy "mirrored" -}}
  {{- $roles = append $roles "worker" -}}
{{- end -}}
{{- if eq .Values.strategy "parameterServer" -}}
  {{- $roles = append $roles "ps" -}}
{{- end -}}
{{- toJson $roles -}}
{{- end -}}

{{/*
tf-cluster.roles: all roles that the release has.
Takes: the root context.
Gives: JSON, a list.
*/}}
{{- define "tf-cluster.roles" -}}
{{- $roles := include "tf-cluster.clusterRoles" . | fromJsonArray -}}
{{- if gt (int .Values.evaluator.replicas) 0 -}}
  {{- $roles = append $roles "evaluator" -}}
{{- end -}}
{{- toJson $roles -}}
{{- end -}}

{{/*
tf-cluster.waits: does a role run until the deciding one has ended?
Takes: context, role.
Gives: "true", or nothing: it is the deciding one, or a server of a session.
*/}}
{{- define "tf-cluster.waits" -}}
{{- if and (eq .context.Values.mode "job") (ne .role (include "tf-cluster.leadRole" .context)) -}}true{{- end -}}
{{- end -}}

{{/*
tf-cluster.waiting: the roles that do.
Takes: the root context.
Gives: JSON, a list.
*/}}
{{- define "tf-cluster.waiting" -}}
{{- $waiting := list -}}
{{- range $role := include "tf-cluster.roles" . | fromJsonArray -}}
  {{- if include "tf-cluster.waits" (dict "context" $ "role" $role) -}}
    {{- $waiting = append $waiting $role -}}
  {{- end -}}
{{- end -}}
{{- toJson $waiting -}}
{{- end -}}

{{/*
tf-cluster.replicas: how many tasks a role has.
Takes: context, role.
Gives: a number; 1 for the chief.
*/}}
{{- define "tf-cluster.replicas" -}}
{{- $values := .context.Values -}}
{{- $counts := dict "chief" 1 "worker" $values.worker.replicas "ps" $values.ps.replicas "evaluator" $values.evaluator.replicas -}}
{{- get $counts .role | int64 -}}
{{- end -}}

{{/*
tf-cluster.tasks: how many tasks some roles have together.
Takes: context, roles (a list).
Gives: a number.
*/}}
{{- define "tf-cluster.tasks" -}}
{{- $tasks := 0 -}}
{{- range $role := .roles -}}
  {{- $tasks = add $tasks (include "tf-cluster.replicas" (dict "context" $.context "role" $role)) -}}
{{- end -}}
{{- $tasks -}}
{{- end -}}

{{/*
tf-cluster.podGroup: the group of pods that start together, if any.
Takes: the root context.
Gives: a name, or nothing.
*/}}
{{- define "tf-cluster.podGroup" -}}
{{- $own := ternary (include "tf-cluster.fullname" .) "" (ne .Values.podGroup.create "") -}}
{{- .Values.podGroup.name | default $own -}}
{{- end -}}

{{/*
tf-cluster.port: where the tasks of a role listen.
Takes: context, role.
Gives: a number.
*/}}
{{- define "tf-cluster.port" -}}
{{- index .context.Values .role "port" | default .context.Values.service.port | int64 -}}
{{- end -}}

{{/*
tf-cluster.budget: how long the name of a release's objects may be. It leaves room for "-worker-a1b2c3-99999" in a host name
(63), and for "-worker" in the name of a StatefulSet (52).
Takes: nothing.
Gives: a number.
*/}}
{{- define "tf-cluster.budget" -}}42{{- end -}}

{{/*
tf-cluster.fullname: the first part of all names, and the name of the Service.
Takes: the root context.
Gives: a DNS-1035 label.
*/}}
{{- define "tf-cluster.fullname" -}}
{{- include "common.names.fullname" (dict "context" . "budget" (include "tf-cluster.budget" .)) -}}
{{- end -}}

{{/*
tf-cluster.fixed: what Kubernetes never lets change in a role's Job.
Takes: context, role.
Gives: JSON. Templates are compared as data, so that neither a comment nor an order of keys in a new version of the chart
starts a new run.
*/}}
{{- define "tf-cluster.fixed" -}}
{{- $backoff := include "tf-cluster.backoff" . | fromYaml | dig "backoffLimitPerIndex" 0 -}}
{{- list (include "tf-cluster.pod" . | fromYaml) (include "tf-cluster.failurePolicy" . | fromYaml) $backoff (include "tf-cluster.firstDecides" .) | toJson -}}
{{- end -}}

{{/*
tf-cluster.runHash: what tells one run from another: all that is fixed in the roles of the cluster, the number of parameter
servers, for the variables are on them, and the queue, which Kueue lets nobody change while a Job runs.
Takes: the root context.
Gives: a hash.
*/}}
{{- define "tf-cluster.runHash" -}}
{{- $servers := ternary (int .Values.ps.replicas) 0 (has "ps" (include "tf-cluster.clusterRoles" . | fromJsonArray)) -}}
{{- $fixed := list .Values.run.id $servers .Values.code.inline .Values.queue -}}
{{- range $role := include "tf-cluster.clusterRoles" . | fromJsonArray -}}
  {{- $fixed = append $fixed (include "tf-cluster.fixed" (dict "context" $ "role" $role)) -}}
{{- end -}}
{{- toJson $fixed | sha256sum -}}
{{- end -}}

{{/*
tf-cluster.listSuffix: the suffix of the roles that know the list of workers. It is another one when the list is (unless
run.onScale is "keep"): they start again, and no other pod is touched. Only a run that has ended keeps its own: its servers have
ended, too, and nobody would answer.
Takes: context, run (its hash).
Gives: six characters.
*/}}
{{- define "tf-cluster.listSuffix" -}}
{{- $root := .context -}}
{{- $lead := include "tf-cluster.leadRole" $root -}}
{{- $labels := include "common.labels.selector" (dict "context" $root "component" $lead) | fromYaml | merge (dict "trainyard/run" (trunc 6 .run)) -}}
{{- $ended := include "common.jobs.named" (dict "namespace" $root.Release.Namespace "labels" $labels "ended" true) | fromJsonArray -}}
{{- $list := printf "%s %d" .run (int $root.Values.worker.replicas) | sha256sum -}}
{{- $follows := and (eq $root.Values.run.onScale "restart") (has "worker" (include "tf-cluster.clusterRoles" $root | fromJsonArray)) -}}
{{- $suffix := ternary $list .run $follows | trunc 6 -}}
{{- with $ended -}}
  {{- $suffix = first . | splitList "-" | last -}}
{{- end -}}
{{- $suffix -}}
{{- end -}}

{{/*
tf-cluster.suffixes: what the names of the roles' Jobs end with: six characters. The evaluator has its own, so that it can be
turned on beside a run that goes on, and a new one with every run.
Takes: the root context.
Gives: JSON, a map from role to suffix, and from "run" to that of the run; empty in a session.
*/}}
{{- define "tf-cluster.suffixes" -}}
{{- $suffixes := dict -}}
{{- if eq .Values.mode "job" -}}
  {{- $lead := include "tf-cluster.leadRole" . -}}
  {{- $run := include "tf-cluster.runHash" . -}}
  {{- $list := include "tf-cluster.listSuffix" (dict "context" . "run" $run) -}}
  {{- range $role := include "tf-cluster.clusterRoles" . | fromJsonArray -}}
    {{- /* Where the workers decide, they are programs that know each other, and so do their parameter servers. */ -}}
    {{- $_ := set $suffixes $role (ternary $list (trunc 6 $run) (or (eq $role $lead) (eq $lead "worker"))) -}}
  {{- end -}}
  {{- $_ := set $suffixes "run" (trunc 6 $run) -}}
  {{- if has "evaluator" (include "tf-cluster.roles" . | fromJsonArray) -}}
    {{- $_ := set $suffixes "evaluator" (include "tf-cluster.fixed" (dict "context" . "role" "evaluator") | printf "%s %s" $run | sha256sum | trunc 6) -}}
  {{- end -}}
{{- end -}}
{{- toJson $suffixes -}}
{{- end -}}

{{/*
tf-cluster.workloadName: the Job of a role, or its StatefulSet in a session.
Takes: context, role.
Gives: <fullname>-<role>, with the run's suffix in mode "job".
*/}}
{{- define "tf-cluster.workloadName" -}}
{{- $name := printf "%s-%s" (include "tf-cluster.fullname" .context) .role -}}
{{- with index .context.Values.run.suffixes .role -}}
  {{- $name = printf "%s-%s" $name . -}}
{{- end -}}
{{- $name -}}
{{- end -}}

{{/*
tf-cluster.leadJob: the Job that decides.
Takes: the root context; mode is "job".
Gives: its name.
*/}}
{{- define "tf-cluster.leadJob" -}}
{{- include "tf-cluster.workloadName" (dict "context" . "role" (include "tf-cluster.leadRole" .)) -}}
{{- end -}}

{{/*
tf-cluster.memberSelector: the labels of all pods that are in the cluster spec.
Takes: the root context.
Gives: YAML lines.
*/}}
{{- define "tf-cluster.memberSelector" -}}
{{ include "common.labels.selector" (dict "context" .) }}
trainyard/cluster-member: "true"
{{- end -}}

{{/*
tf-cluster.grace: how long a pod of a role has from SIGTERM to SIGKILL.
Takes: context, role.
Gives: seconds.
*/}}
{{- define "tf-cluster.grace" -}}
{{- $given := index .context.Values .role "terminationGracePeriodSeconds" -}}
{{- if not (kindIs "invalid" $given) -}}
{{- int64 $given -}}
{{- else -}}
{{- ternary 30 5 (eq .role (include "tf-cluster.leadRole" .context)) -}}
{{- end -}}
{{- end -}}
