{{/*
What differs by who made the brokers' pods, as YAML:

  labels        of the brokers' pods
  container     the broker's
  dataPrefix    what the paths of its data volumes begin with
  logDirectory  below the path of a data volume; NODE stands for the node id
  dataVolume    name of the first data volume, and dataPath its path, where they are the same in all pods
  nodeIdOffset  added to the number at the end of the pod's name
  nodeIdLabel   the label that is the node id instead
  user          UID of the broker's image
*/}}
{{- define "kraftside.flavour" -}}
{{- $v := .Values -}}
{{- if eq $v.flavour "strimzi" -}}
labels: {strimzi.io/cluster: {{ $v.cluster | quote }}, strimzi.io/broker-role: "true"}
container: kafka
dataPrefix: /var/lib/kafka/data
logDirectory: /kafka-logNODE
nodeIdOffset: 0
user: 1001
{{- else if eq $v.flavour "cfk" -}}
labels: {app: {{ $v.cluster | quote }}, platform.confluent.io/type: kafka}
container: kafka
dataPrefix: /mnt/data
logDirectory: /logs
dataVolume: data0
dataPath: /mnt/data/data0
nodeIdOffset: {{ $v.custom.nodeIdOffset }}
user: 1001
{{- else if eq $v.flavour "koperator" -}}
labels: {app: kafka, kafka_cr: {{ $v.cluster | quote }}}
container: kafka
dataPrefix: /kafka-logs
logDirectory: /kafka
dataVolume: kafka-data-0
dataPath: /kafka-logs
nodeIdLabel: brokerId
{{- else if eq $v.flavour "bitnami" -}}
labels: {app.kubernetes.io/instance: {{ $v.cluster | quote }}, app.kubernetes.io/part-of: kafka}
container: kafka
dataPrefix: /bitnami/kafka
logDirectory: /data
dataVolume: data
dataPath: /bitnami/kafka
nodeIdOffset: {{ $v.custom.nodeIdOffset }}
user: 1001
{{- else -}}
labels: {{ toJson $v.custom.labels }}
container: {{ $v.custom.container }}
dataPrefix: {{ $v.custom.dataPrefix }}
logDirectory: {{ $v.custom.logDirectory | quote }}
dataVolume: {{ $v.custom.dataVolume }}
dataPath: {{ $v.custom.dataPrefix }}
nodeIdOffset: {{ $v.custom.nodeIdOffset }}
{{- end -}}
{{- end -}}


{{/* The expression of the node id of a pod, a string. Takes a flavour. */}}
{{- define "kraftside.nodeId" -}}
{{- if .nodeIdLabel -}}
object.metadata.labels['{{ .nodeIdLabel }}']
{{- else if .nodeIdOffset -}}
string(int(object.metadata.name.split('-')[size(object.metadata.name.split('-')) - 1]) + {{ .nodeIdOffset }})
{{- else -}}
object.metadata.name.split('-')[size(object.metadata.name.split('-')) - 1]
{{- end -}}
{{- end -}}

{{/* The UID to give where the pod says nothing: that of the values or of the flavour's images; empty if none is, or 0. */}}
{{- define "kraftside.ownUser" -}}
{{- $own := kindIs "invalid" .runAsUser | ternary .flavour.user .runAsUser | default 0 | int -}}
{{- if $own }}{{ $own }}{{ end -}}
{{- end -}}

{{/*
The expression of the UID that the container has to be given, a list of one or none: the broker's, unless the pod gives it
to both.
*/}}
{{- define "kraftside.user" -}}
{{- $own := include "kraftside.ownUser" . -}}
has(variables.broker.securityContext) && has(variables.broker.securityContext.runAsUser) ? [variables.broker.securityContext.runAsUser] : (has(object.spec.securityContext) && has(object.spec.securityContext.runAsUser) ? [] : [{{ $own }}])
{{- end -}}
