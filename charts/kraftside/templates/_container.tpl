{{/*
The container, as YAML. Takes a dict with the root and the target:

  policy      the literal of a policy: what depends on the pod is an expression (see kraftside.cel)
  snippet     of a pod's template, by whoever made it
  standalone  of the chart's own pod
*/}}
{{- define "kraftside.container" -}}
{{- $v := .root.Values -}}
{{- $flavour := fromYaml (include "kraftside.flavour" .root) -}}
{{- $beside := ne .target "standalone" -}}
{{- $dir := and $beside (eq $v.source "dir") -}}
{{- $resources := fromYaml (include "kraftside.resources" .) -}}
name: kraftside
image: {{ include "kraftside.image" .root }}
imagePullPolicy: {{ $v.image.pullPolicy }}
args: [run, --follow-config, --config=/etc/kraftside/kraftside.yaml]
{{- if $beside }}
restartPolicy: Always
{{- end }}
env:
  - {name: GOMEMLIMIT, value: {{ include "kraftside.goMemory" $resources.limits.memory }}}
  - {name: KRAFTSIDE_HTTP_LISTEN, value: ":{{ $v.ports.http }}"}
{{- /* In a log directory stands whose it is. */}}
{{- if and (eq .target "policy") (not $dir) }}
  - {name: KRAFTSIDE_NODE_ID, value: "cel:variables.nodeId"}
{{- else if and (eq .target "snippet") (not $dir) }}
  - {name: KRAFTSIDE_NODE_ID, valueFrom: {fieldRef: {fieldPath: "metadata.labels['{{ $flavour.nodeIdLabel | default "apps.kubernetes.io/pod-index" }}']"}}}
{{- end }}
{{- if $dir }}
  - {name: KRAFTSIDE_METADATA_DIR, value: {{ ternary "cel:variables.logDirs[0]" (print $flavour.dataPath $flavour.logDirectory) (eq .target "policy") | quote }}}
  - {name: KRAFTSIDE_OFFSETS_DIRS, value: {{ ternary "cel:variables.logDirs.join(',')" (print $flavour.dataPath $flavour.logDirectory) (eq .target "policy") | quote }}}
{{- end }}
{{- with $v.extraEnv }}
{{ toYaml . | indent 2 }}
{{- end }}
ports:
  - {name: ks-http, containerPort: {{ $v.ports.http }}, protocol: TCP}
{{- if $v.ports.admin }}
  - {name: ks-admin, containerPort: {{ $v.ports.admin }}, protocol: TCP}
{{- end }}
resources:
{{ toYaml $resources | indent 2 }}
securityContext:
  allowPrivilegeEscalation: false
  capabilities: {drop: [ALL]}
  readOnlyRootFilesystem: true
  runAsNonRoot: {{ ternary "cel:!variables.root" true (eq .target "policy") }}
{{- if and (eq .target "snippet") (include "kraftside.ownUser" (dict "flavour" $flavour "runAsUser" $v.runAsUser)) }}
  runAsUser: {{ include "kraftside.ownUser" (dict "flavour" $flavour "runAsUser" $v.runAsUser) }}
{{- end }}
  seccompProfile: {type: RuntimeDefault}
volumeMounts:
  - {name: kraftside-config, mountPath: /etc/kraftside, readOnly: true}
{{- range $i, $name := fromYamlArray (include "kraftside.secrets" .root) }}
  - {name: kraftside-secret-{{ $i }}, mountPath: /etc/kraftside-secrets/{{ $name }}, readOnly: true}
{{- end }}
{{- if and $beside (eq $v.state.kind "volume") }}
  - name: {{ $v.state.volume }}
    mountPath: /var/lib/kraftside
{{- with $v.state.subPath }}
    subPath: {{ . }}
{{- end }}
{{- else }}
  - {name: kraftside-state, mountPath: /var/lib/kraftside}
{{- end }}
{{- with $v.extraVolumeMounts }}
{{ toYaml . | indent 2 }}
{{- end }}
{{- if and $dir (eq .target "snippet") }}
  - {name: {{ $flavour.dataVolume }}, mountPath: {{ $flavour.dataPath }}, readOnly: true}
{{- end }}
{{- end -}}

{{/*
The volumes with the container's files, as a YAML list. Takes a dict with the root and the target. The pod starts without the
ConfigMap and the Secrets, too: the container says that they are missing, and the broker does not wait for them.
*/}}
{{- define "kraftside.fileVolumes" -}}
- name: kraftside-config
  configMap: {name: {{ include "kraftside.configName" . }}, optional: true}
{{- range $i, $name := fromYamlArray (include "kraftside.secrets" .root) }}
- name: kraftside-secret-{{ $i }}
  secret: {secretName: {{ $name }}, optional: true}
{{- end }}
{{- end -}}

{{/* The volumes of the container that the pod does not have by itself, as a YAML list. */}}
{{- define "kraftside.volumes" -}}
{{- $state := .Values.state -}}
{{ include "kraftside.fileVolumes" (dict "root" . "target" "policy") }}
{{- if eq $state.kind "emptyDir" }}
- name: kraftside-state
  emptyDir: {}
{{- else if eq $state.kind "claim" }}
- name: kraftside-state
  ephemeral:
    volumeClaimTemplate:
      spec:
        accessModes: [ReadWriteOnce]
        resources: {requests: {storage: {{ $state.size }}}}
{{- with $state.storageClass }}
        storageClassName: {{ . }}
{{- end }}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/*
Requests and limits. The store on an emptyDir takes the node's disk, which is requested and not limited: over a limit the
kubelet evicts the whole pod. Takes the same as the container.
*/}}
{{- define "kraftside.resources" -}}
{{- $v := .root.Values -}}
{{- $size := fromYaml (include "kraftside.size" .root) -}}
{{- $resources := $v.resources | default (pick $size "requests" "limits") | deepCopy -}}
{{- if eq .target "standalone" | ternary (not $v.standalone.storage) (eq $v.state.kind "emptyDir") -}}
{{- $_ := set $resources.requests "ephemeral-storage" (index $resources.requests "ephemeral-storage" | default $size.disk) -}}
{{- end -}}
{{ toYaml $resources }}
{{- end -}}
