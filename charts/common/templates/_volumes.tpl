{{/*
common.volumes.kind: what a volume of the shorthand is.
Takes: a volume (its block).
Gives: nfs, csi, hostPath, claim, or emptyDir for a volume that is off.
*/}}
{{- define "common.volumes.kind" -}}
{{- $kind := ternary "claim" "emptyDir" (eq .enabled true) -}}
{{- range $other := list "nfs" "csi" "hostPath" -}}
  {{- if and $.enabled (index $ $other) -}}
    {{- $kind = $other -}}
  {{- end -}}
{{- end -}}
{{- $kind -}}
{{- end -}}

{{/*
common.volumes.claimName: the claim behind a volume of the shorthand.
Takes: fullname, name (the volume's name), volume (its block).
Gives: existingClaim, or <fullname>-<name>.
*/}}
{{- define "common.volumes.claimName" -}}
{{- .volume.existingClaim | default (printf "%s-%s" .fullname .name) -}}
{{- end -}}

{{/*
common.volumes.source: a pod's volume from the shorthand. A volume that is turned off is an emptyDir: the path exists all the
same, and what is written there goes with the pod.
Takes: fullname, name, volume, readOnly (true or left out).
Gives: YAML, a list of one volume.
*/}}
{{- define "common.volumes.source" -}}
{{- $kind := include "common.volumes.kind" .volume -}}
{{- $readOnly := ternary (dict "readOnly" true) dict (eq .readOnly true) -}}
{{- $source := dict "emptyDir" dict -}}
{{- if eq $kind "claim" -}}
  {{- $source = dict "persistentVolumeClaim" (merge (dict "claimName" (include "common.volumes.claimName" .)) $readOnly) -}}
{{- else if eq $kind "nfs" -}}
  {{- $source = dict "nfs" (merge $readOnly .volume.nfs) -}}
{{- else if eq $kind "csi" -}}
  {{- $source = dict "csi" (merge $readOnly .volume.csi) -}}
{{- else if eq $kind "hostPath" -}}
  {{- $source = dict "hostPath" .volume.hostPath -}}
{{- end -}}
{{- toYaml (list (merge (dict "name" .name) $source)) -}}
{{- end -}}

{{/*
common.volumes.claim: the PersistentVolumeClaim of a volume of the shorthand.
Takes: context (the root context), fullname, name, volume, shared (true: several pods mount it).
Gives: the object; nothing when the volume is off, something else than a claim, or a claim that exists already.
storageClass "" takes global.storageClass, and when that is empty too the cluster's default; "-" asks for no class at all.
accessModes that are not given are those of the claim where the release has made it before, for they can never change.
*/}}
{{- define "common.volumes.claim" -}}
{{- if and (eq (include "common.volumes.kind" .volume) "claim") (not .volume.existingClaim) -}}
{{- $class := .volume.storageClass | default .context.Values.global.storageClass -}}
{{- $made := lookup "v1" "PersistentVolumeClaim" .context.Release.Namespace (include "common.volumes.claimName" .) -}}
{{- $modes := .volume.accessModes | default (dig "spec" "accessModes" (list (ternary "ReadWriteMany" "ReadWriteOnce" (eq .shared true))) $made) -}}
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: {{ include "common.volumes.claimName" . | quote }}
  namespace: {{ .context.Release.Namespace | quote }}
  labels: {{- include "common.labels.object" (dict "context" .context "component" .name) | nindent 4 }}
  {{- if .volume.keep }}
  annotations:
    helm.sh/resource-policy: keep
  {{- end }}
spec:
  accessModes: {{- toYaml $modes | nindent 4 }}
  {{- if $class }}
  storageClassName: {{ ternary "" $class (eq $class "-") | quote }}
  {{- end }}
  resources:
    requests:
      storage: {{ .volume.size | quote }}
{{- end -}}
{{- end -}}

{{/*
common.volumes.given: which of the things that a volume can be its block names.
Takes: a volume (its block).
Gives: JSON, a list of keys.
*/}}
{{- define "common.volumes.given" -}}
{{- $given := list -}}
{{- range $key := list "existingClaim" "nfs" "csi" "hostPath" -}}
  {{- if index $ $key -}}
    {{- $given = append $given $key -}}
  {{- end -}}
{{- end -}}
{{- toJson $given -}}
{{- end -}}

{{/*
common.volumes.lost: would this upgrade remove a claim that the release has made, with what is in it? Helm removes what it does
not find in the new manifest.
Takes: context (the root context), fullname, name, volume, pods (how many mount it).
Gives: a message, or nothing.
*/}}
{{- define "common.volumes.lost" -}}
{{- $claim := printf "%s-%s" .fullname .name -}}
{{- $made := lookup "v1" "PersistentVolumeClaim" .context.Release.Namespace $claim -}}
{{- $annotations := dig "metadata" "annotations" dict $made -}}
{{- $ours := eq (dig "meta.helm.sh/release-name" "" $annotations) .context.Release.Name -}}
{{- $kept := eq (dig "helm.sh/resource-policy" "" $annotations) "keep" -}}
{{- $stays := and (gt (int .pods) 0) (eq (include "common.volumes.kind" .volume) "claim") (not .volume.existingClaim) -}}
{{- if and $ours (not $kept) (not $stays) -}}
volumes.{{ .name }}: these values would make Helm remove the claim {{ $claim }} with what is in it. Keep it: first helm upgrade with volumes.{{ .name }}.keep=true and nothing else; or, when it may go, kubectl annotate -n {{ .context.Release.Namespace }} pvc/{{ $claim }} meta.helm.sh/release-name- and remove it yourself
{{- end -}}
{{- end -}}

{{/*
common.volumes.check: a volume is one thing, and what is given is used.
Takes: name, volume.
Gives: JSON, a list of messages.
*/}}
{{- define "common.volumes.check" -}}
{{- $path := printf "volumes.%s" .name -}}
{{- $messages := list -}}
{{- $given := include "common.volumes.given" .volume | fromJsonArray -}}
{{- if gt (len $given) 1 -}}
  {{- $messages = append $messages (printf "%s: it can be only one of %s; remove the others" $path (join ", " $given)) -}}
{{- end -}}
{{- range $key := $given -}}
  {{- if not $.volume.enabled -}}
    {{- $messages = append $messages (printf "%s.%s: %s would not be used, for %s.enabled is false; set it to true, or remove %s" $path $key (index $.volume $key | toJson) $path $key) -}}
  {{- end -}}
{{- end -}}
{{- toJson $messages -}}
{{- end -}}

{{/*
common.volumes.checkClaim: can the claim that the chart would make be used as it is to be?
Takes: context (the root context), fullname, name, volume, defaults (the volume's default values), pods (how many mount it).
Gives: JSON, a list of messages.
*/}}
{{- define "common.volumes.checkClaim" -}}
{{- $volume := .volume -}}
{{- $path := printf "volumes.%s" .name -}}
{{- $messages := list -}}
{{- range $key := include "common.volumes.given" $volume | fromJsonArray -}}
  {{- range $of := list "size" "storageClass" -}}
    {{- if ne (index $volume $of) (index $.defaults $of) -}}
      {{- $messages = append $messages (printf "%s.%s: %q would not be used, for no claim is made beside %s; remove one of the two" $path $of (index $volume $of) $key) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- if and (gt (int .pods) 0) (eq (include "common.volumes.kind" $volume) "claim") (not $volume.existingClaim) -}}
  {{- $claim := include "common.volumes.claimName" . -}}
  {{- $made := lookup "v1" "PersistentVolumeClaim" .context.Release.Namespace $claim -}}
  {{- $has := dig "spec" "accessModes" list $made -}}
  {{- $class := dig "spec" "storageClassName" "" $made -}}
  {{- if and $made $volume.accessModes (ne (sortAlpha $volume.accessModes | join ", ") (sortAlpha $has | join ", ")) -}}
    {{- $messages = append $messages (printf "%s.accessModes: the claim %s exists with %s, and that can never change; leave accessModes out, or name another claim with existingClaim" $path $claim (join ", " $has)) -}}
  {{- end -}}
  {{- if and $made $volume.storageClass (ne (trimPrefix "-" $volume.storageClass) $class) -}}
    {{- $messages = append $messages (printf "%s.storageClass: the claim %s exists with %q, and that can never change; leave it out, or name another claim with existingClaim" $path $claim $class) -}}
  {{- end -}}
  {{- if le (int .pods) 1 -}}
    {{- /* Any mode will do for one pod. */ -}}
  {{- else if and $volume.accessModes (not (has "ReadWriteMany" $volume.accessModes)) -}}
    {{- $messages = append $messages (printf "%s.accessModes: %d pods mount the volume, and with %s only pods of one node can; leave accessModes out or set [ReadWriteMany], with a storageClass that has it, or name fewer roles in %s.roles" $path (int .pods) (join ", " $volume.accessModes) $path) -}}
  {{- else if and $made (not (has "ReadWriteMany" $has)) -}}
    {{- $messages = append $messages (printf "%s: %d pods would mount the claim %s, which exists with %s, and that can never change; name another with existingClaim, or remove the claim after you have saved what is in it" $path (int .pods) $claim (join ", " $has)) -}}
  {{- end -}}
{{- end -}}
{{- toJson $messages -}}
{{- end -}}
