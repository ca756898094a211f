{{/*
What to give to whoever made the brokers' pods, for it to add the container: values, an overlay or a patch. How and where to
check it is in comments.
*/}}
{{- define "kraftside.snippet" -}}
{{- $v := .Values -}}
{{- $flavour := fromYaml (include "kraftside.flavour" .) -}}
{{- $container := include "kraftside.container" (dict "root" . "target" "snippet") -}}
{{- $volumes := include "kraftside.volumes" . -}}
{{- if eq $v.flavour "bitnami" -}}
# Values for the chart that runs the brokers. Brokers that are controllers, too, are under `controller`: put both keys there.
broker:
  initContainers:
    - {{- $container | nindent 6 }}
  extraVolumes:
    {{- $volumes | nindent 4 }}
{{- else if eq $v.flavour "cfk" -}}
# Apply this, then let the Kafka resource use it:
#   kubectl annotate kafka -n {{ .Release.Namespace }} {{ $v.cluster }} platform.confluent.io/pod-overlay-configmap-name={{ $v.cluster }}-kraftside
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ $v.cluster }}-kraftside
  namespace: {{ .Release.Namespace }}
data:
  pod-template.yaml: |
    spec:
      template:
        spec:
          initContainers:
            - {{- $container | nindent 14 }}
          volumes:
            {{- $volumes | nindent 12 }}
{{- else if eq $v.flavour "koperator" -}}
# For a group of brokers in the KafkaCluster. Each storageConfig is a volume kafka-data-N at its mountPath: the first has to hold
# the metadata log; further ones are added to the mounts and, separated by commas, to KRAFTSIDE_OFFSETS_DIRS.
spec:
  brokerConfigGroups:
    default:
      initContainers:
        - {{- $container | nindent 10 }}
      volumes:
        {{- $volumes | nindent 8 }}
{{- else -}}
# A patch of the StatefulSet of the brokers:
#   kubectl patch statefulset -n {{ .Release.Namespace }} NAME --patch-file FILE
spec:
  template:
    spec:
      initContainers:
        - {{- $container | nindent 10 }}
      volumes:
        {{- $volumes | nindent 8 }}
{{- end }}
{{- end -}}

{{/*
The command that shows whether what was added is still a sidecar. Software that was built for an older Kubernetes drops
restartPolicy, and the broker would wait forever for a container that does not end.
*/}}
{{- define "kraftside.snippetCheck" -}}
{{- $flavour := fromYaml (include "kraftside.flavour" .) -}}
{{- $labels := list -}}
{{- range $k, $val := $flavour.labels }}{{ $labels = append $labels (printf "%s=%s" $k $val) }}{{ end -}}
kubectl get pods -n {{ .Release.Namespace }} -l {{ join "," $labels }} \
  -o custom-columns='POD:.metadata.name,RESTART:.spec.initContainers[?(@.name=="kraftside")].restartPolicy'
{{- end -}}
