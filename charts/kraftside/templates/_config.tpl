{{/* The file of `kraftside run`, as YAML. Takes a dict with the root and the target: standalone, or a container beside a broker. */}}
{{- define "kraftside.config" -}}
{{- $v := .root.Values -}}
{{- $size := fromYaml (include "kraftside.size" .root) -}}
{{- $config := dict
  "cluster-name" $v.cluster
  "store" (dict "dir" "/var/lib/kraftside/store" "max-bytes" $size.storeBytes)
  "admin" (dict "listen" (ternary (printf "127.0.0.1:%d" (int $v.ports.admin)) "" (ne (int $v.ports.admin) 0)))
  "log" (dict "format" "json") -}}
{{- /* Beside a broker, that itself can tell how much of its log is committed. */ -}}
{{- $_ := set $config "kafka" (dict "bootstrap" ($v.kafka.bootstrap | default (list "localhost:9092"))) -}}
{{- if or (eq $v.source "quorum") (eq .target "standalone") -}}
{{- $_ := set $config "metadata" (dict "source" "quorum" "controllers" $v.kafka.controllers) -}}
{{- else -}}
{{- $_ := set $config "metadata" (dict "source" "dir") -}}
{{- $_ := set $config "offsets" (dict "source" "dir") -}}
{{- end -}}
{{- with $v.peers.tokenSecret -}}
{{- $_ := set $config "http" (dict "token-file" (printf "/etc/kraftside-secrets/%s/%s" . $v.peers.tokenKey)) -}}
{{- end -}}
{{ mergeOverwrite $config (deepCopy $v.config) | toYaml }}
{{- end -}}

{{/* Its ConfigMap. Takes the same. */}}
{{- define "kraftside.configMap" -}}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ include "kraftside.configName" . }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "kraftside.labels" .root | nindent 4 }}
data:
  kraftside.yaml: |
    {{- include "kraftside.config" . | nindent 4 }}
{{- end -}}

{{- define "kraftside.configName" -}}
{{ include "kraftside.fullname" .root }}{{ if eq .target "standalone" }}-standalone{{ end }}
{{- end -}}
