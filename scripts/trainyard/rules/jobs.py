"""How Jobs and other workloads start pods anew.

Source: ``ValidateJobSpec`` and ``ValidatePodTemplateSpecForReplicaSet`` of Kubernetes.
"""

from collections.abc import Iterator

from trainyard.rules.base import TEMPLATES, Problem, Render, at, mapping, rule


@rule(
    "restart-policy",
    "A Job's pods must end, so Always (which is the default) is refused; those of a Deployment "
    "must not (ValidateJobSpec, ValidatePodTemplateSpecForReplicaSet of Kubernetes).",
    bad="""
apiVersion: batch/v1
kind: Job
metadata: {name: a}
spec: {template: {spec: {containers: [{name: a, image: a}]}}}
""",
    near_miss="""
apiVersion: batch/v1
kind: Job
metadata: {name: a}
spec:
  template:
    spec:
      restartPolicy: Never
      initContainers: [{name: b, image: a, restartPolicy: Always}]
      containers: [{name: a, image: a}]
""",
)
def restart_policy(render: Render) -> Iterator[Problem]:
    """Find pods whose restart policy is not for their kind of workload."""
    for pod in render.pods:
        policy = str(pod.spec.get("restartPolicy") or "Always")
        kind = pod.object.kind
        if kind in {"Job", "CronJob"} and policy not in {"OnFailure", "Never"}:
            wanted = "OnFailure or Never"
        elif kind in TEMPLATES.keys() - {"Job", "CronJob", "Pod"} and policy != "Always":
            wanted = "Always"
        else:
            continue
        message = f"{policy} cannot be the restart policy of a {kind}"
        yield Problem(pod.object, f"{pod.path}.restartPolicy", message, f"Set {wanted}.")


@rule(
    "job-shape",
    "Some fields of a Job are allowed only together (ValidateJobSpec of Kubernetes).",
    bad="""
apiVersion: batch/v1
kind: Job
metadata: {name: a}
spec:
  completionMode: Indexed
  podFailurePolicy: {rules: []}
  template: {spec: {restartPolicy: OnFailure, containers: [{name: a, image: a}]}}
""",
    near_miss="""
apiVersion: batch/v1
kind: Job
metadata: {name: a}
spec:
  completionMode: Indexed
  completions: 1
  backoffLimitPerIndex: 1
  podFailurePolicy: {rules: []}
  template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}
""",
)
def job_shape(render: Render) -> Iterator[Problem]:
    """Find Jobs with a field that lacks the one it goes with."""
    for pod in render.pods:
        path = {"Job": "spec", "CronJob": "spec.jobTemplate.spec"}.get(pod.object.kind)
        spec = mapping(at(pod.object, path)) if path else {}
        indexed = spec.get("completionMode") == "Indexed"
        never = pod.spec.get("restartPolicy") == "Never"
        for field, fits, wanted in (
            ("completionMode", not indexed or spec.get("completions") is not None, "completions"),
            ("backoffLimitPerIndex", indexed, "completionMode: Indexed"),
            ("successPolicy", indexed, "completionMode: Indexed"),
            ("podFailurePolicy", never, "restartPolicy: Never"),
        ):
            if spec.get(field) is not None and not fits:
                message = f"{field} goes only with {wanted}"
                yield Problem(pod.object, f"{path}.{field}", message, f"Set {wanted}.")
