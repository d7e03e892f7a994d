{{/*
common.images.reference: the full name of an image.
Takes: image (registry, repository, tag, digest), global (.Values.global: its imageRegistry takes the place of the registry).
Gives: [registry/]repository[:tag][@digest], quoted as a whole, so that a tag of digits stays text. A digest alone decides;
the tag then is for the reader.
*/}}
{{- define "common.images.reference" -}}
{{- $registry := (.global).imageRegistry | default .image.registry | default "" | trimSuffix "/" -}}
{{- $name := ternary .image.repository (printf "%s/%s" $registry .image.repository) (eq $registry "") -}}
{{- with .image.tag -}}
  {{- $name = printf "%s:%s" $name . -}}
{{- end -}}
{{- with .image.digest -}}
  {{- $name = printf "%s@%s" $name . -}}
{{- end -}}
{{- $name | quote -}}
{{- end -}}

{{/*
common.images.container: the image of a container, and when the node fetches it.
Takes: image, global (as in common.images.reference).
Gives: YAML lines of a container.
*/}}
{{- define "common.images.container" -}}
image: {{ include "common.images.reference" . }}
{{- with .image.pullPolicy }}
imagePullPolicy: {{ . }}
{{- end }}
{{- end -}}

{{/*
common.images.overlay: lay a role's image over the common one.
Takes: base (an image, changed in place), over (an image or nothing).
Gives: nothing. A digest of the base goes when `over` names another repository or tag: it would win and keep the old image.
*/}}
{{- define "common.images.overlay" -}}
{{- if and (or (.over).repository (.over).tag) (not (.over).digest) -}}
  {{- $_ := unset .base "digest" -}}
{{- end -}}
{{- include "common.values.overlay" . -}}
{{- end -}}

{{/*
common.images.check: does a repository begin with a registry's host? The registry would stand before it once more, and
global.imageRegistry could not take its place.
Takes: image (registry, repository, or nothing), path (the value's name in messages).
Gives: JSON, a list of messages.
*/}}
{{- define "common.images.check" -}}
{{- $messages := list -}}
{{- $repository := (.image).repository | default "" -}}
{{- $host := regexFind "^([^/]*[.:][^/]*|localhost)/" $repository | trimSuffix "/" -}}
{{- if $host -}}
  {{- $messages = append $messages (printf "%s.repository: %q begins with a registry, which has a value of its own; set %s.registry to %q, and %s.repository to %q" .path $repository .path $host .path (trimPrefix (printf "%s/" $host) $repository)) -}}
{{- end -}}
{{- toJson $messages -}}
{{- end -}}

{{/*
common.images.pullSecrets: the pull secrets of a pod, each once.
Takes: lists (a list of lists: global, common, role; items are names or {name: ...}).
Gives: the imagePullSecrets block of a pod spec, or nothing.
*/}}
{{- define "common.images.pullSecrets" -}}
{{- $names := list -}}
{{- range .lists -}}
  {{- range . -}}
    {{- $names = append $names (ternary .  (get (ternary . dict (kindIs "map" .)) "name") (kindIs "string" .)) -}}
  {{- end -}}
{{- end -}}
{{- with $names | uniq -}}
imagePullSecrets:
{{- range . }}
  - name: {{ . | quote }}
{{- end }}
{{- end -}}
{{- end -}}
