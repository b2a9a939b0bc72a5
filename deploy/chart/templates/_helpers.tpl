{{/* Labels of an object. Give the root, or a dict with "root" and "component". */}}
{{- define "drover.labels" -}}
{{- $root := .root | default . -}}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/name: drover
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
app.kubernetes.io/part-of: drover
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- with $root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/*
Labels by which the pods of a program are selected: those of deploy/programs, so that an installation by hand can be taken
over. They cannot be changed later, and need no release name, as a cluster has one installation.
*/}}
{{- define "drover.selector" -}}
app.kubernetes.io/name: drover
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "drover.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ $image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{/* "true" where a cluster answers: not in `helm template`, `helm lint` and GitOps tools, where nothing can be looked up. */}}
{{- define "drover.isConnected" -}}
{{- if lookup "v1" "Namespace" "" "kube-system" }}true{{ end -}}
{{- end }}

{{/* Port of HOST:PORT. */}}
{{- define "drover.portOf" -}}
{{- regexFind "[0-9]+$" . -}}
{{- end }}

{{/* Port of a URL. */}}
{{- define "drover.portOfUrl" -}}
{{- $place := (urlParse .).host -}}
{{- regexFind ":[0-9]+$" $place | trimPrefix ":" | default (hasPrefix "https:" . | ternary "443" "80") -}}
{{- end }}

{{/* A setting as the text of a variable; numbers of YAML are floats. */}}
{{- define "drover.text" -}}
{{- if kindIs "float64" . }}{{ printf "%.0f" . }}{{ else }}{{ toString . }}{{ end -}}
{{- end }}

{{- define "drover.webhookSecret" -}}
{{- $certificates := .Values.webhook.certificates -}}
{{- if eq $certificates.from "secret" }}{{ $certificates.secret }}{{ else }}drover-webhook-cert{{ end -}}
{{- end }}
