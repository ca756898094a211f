{{/* Renders nothing. Values that cannot work together end the rendering here, with the reason. */}}
{{- define "kraftside.validate" -}}
{{- $v := .Values -}}
{{- $injects := ne $v.injection.mode "none" -}}
{{- if and (not $injects) (not $v.standalone.enabled) }}
{{- fail "nothing to install: set injection.mode to policy, or standalone.enabled to true" }}
{{- end }}
{{- if and $injects (not $v.cluster) (ne $v.flavour "custom") }}
{{- fail "cluster is empty: it is the name of the Kafka cluster whose brokers get the container" }}
{{- end }}
{{- if and $injects (eq $v.flavour "custom") (not $v.custom.labels) }}
{{- fail "custom.labels is empty: flavour custom needs the labels of the brokers' pods" }}
{{- end }}
{{- if and (eq $v.injection.mode "snippet") (eq $v.flavour "strimzi") }}
{{- fail "injection.mode snippet cannot work with Strimzi, which adds no containers to its pods: use policy (Kubernetes 1.36 or newer), kyverno, or standalone" }}
{{- end }}
{{- if and (eq $v.injection.mode "snippet") (eq $v.source "quorum") ($v.custom.nodeIdOffset) }}
{{- fail "injection.mode snippet with source quorum cannot add custom.nodeIdOffset to the number of a pod: use source dir, where the node id is in the log directory, or policy" }}
{{- end }}
{{- if and $injects (eq $v.state.kind "volume") (not $v.state.volume) }}
{{- fail "state.volume is empty: it is the name of the volume of the brokers' pods on which to keep the state" }}
{{- end }}
{{- if and $injects (eq $v.state.kind "volume") (eq $v.flavour "custom") (not $v.custom.logDirectory) (or $v.state.subPath (eq $v.state.volume $v.custom.dataVolume)) }}
{{- fail "state.volume with a log directory at the root of a volume: Kafka does not start beside a directory there that it does not know; use a volume of its own, without subPath" }}
{{- end }}
{{- if and $injects $v.brokersNamespace (ne $v.brokersNamespace .Release.Namespace) }}
{{- fail (printf "the brokers are in the namespace %s: install the chart there, since their pods can mount no ConfigMap of the namespace %s" $v.brokersNamespace .Release.Namespace) }}
{{- end }}
{{- if and (eq $v.injection.mode "policy") (not (.Capabilities.APIVersions.Has "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy")) }}
{{- fail "injection.mode policy needs Kubernetes 1.36 or newer, with MutatingAdmissionPolicy in admissionregistration.k8s.io/v1; on older ones use kyverno, or standalone" }}
{{- end }}
{{- if and $injects (eq $v.source "quorum") (or (not $v.kafka.bootstrap) (not $v.kafka.controllers)) }}
{{- fail "source quorum needs kafka.bootstrap and kafka.controllers" }}
{{- end }}
{{- if and $v.kafkaUser.enabled (ne $v.flavour "strimzi") }}
{{- fail "kafkaUser is for Strimzi: with another flavour give the principal the ACLs of docs/permissions.md" }}
{{- end }}
{{- if and $v.kafkaUser.enabled (eq $v.source "dir") (not $v.standalone.enabled) }}
{{- fail "kafkaUser is not needed: with source dir nothing is read over the network that wants a permission" }}
{{- end }}
{{- if and $v.standalone.enabled (or (not $v.kafka.bootstrap) (not $v.kafka.controllers)) }}
{{- fail "standalone needs kafka.bootstrap and kafka.controllers" }}
{{- end }}
{{- if and (eq $v.injection.mode "kyverno") (not (.Capabilities.APIVersions.Has "policies.kyverno.io/v1/MutatingPolicy")) }}
{{- fail "injection.mode kyverno needs Kyverno with MutatingPolicy in policies.kyverno.io/v1" }}
{{- end }}
{{- end -}}
