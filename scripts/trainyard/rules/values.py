"""Values that the types of the schema let pass: ranges, enumerations, nulls.

Source: the validation of Kubernetes (``pkg/apis/*/validation/validation.go``, 1.36) and the
field descriptions of the API reference.
"""

from collections.abc import Iterator

from trainyard.rules.base import Problem, Render, pod_with, rule
from trainyard.schemas.paths import step

MAX_INT32 = 2**31 - 1

PORT = (1, 65535)
COUNT = (0, MAX_INT32)
ONE_UP = (1, MAX_INT32)
ID = (0, MAX_INT32)
MODE = (0, 0o777)
PERCENT = (1, 100)

RANGES: dict[tuple[str, str], tuple[int, int]] = {
    ("ContainerPort", "containerPort"): PORT,
    ("ContainerPort", "hostPort"): (0, 65535),
    ("ServicePort", "port"): PORT,
    ("ServicePort", "targetPort"): PORT,
    ("ServicePort", "nodePort"): (0, 65535),
    ("HTTPGetAction", "port"): PORT,
    ("TCPSocketAction", "port"): PORT,
    ("GRPCAction", "port"): PORT,
    ("ServiceBackendPort", "number"): PORT,
    ("NetworkPolicyPort", "port"): PORT,
    ("NetworkPolicyPort", "endPort"): PORT,
    **dict.fromkeys(
        [
            (owner, name)
            for owner in ("DeploymentSpec", "StatefulSetSpec", "ReplicaSetSpec", "DaemonSetSpec")
            for name in (
                "replicas",
                "minReadySeconds",
                "revisionHistoryLimit",
                "progressDeadlineSeconds",
            )
        ],
        COUNT,
    ),
    ("StatefulSetOrdinals", "start"): COUNT,
    **dict.fromkeys(
        [
            ("JobSpec", name)
            for name in (
                "parallelism",
                "completions",
                "activeDeadlineSeconds",
                "backoffLimit",
                "backoffLimitPerIndex",
                "maxFailedIndexes",
                "ttlSecondsAfterFinished",
            )
        ],
        COUNT,
    ),
    ("CronJobSpec", "startingDeadlineSeconds"): COUNT,
    ("CronJobSpec", "successfulJobsHistoryLimit"): COUNT,
    ("CronJobSpec", "failedJobsHistoryLimit"): COUNT,
    ("PodSpec", "terminationGracePeriodSeconds"): COUNT,
    ("PodSpec", "activeDeadlineSeconds"): ONE_UP,
    **dict.fromkeys(
        [
            ("Probe", name)
            for name in (
                "initialDelaySeconds",
                "timeoutSeconds",
                "periodSeconds",
                "successThreshold",
                "failureThreshold",
            )
        ],
        COUNT,
    ),
    ("Probe", "terminationGracePeriodSeconds"): ONE_UP,
    **dict.fromkeys(
        [
            (owner, name)
            for owner in ("PodSecurityContext", "SecurityContext")
            for name in ("runAsUser", "runAsGroup", "fsGroup")
        ],
        ID,
    ),
    **dict.fromkeys(
        [
            (owner, "defaultMode")
            for owner in (
                "ConfigMapVolumeSource",
                "SecretVolumeSource",
                "ProjectedVolumeSource",
                "DownwardAPIVolumeSource",
            )
        ],
        MODE,
    ),
    ("KeyToPath", "mode"): MODE,
    ("ServiceAccountTokenProjection", "expirationSeconds"): (600, 2**32),
    ("HorizontalPodAutoscalerSpec", "minReplicas"): COUNT,
    ("HorizontalPodAutoscalerSpec", "maxReplicas"): ONE_UP,
    ("MetricTarget", "averageUtilization"): ONE_UP,
    ("PreferredSchedulingTerm", "weight"): PERCENT,
    ("WeightedPodAffinityTerm", "weight"): PERCENT,
    ("TopologySpreadConstraint", "maxSkew"): ONE_UP,
    ("TopologySpreadConstraint", "minDomains"): ONE_UP,
    ("ClientIPConfig", "timeoutSeconds"): (1, 86400),
    ("ValidatingWebhook", "timeoutSeconds"): (1, 30),
    ("MutatingWebhook", "timeoutSeconds"): (1, 30),
    ("PriorityClass", "value"): (-(2**31), 1_000_000_000),
}
"""Smallest and largest value, by type and field."""


@rule(
    "number-range",
    "The schema knows types, not ranges: the API server refuses these numbers "
    "(ValidateNonnegativeField, IsValidPortNum and others of Kubernetes' validation).",
    bad=pod_with("ports: [{containerPort: 99999}]"),
    near_miss=pod_with("ports: [{containerPort: 65535}]"),
)
def number_range(render: Render) -> Iterator[Problem]:
    """Find numbers outside the range of their field."""
    for found, (path, field, value) in render.nodes():
        limits = RANGES.get((field.owner, field.name))
        if limits is None or not isinstance(value, int | float) or isinstance(value, bool):
            continue
        if not limits[0] <= value <= limits[1]:
            message = f"{value} is not between {limits[0]} and {limits[1]}"
            yield Problem(found, path, message, "Set a minimum and maximum in the values schema.")


PROTOCOLS = ("TCP", "UDP", "SCTP")

ENUMS: dict[tuple[str, str], tuple[str, ...]] = {
    ("PodSpec", "restartPolicy"): ("Always", "OnFailure", "Never"),
    ("PodSpec", "dnsPolicy"): ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"),
    ("PodSpec", "preemptionPolicy"): ("Never", "PreemptLowerPriority"),
    ("Container", "imagePullPolicy"): ("Always", "IfNotPresent", "Never"),
    ("EphemeralContainer", "imagePullPolicy"): ("Always", "IfNotPresent", "Never"),
    ("Container", "restartPolicy"): ("Always", "OnFailure", "Never"),
    ("Container", "terminationMessagePolicy"): ("File", "FallbackToLogsOnError"),
    ("ContainerPort", "protocol"): PROTOCOLS,
    ("ServicePort", "protocol"): PROTOCOLS,
    ("NetworkPolicyPort", "protocol"): PROTOCOLS,
    ("NetworkPolicySpec", "policyTypes"): ("Ingress", "Egress"),
    ("HTTPGetAction", "scheme"): ("HTTP", "HTTPS"),
    ("ServiceSpec", "type"): ("ClusterIP", "NodePort", "LoadBalancer", "ExternalName"),
    ("ServiceSpec", "sessionAffinity"): ("ClientIP", "None"),
    ("ServiceSpec", "externalTrafficPolicy"): ("Cluster", "Local"),
    ("ServiceSpec", "internalTrafficPolicy"): ("Cluster", "Local"),
    ("ServiceSpec", "ipFamilyPolicy"): ("SingleStack", "PreferDualStack", "RequireDualStack"),
    ("ServiceSpec", "ipFamilies"): ("IPv4", "IPv6"),
    ("PersistentVolumeClaimSpec", "accessModes"): (
        "ReadWriteOnce",
        "ReadOnlyMany",
        "ReadWriteMany",
        "ReadWriteOncePod",
    ),
    ("PersistentVolumeClaimSpec", "volumeMode"): ("Block", "Filesystem"),
    ("DeploymentStrategy", "type"): ("Recreate", "RollingUpdate"),
    ("StatefulSetUpdateStrategy", "type"): ("RollingUpdate", "OnDelete"),
    ("DaemonSetUpdateStrategy", "type"): ("RollingUpdate", "OnDelete"),
    ("StatefulSetSpec", "podManagementPolicy"): ("OrderedReady", "Parallel"),
    ("JobSpec", "completionMode"): ("NonIndexed", "Indexed"),
    ("JobSpec", "podReplacementPolicy"): ("TerminatingOrFailed", "Failed"),
    ("CronJobSpec", "concurrencyPolicy"): ("Allow", "Forbid", "Replace"),
    ("PodFailurePolicyRule", "action"): ("FailJob", "FailIndex", "Ignore", "Count"),
    ("PodFailurePolicyOnExitCodesRequirement", "operator"): ("In", "NotIn"),
    ("Toleration", "operator"): ("Exists", "Equal", "Lt", "Gt"),
    ("Toleration", "effect"): ("", "NoSchedule", "PreferNoSchedule", "NoExecute"),
    ("LabelSelectorRequirement", "operator"): ("In", "NotIn", "Exists", "DoesNotExist"),
    ("NodeSelectorRequirement", "operator"): (
        "In",
        "NotIn",
        "Exists",
        "DoesNotExist",
        "Gt",
        "Lt",
    ),
    ("TopologySpreadConstraint", "whenUnsatisfiable"): ("DoNotSchedule", "ScheduleAnyway"),
    ("HTTPIngressPath", "pathType"): ("Exact", "Prefix", "ImplementationSpecific"),
    ("SeccompProfile", "type"): ("RuntimeDefault", "Localhost", "Unconfined"),
    ("AppArmorProfile", "type"): ("RuntimeDefault", "Localhost", "Unconfined"),
    ("PodSecurityContext", "fsGroupChangePolicy"): ("OnRootMismatch", "Always"),
    ("PodDisruptionBudgetSpec", "unhealthyPodEvictionPolicy"): ("IfHealthyBudget", "AlwaysAllow"),
    ("VolumeMount", "mountPropagation"): ("None", "HostToContainer", "Bidirectional"),
    ("EmptyDirVolumeSource", "medium"): ("", "Memory", "HugePages"),
    ("PodOS", "name"): ("linux", "windows"),
    ("ValidatingWebhook", "failurePolicy"): ("Fail", "Ignore"),
    ("MutatingWebhook", "failurePolicy"): ("Fail", "Ignore"),
    ("ValidatingWebhook", "sideEffects"): ("None", "NoneOnDryRun"),
    ("MutatingWebhook", "sideEffects"): ("None", "NoneOnDryRun"),
}
"""The values that a field takes, by type and field."""


@rule(
    "enum",
    "The schema takes any text here, the API server only these "
    "(field.NotSupported in Kubernetes' validation).",
    bad=pod_with("imagePullPolicy: Sometimes"),
    near_miss=pod_with("imagePullPolicy: IfNotPresent"),
)
def enum(render: Render) -> Iterator[Problem]:
    """Find values that are none of their field's."""
    for found, (path, field, value) in render.nodes():
        known = ENUMS.get((field.owner, field.name))
        if known is None:
            continue
        for one in value if isinstance(value, list) else [value]:
            fits = one is None or one in known or str(one).startswith("HugePages-")
            if not fits:
                message = f"{one!r} is none of {', '.join(filter(None, known))}"
                yield Problem(found, path, message, "Name the values in the schema: `enum`.")


TEXTS = frozenset({"string", "integer", "boolean", "number", "Quantity", "IntOrString", "Time"})

MAY_BE_NULL = frozenset({"creationTimestamp", "annotations", "status"})


@rule(
    "null-value",
    "A null is what a template leaves where a value was missing; Kubernetes silently takes its "
    "own default instead.",
    bad=pod_with("env: [{name: A, value: null}]"),
    near_miss=pod_with("env: [{name: A, value: ''}]"),
)
def null_value(render: Render) -> Iterator[Problem]:
    """Find nulls where a text, a number, a label or an entry of a list was meant."""
    for found, (path, field, value) in render.nodes():
        remedy = "Leave the key out with `with` or `if`, or give the value a default."
        if field.shape == "list" and isinstance(value, list):
            nulls = [f"{path}[{index}]" for index, entry in enumerate(value) if entry is None]
        elif field.shape == "map" and isinstance(value, dict):
            nulls = [path + step(key) for key, entry in value.items() if entry is None]
        elif value is None and field.name not in MAY_BE_NULL:
            is_text = not field.shape and field.type in TEXTS
            nulls = [path] if is_text or field.name in {"labels", "matchLabels"} else []
        else:
            continue
        for place in nulls:
            yield Problem(found, place, "the value is null", remedy)
