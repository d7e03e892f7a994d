{{/*
common.resources.merged: the resources of a container. An extended resource (its name has a "/") of which there are none is left
out: "nvidia.com/gpu: 0" makes pods fail on nodes that have no such device.
Takes: layers (a list of {requests, limits}, each laid over those before it; requests or limits that are null leave them, and
null for an amount takes it away).
Gives: JSON, {requests, limits}.
*/}}
{{- define "common.resources.merged" -}}
{{- $resources := dict -}}
{{- range .layers -}}
  {{- range $part, $amounts := . -}}
    {{- if not (kindIs "invalid" $amounts) -}}
      {{- include "common.values.overlay" (dict "base" $resources "over" (dict $part $amounts)) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- range $amounts := $resources -}}
  {{- range $name := keys $amounts -}}
    {{- if and (contains "/" $name) (eq (include "common.quantity.number" (get $amounts $name)) "0") -}}
      {{- $_ := unset $amounts $name -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- toJson $resources -}}
{{- end -}}

{{/*
common.resources.amount: where one amount of common.resources.merged comes from.
Takes: layers (a list of {path, resources}; path is the value's name in messages), part ("requests" or "limits"), name (of the
resource).
Gives: JSON, {path, amount}, the amount as text; an empty map where there is none.
*/}}
{{- define "common.resources.amount" -}}
{{- $found := dict -}}
{{- range $layer := .layers -}}
  {{- range $name, $amount := index ($layer.resources | default dict) $.part -}}
    {{- if eq $name $.name -}}
      {{- $found = dict -}}
      {{- if not (kindIs "invalid" $amount) -}}
        {{- $found = dict "path" $layer.path "amount" (include "common.values.text" $amount) -}}
      {{- end -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- toJson $found -}}
{{- end -}}

{{/*
common.resources.check: would the API server take them? No request may be above its limit, and of what nodes cannot share
(devices, huge pages) exactly the limit is set aside.
Takes: layers (as in common.resources.amount), except (a resource that is judged elsewhere).
Gives: JSON, a list of messages. Containers that share their layers share the message: let it come once.
*/}}
{{- define "common.resources.check" -}}
{{- $messages := list -}}
{{- $blocks := list -}}
{{- range .layers -}}
  {{- $blocks = append $blocks .resources -}}
{{- end -}}
{{- $requests := (include "common.resources.merged" (dict "layers" $blocks) | fromJson).requests | default dict -}}
{{- range $name := without (keys $requests | sortAlpha) $.except -}}
  {{- $request := include "common.resources.amount" (dict "layers" $.layers "part" "requests" "name" $name) | fromJson -}}
  {{- $limit := include "common.resources.amount" (dict "layers" $.layers "part" "limits" "name" $name) | fromJson -}}
  {{- $asked := include "common.quantity.number" $request.amount | float64 -}}
  {{- $most := include "common.quantity.number" ($limit.amount | default "0") | float64 -}}
  {{- /* What two layers say together is mended in the later one, which is the container's own. */ -}}
  {{- $where := ternary $request.path (last $.layers).path (eq $request.path ($limit.path | default "")) -}}
  {{- if or (contains "/" $name) (hasPrefix "hugepages-" $name) -}}
    {{- if ne $asked $most -}}
      {{- $messages = append $messages (printf "%s.requests.%s: %s is not the limit, which is %s, and nodes cannot share it; set %s.limits.%s alone, the request follows" $request.path $name $request.amount ($limit.amount | default "not set") $where $name) -}}
    {{- end -}}
  {{- else if and $limit (gt $asked $most) -}}
    {{- $messages = append $messages (printf "%s.requests.%s: %s is more than the limit of %s, %s.limits.%s; raise %s.limits.%s, or lower %s.requests.%s" $request.path $name $request.amount $limit.amount $limit.path $name $where $name $where $name) -}}
  {{- end -}}
{{- end -}}
{{- toJson $messages -}}
{{- end -}}

{{/*
common.resources.sum: what many containers ask for together. A limit counts where there is no request, as Kubernetes has it.
Takes: parts (a list of {resources, times}).
Gives: JSON, a map of amounts; those of cpu in thousandths, all others in whole units.
*/}}
{{- define "common.resources.sum" -}}
{{- $sums := dict -}}
{{- range $part := .parts -}}
  {{- $resources := include "common.resources.merged" (dict "layers" (list .resources)) | fromJson -}}
  {{- range $name, $amount := merge ($resources.requests | default dict) ($resources.limits | default dict) -}}
    {{- $more := mulf (include "common.quantity.number" $amount) $part.times -}}
    {{- $_ := set $sums $name (addf (get $sums $name | default 0) $more) -}}
  {{- end -}}
{{- end -}}
{{- range $name, $sum := $sums -}}
  {{- $thousandths := mulf $sum 1000 | ceil | int64 -}}
  {{- $_ := set $sums $name (ternary (printf "%dm" $thousandths) (ceil $sum | int64 | toString) (eq $name "cpu")) -}}
{{- end -}}
{{- toJson $sums -}}
{{- end -}}
