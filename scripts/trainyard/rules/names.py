"""Names: what the API server, DNS and labels take.

Sources: Kubernetes documentation, "Object Names and IDs"; ``ValidateObjectMeta``'s callers
in ``pkg/apis/*/validation`` of Kubernetes.
"""

import re
from collections.abc import Iterator

from trainyard.render.objects import Object
from trainyard.rules.base import Problem, Render, at, entries, mapping, rule, whole
from trainyard.schemas.paths import step

DNS_1123 = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
DNS_1123_SUBDOMAIN = re.compile(rf"{DNS_1123.pattern}(\.{DNS_1123.pattern})*")
DNS_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
PATH_SEGMENT = re.compile(r"(?!\.\.?$)[^/%]+")
PORT_NAME = re.compile(r"(?=.*[a-z])(?!.*--)[a-z0-9]([-a-z0-9]*[a-z0-9])?")
ENV_NAME = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")
CONFIG_KEY = re.compile(r"(?!\.\.?$)(?!\.\.)[-._a-zA-Z0-9]+")

Form = tuple[re.Pattern[str], int, str]
"""Pattern, longest length, and what the form is called."""

SUBDOMAIN = (DNS_1123_SUBDOMAIN, 253, "DNS-1123 subdomain")
LABEL = (DNS_1123, 63, "DNS-1123 label")

SYNTAX: dict[str, Form] = {
    "Namespace": LABEL,
    "StatefulSet": LABEL,
    "Service": (DNS_1035, 63, "DNS-1035 label"),
    **dict.fromkeys(
        ("APIService", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"),
        (PATH_SEGMENT, 253, "path segment"),
    ),
}
"""The forms of names, for kinds whose names are no subdomains."""

RELAXED_SERVICE_NAMES = 36
"""The minor version from which on a Service's name may begin with a digit
(feature gate RelaxedServiceNameValidation)."""

SHORTEN = 'Trim the name before the suffix: `trunc N | trimSuffix "-"`, then append.'


@rule(
    "name-syntax",
    "The API server refuses a name that is not of its kind's form "
    "(Kubernetes documentation, Object Names and IDs).",
    bad="{apiVersion: v1, kind: Service, metadata: {name: Web-}}",
    near_miss="{apiVersion: v1, kind: ConfigMap, metadata: {name: 1-web.example}}",
)
def name_syntax(render: Render) -> Iterator[Problem]:
    """Find objects whose name is missing, too long or of the wrong form."""
    for found in render.objects:
        name = found.metadata.get("name")
        if not name:
            if not found.metadata.get("generateName"):
                yield Problem(found, "metadata.name", "it has no name", "Give it a name.")
            continue
        form = SYNTAX.get(found.kind, SUBDOMAIN)
        if found.kind == "Service" and render.minor >= RELAXED_SERVICE_NAMES:
            form = LABEL
        yield from _form(found, "metadata.name", name, form)


def _form(found: Object, path: str, name: object, wanted: Form) -> Iterator[Problem]:
    pattern, longest, form = wanted
    if not isinstance(name, str):
        yield Problem(found, path, f"{name!r} is no string", "Quote it in the template.")
    elif not pattern.fullmatch(name):
        yield Problem(found, path, f"{name!r} is no {form}", f"It must match {pattern.pattern}.")
    elif len(name) > longest:
        message = f"{name!r} has {len(name)} characters, of which a {form} has at most {longest}"
        yield Problem(found, path, message, SHORTEN)


@rule(
    "name-length",
    "The controller writes the name into labels and host names of 63 characters, with a suffix: "
    "where it is too long no pod is ever made (kubernetes/kubernetes#64023).",
    bad="{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: "
    + "a" * 53
    + "}, spec: {replicas: 1}}",
    near_miss="{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: "
    + "a" * 52
    + "}, spec: {replicas: 1}}",
)
def name_length(render: Render) -> Iterator[Problem]:
    """Find workloads whose pods or Jobs cannot be named, at the largest index."""
    for found in render.objects:
        for longest, made in _made(found):
            if len(found.name) > longest:
                yield Problem(
                    found,
                    "metadata.name",
                    f"{found.name!r} has {len(found.name)} characters; "
                    f"with at most {longest} it leaves room for {made}",
                    SHORTEN,
                )
                break


def _made(found: Object) -> Iterator[tuple[int, str]]:
    """Give the longest length for each thing that is named after an object."""
    if found.kind == "CronJob":
        yield 52, "the 11 characters of its Jobs' suffix"
    if found.kind == "Job":
        if at(found, "spec.completionMode") == "Indexed":
            last = str(max(whole(at(found, "spec.completions"), 1) - 1, 0))
            yield 62 - len(last), f"the host name of pod {last}"
        yield 63, "the label job-name"
    if found.kind == "StatefulSet":
        first = whole(at(found, "spec.ordinals.start"), 0)
        last = str(max(first + whole(at(found, "spec.replicas"), 1) - 1, 0))
        yield min(52, 62 - len(last)), "the label controller-revision-hash"


@rule(
    "field-name",
    "Containers, volumes, ports, environment variables and configuration keys have forms of "
    "their own that the schema does not tell (ValidatePodSpec, ValidateConfigMap of Kubernetes).",
    bad="""
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers: [{name: Main_1, image: a, ports: [{name: a-long-port-name, containerPort: 1}]}]
""",
    near_miss="""
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers: [{name: main-1, image: a, ports: [{name: long-port-name1, containerPort: 1}]}]
""",
)
def field_name(render: Render) -> Iterator[Problem]:
    """Find names within objects that are of the wrong form."""
    for found, (path, field, value) in render.nodes():
        form = FIELD_FORMS.get((field.owner, field.name))
        if form and value:
            yield from _form(found, path, value, form)
    for found in render.objects:
        if found.kind in {"ConfigMap", "Secret"}:
            for part in ("data", "stringData", "binaryData"):
                for key in mapping(found.get(part)):
                    yield from _form(found, part + step(key), key, (CONFIG_KEY, 253, "key"))


PORT = (PORT_NAME, 15, "port name (IANA service name)")

FIELD_FORMS: dict[tuple[str, str], Form] = {
    ("Container", "name"): LABEL,
    ("EphemeralContainer", "name"): LABEL,
    ("Volume", "name"): LABEL,
    ("ContainerPort", "name"): PORT,
    ("ServicePort", "name"): LABEL,
    ("EnvVar", "name"): (ENV_NAME, 32768, "name of an environment variable"),
    ("PodSpec", "hostname"): LABEL,
    ("PodSpec", "subdomain"): LABEL,
    ("PodSpec", "serviceAccountName"): SUBDOMAIN,
    ("StatefulSetSpec", "serviceName"): LABEL,
    ("ServiceBackendPort", "name"): PORT,
    ("IngressServiceBackend", "name"): LABEL,
    ("ConfigMapKeySelector", "name"): SUBDOMAIN,
    ("SecretKeySelector", "name"): SUBDOMAIN,
}
"""The forms of names within objects, by type and field."""


@rule(
    "container-unique",
    "Init, regular and ephemeral containers of a pod share one space of names, "
    "and so do the ports of a container (ValidatePodSpec of Kubernetes).",
    bad="""
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  initContainers: [{name: main, image: a}]
  containers: [{name: main, image: a}]
""",
    near_miss="""
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  initContainers: [{name: init, image: a}]
  containers: [{name: main, image: a}, {name: other, image: a}]
""",
)
def container_unique(render: Render) -> Iterator[Problem]:
    """Find containers, and named ports of a container or a Service, of the same name."""
    for pod in render.pods:
        yield from _same(pod.object, [(path, c.get("name")) for path, c in pod.containers()])
        for path, container in pod.containers():
            ports = entries(container.get("ports"))
            yield from _same(pod.object, [(f"{path}.ports[{i}]", p.get("name")) for i, p in ports])
    for service in render.all("Service"):
        ports = entries(at(service, "spec.ports"))
        yield from _same(service, [(f"spec.ports[{i}]", p.get("name")) for i, p in ports])


def _same(found: Object, named: list[tuple[str, object]]) -> Iterator[Problem]:
    seen: set[object] = set()
    for path, name in named:
        if name and str(name) in seen:
            yield Problem(
                found, f"{path}.name", f"the name {name!r} is taken", "Give each its own name."
            )
        seen.add(str(name))
