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
- name: {{ .name | quote }}
{{- if .volume.enabled }}
  persistentVolumeClaim:
    claimName: {{ include "common.volumes.claimName" . | quote }}
    {{- if .readOnly }}
    readOnly: true
    {{- end }}
{{- else }}
  emptyDir: {}
{{- end }}
{{- end -}}

{{/*
common.volumes.claim: the PersistentVolumeClaim of a volume of the shorthand.
Takes: context (the root context), fullname, name, volume.
Gives: the object; nothing when the volume is off or the claim exists already.
storageClass "" takes global.storageClass, and when that is empty too the cluster's default; "-" asks for no class at all.
*/}}
{{- define "common.volumes.claim" -}}
{{- if and .volume.enabled (not .volume.existingClaim) -}}
{{- $class := .volume.storageClass | default .context.Values.global.storageClass -}}
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
  accessModes: {{- toYaml .volume.accessModes | nindent 4 }}
  {{- if $class }}
  storageClassName: {{ ternary "" $class (eq $class "-") | quote }}
  {{- end }}
  resources:
    requests:
      storage: {{ .volume.size | quote }}
{{- end -}}
{{- end -}}
