"""Faults that public trackers tell of, as seeds for a small chart.

Each is told in our own words and seeded into a copy of the chart in ``depot``; the near miss
looks like it and is right. ``docs/faults.md`` is made from this table.
"""

from dataclasses import dataclass, field

Edits = dict[str, tuple[str, str] | str]


@dataclass(frozen=True)
class Seed:
    """What is changed in the chart, and the case in which it shows."""

    edits: Edits = field(default_factory=dict)
    upgraded: Edits | None = None
    """For upgrades: the edits of the new chart, beside ``edits`` in both."""
    values: str = ""
    sets: tuple[str, ...] = ()
    release: str = "my"
    kube_version: str = ""
    parent: str | None = None
    """The values of a chart around this one; None renders it alone."""
    condition: str = ""


@dataclass(frozen=True)
class Fault:
    """One fault: where it is told of, what it is, and what must find it."""

    id: str
    issues: tuple[str, ...]
    seeded: str
    rule: str
    """The rule's id; ``render`` where the render itself fails; empty where nothing here sees it."""
    bad: Seed = field(default_factory=Seed)
    near_miss: Seed = field(default_factory=Seed)
    unseen: str = ""
    """Why nothing here sees it."""


WEB, STORE = "templates/web.yaml", "templates/store.yaml"
HELPERS, SETTINGS = "templates/_helpers.tpl", "templates/settings.yaml"
SCHEMA, MIGRATE = "values.schema.json", "templates/migrate.yaml"

DEFAULTED = "replicas: {{ .Values.replicas | default 3 | int }}"
POSITIVE = '"replicas": {"type": "integer", "minimum": 1}'

FULL_NAME = 'trunc 44 | trimSuffix "-"'
CHART_LABEL = """{{- regexReplaceAll "[^A-Za-z0-9]+$" (regexReplaceAll "[^-A-Za-z0-9_.]" \
(printf "%s-%s" .Chart.Name .Chart.Version) "_" | trunc 63) "" -}}"""
AS_STEPS = "STEPS: {{ .Values.steps | int64 | toString | quote }}"

BUDGET = """
apiVersion: {{ if %s }}policy/v1beta1{{ else }}policy/v1{{ end }}
kind: PodDisruptionBudget
metadata: {name: {{ include "depot.name" . }}}
spec:
  minAvailable: 1
  selector:
    matchLabels: {{- include "depot.select" . | nindent 6 }}
"""

SECRET = """
apiVersion: v1
kind: Secret
metadata: {name: {{ include "depot.name" . }}-password%s}
stringData: {password: %s}
"""

AUTOSCALER = """
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: {{ include "depot.name" . }}}
spec:
  maxReplicas: 3
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: {{ include "depot.name" . }}-web}
"""

CRATE_DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: crates.example.org}
spec:
  group: example.org
  scope: Namespaced
  names: {kind: Crate, plural: crates}
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: {type: object, properties: {size: {type: integer}}}
"""
CRATE = "{apiVersion: example.org/v1, kind: Crate, metadata: {name: a}, spec: {%s: 1}}\n"

FAULTS = (
    Fault(
        "closed-root",
        ("helm/helm#10392", "SlyBase/helm-charts#338"),
        "The values schema closes its root and does not name `global`, which Helm gives to every "
        "sub-chart.",
        "render",
        Seed({SCHEMA: ('"global": {"type": "object"},', "")}, parent="depot: {}\n"),
        Seed(parent="depot: {}\n"),
    ),
    Fault(
        "condition-key",
        ("cert-manager/cert-manager#7334",),
        "A parent turns the chart on by `enabled`, which its closed schema does not name.",
        "render",
        Seed(
            {SCHEMA: ('"enabled": {"type": "boolean"},', "")},
            parent="depot: {enabled: true}\n",
            condition="depot.enabled",
        ),
        Seed(parent="depot: {enabled: true}\n", condition="depot.enabled"),
    ),
    Fault(
        "null-in-parent",
        ("helm/helm#32132",),
        "A parent's values.yaml sets a key to null to remove it, and the default below it stays.",
        "values-null-kept",
        Seed(parent="depot: {steps: null}\n"),
        Seed(parent="depot: {steps: 5}\n"),
    ),
    Fault(
        "null-without-default",
        (),
        "A key without a default takes an object, but not the null that removes it.",
        "render",
        Seed(
            {SCHEMA: ('"extra": {"type": ["object", "null"]}', '"extra": {"type": "object"}')},
            sets=("extra=null",),
        ),
        Seed(sets=("extra=null",)),
    ),
    Fault(
        "default-eats-zero",
        (),
        "`default 3` takes a 0 that was asked for as not given.",
        "values-zero-lost",
        Seed(
            {WEB: ("replicas: {{ .Values.replicas | int }}", DEFAULTED)},
        ),
        Seed(
            {
                WEB: ("replicas: {{ .Values.replicas | int }}", DEFAULTED),
                SCHEMA: ('"replicas": {"type": "integer"}', POSITIVE),
            }
        ),
    ),
    Fault(
        "list-item-by-index",
        (),
        "`--set env[1].name=B` on a shorter list leaves a null before it, and the template "
        "renders it.",
        "null-value",
        Seed(
            {
                WEB: (
                    'env: {{- include "depot.env" . | nindent 12 }}',
                    "env: {{- toYaml .Values.env | nindent 12 }}",
                )
            },
            sets=("env[1].name=B",),
        ),
        Seed(
            {
                WEB: (
                    'env: {{- include "depot.env" . | nindent 12 }}',
                    "env: {{- toYaml .Values.env | nindent 12 }}",
                )
            },
            sets=("env[0].name=B",),
        ),
    ),
    Fault(
        "large-number",
        ("helm/helm#12195", "helm/helm#11130"),
        "A million from a values file is printed as it is.",
        "scientific-notation",
        Seed(
            {SETTINGS: ("\ndata:", "\ndata:\n  steps: {{ .Values.steps | quote }}")},
            values="steps: 1000000\n",
        ),
        Seed(
            {SETTINGS: ("\ndata:", "\ndata:\n  steps: {{ .Values.steps | int64 | quote }}")},
            values="steps: 1000000\n",
        ),
    ),
    Fault(
        "pretty-number",
        ("helm/helm#32135",),
        "A million goes through `toYamlPretty`.",
        "scientific-notation",
        Seed(
            {
                SETTINGS: (
                    "\ndata:",
                    "\ndata:\n  all: |\n{{ toYamlPretty .Values.image | indent 4 }}",
                )
            },
            values="image: {repository: a, tag: b, size: 1000000}\n",
        ),
        Seed(
            {SETTINGS: ("\ndata:", "\ndata:\n  all: |\n{{ toYaml .Values.image | indent 4 }}")},
            values="image: {repository: a, tag: b, size: 1000000}\n",
        ),
    ),
    Fault(
        "numeric-tag",
        ("helm/helm#3246", "helm/helm#1643", "roboll/helmfile#1381"),
        "An image tag of digits alone, as a short commit hash can be, is read as a number.",
        "scientific-notation",
        Seed(values="image: {tag: 6801028}\n"),
        Seed(values='image: {tag: "6801028"}\n'),
    ),
    Fault(
        "wrong-verb",
        (),
        '`printf "%d"` gets a number of a values file, which is a float.',
        "template-residue",
        Seed({SETTINGS: ("\ndata:", '\ndata:\n  steps: {{ printf "%d" .Values.steps | quote }}')}),
        Seed(
            {
                SETTINGS: (
                    "\ndata:",
                    '\ndata:\n  steps: {{ printf "%d" (int .Values.steps) | quote }}',
                )
            }
        ),
    ),
    Fault(
        "compared-number",
        (),
        "A number of a values file is compared with a whole number.",
        "render",
        Seed({SETTINGS: ("\ndata:", "\ndata:\n  one: {{ eq .Values.steps 1 | quote }}")}),
        Seed({SETTINGS: ("\ndata:", "\ndata:\n  one: {{ eq (int .Values.steps) 1 | quote }}")}),
    ),
    Fault(
        "unquoted-env",
        ("provectus/kafka-ui-charts#19", "openfga/helm-charts#2", "coder/code-server#6563"),
        "The value of a variable is rendered without quotes and becomes a boolean.",
        "api-schema",
        Seed(
            {HELPERS: ("value: {{ $value | quote }}", "value: {{ $value }}")},
            values="env: [{name: A, value: true}]\n",
        ),
        Seed(values="env: [{name: A, value: true}]\n"),
    ),
    Fault(
        "wrong-depth",
        ("camunda-community-hub/zeebe-cluster-helm#30", "bitnami/charts#4634"),
        "A block is indented for another depth, so its keys become those of its parent.",
        "api-schema",
        Seed({HELPERS: ("  limits:", "limits:")}),
        Seed({HELPERS: ("  limits:", "    limits:")}),
    ),
    Fault(
        "multi-line-value",
        ("prometheus-community/helm-charts#6245",),
        "A value of several lines is put behind its key as it is.",
        "render",
        Seed(
            {SETTINGS: ("\ndata:", "\ndata:\n  note: {{ .Values.note }}")},
            values="note: |\n  one: 1\n  two\n",
        ),
        Seed(
            {SETTINGS: ("\ndata:", "\ndata:\n  note: |- {{- .Values.note | nindent 4 }}")},
            values="note: |\n  one: 1\n  two\n",
        ),
    ),
    Fault(
        "template-over-text",
        ("prometheus-community/helm-charts#2450", "bitnami/charts#10496"),
        "A user's text with double braces of its own goes through `tpl`.",
        "render",
        Seed(
            {SETTINGS: ("\ndata:", "\ndata:\n  note: {{ tpl .Values.note . | quote }}")},
            values='note: "{{ $labels.instance }}"\n',
        ),
        Seed(
            {SETTINGS: ("\ndata:", "\ndata:\n  note: {{ .Values.note | quote }}")},
            values='note: "{{ $labels.instance }}"\n',
        ),
    ),
    Fault(
        "label-end",
        ("bitnami/charts#36452",),
        "A long version is cut to 63 characters, and only a dash is trimmed from its end.",
        "label-syntax",
        Seed(
            {
                HELPERS: (
                    CHART_LABEL,
                    '{{- printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 '
                    '| trimSuffix "-" -}}',
                ),
                "Chart.yaml": ("version: 1.0.0", f"version: 1.0.0-{'a' * 50}+build1"),
            }
        ),
        Seed({"Chart.yaml": ("version: 1.0.0", f"version: 1.0.0-{'a' * 50}+build1")}),
    ),
    Fault(
        "label-plus",
        ("fluxcd/flux2#4910", "ai-dynamo/grove#832"),
        "A version with build metadata stands in a label as it is.",
        "label-syntax",
        Seed(
            {
                HELPERS: (CHART_LABEL, "{{ .Chart.Name }}-{{ .Chart.Version }}"),
                "Chart.yaml": ("version: 1.0.0", "version: 1.0.0+digest"),
            }
        ),
        Seed({"Chart.yaml": ("version: 1.0.0", "version: 1.0.0+digest")}),
    ),
    Fault(
        "long-stateful-set",
        ("argoproj/argo-helm#1328", "kubernetes/kubernetes#64023"),
        "The name of a StatefulSet has more than 52 characters, and no pod of it is ever made.",
        "name-length",
        Seed({HELPERS: (FULL_NAME, "trunc 52")}, release="a" * 53),
        Seed(release="a" * 53),
    ),
    Fault(
        "suffix-cut",
        (),
        "The suffix is cut off with the rest of a long name, and two Services become one.",
        "duplicate-object",
        Seed(
            {
                WEB: (
                    '{{ include "depot.name" . }}-web',
                    '{{ printf "%s-web" .Release.Name | trunc 53 }}',
                ),
                STORE: (
                    '{{ include "depot.name" . }}-store',
                    '{{ printf "%s-store" .Release.Name | trunc 53 }}',
                ),
            },
            release="a" * 53,
        ),
        Seed(
            {
                WEB: (
                    '{{ include "depot.name" . }}-web',
                    '{{ printf "%s-web" .Release.Name | trunc 53 }}',
                ),
                STORE: (
                    '{{ include "depot.name" . }}-store',
                    '{{ printf "%s-store" .Release.Name | trunc 53 }}',
                ),
            }
        ),
    ),
    Fault(
        "one-name-for-all",
        ("jfrog/charts#2461", "helm/helm#8722"),
        "A full name that the user gives replaces the names of several objects of a kind.",
        "duplicate-object",
        Seed(
            {
                WEB: ('{{ include "depot.name" . }}-web', '{{ include "depot.name" . }}'),
                STORE: ('{{ include "depot.name" . }}-store', '{{ include "depot.name" . }}'),
            }
        ),
    ),
    Fault(
        "version-in-selector",
        ("bitnami/charts#18215", "helm/charts#7680", "helm/charts#7803"),
        "The selector holds the label with the chart's version.",
        "selector-version",
        Seed({WEB: ('"depot.select" . | nindent', '"depot.labels" . | nindent')}),
    ),
    Fault(
        "version-in-selector, upgraded",
        ("bitnami/charts#18215", "Smana/runlore#287"),
        "The same, when only the chart's version changes.",
        "upgrade-immutable",
        Seed(
            {WEB: ('"depot.select" . | nindent', '"depot.labels" . | nindent')},
            upgraded={"Chart.yaml": ("version: 1.0.0", "version: 1.0.1")},
        ),
        Seed(upgraded={"Chart.yaml": ("version: 1.0.0", "version: 1.0.1")}),
    ),
    Fault(
        "plain-job",
        ("helm/helm#7725", "openfga/helm-charts#69"),
        "A Job that is no hook keeps its name while its pod template changes.",
        "upgrade-immutable",
        Seed(
            {MIGRATE: ("helm.sh/hook: post-install,post-upgrade", "example.org/note: plain")},
            upgraded={"values.yaml": ('tag: "1.10"', 'tag: "1.11"')},
        ),
        Seed(upgraded={"values.yaml": ('tag: "1.10"', 'tag: "1.11"')}),
    ),
    Fault(
        "reused-values",
        ("argoproj/argo-helm#1114",),
        "A new key is read without a guard, and `--reuse-values` brings values without it.",
        "upgrade-reuse-values",
        Seed(
            upgraded={
                "values.yaml": ('note: ""', 'note: ""\nextra: {depth: {name: a}}'),
                SETTINGS: ("\ndata:", "\ndata:\n  extra: {{ .Values.extra.depth.name }}"),
            }
        ),
        Seed(
            upgraded={
                "values.yaml": ('note: ""', 'note: ""\nextra: {depth: {name: a}}'),
                SETTINGS: (
                    "\ndata:",
                    "\ndata:\n  extra: {{ ((.Values.extra).depth).name | default `a` }}",
                ),
            }
        ),
    ),
    Fault(
        "random-password",
        ("helm/helm#3053", "goharbor/harbor-helm#2263"),
        "A password is drawn anew at each render.",
        "determinism",
        Seed({"templates/secret.yaml": SECRET % ("", "{{ randAlphaNum 16 }}")}),
        Seed({"templates/secret.yaml": SECRET % ("", "{{ .Values.note | quote }}")}),
    ),
    Fault(
        "autoscaled-replicas",
        ("NatLabRockies/openstudio-server-helm#110", "k3s-io/helm-controller#343"),
        "The Deployment sets its replicas beside an autoscaler that owns them.",
        "autoscaler-replicas",
        Seed({"templates/autoscaler.yaml": AUTOSCALER}),
        Seed(
            {
                "templates/autoscaler.yaml": AUTOSCALER,
                WEB: ("  replicas: {{ .Values.replicas | int }}\n", ""),
            }
        ),
    ),
    Fault(
        "field-managers",
        ("giantswarm/agentlab#112", "helm/helm#31516"),
        "A release made by client-side apply is upgraded with server-side apply.",
        "",
        unseen="It lies in what the cluster stores, not in a chart.",
    ),
    Fault(
        "duplicate-env",
        ("helm/helm#31529", "helm/helm#12643"),
        "The user's variables are appended to the chart's own, of which one has the same name.",
        "list-keys",
        Seed(
            {
                WEB: (
                    'env: {{- include "depot.env" . | nindent 12 }}',
                    "env:\n            - {name: STEPS, value: a}\n"
                    "            {{- toYaml .Values.env | nindent 12 }}",
                )
            },
            values='env: [{name: STEPS, value: "7"}]\n',
        ),
        Seed(values='env: [{name: STEPS, value: "7"}]\n'),
    ),
    Fault(
        "endless-wait",
        ("helm/helm#32615",),
        "`--wait` waits for a custom resource whose status Helm does not know.",
        "",
        unseen="It lies in a status that only a cluster gives.",
    ),
    Fault(
        "late-hook",
        ("openchoreo/openchoreo#1055", "apache/skywalking-helm#190"),
        "A Deployment needs a Secret that only a post-install hook makes.",
        "hook-order",
        Seed(
            {
                "templates/secret.yaml": SECRET
                % (", annotations: {helm.sh/hook: post-install}", "a"),
                WEB: (
                    "envFrom: [",
                    'envFrom: [{secretRef: {name: {{ include "depot.name" . }}-password}}, ',
                ),
            }
        ),
        Seed(
            {
                "templates/secret.yaml": SECRET
                % (', annotations: {helm.sh/hook: "pre-install,pre-upgrade"}', "a"),
                WEB: (
                    "envFrom: [",
                    'envFrom: [{secretRef: {name: {{ include "depot.name" . }}-password}}, ',
                ),
            }
        ),
    ),
    Fault(
        "stale-definition",
        ("kubeai-project/kubeai#213", "datastax/cass-operator#304"),
        "A custom resource has a field that the definition in `crds/` does not know.",
        "api-schema",
        Seed({"crds/crate.yaml": CRATE_DEFINITION, "templates/crate.yaml": CRATE % "sise"}),
        Seed({"crds/crate.yaml": CRATE_DEFINITION, "templates/crate.yaml": CRATE % "size"}),
    ),
    Fault(
        "frozen-definition",
        ("kubeai-project/kubeai#213",),
        "A new version changes a definition in `crds/`, which Helm installs once and never again.",
        "upgrade-crd-frozen",
        Seed(
            {"crds/crate.yaml": CRATE_DEFINITION},
            upgraded={"crds/crate.yaml": CRATE_DEFINITION.replace("integer", "string")},
        ),
        Seed({"crds/crate.yaml": CRATE_DEFINITION}, upgraded={}),
    ),
    Fault(
        "no-definition",
        (),
        "A custom resource has no definition anywhere, so nothing of it can be validated.",
        "api-without-schema",
        Seed({"templates/crate.yaml": CRATE % "size"}),
        Seed({"crds/crate.yaml": CRATE_DEFINITION, "templates/crate.yaml": CRATE % "size"}),
    ),
    Fault(
        "capability-offline",
        ("argoproj/argo-helm#2243", "traefik/traefik-helm-chart#679"),
        "An old API is chosen where `.Capabilities` names it, as it does without a cluster.",
        "api-not-served",
        Seed({"templates/budget.yaml": BUDGET % '.Capabilities.APIVersions.Has "policy/v1beta1"'}),
        Seed({"templates/budget.yaml": BUDGET % "false"}),
    ),
    Fault(
        "vendor-version",
        ("open-feature/open-feature-operator#841", "helm/helm#3810"),
        "A version with a vendor's suffix counts as a pre-release, and the old API is chosen.",
        "api-not-served",
        Seed(
            {
                "templates/budget.yaml": BUDGET
                % 'not (semverCompare ">=1.25.0" .Capabilities.KubeVersion.Version)'
            },
            kube_version="1.33.1-gke.100",
        ),
        Seed(
            {
                "templates/budget.yaml": BUDGET
                % 'not (semverCompare ">=1.25.0-0" .Capabilities.KubeVersion.Version)'
            },
            kube_version="1.33.1-gke.100",
        ),
    ),
    Fault(
        "failing-notes",
        (),
        "NOTES.txt fails, which `helm lint` does not see.",
        "render",
        Seed({"templates/NOTES.txt": '{{ fail "no" }}'}),
    ),
    Fault(
        "vacuous-selection",
        ("cozystack/cozystack#3864", "cozystack/cozystack#3634"),
        "A test asks about objects of which there are none, and stays green.",
        "selection",
    ),
    Fault(
        "remote-reference",
        ("helm/helm#31136", "helm/helm#31170", "buildkite/agent-stack-k8s#895"),
        "The values schema refers to another one by its address in the net.",
        "schema-remote-ref",
        Seed({SCHEMA: ('"note": {"type": "string"}', '"note": {"$ref": "https://example.org/a"}')}),
    ),
    Fault(
        "format-by-draft",
        (),
        "A `format` in the values schema, which some drafts assert and others do not.",
        "schema-format",
        Seed({SCHEMA: ('"note": {"type"', '"note": {"format": "hostname", "type"')}),
        Seed({SCHEMA: ('"note": {"type"', '"note": {"pattern": "^[a-z]*$", "type"')}),
    ),
    Fault(
        "number-kinds",
        (),
        "A whole number is refused when it is given by `--set` as a float or a text.",
        "",
        unseen="Helm reads it so; the schema's message names the path.",
    ),
    Fault(
        "duplicate-key",
        ("helm/helm#31102", "helm-unittest/helm-unittest#848"),
        "A key stands twice in a values file, and the last one silently wins.",
        "values-duplicate-key",
        Seed(
            {
                "values.yaml": (
                    'image: {repository: example.org/depot, tag: "1.10"}',
                    'image: {repository: example.org/depot}\nimage: {tag: "1.10"}',
                )
            }
        ),
    ),
)
