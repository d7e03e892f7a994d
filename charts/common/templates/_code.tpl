{{/*
common.code.volume: the volume with the user's program.
Takes: code (source, configMap.name, claim.name), configMap (the name of the chart's own, for the sources sample and inline), as
(the name of a claim's volume in the pod), readOnly (false where others of the pod write to that claim).
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
- name: {{ .as | quote }}
  persistentVolumeClaim:
    claimName: {{ .code.claim.name | quote }}
    {{- if .readOnly }}
    readOnly: true
    {{- end }}
{{- else -}}
- name: code
  configMap:
    name: {{ ternary .code.configMap.name .configMap (eq $source "configMap") | quote }}
{{- end -}}
{{- end -}}

{{/*
common.code.mount: where the user's program appears.
Takes: code (source, claim.subPath), mountPath (empty when the program is in the image), as (the volume's name in the pod).
Gives: YAML, a list of one volumeMount, or an empty list.
*/}}
{{- define "common.code.mount" -}}
{{- if eq .mountPath "" -}}
[]
{{- else -}}
- name: {{ .as | quote }}
  mountPath: {{ .mountPath | quote }}
  readOnly: true
  {{- if and (eq .code.source "claim") .code.claim.subPath }}
  subPath: {{ .code.claim.subPath | quote }}
  {{- end }}
{{- end -}}
{{- end -}}

{{/*
common.code.gitEnv: the variables of the container that clones, the user's last.
Takes: git (repository, revision, credentialsSecret, env).
Gives: YAML, a list.
*/}}
{{- define "common.code.gitEnv" -}}
{{- $env := list
      (dict "name" "REPOSITORY" "value" .repository)
      (dict "name" "REVISION" "value" (.revision | default "HEAD")) -}}
{{- /* The volume's top folder belongs to root, which git takes for somebody else's. */ -}}
{{- $helper := "!f() { echo \"username=$GIT_USERNAME\"; echo \"password=$GIT_PASSWORD\"; }; f" -}}
{{- $config := list (list "safe.directory" "/code") (list "credential.helper" $helper) -}}
{{- $env = append $env (dict "name" "GIT_CONFIG_COUNT" "value" (len $config)) -}}
{{- range $number, $setting := $config -}}
  {{- $env = append $env (dict "name" (printf "GIT_CONFIG_KEY_%d" $number) "value" (first $setting)) -}}
  {{- $env = append $env (dict "name" (printf "GIT_CONFIG_VALUE_%d" $number) "value" (last $setting)) -}}
{{- end -}}
{{- $env = concat $env (list (dict "name" "HOME" "value" "/tmp") (dict "name" "GIT_TERMINAL_PROMPT" "value" "0")) -}}
{{- if .credentialsSecret -}}
  {{- range $key := list "password" "username" -}}
    {{- $from := dict "secretKeyRef" (dict "name" $.credentialsSecret "key" $key) -}}
    {{- $env = append $env (dict "name" (printf "GIT_%s" (upper $key)) "valueFrom" $from) -}}
  {{- end -}}
{{- end -}}
{{- include "common.env.list" (dict "lists" (list $env .env)) -}}
{{- end -}}

{{/*
common.code.fetch: the init container that clones a git repository. Credentials come from a Secret by way of variables and a
helper of git's own, so that they are in no argument, no log and no file.
Takes: code (git: repository, revision, credentialsSecret, env, extraVolumeMounts, image, resources), global, securityContext
(the user's).
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
  env: {{- include "common.code.gitEnv" $git | nindent 4 }}
  resources: {{- include "common.resources.merged" (dict "layers" (list $git.resources)) | fromJson | toYaml | nindent 4 }}
  securityContext: {{- include "common.security.container" (dict "user" .securityContext) | nindent 4 }}
  volumeMounts:
    - name: code
      mountPath: /code
    {{- with $git.extraVolumeMounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}
{{- end -}}

{{/*
common.code.check: does the source have what it needs, and is nothing given that would not be used?
Takes: code (source, inline, configMap.name, claim.name, claim.subPath, git.repository, git.env).
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
{{- if and $code.git.repository (not (regexMatch "^(https?|git|file)://" $code.git.repository)) -}}
  {{- $messages = append $messages (printf "code.git.repository: %q is no address that begins with https://, and SSH is not supported; give the repository's https address, and for a private one name a Secret with a token in code.git.credentialsSecret" $code.git.repository) -}}
{{- end -}}
{{- $reserved := list "REPOSITORY" "REVISION" "GIT_CONFIG_COUNT" "GIT_CONFIG_KEY_0" "GIT_CONFIG_VALUE_0" "GIT_CONFIG_KEY_1" "GIT_CONFIG_VALUE_1" "GIT_USERNAME" "GIT_PASSWORD" -}}
{{- $messages = concat $messages (include "common.env.reserved" (dict "env" $code.git.env "path" "code.git.env" "reserved" $reserved "why" "the clone is told by it what to fetch, and as whom") | fromJsonArray) -}}
{{- $messages = append $messages (include "common.volumes.subPath" (dict "path" "code.claim.subPath" "subPath" $code.claim.subPath)) -}}
{{- toJson $messages -}}
{{- end -}}
