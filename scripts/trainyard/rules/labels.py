"""Labels, annotations and selectors.

Source: Kubernetes documentation, "Labels and Selectors"; ``ValidateLabels``,
``ValidateAnnotations`` and ``ValidateDeploymentSpec`` of Kubernetes.
"""

import re
from collections.abc import Iterator

from trainyard.render.objects import Object
from trainyard.rules.base import Map, Pod, Problem, Render, at, entries, mapping, rule, strings
from trainyard.rules.names import DNS_1123_SUBDOMAIN
from trainyard.schemas.paths import step

PART = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")

ANNOTATIONS_LIMIT = 256 * 1024
"""Bytes of all keys and values of an object's annotations."""

LABELLED = frozenset(
    {
        ("ObjectMeta", "labels"),
        ("LabelSelector", "matchLabels"),
        ("ServiceSpec", "selector"),
        ("ReplicationControllerSpec", "selector"),
        ("PodSpec", "nodeSelector"),
    }
)
"""Fields whose keys and values are labels."""


def is_key(key: object) -> bool:
    """Say whether something may be the key of a label or annotation."""
    prefix, slash, name = str(key).rpartition("/")
    fits = not slash or (len(prefix) <= 253 and bool(DNS_1123_SUBDOMAIN.fullmatch(prefix)))
    return fits and len(name) <= 63 and bool(PART.fullmatch(name))


def is_value(value: object) -> bool:
    """Say whether something may be the value of a label."""
    return isinstance(value, str) and len(value) <= 63 and bool(not value or PART.fullmatch(value))


@rule(
    "label-syntax",
    "The API server refuses labels of other forms; a version with a + or a cut-off name that "
    "ends in - or _ makes such (Kubernetes documentation, Labels and Selectors).",
    bad='{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {v: "1.0.0+build"}}}',
    near_miss='{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {v: "1.0.0_b"}}}',
)
def label_syntax(render: Render) -> Iterator[Problem]:
    """Find keys and values that no label may have."""
    for found, (path, field, value) in render.nodes():
        if (field.owner, field.name) in LABELLED:
            yield from _labels(found, path, mapping(value))
        elif (field.owner, field.name) == ("ObjectMeta", "annotations"):
            yield from _annotations(found, path, mapping(value))
    for found in render.objects:
        if "." in found.api_version.partition("/")[0]:
            yield from _labels(found, "metadata.labels", mapping(found.metadata.get("labels")))


def _labels(found: Object, path: str, labels: Map) -> Iterator[Problem]:
    for key, value in labels.items():
        place = f"{path}{step(key)}"
        if not is_key(key):
            yield Problem(found, place, f"{key!r} is no key of a label", "Use [prefix/]name.")
        if isinstance(value, str) and not is_value(value):
            yield Problem(
                found,
                place,
                f"{value!r} ({len(value)} characters) is no value of a label",
                "Replace what is not alphanumeric, -, _ or ., cut at 63, "
                "and trim what is not alphanumeric from the end.",
            )


def _annotations(found: Object, path: str, annotations: Map) -> Iterator[Problem]:
    for key in annotations:
        if not is_key(str(key).lower()):
            message = f"{key!r} is no key of an annotation"
            yield Problem(found, f"{path}{step(key)}", message, "Use [prefix/]name.")
    size = sum(len(f"{key}{value}".encode()) for key, value in annotations.items())
    if size > ANNOTATIONS_LIMIT:
        message = f"{size} bytes of annotations, of which {ANNOTATIONS_LIMIT} are allowed"
        yield Problem(found, path, message, "Put it into a ConfigMap.")


def matches(selector: object, labels: Map) -> bool:
    """Say whether a label selector (``matchLabels``, ``matchExpressions``) selects labels."""
    wanted = mapping(mapping(selector).get("matchLabels"))
    if any(key not in labels or labels[key] != value for key, value in wanted.items()):
        return False
    return all(
        _holds(expression, labels)
        for _, expression in entries(mapping(selector).get("matchExpressions"))
    )


def _holds(expression: Map, labels: Map) -> bool:
    key = str(expression.get("key"))
    there, value = key in labels, str(labels.get(key))
    values = strings(expression.get("values"))
    match expression.get("operator"):
        case "In":
            return there and value in values
        case "NotIn":
            return not there or value not in values
        case "Exists":
            return there
        case "DoesNotExist":
            return not there
    return True


GENERATED = re.compile(
    r"(batch\.kubernetes\.io/)?(job-name|controller-uid|job-completion-index)"
    r"|apps\.kubernetes\.io/pod-index|statefulset\.kubernetes\.io/pod-name"
    r"|controller-revision-hash|pod-template-hash|jobset\.sigs\.k8s\.io/.*"
)
"""Labels that controllers give to pods."""


def selects(selector: object, pod: Pod) -> bool:
    """Say whether a selector may select a pod, whatever labels its controller adds."""
    given = mapping(mapping(selector).get("matchLabels"))
    known = {key: value for key, value in given.items() if not GENERATED.fullmatch(str(key))}
    expressions = mapping(selector).get("matchExpressions")
    return matches({"matchLabels": known, "matchExpressions": expressions}, pod.labels)


@rule(
    "selector-template",
    "A workload must select the pods of its own template "
    "(ValidateDeploymentSpec of Kubernetes: selector does not match template labels).",
    bad="""
apiVersion: apps/v1
kind: Deployment
metadata: {name: a}
spec:
  selector: {matchLabels: {app: a}}
  template: {metadata: {labels: {app: b}}, spec: {containers: [{name: a, image: a}]}}
""",
    near_miss="""
apiVersion: apps/v1
kind: Deployment
metadata: {name: a}
spec:
  selector: {matchLabels: {app: a}}
  template: {metadata: {labels: {app: a, more: b}}, spec: {containers: [{name: a, image: a}]}}
""",
)
def selector_template(render: Render) -> Iterator[Problem]:
    """Find workloads whose selector is empty or does not fit their template."""
    for found in render.objects:
        if found.kind not in {"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"}:
            continue
        selector = at(found, "spec.selector")
        labels = mapping(at(found, "spec.template.metadata.labels"))
        if not selector:
            message, remedy = "the selector is empty", "Select the labels of the template."
        elif matches(selector, labels):
            continue
        else:
            message = f"the selector {selector} does not match the template's labels {labels}"
            remedy = "Make both from one helper."
        yield Problem(found, "spec.selector", message, remedy)


VERSIONED = frozenset(
    {"helm.sh/chart", "app.kubernetes.io/version", "chart", "helm.sh/revision", "heritage"}
)
"""Labels that change with the chart's version, or did between Helm's versions."""


@rule(
    "selector-version",
    "A selector and the claims of a StatefulSet can never be changed: with the chart's version "
    "in them the next upgrade fails (bitnami/charts#18215).",
    bad="""
apiVersion: apps/v1
kind: Deployment
metadata: {name: a}
spec:
  selector: {matchLabels: {app: a, helm.sh/chart: a-1.0.0}}
  template:
    metadata: {labels: {app: a, helm.sh/chart: a-1.0.0}}
    spec: {containers: [{name: a, image: a}]}
""",
    near_miss="""
apiVersion: apps/v1
kind: Deployment
metadata: {name: a, labels: {helm.sh/chart: a-1.0.0}}
spec:
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a, helm.sh/chart: a-1.0.0}}
    spec: {containers: [{name: a, image: a}]}
""",
)
def selector_version(render: Render) -> Iterator[Problem]:
    """Find immutable labels that change with each version."""
    for found in render.objects:
        if found.kind not in {"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"}:
            continue
        places = {"spec.selector.matchLabels": at(found, "spec.selector.matchLabels")}
        for index, claim in entries(at(found, "spec.volumeClaimTemplates")):
            path = f"spec.volumeClaimTemplates[{index}].metadata.labels"
            places[path] = at(claim, "metadata.labels")
        for path, labels in places.items():
            for key in sorted(VERSIONED & mapping(labels).keys()):
                yield Problem(
                    found,
                    f"{path}{step(key)}",
                    f"{mapping(labels)[key]!r} changes with the version, and this field cannot",
                    "Use only labels that stay: name, instance, component.",
                )
