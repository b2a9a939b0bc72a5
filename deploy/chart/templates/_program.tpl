{{/*
Everything that every program has: account, Deployment, budget for disruptions. A program is one file that includes this with

  root      the root of the chart
  name      its name: drover-<name>, component <name>, values under <name>
  main      its file in the image
  env       variables of its own, YAML
  ports     ports of its own, YAML
  volumes, mounts   likewise
  graceSeconds      time that it is given to end
*/}}
{{- define "drover.program" -}}
{{- $root := .root }}
{{- $name := printf "drover-%s" .name }}
{{- $values := index $root.Values .name }}
{{- $labels := include "drover.labels" (dict "root" $root "component" .name) }}
{{- $selector := include "drover.selector" (dict "component" .name) }}
{{- $volumes := concat (include "drover.volumes" $root | fromYamlArray) (.volumes | default "" | fromYamlArray) $values.extraVolumes }}
{{- $mounts := concat (include "drover.mounts" $root | fromYamlArray) (.mounts | default "" | fromYamlArray) $values.extraVolumeMounts }}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ $name }}
  namespace: {{ $root.Release.Namespace }}
  labels:
    {{- $labels | nindent 4 }}
  {{- with $values.serviceAccountAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $name }}
  namespace: {{ $root.Release.Namespace }}
  labels:
    {{- $labels | nindent 4 }}
spec:
  replicas: {{ $values.replicas }}
  selector:
    matchLabels:
      {{- $selector | nindent 6 }}
  template:
    metadata:
      labels:
        {{- $labels | nindent 8 }}
        {{- with $values.podLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with $values.podAnnotations }}
      annotations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      serviceAccountName: {{ $name }}
      terminationGracePeriodSeconds: {{ .graceSeconds }}
      {{- with $root.Values.imagePullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $root.Values.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      securityContext:
        runAsNonRoot: true
        runAsUser: 1000
        runAsGroup: 1000
        # Reads what is mounted from Secrets.
        fsGroup: 1000
        seccompProfile: { type: RuntimeDefault }
      {{- with $values.topologySpreadConstraints }}
      topologySpreadConstraints:
        {{- range . }}
        {{- $own := dict "labelSelector" (dict "matchLabels" ($selector | fromYaml)) }}
        - {{ toYaml (mergeOverwrite $own .) | nindent 10 | trim }}
        {{- end }}
      {{- end }}
      {{- with $values.affinity }}
      affinity:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      containers:
        - name: {{ .name }}
          image: {{ include "drover.image" $root | quote }}
          imagePullPolicy: {{ $root.Values.image.pullPolicy }}
          args: [{{ .main }}]
          env:
            {{- include "drover.env" . | trim | nindent 12 }}
            {{- with $values.extraEnv }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          ports:
            - { name: health, containerPort: 8081 }
            {{- with .ports }}
            {{- . | nindent 12 }}
            {{- end }}
          livenessProbe:
            httpGet: { path: /healthz, port: health }
            periodSeconds: 10
          readinessProbe:
            httpGet: { path: /readyz, port: health }
            periodSeconds: 5
          resources:
            {{- toYaml $values.resources | nindent 12 }}
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: { drop: [ALL] }
          {{- with $mounts }}
          volumeMounts:
            {{- toYaml . | nindent 12 }}
          {{- end }}
      {{- with $volumes }}
      volumes:
        {{- toYaml . | nindent 8 }}
      {{- end }}
{{- $budget := $values.podDisruptionBudget }}
{{- if $budget.enabled }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ $name }}
  namespace: {{ $root.Release.Namespace }}
  labels:
    {{- $labels | nindent 4 }}
spec:
  {{- if hasKey $budget "minAvailable" }}
  minAvailable: {{ $budget.minAvailable }}
  {{- else }}
  maxUnavailable: {{ $budget.maxUnavailable }}
  {{- end }}
  # Pods that are not ready do not keep a node from being drained.
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- $selector | nindent 6 }}
{{- end }}
{{- end }}

{{/* All variables that the chart sets in a program. */}}
{{- define "drover.env" -}}
{{- $root := .root }}
{{- $temporal := $root.Values.temporal }}
{{- $tls := $temporal.tls }}
- { name: TEMPORAL_ADDRESS, value: {{ $temporal.address | quote }} }
- { name: TEMPORAL_NAMESPACE, value: {{ $temporal.namespace | quote }} }
{{- if $tls.enabled }}
- { name: TEMPORAL_TLS, value: 'true' }
{{- with $tls.serverName }}
- { name: TEMPORAL_TLS_SERVER_NAME, value: {{ . | quote }} }
{{- end }}
{{- if $tls.caSecret }}
- { name: TEMPORAL_TLS_SERVER_CA_CERT_PATH, value: /etc/drover/temporal-ca/ca.crt }
{{- end }}
{{- if $tls.clientSecret }}
- { name: TEMPORAL_TLS_CLIENT_CERT_PATH, value: /etc/drover/temporal-client/tls.crt }
- { name: TEMPORAL_TLS_CLIENT_KEY_PATH, value: /etc/drover/temporal-client/tls.key }
{{- end }}
{{- end }}
{{- with $temporal.apiKey.secret }}
- name: TEMPORAL_API_KEY
  valueFrom: { secretKeyRef: { name: {{ . }}, key: {{ $temporal.apiKey.key }} } }
{{- end }}
{{- if $root.Values.encryption.secret }}
- { name: DROVER_ENCRYPTION_KEYS, value: /etc/drover/encryption }
{{- end }}
{{- with $root.Values.acceptUnsealedUntil }}
- { name: DROVER_ACCEPT_UNSEALED_UNTIL, value: {{ . | quote }} }
{{- end }}
{{- with $root.Values.tracing }}
{{- if .endpoint }}
- { name: OTEL_EXPORTER_OTLP_ENDPOINT, value: {{ .endpoint | quote }} }
- { name: OTEL_EXPORTER_OTLP_PROTOCOL, value: {{ .protocol }} }
{{- with .headersSecret }}
- name: OTEL_EXPORTER_OTLP_HEADERS
  valueFrom: { secretKeyRef: { name: {{ . }}, key: headers } }
{{- end }}
- { name: OTEL_TRACES_SAMPLER, value: parentbased_traceidratio }
- { name: OTEL_TRACES_SAMPLER_ARG, value: {{ toString .ratio | quote }} }
- { name: OTEL_RESOURCE_ATTRIBUTES, value: {{ printf "k8s.namespace.name=%s" $root.Release.Namespace | quote }} }
{{- end }}
{{- end }}
{{- if $root.Values.monitoring.exemplars }}
- { name: DROVER_METRICS_EXEMPLARS, value: 'true' }
{{- end }}
{{- if $root.Values.profiles.enabled }}
- { name: DROVER_PROFILE_PORT, value: '6060' }
{{- end }}
- { name: DROVER_LOG_LEVEL, value: {{ $root.Values.logLevel }} }
- { name: DROVER_HEALTH_HOST, value: 0.0.0.0 }
- { name: DROVER_HEALTH_PORT, value: '8081' }
{{- with .env }}
{{ . }}
{{- end }}
{{- range $flag, $value := (index $root.Values .name).settings }}
- { name: DROVER_{{ $flag | replace "-" "_" | upper }}, value: {{ include "drover.text" $value | quote }} }
{{- end }}
{{- end }}

{{/* Material that every program reads from Secrets. */}}
{{- define "drover.volumes" -}}
{{- $tls := .Values.temporal.tls }}
{{- if and $tls.enabled $tls.caSecret }}
- name: temporal-ca
  secret: { secretName: {{ $tls.caSecret }}, items: [{ key: {{ $tls.caKey }}, path: ca.crt }] }
{{- end }}
{{- if and $tls.enabled $tls.clientSecret }}
- name: temporal-client
  secret: { secretName: {{ $tls.clientSecret }}, defaultMode: 0440 }
{{- end }}
{{- with .Values.encryption.secret }}
- name: encryption
  secret: { secretName: {{ . }}, defaultMode: 0440 }
{{- end }}
{{- end }}

{{- define "drover.mounts" -}}
{{- $tls := .Values.temporal.tls }}
{{- if and $tls.enabled $tls.caSecret }}
- { name: temporal-ca, mountPath: /etc/drover/temporal-ca, readOnly: true }
{{- end }}
{{- if and $tls.enabled $tls.clientSecret }}
- { name: temporal-client, mountPath: /etc/drover/temporal-client, readOnly: true }
{{- end }}
{{- if .Values.encryption.secret }}
- { name: encryption, mountPath: /etc/drover/encryption, readOnly: true }
{{- end }}
{{- end }}
