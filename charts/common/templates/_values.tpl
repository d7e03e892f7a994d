{{/*
common.values.fill: put in what is absent.
A user's null deletes a key together with its default, and --reuse-values brings values that are older than the key.
Takes: values (a map, changed in place), defaults (a map of the keys that must be there).
Gives: nothing. Keys that are present stay as they are, 0, false, "" and [] included.
*/}}
{{- define "common.values.fill" -}}
{{- range $key, $default := .defaults -}}
  {{- $value := index $.values $key -}}
  {{- if kindIs "invalid" $value -}}
    {{- $_ := set $.values $key (deepCopy $default) -}}
  {{- else if and (kindIs "map" $default) (kindIs "map" $value) -}}
    {{- include "common.values.fill" (dict "values" $value "defaults" $default) -}}
  {{- end -}}
{{- end -}}
{{- end -}}

{{/*
common.values.fillBlocks: put in whole blocks that are absent. Blocks of amounts or identities are all or nothing: in one that is
there a user's null has taken a key away, and it stays away.
Takes: values (a map, changed in place), defaults (a map of blocks, which may hold blocks).
Gives: nothing.
*/}}
{{- define "common.values.fillBlocks" -}}
{{- range $key, $default := .defaults -}}
  {{- if kindIs "map" $default -}}
    {{- $value := index $.values $key -}}
    {{- if kindIs "invalid" $value -}}
      {{- $_ := set $.values $key (deepCopy $default) -}}
    {{- else -}}
      {{- include "common.values.fillBlocks" (dict "values" $value "defaults" $default) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- end -}}

{{/*
common.values.overlay: lay one map over another, key by key and down through nested maps.
Takes: base (a map, changed in place: hand in a deepCopy), over (a map or nothing), keepNull (true where the result will
be laid over something else in its turn; may be left out).
Gives: nothing. Lists and scalars of `over` replace those of `base`; null in `over` removes the key, or stays null.
(Sprig's mergeOverwrite is no help here: it takes 0 and false for "not given".)
*/}}
{{- define "common.values.overlay" -}}
{{- range $key, $value := .over -}}
  {{- if and (kindIs "invalid" $value) (not $.keepNull) -}}
    {{- $_ := unset $.base $key -}}
  {{- else if kindIs "map" $value -}}
    {{- /* Also where there is nothing below: its nulls have to go. */ -}}
    {{- $below := index $.base $key -}}
    {{- $merged := ternary $below dict (kindIs "map" $below) -}}
    {{- include "common.values.overlay" (dict "base" $merged "over" $value "keepNull" $.keepNull) -}}
    {{- $_ := set $.base $key $merged -}}
  {{- else -}}
    {{- $_ := set $.base $key $value -}}
  {{- end -}}
{{- end -}}
{{- end -}}

{{/*
common.values.text: a scalar as the user wrote it. Numbers from a values file are floats to Helm and would print as 1e+06.
Takes: a string, number or boolean.
Gives: its text, not quoted; numbers without exponent, below 1e21.
*/}}
{{- define "common.values.text" -}}
{{- if kindIs "float64" . -}}
{{- toJson . -}}
{{- else -}}
{{- toString . -}}
{{- end -}}
{{- end -}}
