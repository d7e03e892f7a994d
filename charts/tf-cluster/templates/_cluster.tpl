{{/*
What tasks are told of the cluster and of their place in it.
*/}}

{{/*
tf-cluster.zone: the DNS zone of the release's Service.
Takes: the root context.
Gives: <service>.<namespace>.svc[.<domain>].
*/}}
{{- define "tf-cluster.zone" -}}
{{- printf "%s.%s.svc" (include "tf-cluster.fullname" .) .Release.Namespace -}}
{{- with .Values.clusterDomain -}}.{{ . }}{{- end -}}
{{- end -}}

{{/*
tf-cluster.addresses: where the tasks of a role listen. The hosts are those that an Indexed Job or a StatefulSet gives its pods,
in the release's Service. Nobody dials an evaluator, so its host is one that it knows itself.
Takes: context, role.
Gives: JSON on one line, a list of host:port.
*/}}
{{- define "tf-cluster.addresses" -}}
{{- /* Made once a role and then numbered, so that a thousand workers cost no thousand calls of the helpers. */ -}}
{{- $name := include "tf-cluster.workloadName" . -}}
{{- $zone := ternary "" (printf ".%s" (include "tf-cluster.zone" .context)) (eq .role "evaluator") -}}
{{- $rest := printf "%s:%s" $zone (include "tf-cluster.port" .) -}}
[
{{- range $index := until (include "tf-cluster.replicas" . | int) -}}
  {{- ternary "" "," (eq $index 0) -}}"{{- $name -}}-{{- $index -}}{{- $rest -}}"
{{- end -}}
]
{{- end -}}

{{/*
tf-cluster.spec: the cluster spec: all tasks that dial each other.
Takes: the root context.
Gives: JSON on one line, such as {"chief":[...],"worker":[...],"ps":[...]}.
*/}}
{{- define "tf-cluster.spec" -}}
{
{{- range $place, $role := include "tf-cluster.clusterRoles" . | fromJsonArray -}}
  {{- ternary "" "," (eq $place 0) -}}{{- $role | quote -}}:{{- include "tf-cluster.addresses" (dict "context" $ "role" $role) -}}
{{- end -}}
}
{{- end -}}

{{/*
tf-cluster.config: the TF_CONFIG of a role, for the kubelet to fill in: it puts $(NAME) in place from the variables before it.
So the pod template is the same for any number of workers, and scaling is a change that Kubernetes permits.
Takes: a role.
Gives: JSON with $(CLUSTER) and $(TASK_INDEX).
*/}}
{{- define "tf-cluster.config" -}}
{"cluster":$(CLUSTER),"task":{"type":"{{ . }}","index":$(TASK_INDEX)}}
{{- end -}}

{{/*
tf-cluster.configSize: the longest TF_CONFIG that a task would get. The length of a Job's suffix is known before the suffix is.
Takes: the root context.
Gives: bytes, with the name and the end mark.
*/}}
{{- define "tf-cluster.configSize" -}}
{{- $rest := printf "-a1b2c3.%s" (include "tf-cluster.zone" .) -}}
{{- $size := len "TF_CONFIG=" | add (include "tf-cluster.config" "worker" | len) -}}
{{- range $role := include "tf-cluster.clusterRoles" . | fromJsonArray -}}
  {{- $replicas := include "tf-cluster.replicas" (dict "context" $ "role" $role) | int64 -}}
  {{- /* Quotes, comma, "-", the digits of the largest index, ":" and five digits of the port. */ -}}
  {{- $each := add (len (include "tf-cluster.fullname" $)) 1 (len $role) (len $rest) 4 (len (toString $replicas)) 6 -}}
  {{- $size = add $size (mul $replicas $each) (len $role) 6 -}}
{{- end -}}
{{- $size -}}
{{- end -}}

{{/*
tf-cluster.hosts: the hosts of a TPU slice, in order.
Takes: the root context.
Gives: text, with commas between them.
*/}}
{{- define "tf-cluster.hosts" -}}
{{- regexReplaceAll ":[0-9]+" (include "tf-cluster.addresses" (dict "context" . "role" "worker") | fromJsonArray | join ",") "" -}}
{{- end -}}

{{/*
tf-cluster.hasConfig: is there a TF_CONFIG? A single task has no cluster, and the sample program reads a file when no
environment string could hold the spec.
Takes: the root context.
Gives: "true" or nothing.
*/}}
{{- define "tf-cluster.hasConfig" -}}
{{- $fits := le (include "tf-cluster.configSize" . | int) 131072 -}}
{{- if and .Values.tfConfig (ne .Values.strategy "mirrored") (or $fits (ne .Values.code.source "sample")) -}}true{{- end -}}
{{- end -}}

{{/*
tf-cluster.reserved: the variables that tell a task its place.
Takes: nothing.
Gives: JSON, a list of names.
*/}}
{{- define "tf-cluster.reserved" -}}["TASK_INDEX","TASK_TYPE","CLUSTER","TF_CONFIG","TRAINYARD_CLUSTER_FILE","TRAINYARD_JOB"]{{- end -}}

{{/*
tf-cluster.indexEnv: the variable with a task's number among those of its role.
Takes: context.
Gives: YAML, a list of one variable.
*/}}
{{- define "tf-cluster.indexEnv" -}}
- name: TASK_INDEX
  valueFrom:
    fieldRef:
      apiVersion: v1
      fieldPath: metadata.{{ ternary "annotations['batch.kubernetes.io/job-completion-index']" "labels['apps.kubernetes.io/pod-index']" (eq .context.Values.mode "job") }}
{{- end -}}

{{/*
tf-cluster.clusterEnv: the variables that tell a task its place. The evaluator's cluster is itself alone.
Takes: context, role.
Gives: YAML, a list.
*/}}
{{- define "tf-cluster.clusterEnv" -}}
{{ include "tf-cluster.indexEnv" . }}
- name: TASK_TYPE
  value: {{ .role }}
{{- if ne .role "evaluator" }}
- name: TRAINYARD_CLUSTER_FILE
  value: /etc/trainyard/cluster/cluster
{{- end }}
{{- if or (include "tf-cluster.hasConfig" .context) (eq .role "evaluator") }}
- name: CLUSTER
  valueFrom:
    configMapKeyRef:
      name: {{ include "tf-cluster.fullname" .context }}-cluster
      key: {{ ternary "evaluator" "cluster" (eq .role "evaluator") }}
- name: TF_CONFIG
  value: {{ include "tf-cluster.config" .role | quote }}
{{- end }}
{{- if and (eq .context.Values.strategy "tpu") (eq .role "worker") }}
- name: TPU_WORKER_ID
  value: $(TASK_INDEX)
- name: TPU_WORKER_HOSTNAMES
  valueFrom:
    configMapKeyRef:
      name: {{ include "tf-cluster.fullname" .context }}-cluster
      key: hosts
{{- end }}
{{- end -}}

{{/*
tf-cluster.env: the variables of a training container, without the user's.
Takes: context, role, settings (from tf-cluster.role).
Gives: YAML, a list.
*/}}
{{- define "tf-cluster.env" -}}
{{ include "tf-cluster.homeEnv" . }}
{{- range list (include "tf-cluster.clusterEnv" .) (include "tf-cluster.gpuEnv" .) }}
{{- if ne . "[]" }}
{{ . }}
{{- end }}
{{- end }}
{{- end -}}

{{/*
tf-cluster.gpuEnv: what a role's container is told of GPUs. A role that has others of NVIDIA's, by its resources, is left alone.
Takes: context, role, settings (from tf-cluster.role).
Gives: YAML, a list.
*/}}
{{- define "tf-cluster.gpuEnv" -}}
{{- $values := .context.Values -}}
{{- $has := false -}}
{{- range $resource, $amount := .settings.resources.limits -}}
  {{- if hasPrefix "nvidia.com/" $resource -}}
    {{- $has = true -}}
  {{- end -}}
{{- end -}}
{{- include "common.gpu.env" (dict "count" (include "tf-cluster.gpus" .) "hide" (and $values.gpu.hide (not $has)) "nccl" $values.nccl) -}}
{{- end -}}

{{/*
tf-cluster.homeEnv: a home that any user may write to. The user of the default security context has none in public images.
Takes: nothing.
Gives: YAML, a list.
*/}}
{{- define "tf-cluster.homeEnv" -}}
- name: HOME
  value: /tmp/trainyard
- name: KERAS_HOME
  value: /tmp/trainyard/keras
{{- end -}}
