{{- define "kraftside.fullname" -}}
{{- $name := contains .Chart.Name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name .Chart.Name) -}}
{{ $name | trunc 52 | trimSuffix "-" }}
{{- end -}}

{{- define "kraftside.labels" -}}
app.kubernetes.io/name: kraftside
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "kraftside.selector" -}}
app.kubernetes.io/name: kraftside
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "kraftside.image" -}}
{{- with .Values.image -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end -}}
{{- end -}}
{{- end -}}

{{/* The Secrets that are mounted, as a YAML list of their names. */}}
{{- define "kraftside.secrets" -}}
{{ append .Values.secrets .Values.peers.tokenSecret | compact | uniq | toYaml }}
{{- end -}}

{{/* The name of a policy belongs to the whole cluster. */}}
{{- define "kraftside.policyName" -}}
{{ printf "%s.%s.kraftside.io" (include "kraftside.fullname" .) .Release.Namespace }}
{{- end -}}

{{/* The label of the copies of pods that `kraftside preflight` tries, and that no broker has: a policy that is not enabled is for them alone. */}}
{{- define "kraftside.preflightLabel" -}}
kraftside.io/preflight: "true"
{{- end -}}

{{/* Labels as a selector on a command line. */}}
{{- define "kraftside.labelSelector" -}}
{{- $all := list -}}
{{- range $key, $value := . -}}
{{- $all = append $all (printf "%s=%s" $key $value) -}}
{{- end -}}
{{- join "," $all -}}
{{- end -}}

{{/* Requests and limits of cpu and memory, how large the store may become, and the disk that is requested for it: docs/cost.md says why. */}}
{{- define "kraftside.size" -}}
{{- if eq .Values.size "s" -}}
requests: {cpu: 20m, memory: 96Mi}
limits: {cpu: 250m, memory: 192Mi}
storeBytes: 256MiB
disk: 512Mi
{{- else if eq .Values.size "m" -}}
requests: {cpu: 50m, memory: 160Mi}
limits: {cpu: 500m, memory: 384Mi}
storeBytes: 512MiB
disk: 1Gi
{{- else -}}
requests: {cpu: 300m, memory: 384Mi}
limits: {cpu: "1", memory: 1Gi}
storeBytes: 512MiB
disk: 1Gi
{{- end -}}
{{- end -}}

{{/* What Go may use of a memory limit, in Mi or Gi: five sixths, the rest is for what is not Go's. */}}
{{- define "kraftside.goMemory" -}}
{{- $number := regexFind "^[0-9]+" . | int64 -}}
{{- $mebi := hasSuffix "Gi" . | ternary (mul $number 1024) $number -}}
{{ div (mul $mebi 5) 6 }}MiB
{{- end -}}
