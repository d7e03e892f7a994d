{{/*
tf-cluster.count: a number and its noun.
Takes: number, noun (one of them; more take an "s").
Gives: such as "2 workers".
*/}}
{{- define "tf-cluster.count" -}}
{{- printf "%d %s%s" (int .number) .noun (ternary "" "s" (eq (int .number) 1)) -}}
{{- end -}}

{{/*
tf-cluster.notes.tasks: what the release consists of.
Takes: the root context.
Gives: such as "1 chief, 2 workers, 1 parameter server".
*/}}
{{- define "tf-cluster.notes.tasks" -}}
{{- $nouns := dict "ps" "parameter server" -}}
{{- $tasks := list -}}
{{- range $role := include "tf-cluster.roles" . | fromJsonArray -}}
  {{- $number := include "tf-cluster.replicas" (dict "context" $ "role" $role) | int -}}
  {{- $tasks = append $tasks (include "tf-cluster.count" (dict "number" $number "noun" (get $nouns $role | default $role))) -}}
{{- end -}}
{{- join ", " $tasks -}}
{{- end -}}

{{/*
tf-cluster.notes.resumption: where a program that starts again begins.
Takes: the root context.
Gives: words to follow what starts again.
*/}}
{{- define "tf-cluster.notes.resumption" -}}
{{- if eq (include "common.volumes.kind" .Values.volumes.checkpoints) "emptyDir" -}}
starts from the beginning: volumes.checkpoints.enabled is false
{{- else -}}
resumes from the newest checkpoint
{{- end -}}
{{- end -}}

{{/*
tf-cluster.notes.end: what becomes of the pods when the deciding role has ended well.
Takes: the root context; mode is "job".
Gives: words to follow "the pods".
*/}}
{{- define "tf-cluster.notes.end" -}}
{{- $waiting := include "tf-cluster.waiting" . | fromJsonArray | join ", " -}}
{{- if or (not $waiting) (eq .Values.runPolicy.cleanPodPolicy "Running") -}}
go to Completed
{{- else if eq .Values.runPolicy.cleanPodPolicy "All" -}}
go to Completed (those of {{ $waiting }} are removed)
{{- else -}}
go to Completed (those of {{ $waiting }} stay until helm uninstall)
{{- end -}}
{{- end -}}

{{/*
tf-cluster.notes.scaling: what `helm upgrade --set worker.replicas=N` does to running pods.
Takes: the root context.
Gives: text.
*/}}
{{- define "tf-cluster.notes.scaling" -}}
{{- $lead := include "tf-cluster.leadRole" . -}}
{{- if eq .Values.mode "session" -}}
Pods are added or removed at the highest index, and no other pod is touched. The client's list,
in the file `cluster`, follows within two minutes; another ps.replicas needs a client that starts anew.
{{- else if eq $lead "worker" -}}
All workers{{ if eq .Values.strategy "parameterServer" }} and parameter servers{{ end }} start again with the new list, and the training {{ include "tf-cluster.notes.resumption" . }}.
{{- else if eq .Values.run.onScale "keep" -}}
Running pods go on untouched (run.onScale is "keep"). New workers wait until the chief starts again for another reason;
workers that are taken away end at once, and the chief gives their work to the rest.
{{- else -}}
The chief starts again with the new list, no other pod is touched, and the training {{ include "tf-cluster.notes.resumption" . }}.
{{- end -}}
{{- end -}}

{{/*
tf-cluster.notes.place: where a volume's files are.
Takes: what tf-cluster.volume gives.
Gives: such as "the claim my-tf-cluster-models, in its folder my-team/run-1".
*/}}
{{- define "tf-cluster.notes.place" -}}
{{- $kind := include "common.volumes.kind" .volume -}}
{{- ternary (printf "the claim %s" (include "common.volumes.claimName" .)) $kind (eq $kind "claim") -}}
{{- with .volume.subPath -}}
{{ printf ", in its folder %s" . }}
{{- end -}}
{{- end -}}

{{/*
tf-cluster.notes.shared: the claims of the release that need a StorageClass which not every cluster has.
Takes: the root context.
Gives: a line; nothing where no claim asks for ReadWriteMany.
*/}}
{{- define "tf-cluster.notes.shared" -}}
{{- $shared := list -}}
{{- range $name := list "checkpoints" "logs" "models" -}}
  {{- $volume := include "tf-cluster.volume" (dict "context" $ "name" $name) | fromJson -}}
  {{- if gt (int $volume.pods) 0 -}}
    {{- $claim := include "common.volumes.claim" (merge (dict "context" $) $volume) | fromYaml -}}
    {{- if has "ReadWriteMany" (dig "spec" "accessModes" list $claim) -}}
      {{- $shared = append $shared $claim.metadata.name -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- with $shared -}}
Where pods stay Pending: a StorageClass with ReadWriteMany is needed by {{ ternary "the claim" "the claims" (eq (len .) 1) }} {{ join ", " . }}.
{{- end -}}
{{- end -}}
