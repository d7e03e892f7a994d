"""A small chart without a fault, into copies of which faults are seeded."""

from pathlib import Path

HELPERS = """
{{- define "depot.name" -}}
{{- printf "%s-depot" .Release.Name | trunc 44 | trimSuffix "-" -}}
{{- end -}}
{{- define "depot.chart" -}}
{{- regexReplaceAll "[^A-Za-z0-9]+$" (regexReplaceAll "[^-A-Za-z0-9_.]" \
(printf "%s-%s" .Chart.Name .Chart.Version) "_" | trunc 63) "" -}}
{{- end -}}
{{- define "depot.select" -}}
app.kubernetes.io/name: depot
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}
{{- define "depot.labels" -}}
{{ include "depot.select" . }}
helm.sh/chart: {{ include "depot.chart" . }}
{{- end -}}
{{- define "depot.env" -}}
{{- $env := dict "STEPS" (.Values.steps | int64 | toString) -}}
{{- range .Values.env }}{{ $_ := set $env .name .value }}{{ end -}}
{{- range $name, $value := $env }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end -}}
{{- define "depot.pod" -}}
automountServiceAccountToken: false
securityContext: {runAsNonRoot: true, runAsUser: 1000, seccompProfile: {type: RuntimeDefault}}
{{- end -}}
{{- define "depot.container" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag }}"
securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
resources:
  limits: {cpu: "1", memory: 1Gi}
{{- end -}}
"""

WEB = """
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "depot.name" . }}-web
  labels: {{- include "depot.labels" . | nindent 4 }}
spec:
  replicas: {{ .Values.replicas | int }}
  selector:
    matchLabels: {{- include "depot.select" . | nindent 6 }}
      part: web
  template:
    metadata:
      labels: {{- include "depot.select" . | nindent 8 }}
        part: web
      annotations: {checksum/config: {{ toYaml .Values.settings | sha256sum }}}
    spec:
      {{- include "depot.pod" . | nindent 6 }}
      containers:
        - name: web
          {{- include "depot.container" . | nindent 10 }}
          ports: [{name: http, containerPort: 8080}]
          readinessProbe: {httpGet: {path: /, port: http}}
          env: {{- include "depot.env" . | nindent 12 }}
          envFrom: [{configMapRef: {name: {{ include "depot.name" . }}-settings}}]
---
apiVersion: v1
kind: Service
metadata:
  name: {{ include "depot.name" . }}-web
  labels: {{- include "depot.labels" . | nindent 4 }}
spec:
  selector: {{- include "depot.select" . | nindent 4 }}
    part: web
  ports: [{name: http, port: 80, targetPort: http}]
"""

STORE = """
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: {{ include "depot.name" . }}-store
  labels: {{- include "depot.labels" . | nindent 4 }}
spec:
  replicas: 1
  serviceName: {{ include "depot.name" . }}-store
  selector:
    matchLabels: {{- include "depot.select" . | nindent 6 }}
      part: store
  template:
    metadata:
      labels: {{- include "depot.select" . | nindent 8 }}
        part: store
    spec:
      {{- include "depot.pod" . | nindent 6 }}
      containers:
        - name: store
          {{- include "depot.container" . | nindent 10 }}
          volumeMounts: [{name: data, mountPath: /data}]
  volumeClaimTemplates:
    - metadata: {name: data}
      spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Service
metadata:
  name: {{ include "depot.name" . }}-store
  labels: {{- include "depot.labels" . | nindent 4 }}
spec:
  clusterIP: None
  selector: {{- include "depot.select" . | nindent 4 }}
    part: store
  ports: [{name: store, port: 6000}]
"""

SETTINGS = """
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ include "depot.name" . }}-settings
  labels: {{- include "depot.labels" . | nindent 4 }}
data:
  {{- range $key, $value := .Values.settings }}
  {{ $key }}: {{ $value | quote }}
  {{- end }}
"""

MIGRATE = """
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ include "depot.name" . }}-migrate
  labels: {{- include "depot.labels" . | nindent 4 }}
  annotations:
    helm.sh/hook: post-install,post-upgrade
    helm.sh/hook-delete-policy: before-hook-creation
spec:
  template:
    metadata:
      labels: {{- include "depot.select" . | nindent 8 }}
    spec:
      {{- include "depot.pod" . | nindent 6 }}
      restartPolicy: Never
      containers:
        - name: migrate
          {{- include "depot.container" . | nindent 10 }}
"""

FILES = {
    "Chart.yaml": 'apiVersion: v2\nname: depot\nversion: 1.0.0\nappVersion: "1.0"\n',
    "values.yaml": """
replicas: 2
steps: 100
image: {repository: example.org/depot, tag: "1.10"}
env: []
settings: {greeting: hello}
note: ""
""",
    "values.schema.json": """
{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
 "additionalProperties": false,
 "properties": {
  "global": {"type": "object"},
  "enabled": {"type": "boolean"},
  "replicas": {"type": "integer"},
  "steps": {"type": "integer"},
  "image": {"type": "object"},
  "env": {"type": "array", "items": {"type": ["object", "null"]}},
  "settings": {"type": "object"},
  "note": {"type": "string"},
  "extra": {"type": ["object", "null"]}
 }}
""",
    "templates/_helpers.tpl": HELPERS,
    "templates/web.yaml": WEB,
    "templates/store.yaml": STORE,
    "templates/settings.yaml": SETTINGS,
    "templates/migrate.yaml": MIGRATE,
    "templates/NOTES.txt": "Thank you for {{ .Chart.Name }}.\n",
}
"""The chart's files by their paths."""


def write(folder: Path, edits: dict[str, tuple[str, str] | str]) -> Path:
    """Write the chart, with parts of its files replaced, or with other files; give its folder.

    An edit is (what stands there, what replaces it), or the content of a whole file.
    """
    files = dict(FILES)
    for name, edit in edits.items():
        if isinstance(edit, str):
            files[name] = edit
        else:
            old, new = edit
            assert old in files[name], f"{name} has no {old!r}"
            files[name] = files[name].replace(old, new)
    for name, content in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content.lstrip("\n"))
    return folder


def write_parent(folder: Path, values: str, condition: str = "") -> Path:
    """Write a chart around the one in ``folder/charts/depot``; give its folder."""
    extra = f"    condition: {condition}\n" if condition else ""
    (folder / "Chart.yaml").write_text(
        "apiVersion: v2\nname: parent\nversion: 1.0.0\n"
        f"dependencies:\n  - name: depot\n    version: 1.0.0\n{extra}"
    )
    (folder / "values.yaml").write_text(values)
    return folder
