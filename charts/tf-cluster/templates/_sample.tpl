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
{{- $keys := list "dataset" "dataDir" "epochs" "batchSize" "learningRate" "seed" "checkpointDir" "checkpointEvery" "logDir" "logEvery" "modelDir" "modelName" "peerTimeout" -}}
{{- $flags := list -}}
{{- if eq $sample.program "train" -}}
  {{- $flags = append $flags (printf "--strategy=%s" (kebabcase .Values.strategy)) -}}
  {{- $keys = concat (get (dict "parameterServer" (list "updates") "multiWorkerMirrored" (list "collectives")) .Values.strategy | default list) $keys -}}
{{- else -}}
  {{- $flags = append $flags (printf "--replication=%s" (ternary "between-graph" "in-graph" (eq (include "tf-cluster.leadRole" .) "worker"))) -}}
{{- end -}}
{{- range $key := $keys -}}
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

{{/*
tf-cluster.program: what a training container runs.
Takes: context, settings (from tf-cluster.role).
Gives: JSON, {command, args}; nulls and empty lists leave it to the image.
*/}}
{{- define "tf-cluster.program" -}}
{{- $command := .settings.command -}}
{{- $args := .settings.args -}}
{{- $values := .context.Values -}}
{{- if eq $values.code.source "sample" -}}
  {{- $command = $command | default (list "python3" "-u" (printf "/opt/trainyard/mnist/%s.py" $values.sample.program)) -}}
  {{- if kindIs "invalid" $args -}}
    {{- $args = include "tf-cluster.sampleFlags" .context | fromJsonArray -}}
  {{- end -}}
{{- end -}}
{{- dict "command" $command "args" $args | toJson -}}
{{- end -}}
