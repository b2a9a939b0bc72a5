{{/* Values that do not go together, one a line. */}}
{{- define "drover.problems.values" -}}
{{- $temporal := .Values.temporal }}
{{- $tls := $temporal.tls }}
{{- if not $tls.enabled }}
{{- range list "serverName" "caSecret" "clientSecret" }}
{{- if index $tls . }}
temporal.tls.{{ . }} is set, but TLS is off and it would have no effect: set temporal.tls.enabled to true, or leave it empty
{{- end }}
{{- end }}
{{- if $temporal.apiKey.secret }}
temporal.apiKey.secret is set, but TLS is off and the key would travel in the clear: set temporal.tls.enabled to true
{{- end }}
{{- end }}
{{- if and .Values.image.digest .Values.image.tag }}
image.tag is "{{ .Values.image.tag }}", but image.digest decides which image is used: leave one of them empty
{{- end }}
{{- if regexMatch "(@|:[^/]*$)" .Values.image.repository }}
image.repository is "{{ .Values.image.repository }}": write it without tag and digest, which are image.tag and image.digest
{{- end }}
{{- $certificates := .Values.webhook.certificates }}
{{- if .Values.webhook.enabled }}
{{- if and (eq $certificates.from "secret") (not $certificates.secret) }}
webhook.certificates.from is "secret", but webhook.certificates.secret is empty: name the Secret with tls.crt, tls.key and ca.crt
{{- end }}
{{- if and (ne $certificates.from "secret") $certificates.secret }}
webhook.certificates.secret is "{{ $certificates.secret }}", but certificates come from "{{ $certificates.from }}": set webhook.certificates.from to "secret", or leave the Secret empty
{{- end }}
{{- if and (ne $certificates.from "cert-manager") $certificates.issuer }}
webhook.certificates.issuer is set, but certificates come from "{{ $certificates.from }}": set webhook.certificates.from to "cert-manager", or leave the issuer empty
{{- end }}
{{- end }}
{{- if and .Values.bridge.codec.enabled (not .Values.encryption.secret) }}
bridge.codec.enabled is true, but nothing is encrypted: name the ring of keys in encryption.secret, or switch the codec endpoint off
{{- end }}
{{- $asController := dict }}
{{- range list "bridge" "worker" }}
{{- $_ := set $asController . (index (index $.Values .).settings "controller-identity" | default false) }}
{{- end }}
{{- if ne $asController.bridge $asController.worker }}
bridge.settings.controller-identity is {{ $asController.bridge }}, but worker.settings.controller-identity is {{ $asController.worker }}: plans would be let in that the worker does not carry out, or the other way round; set both alike
{{- end }}
{{- range $name := list "bridge" "worker" }}
{{- include "drover.problems.program" (dict "root" $ "name" $name) }}
{{- end }}
{{- if and .Values.monitoring.podMonitor.enabled .Values.monitoring.serviceMonitor.enabled }}
monitoring.podMonitor and monitoring.serviceMonitor are both enabled: every program would be scraped twice; switch one off
{{- end }}
{{- if and .Values.tracing.headersSecret (not .Values.tracing.endpoint) }}
tracing.headersSecret is set, but there are no traces and it would have no effect: set tracing.endpoint, or leave it empty
{{- end }}
{{- if and .Values.monitoring.exemplars (not .Values.tracing.endpoint) }}
monitoring.exemplars is true, but there are no traces to name: set tracing.endpoint, or switch exemplars off
{{- end }}
{{- if and .Values.networkPolicy.enabled (not .Values.networkPolicy.clusterRanges) }}
networkPolicy.enabled is true, but networkPolicy.clusterRanges is empty: name the ranges of the cluster's pods and Services, or actions could reach Temporal and Drover by their addresses
{{- end }}
{{- $seen := dict }}
{{- range .Values.planNamespaces }}
{{- if hasKey $seen .name }}
planNamespaces names "{{ .name }}" twice: write all of it in one entry
{{- end }}
{{- $_ := set $seen .name true }}
{{- if eq .name $.Release.Namespace }}
planNamespaces names "{{ .name }}", the namespace of Drover itself: its keys are there; keep plans in another one
{{- end }}
{{- range .operators }}
{{- if and (eq .kind "ServiceAccount") (not .namespace) }}
planNamespaces: the operator ServiceAccount "{{ .name }}" has no namespace: write where it is
{{- end }}
{{- end }}
{{- end }}
{{- if and .Values.planNamespaces (not .Values.rbac.create) }}
planNamespaces is set, but rbac.create is false and nothing would be granted: set rbac.create to true, or leave planNamespaces empty
{{- end }}
{{- end }}

{{/* The same of one program. */}}
{{- define "drover.problems.program" -}}
{{- $name := .name }}
{{- $values := index .root.Values $name }}
{{- $budget := $values.podDisruptionBudget }}
{{- if $budget.enabled }}
{{- if hasKey $budget "minAvailable" }}
{{- if not (kindIs "string" $budget.minAvailable) }}
{{- if ge (int $budget.minAvailable) (int $values.replicas) }}
{{ $name }}.podDisruptionBudget.minAvailable is {{ $budget.minAvailable }} of {{ $values.replicas }} replicas: no node with one of them could be drained; ask for fewer, or run more
{{- end }}
{{- else if eq $budget.minAvailable "100%" }}
{{ $name }}.podDisruptionBudget.minAvailable is 100%: no node with a replica could be drained; ask for less
{{- end }}
{{- else if not (hasKey $budget "maxUnavailable") }}
{{ $name }}.podDisruptionBudget is enabled, but has neither minAvailable nor maxUnavailable: set one of them
{{- else if has (toString $budget.maxUnavailable) (list "0" "0%") }}
{{ $name }}.podDisruptionBudget.maxUnavailable is {{ $budget.maxUnavailable }}: no node with a replica could be drained; allow at least 1
{{- end }}
{{- end }}
{{- $own := include (printf "drover.%s.env" $name) .root | trim }}
{{- $known := list }}
{{- range include "drover.env" (dict "root" .root "name" $name "env" $own) | fromYamlArray }}
{{- if has .name $known }}
{{ $name }}.settings sets {{ .name }}, which the chart sets from another value: take it out of {{ $name }}.settings
{{- end }}
{{- $known = append $known .name }}
{{- end }}
{{- range $values.extraEnv }}
{{- if has .name $known }}
{{ $name }}.extraEnv sets {{ .name }} once more: use the value that it comes from, such as {{ $name }}.settings
{{- end }}
{{- $known = append $known .name }}
{{- end }}
{{- end }}

{{/* What the cluster lacks or has already, one a line. Nothing where none answers. */}}
{{- define "drover.problems.cluster" -}}
{{- if include "drover.isConnected" . }}
{{- $namespace := .Release.Namespace }}
{{- /* Two installations would take each other's tasks from Temporal, and the second would refuse to work. */}}
{{- $binding := lookup "rbac.authorization.k8s.io/v1" "ClusterRoleBinding" "" "drover-bridge" }}
{{- $elsewhere := "" }}
{{- $by := "" }}
{{- if $binding }}
{{- $annotations := $binding.metadata.annotations | default dict }}
{{- $by = index $annotations "meta.helm.sh/release-name" | default "" }}
{{- range $binding.subjects }}
{{- if or (ne .namespace $namespace) (and $by (ne $by $.Release.Name)) }}{{ $elsewhere = .namespace }}{{ end }}
{{- end }}
{{- end }}
{{- $admission := lookup "admissionregistration.k8s.io/v1" "ValidatingWebhookConfiguration" "" "drover" }}
{{- range dig "webhooks" (list) ($admission | default dict) }}
{{- $at := dig "service" "namespace" "" .clientConfig }}
{{- if and $at (ne $at $namespace) }}{{ $elsewhere = $at }}{{ end }}
{{- end }}
{{- if $elsewhere }}
This cluster has a Drover already, in namespace "{{ $elsewhere }}"{{ with $by }} (Helm release "{{ . }}"){{ end }}: a cluster has one, which serves all namespaces; upgrade that one, or uninstall it first
{{- else }}
{{- if .Values.crds.install }}
{{- range $path, $_ := .Files.Glob "files/crds/*.yaml" }}
{{- $name := ($.Files.Get $path | fromYaml).metadata.name }}
{{- $live := lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" $name }}
{{- $version := index (dig "metadata" "labels" (dict) ($live | default dict)) "app.kubernetes.io/version" | default "" }}
{{- if and $version (eq ((semver $.Chart.AppVersion).Compare (semver $version)) -1) }}
The definition {{ $name }} in the cluster is of Drover {{ $version }}, newer than this chart's {{ $.Chart.AppVersion }}: going back would drop fields of stored objects; set crds.install to false, as newer definitions serve older programs too
{{- end }}
{{- end }}
{{- else }}
{{- range $path, $_ := .Files.Glob "files/crds/*.yaml" }}
{{- $name := ($.Files.Get $path | fromYaml).metadata.name }}
{{- if not (lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" $name) }}
crds.install is false, but the cluster has no definition {{ $name }}: apply deploy/crds first, or set crds.install to true
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- include "drover.problems.secrets" . }}
{{- range .Values.planNamespaces }}
{{- if not (lookup "v1" "Namespace" "" .name) }}
planNamespaces names "{{ .name }}", which does not exist: create the namespace first, or leave it out
{{- end }}
{{- end }}
{{- if and .Values.webhook.enabled (eq .Values.webhook.certificates.from "cert-manager") (not (.Capabilities.APIVersions.Has "cert-manager.io/v1")) }}
webhook.certificates.from is "cert-manager", which this cluster does not have: install it first, or set it to "bridge"
{{- end }}
{{- range list "podMonitor" "serviceMonitor" "prometheusRule" }}
{{- if and (index $.Values.monitoring .).enabled (not ($.Capabilities.APIVersions.Has (printf "monitoring.coreos.com/v1/%s%s" (substr 0 1 . | upper) (substr 1 -1 .)))) }}
monitoring.{{ . }}.enabled is true, but this cluster has no such kind: install the Prometheus operator first, or switch it off
{{- end }}
{{- end }}
{{- with .Values.priorityClassName }}
{{- if not (lookup "scheduling.k8s.io/v1" "PriorityClass" "" .) }}
priorityClassName is "{{ . }}", which this cluster does not have: create it first, or leave it empty
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* Secrets that pods would wait for without end, each with the keys that are read from it. */}}
{{- define "drover.problems.secrets" -}}
{{- $temporal := .Values.temporal }}
{{- $wanted := list
  (dict "value" "temporal.apiKey.secret" "name" $temporal.apiKey.secret "keys" (list $temporal.apiKey.key))
  (dict "value" "temporal.tls.caSecret" "name" $temporal.tls.caSecret "keys" (list $temporal.tls.caKey))
  (dict "value" "temporal.tls.clientSecret" "name" $temporal.tls.clientSecret "keys" (list "tls.crt" "tls.key"))
  (dict "value" "encryption.secret" "name" .Values.encryption.secret "keys" (list))
  (dict "value" "tracing.headersSecret" "name" .Values.tracing.headersSecret "keys" (list "headers"))
}}
{{- if .Values.webhook.enabled }}
{{- $wanted = append $wanted (dict "value" "webhook.certificates.secret" "name" .Values.webhook.certificates.secret "keys" (list "tls.crt" "tls.key" "ca.crt")) }}
{{- end }}
{{- range $wanted }}
{{- $value := .value }}
{{- $name := .name }}
{{- if $name }}
{{- $secret := lookup "v1" "Secret" $.Release.Namespace $name }}
{{- if not $secret }}
{{ $value }} is "{{ $name }}", but namespace "{{ $.Release.Namespace }}" has no such Secret: create it first
{{- else }}
{{- range .keys }}
{{- if not (hasKey ($secret.data | default dict) .) }}
{{ $value }} is "{{ $name }}", but that Secret has no key "{{ . }}": it has {{ keys ($secret.data | default dict) | sortAlpha | join ", " | default "none" }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
