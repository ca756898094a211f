{{/*
What a policy does: the same for a MutatingAdmissionPolicy of Kubernetes and for a MutatingPolicy of Kyverno. It is a JSON
patch because what has lists in it, such as arguments, cannot be applied.
*/}}
{{- define "kraftside.policySpec" -}}
{{- $v := .Values -}}
{{- $flavour := fromYaml (include "kraftside.flavour" .) -}}
{{- $container := fromYaml (include "kraftside.container" (dict "root" . "target" "policy")) -}}
{{- $limits := $container.resources.limits -}}
{{- $resources := $container.resources -}}
{{- $_ := set $container "resources" (printf "cel:variables.guaranteed ? %s : %s"
  (include "kraftside.cel" (dict "value" (dict "requests" (merge (dict) $limits $resources.requests) "limits" $limits)))
  (include "kraftside.cel" (dict "value" $resources))) -}}
{{- if eq $v.source "dir" -}}
{{- $_ := set $container "volumeMounts" (printf "cel:%s + variables.dataMounts.map(m, dyn({\"name\": dyn(m.name), \"mountPath\": dyn(m.mountPath), \"readOnly\": dyn(true)}))"
  (include "kraftside.cel" (dict "value" $container.volumeMounts))) -}}
{{- end -}}
{{- $volumes := fromYamlArray (include "kraftside.volumes" .) -}}
failurePolicy: Ignore
reinvocationPolicy: IfNeeded
matchConstraints:
  matchPolicy: Equivalent
  namespaceSelector:
    matchLabels:
      kubernetes.io/metadata.name: {{ .Release.Namespace }}
  objectSelector:
    matchLabels:
      {{- toYaml $flavour.labels | nindent 8 }}
{{- if and (eq $v.injection.mode "kyverno") (not $v.injection.enabled) }}
        {{- include "kraftside.preflightLabel" . | nindent 8 }}
{{- end }}
  resourceRules:
    - apiGroups: [""]
      apiVersions: [v1]
      operations: [CREATE]
      resources: [pods]
matchConditions:
  - name: not-opted-out
    expression: "!has(object.metadata.annotations) || !('kraftside.io/inject' in object.metadata.annotations) || object.metadata.annotations['kraftside.io/inject'] != 'false'"
  - name: not-there-yet
    expression: "!has(object.spec.initContainers) || !object.spec.initContainers.exists(c, c.name == 'kraftside')"
  - name: is-a-broker
    expression: "object.spec.containers.exists(c, c.name == '{{ $flavour.container }}')"
variables:
  - name: broker
    expression: "object.spec.containers.filter(c, c.name == '{{ $flavour.container }}')[0]"
  - name: guaranteed
    expression: "object.spec.containers.all(c, has(c.resources) && has(c.resources.limits) && has(c.resources.requests) && 'cpu' in c.resources.limits && 'memory' in c.resources.limits && c.resources.limits == c.resources.requests)"
  - name: nodeId
    expression: {{ include "kraftside.nodeId" $flavour | quote }}
  - name: dataMounts
    expression: "has(variables.broker.volumeMounts) ? variables.broker.volumeMounts.filter(m, m.mountPath.startsWith('{{ $flavour.dataPrefix }}')) : []"
  - name: logDirs
    expression: "variables.dataMounts.map(m, m.mountPath + '{{ $flavour.logDirectory }}'.replace('NODE', variables.nodeId))"
  - name: user
    expression: {{ include "kraftside.user" (dict "flavour" $flavour "runAsUser" $v.runAsUser) | quote }}
  - name: root
    expression: "variables.user == [0] || size(variables.user) == 0 && has(object.spec.securityContext) && has(object.spec.securityContext.runAsUser) && object.spec.securityContext.runAsUser == 0"
  - name: place
    expression: "string(has(object.spec.initContainers) ? size(object.spec.initContainers) : 0)"
mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: |-
        (has(object.spec.volumes) ? [] : [JSONPatch{op: "add", path: "/spec/volumes", value: []}]) +
        (has(object.spec.initContainers) ? [] : [JSONPatch{op: "add", path: "/spec/initContainers", value: []}]) +
        (has(object.metadata.annotations) ? [] : [JSONPatch{op: "add", path: "/metadata/annotations", value: {}}]) +
        [
          {{- range $volumes }}
          JSONPatch{op: "add", path: "/spec/volumes/-", value: {{ include "kraftside.cel" (dict "value" .) }}},
          {{- end }}
          JSONPatch{op: "add", path: "/spec/initContainers/-", value: {{ include "kraftside.cel" (dict "value" $container) }}},
          JSONPatch{op: "add", path: "/metadata/annotations/" + jsonpatch.escapeKey("kraftside.io/injected"), value: {{ .Chart.Version | quote }}}
        ] +
        variables.user.map(u, JSONPatch{op: "add", path: "/spec/initContainers/" + variables.place + "/securityContext/runAsUser", value: u})
{{- end -}}
