{{/*
common.code.volume: the volume with the user's program.
Takes: code (source, configMap.name, claim.name), configMap (the name of the chart's own, for the sources sample and inline).
Gives: YAML, a list of one volume; an empty list when the program is in the image.
*/}}
{{- define "common.code.volume" -}}
{{- $source := .code.source -}}
{{- if eq $source "image" -}}
[]
{{- else if eq $source "git" -}}
- name: code
  emptyDir: {}
{{- else if eq $source "claim" -}}
- name: code
  persistentVolumeClaim:
    claimName: {{ .code.claim.name | quote }}
    readOnly: true
{{- else -}}
- name: code
  configMap:
    name: {{ ternary .code.configMap.name .configMap (eq $source "configMap") | quote }}
{{- end -}}
{{- end -}}

{{/*
common.code.mount: where the user's program appears.
Takes: code (source, claim.subPath), mountPath (empty when the program is in the image).
Gives: YAML, a list of one volumeMount, or an empty list.
*/}}
{{- define "common.code.mount" -}}
{{- if eq .mountPath "" -}}
[]
{{- else -}}
- name: code
  mountPath: {{ .mountPath | quote }}
  readOnly: true
  {{- if and (eq .code.source "claim") .code.claim.subPath }}
  subPath: {{ .code.claim.subPath | quote }}
  {{- end }}
{{- end -}}
{{- end -}}

{{/*
common.code.fetch: the init container that clones a git repository. Credentials come from a Secret by way of variables and a
helper of git's own, so that they are in no argument, no log and no file.
Takes: code (git: repository, revision, credentialsSecret, image, resources), global, securityContext (the user's).
Gives: YAML, a list of one container; an empty list for other sources.
*/}}
{{- define "common.code.fetch" -}}
{{- if ne .code.source "git" -}}
[]
{{- else -}}
{{- $git := .code.git -}}
- name: fetch-code
  {{- include "common.images.container" (dict "image" $git.image "global" .global) | nindent 2 }}
  command:
    - /bin/sh
    - -euc
    - |
      # The folder may hold what an interrupted start has left.
      find /code -mindepth 1 -delete
      git init --quiet /code
      if git -C /code fetch --depth 1 -- "$REPOSITORY" "$REVISION"; then
        git -C /code checkout --quiet FETCH_HEAD
      else
        echo "the server gives no '$REVISION' by that name: fetching everything to look for it"
        git -C /code fetch --tags -- "$REPOSITORY" '+refs/heads/*:refs/remotes/origin/*'
        git -C /code checkout --quiet "$REVISION"
      fi
      git -C /code log -1 --format='fetched %H'
  env:
    - name: REPOSITORY
      value: {{ $git.repository | quote }}
    - name: REVISION
      value: {{ $git.revision | default "HEAD" | quote }}
    # The volume's top folder belongs to root, which git takes for somebody else's.
    - name: GIT_CONFIG_COUNT
      value: "2"
    - name: GIT_CONFIG_KEY_0
      value: safe.directory
    - name: GIT_CONFIG_VALUE_0
      value: /code
    - name: GIT_CONFIG_KEY_1
      value: credential.helper
    - name: GIT_CONFIG_VALUE_1
      value: '!f() { echo "username=$GIT_USERNAME"; echo "password=$GIT_PASSWORD"; }; f'
    - name: HOME
      value: /tmp
    - name: GIT_TERMINAL_PROMPT
      value: "0"
    {{- range $variable, $key := dict "GIT_USERNAME" "username" "GIT_PASSWORD" "password" }}
    {{- if $git.credentialsSecret }}
    - name: {{ $variable }}
      valueFrom:
        secretKeyRef:
          name: {{ $git.credentialsSecret | quote }}
          key: {{ $key }}
    {{- end }}
    {{- end }}
  resources: {{- include "common.resources.merged" (dict "layers" (list $git.resources)) | fromJson | toYaml | nindent 4 }}
  securityContext: {{- include "common.security.container" (dict "user" .securityContext) | nindent 4 }}
  volumeMounts:
    - name: code
      mountPath: /code
{{- end -}}
{{- end -}}

{{/*
common.code.check: does the source have what it needs, and is nothing given that would not be used?
Takes: code (source, inline, configMap.name, claim.name, git.repository).
Gives: JSON, a list of messages.
*/}}
{{- define "common.code.check" -}}
{{- $code := .code -}}
{{- $messages := list -}}
{{- $needs := dict
      "inline" (dict "key" "inline" "given" $code.inline "say" "write the program's files there")
      "configMap" (dict "key" "configMap.name" "given" $code.configMap.name "say" "name the ConfigMap that holds the program")
      "claim" (dict "key" "claim.name" "given" $code.claim.name "say" "name the claim that holds the program")
      "git" (dict "key" "git.repository" "given" $code.git.repository "say" "name the repository that holds the program") -}}
{{- range $source, $need := $needs -}}
  {{- if and (eq $code.source $source) (not $need.given) -}}
    {{- $messages = append $messages (printf "code.%s: is empty, and code.source is %q; %s" $need.key $source $need.say) -}}
  {{- else if and (ne $code.source $source) $need.given -}}
    {{- $messages = append $messages (printf "code.%s: it would not be used, for code.source is %q; set code.source to %q, or remove it" $need.key $code.source $source) -}}
  {{- end -}}
{{- end -}}
{{- toJson $messages -}}
{{- end -}}
