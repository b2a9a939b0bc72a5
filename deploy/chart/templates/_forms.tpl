{{/*
What texts among the values have to look like. The schema knows types only: of a pattern it could say no more than that
it does not match.
*/}}
{{- define "drover.forms" -}}
address:
  pattern: '^(\[[0-9a-fA-F:.]+\]|[^\s:/@]+):[0-9]{1,5}$'
  write: HOST:PORT without a scheme, such as temporal-frontend.temporal:7233
buildId:
  pattern: '^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$'
  write: at most 63 letters, digits, dots, dashes and underscores, such as 0.1.0-blue
digest:
  pattern: '^sha256:[0-9a-f]{64}$'
  write: 'sha256: and 64 hexadecimal digits'
duration:
  pattern: '^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$'
  write: a duration, such as 500ms, 30s or 2m
host:
  pattern: '^[^\s,/]+(/[0-9]{1,3})?$'
  write: 'one host, *.domain, address or CIDR, without a scheme, a path, spaces and commas'
hours:
  pattern: '^[1-9][0-9]*h$'
  write: whole hours, such as 2160h
moment:
  pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?(Z|[+-][0-9]{2}:[0-9]{2})$'
  write: a moment, such as 2027-01-31T12:00:00Z
name:
  pattern: '^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$'
  write: 'a name of Kubernetes: small letters, digits, dashes and dots'
namespace:
  pattern: '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$'
  write: 'a namespace of Kubernetes: at most 63 small letters, digits and dashes'
origin:
  pattern: '^https?://[^\s,/]+$'
  write: an origin without a path, such as https://temporal.example.com
place:
  pattern: '^(https?://[^\s,]+|[^\s,/]+(/[0-9]{1,3})?:[0-9]{1,5})$'
  write: 'HOST:PORT, where HOST may be a name, *.domain, an address or a CIDR, or a URL'
range:
  pattern: '^[0-9a-fA-F:.]+/[0-9]{1,3}$'
  write: a range of addresses, such as 10.244.0.0/16
repository:
  pattern: '^[^\s@]+$'
  write: a repository, such as registry.example.com/drover
share:
  pattern: '^([0-9]|[1-9][0-9]|100)%$'
  write: a number, or a share such as 50%
someName:
  pattern: '^\S(.*\S)?$'
  write: a name
tag:
  pattern: '^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$'
  write: 'a tag: at most 128 letters, digits, dots, dashes and underscores'
temporalNamespace:
  pattern: '^[A-Za-z0-9][A-Za-z0-9_.-]{1,254}$'
  write: 'a namespace of Temporal: at least two letters, digits, dots, dashes and underscores'
url:
  pattern: '^https?://[^\s,]+$'
  write: a URL, such as http://collector.observability:4318
variable:
  pattern: '^[A-Za-z_][A-Za-z0-9_]*$'
  write: 'the name of a variable: letters, digits and underscores, no digit first'
{{- end }}

{{/* The texts that do not look like that, one a line. */}}
{{- define "drover.problems.forms" -}}
{{- $forms := include "drover.forms" . | fromYaml }}
{{- range include "drover.texts" . | fromJsonArray }}
{{- $form := index $forms .form }}
{{- if and (not (and .optional (eq .text ""))) (not (regexMatch $form.pattern .text)) }}
{{ .at }} is "{{ .text }}": write {{ $form.write }}{{ if .optional }}, or leave it empty{{ end }}
{{- end }}
{{- end }}
{{- end }}

{{/* All texts that have a form: [{ at, text, form, optional }] in JSON. */}}
{{- define "drover.texts" -}}
{{- $v := .Values }}
{{- $texts := list
  (dict "at" "image.repository" "text" $v.image.repository "form" "repository")
  (dict "at" "image.tag" "text" $v.image.tag "form" "tag" "optional" true)
  (dict "at" "image.digest" "text" $v.image.digest "form" "digest" "optional" true)
  (dict "at" "temporal.address" "text" $v.temporal.address "form" "address")
  (dict "at" "temporal.namespace" "text" $v.temporal.namespace "form" "temporalNamespace")
  (dict "at" "temporal.ui" "text" $v.temporal.ui "form" "address" "optional" true)
  (dict "at" "temporal.apiKey.secret" "text" $v.temporal.apiKey.secret "form" "name" "optional" true)
  (dict "at" "temporal.apiKey.key" "text" $v.temporal.apiKey.key "form" "someName")
  (dict "at" "temporal.tls.serverName" "text" $v.temporal.tls.serverName "form" "someName" "optional" true)
  (dict "at" "temporal.tls.caSecret" "text" $v.temporal.tls.caSecret "form" "name" "optional" true)
  (dict "at" "temporal.tls.caKey" "text" $v.temporal.tls.caKey "form" "someName")
  (dict "at" "temporal.tls.clientSecret" "text" $v.temporal.tls.clientSecret "form" "name" "optional" true)
  (dict "at" "tracing.endpoint" "text" $v.tracing.endpoint "form" "url" "optional" true)
  (dict "at" "tracing.headersSecret" "text" $v.tracing.headersSecret "form" "name" "optional" true)
  (dict "at" "encryption.secret" "text" $v.encryption.secret "form" "name" "optional" true)
  (dict "at" "acceptUnsealedUntil" "text" $v.acceptUnsealedUntil "form" "moment" "optional" true)
  (dict "at" "webhook.certificates.life" "text" $v.webhook.certificates.life "form" "hours")
  (dict "at" "webhook.certificates.secret" "text" $v.webhook.certificates.secret "form" "name" "optional" true)
  (dict "at" "priorityClassName" "text" $v.priorityClassName "form" "name" "optional" true)
  (dict "at" "monitoring.podMonitor.interval" "text" $v.monitoring.podMonitor.interval "form" "duration")
  (dict "at" "monitoring.serviceMonitor.interval" "text" $v.monitoring.serviceMonitor.interval "form" "duration")
}}
{{- $lists := list
  (dict "at" "egress.allow" "texts" $v.egress.allow "form" "host")
  (dict "at" "egress.deny" "texts" $v.egress.deny "form" "host")
  (dict "at" "egress.never" "texts" $v.egress.never "form" "place")
  (dict "at" "bridge.codec.origins" "texts" $v.bridge.codec.origins "form" "origin")
  (dict "at" "networkPolicy.clusterRanges" "texts" $v.networkPolicy.clusterRanges "form" "range")
  (dict "at" "networkPolicy.closedNamespaces" "texts" $v.networkPolicy.closedNamespaces "form" "namespace")
}}
{{- range $i, $one := $v.imagePullSecrets }}
{{- $texts = append $texts (dict "at" (printf "imagePullSecrets[%d].name" $i) "text" $one.name "form" "name") }}
{{- end }}
{{- range $i, $one := $v.planNamespaces }}
{{- $at := printf "planNamespaces[%d]" $i }}
{{- $texts = append $texts (dict "at" (printf "%s.name" $at) "text" $one.name "form" "namespace") }}
{{- $lists = append $lists (dict "at" (printf "%s.serviceAccounts" $at) "texts" $one.serviceAccounts "form" "name") }}
{{- range $j, $operator := $one.operators }}
{{- $texts = append $texts (dict "at" (printf "%s.operators[%d].name" $at $j) "text" $operator.name "form" "someName") }}
{{- with $operator.namespace }}
{{- $texts = append $texts (dict "at" (printf "%s.operators[%d].namespace" $at $j) "text" . "form" "namespace") }}
{{- end }}
{{- end }}
{{- end }}
{{- range $name := list "bridge" "worker" }}
{{- $program := index $v $name }}
{{- range $budget, $limit := pick $program.podDisruptionBudget "minAvailable" "maxUnavailable" }}
{{- if kindIs "string" $limit }}
{{- $texts = append $texts (dict "at" (printf "%s.podDisruptionBudget.%s" $name $budget) "text" $limit "form" "share") }}
{{- end }}
{{- end }}
{{- range $i, $one := $program.extraEnv }}
{{- $texts = append $texts (dict "at" (printf "%s.extraEnv[%d].name" $name $i) "text" $one.name "form" "variable") }}
{{- end }}
{{- $settings := include "drover.settings.forms" . | fromYaml }}
{{- range $setting, $value := $program.settings }}
{{- with index $settings $setting }}
{{- $texts = append $texts (dict "at" (printf "%s.settings.%s" $name $setting) "text" $value "form" .) }}
{{- end }}
{{- end }}
{{- end }}
{{- range $list := $lists }}
{{- range $i, $text := $list.texts }}
{{- $texts = append $texts (dict "at" (printf "%s[%d]" $list.at $i) "text" $text "form" $list.form) }}
{{- end }}
{{- end }}
{{- toJson $texts }}
{{- end }}

{{/* Settings of programs that are texts of a form. */}}
{{- define "drover.settings.forms" -}}
build-id: buildId
default-service-account: name
delete-wait: duration
mirror-interval: duration
mirror-interval-large: duration
orphan-confirm: duration
orphan-interval: duration
pause-reminder: duration
plan-wait: duration
previous-controller-namespace: namespace
settle: duration
silence: duration
snapshot-unused: duration
stop-wait: duration
ttl-after-finished: duration
undo-step: duration
{{- end }}
