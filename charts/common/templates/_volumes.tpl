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
Takes: fullname, name, volume, readOnly (true or left out), as (its name in the pod, where that is another one).
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
  {{- $source = dict "csi" (merge $readOnly (omit .volume.csi "shared")) -}}
{{- else if eq $kind "hostPath" -}}
  {{- $source = dict "hostPath" (omit .volume.hostPath "shared") -}}
{{- end -}}
{{- toYaml (list (merge (dict "name" (.as | default .name)) $source)) -}}
{{- end -}}

{{/*
common.volumes.mount: where a volume of the shorthand appears in a container.
Takes: name, volume, readOnly (true or left out), as (its name in the pod, where that is another one).
Gives: YAML, a list of one volumeMount.
*/}}
{{- define "common.volumes.mount" -}}
{{- $mount := dict "name" (.as | default .name) "mountPath" .volume.mountPath -}}
{{- with .volume.subPath -}}
  {{- $_ := set $mount "subPath" . -}}
{{- end -}}
{{- if eq .readOnly true -}}
  {{- $_ := set $mount "readOnly" true -}}
{{- end -}}
{{- toYaml (list $mount) -}}
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
{{- range $key := concat $given (ternary (list "subPath") list (ne (.volume.subPath | default "") "")) -}}
  {{- if not $.volume.enabled -}}
    {{- $messages = append $messages (printf "%s.%s: %s would not be used, for %s.enabled is false; set it to true, or remove %s" $path $key (index $.volume $key | toJson) $path $key) -}}
  {{- end -}}
{{- end -}}
{{- $messages = append $messages (include "common.volumes.subPath" (dict "path" (printf "%s.subPath" $path) "subPath" .volume.subPath)) -}}
{{- toJson $messages -}}
{{- end -}}

{{/*
common.volumes.subPath: Kubernetes takes no path that may lead out of a volume.
Takes: path (the value's name in messages), subPath.
Gives: a message, or nothing.
*/}}
{{- define "common.volumes.subPath" -}}
{{- if has ".." (splitList "/" (.subPath | default "")) -}}
{{ .path }}: {{ .subPath | quote }} may lead out of the volume, and Kubernetes takes no such path; name a folder of the volume, without ".."
{{- end -}}
{{- end -}}

{{/*
common.volumes.checkShared: do all pods that mount a volume see the same files? A folder of the node is another one on each node,
and an inline CSI volume another one in each pod, unless a share is behind it, and nobody but the user can know.
Takes: name, volume, pods (how many mount it).
Gives: JSON, a list of messages.
*/}}
{{- define "common.volumes.checkShared" -}}
{{- $kind := include "common.volumes.kind" .volume -}}
{{- $apart := dict
      "hostPath" (list "each node has a folder of its own there" "all nodes mount one share there")
      "csi" (list "an inline CSI volume may be another one in each pod" "the driver mounts one share in all pods") -}}
{{- $messages := list -}}
{{- range $of, $said := $apart -}}
  {{- if and (eq $kind $of) (gt (int $.pods) 1) (ne (index $.volume $of "shared") true) -}}
    {{- $messages = append $messages (printf "volumes.%s.%s: %d pods need the same files, and %s; set volumes.%s.%s.shared to true where %s, or take a claim with ReadWriteMany, or nfs" $.name $of (int $.pods) (first $said) $.name $of (last $said)) -}}
  {{- end -}}
{{- end -}}
{{- toJson $messages -}}
{{- end -}}

{{/*
common.volumes.checkModes: can as many pods mount a claim that the cluster has? What it asks for counts, and what the volume that
it got can do besides.
Takes: context (the root context), path (the value that wants it), claim (its name), pods (how many mount it), readOnly (true:
none of them writes), remedy (ends the message).
Gives: JSON, a list of messages.
*/}}
{{- define "common.volumes.checkModes" -}}
{{- $claim := .claim -}}
{{- $made := lookup "v1" "PersistentVolumeClaim" .context.Release.Namespace $claim -}}
{{- $has := concat (dig "spec" "accessModes" list $made) (dig "status" "accessModes" list $made) | uniq -}}
{{- $needs := ternary (list "ReadOnlyMany" "ReadWriteMany") (list "ReadWriteMany") (eq .readOnly true) -}}
{{- $unfit := true -}}
{{- range $mode := $needs -}}
  {{- if has $mode $has -}}
    {{- $unfit = false -}}
  {{- end -}}
{{- end -}}
{{- $messages := list -}}
{{- if and $made $unfit (gt (int .pods) 1) -}}
  {{- $messages = append $messages (printf "%s: %d pods would mount the claim %s, which exists with %s, and that can never change; pods of several nodes need %s: %s" .path (int .pods) $claim (join ", " $has) (join " or " $needs) .remedy) -}}
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
  {{- else -}}
    {{- $remedy := printf "name another claim with %s.existingClaim, or fewer roles with %s.roles, or remove the claim after you have saved what is in it" $path $path -}}
    {{- $messages = concat $messages (include "common.volumes.checkModes" (dict "context" .context "path" $path "claim" $claim "pods" .pods "remedy" $remedy) | fromJsonArray) -}}
  {{- end -}}
{{- end -}}
{{- toJson $messages -}}
{{- end -}}
