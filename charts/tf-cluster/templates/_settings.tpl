{{/*
tf-cluster.defaults: the values that may never be absent, as in values.yaml (a test compares the two).
A user's null removes a default, and --reuse-values brings values without the newer keys; both then mean the default.
Takes: nothing.
Gives: YAML, a map.
*/}}
{{- define "tf-cluster.defaults" -}}
image: {repository: tensorflow/tensorflow, tag: "2.21.0"}
code: {source: sample, configMap: {name: "", mountPath: /opt/trainyard/code}}
sample: {dataset: auto, modelName: mnist, minAccuracy: 0.9}
chief: {terminationGracePeriodSeconds: 30}
worker: {replicas: 2, terminationGracePeriodSeconds: 5}
ps: {replicas: 1, terminationGracePeriodSeconds: 5}
volumes:
  checkpoints: {enabled: true, mountPath: /mnt/checkpoints, existingClaim: "", storageClass: "", size: 1Gi, accessModes: [ReadWriteOnce]}
  logs: {enabled: true, mountPath: /mnt/logs, existingClaim: "", storageClass: "", size: 1Gi, accessModes: [ReadWriteOnce]}
  models: {enabled: true, mountPath: /mnt/models, existingClaim: "", storageClass: "", size: 1Gi, accessModes: [ReadWriteOnce], keep: true}
  data: {enabled: false, mountPath: /mnt/data, existingClaim: ""}
runPolicy: {backoffLimit: 3}
waiter: {pollSeconds: 2, image: {}, resources: {}}
test: {timeoutSeconds: 120, resources: {}}
service: {port: 2222}
clusterDomain: cluster.local
serviceAccount: {create: true, name: "", annotations: {}}
rbac: {create: true}
global: {}
{{- end -}}

{{/*
tf-cluster.prepare: the first line of every template. After it, no value that a template reads can be a nil pointer.
Takes: the root context.
Gives: nothing.
*/}}
{{- define "tf-cluster.prepare" -}}
{{- include "common.values.fill" (dict "values" .Values "defaults" (include "tf-cluster.defaults" . | fromYaml)) -}}
{{- end -}}

{{/*
tf-cluster.budget: how long the name of a release's objects may be. It leaves room for "-worker-99999" in a host name (63),
and for "-evaluator" in the name of a StatefulSet (52), so that no later kind of role changes the names of today.
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
tf-cluster.jobName: the Job of a role.
Takes: context, role.
Gives: <fullname>-<role>.
*/}}
{{- define "tf-cluster.jobName" -}}
{{- printf "%s-%s" (include "tf-cluster.fullname" .context) .role -}}
{{- end -}}

{{/*
tf-cluster.serviceAccountName: who the pods are.
Takes: the root context.
Gives: a name.
*/}}
{{- define "tf-cluster.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "tf-cluster.fullname" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end -}}

{{/*
tf-cluster.replicas: how many tasks a role has.
Takes: context, role.
Gives: a number; 1 for the chief.
*/}}
{{- define "tf-cluster.replicas" -}}
{{- if eq .role "chief" -}}1{{- else -}}{{- index .context.Values .role "replicas" | int64 -}}{{- end -}}
{{- end -}}

{{/*
tf-cluster.role: a role's settings over those that all roles share.
Takes: context, role.
Gives: JSON, see common.pod.settings.
*/}}
{{- define "tf-cluster.role" -}}
{{- $keys := list "image" "command" "args" "env" "envFrom" "resources" "nodeSelector" "tolerations" "affinity" "topologySpreadConstraints" "priorityClassName" "podLabels" "podAnnotations" -}}
{{- include "common.pod.settings" (dict "values" .context.Values "role" .role "keys" $keys) -}}
{{- end -}}
