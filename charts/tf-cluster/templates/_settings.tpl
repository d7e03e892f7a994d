{{/*
tf-cluster.defaults: the values that may never be absent, as in values.yaml (a test compares the two).
A user's null removes a default, and --reuse-values brings values without the newer keys; both then mean the default.
Takes: nothing.
Gives: YAML, a map.
*/}}
{{- define "tf-cluster.defaults" -}}
mode: job
strategy: parameterServer
image: {repository: tensorflow/tensorflow, tag: "2.21.0"}
code:
  source: sample
  mountPath: /opt/trainyard/code
  inline: {}
  configMap: {name: ""}
  claim: {name: "", subPath: ""}
  git: {repository: "", revision: "", credentialsSecret: "", image: {repository: alpine/git, tag: "2.49.1"}}
sample: {program: train, updates: async, collectives: auto, dataset: auto, modelName: mnist, minAccuracy: 0.9}
tfConfig: true
chief: {terminationGracePeriodSeconds: 30, gpu: {count: 0}}
worker: {replicas: 2, gpu: {count: 0}}
ps: {replicas: 1, terminationGracePeriodSeconds: 5, gpu: {count: 0}}
evaluator: {replicas: 0, terminationGracePeriodSeconds: 60, gpu: {count: 0}}
gpu: {resource: nvidia.com/gpu, types: [], typeLabel: nvidia.com/gpu.product, tolerate: true, hide: true, runtimeClassName: ""}
sharedMemory: {size: 1Gi}
tpu: {accelerator: "", topology: "", chips: 4}
topology: {policy: "", key: kubernetes.io/hostname}
hostNetwork: false
queue: ""
podGroup: {create: "", name: "", queue: ""}
volumes:
  checkpoints: {enabled: true, mountPath: /mnt/checkpoints, existingClaim: "", storageClass: "", size: 1Gi}
  logs: {enabled: true, mountPath: /mnt/logs, existingClaim: "", storageClass: "", size: 1Gi}
  models: {enabled: true, mountPath: /mnt/models, existingClaim: "", storageClass: "", size: 1Gi, keep: true}
  data: {enabled: false, mountPath: /mnt/data, existingClaim: ""}
run: {id: "", onChange: restart, onScale: restart}
success: {}
runPolicy: {backoffLimit: 3, exitCodes: {permanent: [2], retryable: [75]}, startDeadlineSeconds: 600, suspend: false, cleanPodPolicy: Running}
waiter: {method: api, pollSeconds: 2, image: {}, resources: {}}
test: {timeoutSeconds: 120, resources: {}}
service: {port: 2222}
networkPolicy: {enabled: true, egress: {restricted: false, apiServerPorts: [443, 6443]}}
clusterDomain: cluster.local
serviceAccount: {create: true, name: "", annotations: {}}
rbac: {create: true}
global: {}
{{- end -}}

{{/*
tf-cluster.blocks: what a whole block that is absent means, as in values.yaml (a test compares the two). In a block that is there,
null takes a key away.
Takes: nothing.
Gives: YAML, a map.
*/}}
{{- define "tf-cluster.blocks" -}}
podSecurityContext: {runAsUser: 1000, runAsGroup: 1000, fsGroup: 1000, fsGroupChangePolicy: OnRootMismatch}
resources: {requests: {cpu: 250m, memory: 1Gi}, limits: {cpu: "2", memory: 2Gi}}
code: {git: {resources: {requests: {cpu: 10m, memory: 64Mi}, limits: {cpu: "1", memory: 512Mi}}}}
waiter: {resources: {requests: {cpu: 10m, memory: 32Mi}, limits: {cpu: 500m, memory: 128Mi}}}
{{- end -}}

{{/*
tf-cluster.prepare: the first line of every template. After it, no value that a template reads can be a nil pointer, and
.Values.run.suffixes holds what tf-cluster.suffixes gives: it costs a render of every pod, so it is made once.
Takes: the root context.
Gives: nothing.
*/}}
{{- define "tf-cluster.prepare" -}}
{{- if not (hasKey (.Values.run | default dict) "suffixes") -}}
  {{- include "common.values.fillBlocks" (dict "values" .Values "defaults" (include "tf-cluster.blocks" . | fromYaml)) -}}
  {{- include "common.values.fill" (dict "values" .Values "defaults" (include "tf-cluster.defaults" . | fromYaml)) -}}
  {{- $_ := set .Values.run "suffixes" (include "tf-cluster.suffixes" . | fromJson) -}}
{{- end -}}
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
tf-cluster.gpus: how many GPUs each task of a role has.
Takes: context, role.
Gives: a number.
*/}}
{{- define "tf-cluster.gpus" -}}
{{- index .context.Values .role "gpu" "count" | int64 -}}
{{- end -}}

{{/*
tf-cluster.ownSettings: a role's settings over those that all roles share.
Takes: context, role.
Gives: JSON, see common.pod.settings.
*/}}
{{- define "tf-cluster.ownSettings" -}}
{{- $values := .context.Values -}}
{{- $keys := list "image" "command" "args" "env" "envFrom" "resources" "nodeSelector" "tolerations" "affinity" "topologySpreadConstraints" "priorityClassName" "podLabels" "podAnnotations" -}}
{{- $settings := include "common.pod.settings" (dict "values" $values "role" .role "keys" $keys) | fromJson -}}
{{- $_ := set $settings "schedulerName" $values.schedulerName -}}
{{- toJson $settings -}}
{{- end -}}

{{/*
tf-cluster.role: a role's settings with what GPUs, TPUs and wishes about the place add.
Takes: context, role.
Gives: JSON, as tf-cluster.ownSettings.
*/}}
{{- define "tf-cluster.role" -}}
{{- $values := .context.Values -}}
{{- $settings := include "tf-cluster.ownSettings" . | fromJson -}}
{{- $types := index $values .role "gpu" "types" -}}
{{- $types = ternary $values.gpu.types $types (kindIs "invalid" $types) -}}
{{- include "common.gpu.apply" (dict "settings" $settings "count" (include "tf-cluster.gpus" .) "types" $types "gpu" $values.gpu) -}}
{{- if and (eq $values.strategy "tpu") (eq .role "worker") -}}
  {{- include "tf-cluster.tpu.apply" (dict "settings" $settings "tpu" $values.tpu) -}}
{{- end -}}
{{- $ofRole := include "common.labels.selector" (dict "context" .context "component" .role) | fromYaml -}}
{{- $ofAll := include "tf-cluster.memberSelector" .context | fromYaml -}}
{{- include "common.affinity.topology" (dict "settings" $settings "topology" $values.topology "role" $ofRole "all" $ofAll) -}}
{{- toJson $settings -}}
{{- end -}}

{{/*
tf-cluster.tpu.apply: what makes a worker a host of a TPU slice on Google Kubernetes Engine.
Takes: settings (changed in place), tpu (accelerator, topology, chips).
Gives: nothing.
*/}}
{{- define "tf-cluster.tpu.apply" -}}
{{- $chips := dict "google.com/tpu" (int64 .tpu.chips) -}}
{{- $_ := set .settings "resources" (merge (dict "requests" $chips "limits" (deepCopy $chips)) (.settings.resources | default dict)) -}}
{{- $labels := dict "cloud.google.com/gke-tpu-accelerator" .tpu.accelerator "cloud.google.com/gke-tpu-topology" .tpu.topology -}}
{{- $_ := set .settings "nodeSelector" (merge $labels (.settings.nodeSelector | default dict)) -}}
{{- end -}}
