{{/*
A value as a literal of CEL, in which every element is dynamic, so that maps and lists may mix types. A string that begins
with "cel:" is an expression. Takes a dict with the value.
*/}}
{{- define "kraftside.cel" -}}
{{- $v := .value -}}
{{- if kindIs "map" $v -}}
{ {{- range $i, $k := keys $v | sortAlpha }}{{ if $i }}, {{ end }}{{ $k | toJson }}: dyn({{ include "kraftside.cel" (dict "value" (get $v $k)) }}){{ end -}} }
{{- else if kindIs "slice" $v -}}
[{{- range $i, $e := $v }}{{ if $i }}, {{ end }}dyn({{ include "kraftside.cel" (dict "value" $e) }}){{ end -}}]
{{- else if kindIs "string" $v -}}
{{- if hasPrefix "cel:" $v }}{{ trimPrefix "cel:" $v }}{{ else }}{{ toJson $v }}{{ end -}}
{{- else if kindIs "bool" $v -}}
{{ $v }}
{{- else -}}
{{ int64 $v }}
{{- end -}}
{{- end -}}
