{{/*
common.pod.settings: one role's settings, its own over those that all roles share.
Takes: values (.Values), role (its name and the key of its block), keys (the list of settings that both levels know).
Gives: JSON, a map of these keys and of all else in the role's block. Maps merge, `env` stays two lists (`env` and `roleEnv`,
for common.env.list), null in podLabels and podAnnotations stays, to take away what the chart adds, every other list and scalar of the role replaces the common one unless it is null.
*/}}
{{- define "common.pod.settings" -}}
{{- $own := index .values .role -}}
{{- $settings := deepCopy (omit $own "env") -}}
{{- range $key := .keys -}}
  {{- $keepNull := has $key (list "podLabels" "podAnnotations") -}}
  {{- $shared := dict -}}
  {{- include "common.values.overlay" (dict "base" $shared "over" (dict "it" (index $.values $key)) "keepNull" $keepNull) -}}
  {{- $mine := index $own $key -}}
  {{- if eq $key "env" -}}
    {{- $_ := set $settings "env" ($shared.it | default list) -}}
    {{- $_ := set $settings "roleEnv" ($mine | default list) -}}
  {{- else if eq $key "resources" -}}
    {{- $_ := set $settings $key (include "common.resources.merged" (dict "layers" (list $shared.it $mine)) | fromJson) -}}
  {{- else if kindIs "invalid" $mine -}}
    {{- $_ := set $settings $key $shared.it -}}
  {{- else if and (kindIs "map" $mine) (kindIs "map" $shared.it) -}}
    {{- include (ternary "common.images.overlay" "common.values.overlay" (eq $key "image")) (dict "base" $shared.it "over" $mine "keepNull" $keepNull) -}}
    {{- $_ := set $settings $key $shared.it -}}
  {{- end -}}
{{- end -}}
{{- toJson $settings -}}
{{- end -}}

{{/*
common.pod.placement: where a pod may run and how it ranks.
Takes: a role's settings: nodeSelector, tolerations, affinity, topologySpreadConstraints, priorityClassName, schedulerName.
Gives: YAML lines of a pod spec; nothing for what is empty.
*/}}
{{- define "common.pod.placement" -}}
{{- $spec := dict -}}
{{- range $key := list "nodeSelector" "tolerations" "affinity" "topologySpreadConstraints" "priorityClassName" "schedulerName" -}}
  {{- with index $ $key -}}
    {{- $_ := set $spec $key . -}}
  {{- end -}}
{{- end -}}
{{- with $spec -}}
{{- toYaml . -}}
{{- end -}}
{{- end -}}

{{/*
common.pod.apiAccess: a volume that lets one container speak to the API server. The pod itself mounts no token, so no other
container of it has one. The kubelet renews the token.
Takes: the volume's name.
Gives: YAML, a list of one volume.
*/}}
{{- define "common.pod.apiAccess" -}}
- name: {{ . | quote }}
  projected:
    defaultMode: 0444
    sources:
      - serviceAccountToken:
          path: token
          expirationSeconds: 3607
      - configMap:
          name: kube-root-ca.crt
          items:
            - key: ca.crt
              path: ca.crt
      - downwardAPI:
          items:
            - path: namespace
              fieldRef:
                apiVersion: v1
                fieldPath: metadata.namespace
{{- end -}}

{{/*
common.pod.apiAccessMount: the place where every client library looks for it.
Takes: the volume's name.
Gives: YAML, a list of one volumeMount.
*/}}
{{- define "common.pod.apiAccessMount" -}}
- name: {{ . | quote }}
  mountPath: /var/run/secrets/kubernetes.io/serviceaccount
  readOnly: true
{{- end -}}
