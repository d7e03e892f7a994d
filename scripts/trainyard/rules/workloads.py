"""How workloads behave over time: configuration, volumes, autoscalers, Helm's hooks."""

import re
from collections.abc import Iterator

from trainyard.render.objects import Object
from trainyard.rules.base import (
    LONG_RUNNING,
    Map,
    Pod,
    Problem,
    Render,
    at,
    entries,
    hooks_of,
    mapping,
    rule,
    whole,
)
from trainyard.rules.references import of_pod


@rule(
    "config-checksum",
    "Environment variables and subPath mounts are read once: without a checksum annotation a "
    "changed ConfigMap reaches no running pod (Helm documentation, Chart Development Tips).",
    bad="""
apiVersion: apps/v1
kind: Deployment
metadata: {name: a}
spec:
  template:
    spec: {containers: [{name: a, image: a, envFrom: [{configMapRef: {name: c}}]}]}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}
""",
    near_miss="""
apiVersion: apps/v1
kind: Deployment
metadata: {name: a}
spec:
  template:
    metadata: {annotations: {checksum/config: abc}}
    spec: {containers: [{name: a, image: a, envFrom: [{configMapRef: {name: c}}]}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec:
  template:
    metadata: {annotations: {example.org/config-hash: abc}}
    spec: {containers: [{name: a, image: a, envFrom: [{configMapRef: {name: c}}]}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: b}
spec:
  template:
    spec: {containers: [{name: a, image: a, envFrom: [{configMapRef: {name: c}}]}]}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}
""",
)
def config_checksum(render: Render) -> Iterator[Problem]:
    """Find long-running pods that would not notice a change of their configuration."""
    for pod in render.pods:
        if pod.object.kind not in LONG_RUNNING or _is_restarted(pod):
            continue
        for wanted in of_pod(pod):
            found = render.find(wanted.kind, wanted.name, pod.object)
            if wanted.how in {"env", "subPath"} and found and not found.get("immutable"):
                message = f"a change of {found.title} restarts no pod"
                remedy = "Annotate the pod template with the `sha256sum` of the rendered file."
                yield Problem(pod.object, wanted.path, message, remedy)


HASH_KEY = re.compile(r"checksum|hash|sha256")
"""What annotations are called that carry a configuration's hash; there is no standard name."""


def _is_restarted(pod: Pod) -> bool:
    """Say whether a changed annotation, or a controller that watches, starts the pods anew."""
    own, of_object = (
        mapping(metadata.get("annotations")) for metadata in (pod.metadata, pod.object.metadata)
    )
    return any(HASH_KEY.search(str(key)) for key in own) or any(
        "reloader.stakater.com/" in str(key) for key in (*own, *of_object)
    )


ONE_NODE = frozenset({"ReadWriteOnce", "ReadWriteOncePod"})


@rule(
    "shared-claim",
    "A ReadWriteOnce claim can be mounted on one node only, so replicas elsewhere never start "
    "(Kubernetes documentation, Persistent Volumes, Access Modes).",
    bad="""
apiVersion: apps/v1
kind: Deployment
metadata: {name: a}
spec:
  replicas: 2
  template:
    spec: {containers: [], volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: c}
spec: {accessModes: [ReadWriteOnce]}
""",
    near_miss="""
apiVersion: apps/v1
kind: Deployment
metadata: {name: a}
spec:
  replicas: 2
  template:
    spec: {containers: [], volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: c}
spec: {accessModes: [ReadWriteMany, ReadWriteOnce]}
""",
)
def shared_claim(render: Render) -> Iterator[Problem]:
    """Find claims for one node that several pods of a workload mount."""
    for pod in render.pods:
        if not _several(pod) or _on_one_node(pod):
            continue
        for wanted in of_pod(pod):
            claim = render.find(wanted.kind, wanted.name, pod.object)
            if wanted.kind != "PersistentVolumeClaim" or claim is None:
                continue
            modes = at(claim, "spec.accessModes")
            if isinstance(modes, list) and modes and ONE_NODE.issuperset(map(str, modes)):
                message = f"several pods mount {claim.title}, which is {', '.join(map(str, modes))}"
                remedy = "Use ReadWriteMany, a claim for each pod, or one replica."
                yield Problem(pod.object, wanted.path, message, remedy)


def _several(pod: Pod) -> bool:
    """Say whether a workload has more than one pod at a time."""
    spec = mapping(pod.object.get("spec"))
    if pod.object.kind == "DaemonSet":
        return True
    if pod.object.kind == "Job":
        at_once = whole(spec.get("parallelism"), 1)
        return min(at_once, whole(spec.get("completions"), at_once)) > 1
    return whole(spec.get("replicas"), 1) > 1


def _on_one_node(pod: Pod) -> bool:
    terms = at(pod.spec, "affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution")
    host = "kubernetes.io/hostname"
    return (
        any(term.get("topologyKey") == host for _, term in entries(terms))
        or host in mapping(pod.spec.get("nodeSelector"))
        or bool(pod.spec.get("nodeName"))
    )


HOOKS = frozenset(
    {
        "pre-install",
        "post-install",
        "pre-delete",
        "post-delete",
        "pre-upgrade",
        "post-upgrade",
        "pre-rollback",
        "post-rollback",
        "test",
        "test-success",
    }
)
POLICIES = frozenset({"before-hook-creation", "hook-succeeded", "hook-failed"})


@rule(
    "hook-annotation",
    "Helm takes a hook that it does not know for an ordinary object, and a weight that is no "
    "number for 0 (Helm documentation, Chart Hooks).",
    bad="""
apiVersion: v1
kind: Pod
metadata: {name: a, annotations: {helm.sh/hook: post-instal, helm.sh/hook-weight: last}}
""",
    near_miss="""
apiVersion: v1
kind: Pod
metadata:
  name: a
  annotations: {helm.sh/hook: "pre-install, pre-upgrade", helm.sh/hook-weight: "-5"}
""",
)
def hook_annotation(render: Render) -> Iterator[Problem]:
    """Find hooks, weights and policies that Helm does not know."""
    for found in render.objects:
        annotations = mapping(found.metadata.get("annotations"))
        policies = str(annotations.get("helm.sh/hook-delete-policy") or "")
        named = {policy.strip() for policy in policies.split(",")} - {""}
        weight = str(annotations.get("helm.sh/hook-weight", "0"))
        for key, unknown, known in (
            ("hook", hooks_of(found) - HOOKS - {""}, HOOKS),
            ("hook-delete-policy", named - POLICIES, POLICIES),
        ):
            if unknown:
                message = f"Helm knows no {', '.join(sorted(unknown))}"
                path = f'metadata.annotations["helm.sh/{key}"]'
                yield Problem(found, path, message, f"Use {', '.join(sorted(known))}.")
        if not re.fullmatch(r"[+-]?\d+", weight):
            path = 'metadata.annotations["helm.sh/hook-weight"]'
            message = f"the weight {weight!r} is no whole number"
            yield Problem(found, path, message, 'Write such as "-5".')


@rule(
    "hook-leftover",
    "A hook that is not deleted before its next run makes the next upgrade fail: already exists "
    "(Helm documentation, Chart Hooks).",
    bad="""
apiVersion: batch/v1
kind: Job
metadata:
  name: a
  annotations: {helm.sh/hook: post-upgrade, helm.sh/hook-delete-policy: hook-succeeded}
""",
    near_miss="""
{apiVersion: batch/v1, kind: Job, metadata: {name: a, annotations: {helm.sh/hook: post-upgrade}}}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: b
  annotations: {helm.sh/hook: post-upgrade, helm.sh/hook-delete-policy: hook-failed}
spec: {ttlSecondsAfterFinished: 60}
""",
)
def hook_leftover(render: Render) -> Iterator[Problem]:
    """Find hooks whose policy keeps them, so that they stand in the way of their next run."""
    for found in render.objects:
        policy = mapping(found.metadata.get("annotations")).get("helm.sh/hook-delete-policy")
        if not hooks_of(found) or not policy or "before-hook-creation" in str(policy):
            continue
        succeeded, failed = "hook-succeeded" in str(policy), "hook-failed" in str(policy)
        if (succeeded and failed) or at(found, "spec.ttlSecondsAfterFinished") is not None:
            continue
        path = 'metadata.annotations["helm.sh/hook-delete-policy"]'
        message = f"with {policy} alone a run that ends otherwise stays"
        yield Problem(found, path, message, "Add before-hook-creation.")


@rule(
    "hook-order",
    "Helm makes hooks before or after all other objects, and waits: a pod that needs what comes "
    "later never starts (apache/skywalking-helm#190).",
    bad="""
apiVersion: v1
kind: Secret
metadata: {name: s, annotations: {helm.sh/hook: post-install}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: a}
spec:
  template:
    spec: {containers: [{name: a, image: a, envFrom: [{secretRef: {name: s}}]}]}
""",
    near_miss="""
apiVersion: v1
kind: Secret
metadata: {name: s, annotations: {helm.sh/hook: "pre-install,pre-upgrade"}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: a}
spec:
  template:
    spec: {containers: [{name: a, image: a, envFrom: [{secretRef: {name: s}}]}]}
""",
)
def hook_order(render: Render) -> Iterator[Problem]:
    """Find pods that need what Helm makes only after them."""
    for pod in render.pods:
        for wanted in of_pod(pod):
            found = render.find(wanted.kind, wanted.name, pod.object)
            if found is not None and (message := _too_late(pod.object, found)):
                yield Problem(pod.object, wanted.path, message, MOVE)


MOVE = "Make it an ordinary object, or a hook that comes earlier (a lower weight)."


def _too_late(user: Object, needed: Object) -> str:
    """Say why an object comes after one that needs it; empty where it comes in time."""
    first, later = hooks_of(user), hooks_of(needed)
    if not first and later and not later & {"pre-install", "pre-upgrade"}:
        return f"{needed.title} is made only as {', '.join(sorted(later))}"
    if "pre-install" in first and not later:
        return f"{needed.title} is made only after the hook pre-install"
    if first & later & {"pre-install", "post-install"} and _weight(needed) > _weight(user):
        return f"{needed.title} has a higher weight, so it is made later"
    return ""


def _weight(found: Object) -> int:
    weight = str(mapping(found.metadata.get("annotations")).get("helm.sh/hook-weight", "0"))
    return int(weight) if re.fullmatch(r"[+-]?\d+", weight) else 0


@rule(
    "autoscaler-replicas",
    "Where an autoscaler owns the replicas, a chart that sets them too fights it, and with "
    "server-side apply the upgrade fails (k3s-io/helm-controller#343).",
    bad="""
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: a}
spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: a}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {replicas: 2}}
""",
    near_miss="""
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: a}
spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: a}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {minReadySeconds: 2}}
""",
)
def autoscaler_replicas(render: Render) -> Iterator[Problem]:
    """Find workloads that set replicas beside an autoscaler, and impossible bounds."""
    for scaler in render.all("HorizontalPodAutoscaler"):
        spec = mapping(scaler.get("spec"))
        target: Map = mapping(spec.get("scaleTargetRef"))
        found: Object | None = render.find(str(target.get("kind")), target.get("name"), scaler)
        if found is not None and mapping(found.get("spec")).get("replicas") is not None:
            message = f"{scaler.title} owns the replicas of this workload"
            remedy = "Render `replicas` only where there is no autoscaler."
            yield Problem(found, "spec.replicas", message, remedy)
        least, most = spec.get("minReplicas"), spec.get("maxReplicas")
        if isinstance(least, int) and isinstance(most, int) and least > most:
            message = f"minReplicas {least} is above maxReplicas {most}"
            yield Problem(scaler, "spec.minReplicas", message, "Lower it.")
