{{/*
tf-cluster.address: where a task listens. The host is the one that an Indexed Job gives its pod, in the release's Service.
Takes: context, role, index.
Gives: host:port.
*/}}
{{- define "tf-cluster.address" -}}
{{- $domain := .context.Values.clusterDomain -}}
{{- $zone := ternary "svc" (printf "svc.%s" $domain) (eq $domain "") -}}
{{- printf "%s-%d.%s.%s.%s:%d" (include "tf-cluster.jobName" .) (int .index) (include "tf-cluster.fullname" .context) .context.Release.Namespace $zone (int .context.Values.service.port) -}}
{{- end -}}

{{/*
tf-cluster.spec: all tasks that the coordinator dials. An evaluator would not belong here: it starts no server.
Takes: the root context.
Gives: JSON on one line: {"chief":[...],"worker":[...],"ps":[...]}.
*/}}
{{- define "tf-cluster.spec" -}}
{
{{- range $place, $role := list "chief" "worker" "ps" -}}
  {{- /* Made once a role and then numbered, so that a thousand workers cost no thousand calls of the helpers. */ -}}
  {{- $first := include "tf-cluster.address" (dict "context" $ "role" $role "index" 0) -}}
  {{- $job := include "tf-cluster.jobName" (dict "context" $ "role" $role) -}}
  {{- $rest := trimPrefix (printf "%s-0" $job) $first -}}
  {{- ternary "" "," (eq $place 0) -}}{{- $role | quote -}}:[
  {{- range $index := until (include "tf-cluster.replicas" (dict "context" $ "role" $role) | int) -}}
    {{- ternary "" "," (eq $index 0) -}}"{{- $job -}}-{{- $index -}}{{- $rest -}}"
  {{- end -}}
  ]
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
tf-cluster.reserved: the variables that make up TF_CONFIG.
Takes: nothing.
Gives: JSON, a list of names.
*/}}
{{- define "tf-cluster.reserved" -}}["TASK_INDEX","CLUSTER","TF_CONFIG"]{{- end -}}

{{/*
tf-cluster.env: the variables of a training container, without the user's.
Takes: context, role.
Gives: YAML, a list.
*/}}
{{- define "tf-cluster.env" -}}
- name: TASK_INDEX
  valueFrom:
    fieldRef:
      apiVersion: v1
      fieldPath: metadata.annotations['batch.kubernetes.io/job-completion-index']
- name: CLUSTER
  valueFrom:
    configMapKeyRef:
      name: {{ include "tf-cluster.fullname" .context }}-cluster
      key: cluster
- name: TF_CONFIG
  value: {{ include "tf-cluster.config" .role | quote }}
{{ include "tf-cluster.homeEnv" . }}
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

{{/*
tf-cluster.sampleFlags: the flags of the sample program. What is null stays out, and the program's own default holds.
Takes: the root context.
Gives: JSON, a list.
*/}}
{{- define "tf-cluster.sampleFlags" -}}
{{- $sample := .Values.sample -}}
{{- $volumes := .Values.volumes -}}
{{- $folders := dict
      "dataDir" (ternary $volumes.data.mountPath nil $volumes.data.enabled)
      "checkpointDir" $volumes.checkpoints.mountPath
      "logDir" $volumes.logs.mountPath
      "modelDir" $volumes.models.mountPath -}}
{{- $flags := list -}}
{{- range $key := list "dataset" "dataDir" "epochs" "batchSize" "learningRate" "seed" "checkpointDir" "checkpointEvery" "logDir" "logEvery" "modelDir" "modelName" "peerTimeout" -}}
  {{- $value := index $sample $key -}}
  {{- if kindIs "invalid" $value -}}
    {{- $value = index $folders $key -}}
  {{- end -}}
  {{- if not (kindIs "invalid" $value) -}}
    {{- $flags = append $flags (printf "--%s=%s" (kebabcase $key) (include "common.values.text" $value)) -}}
  {{- end -}}
{{- end -}}
{{- toJson $flags -}}
{{- end -}}
