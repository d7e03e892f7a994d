"""Fields that the API server refuses to change, as data, each with the code that refuses it."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from trainyard.render.objects import Object
from trainyard.upgrade.differ import MISSING, ORDER, Change, Steps, identity

KUBERNETES = "kubernetes v1.36.3, pkg/apis"

Permits = Callable[[Object, Object, Change], bool]
"""Says whether this change of an old object to a new one is accepted all the same."""


@dataclass(frozen=True)
class Immutable:
    """A part of some kinds of objects that may not change."""

    kinds: frozenset[str]
    """``group/Kind``; the core group's name is empty."""
    path: Steps
    """The part: this field and all that is below it."""
    source: str
    """Where the API server decides it."""
    remedy: str
    but: tuple[Steps, ...] = ()
    """Parts below it that may change; ``*`` stands for one item of a list."""
    permits: Permits | None = None


def refused(old: Object, new: Object, change: Change) -> Immutable | None:
    """Give the entry of the table for which the API server refuses a change; None if it accepts.

    What the server does not tell apart is no change: a default that is written out, nothing and
    an empty map, ``1`` and ``1000m`` of a resource.
    """
    if not is_effective(old.kind, change):
        return None
    for entry in _entries(old):
        touches = _below(change.steps, entry.path) or _below(entry.path, change.steps)
        free = any(_below(change.steps, part) for part in entry.but)
        if touches and not free and not (entry.permits and entry.permits(old, new, change)):
            return entry
    return None


def _entries(found: Object) -> Iterator[Immutable]:
    group, kind, _, _ = identity(found, "")
    yield from (entry for entry in TABLE if f"{group}/{kind}" in entry.kinds)


def _below(steps: Steps, part: Steps) -> bool:
    """Say whether a path is a part or below it."""
    return len(steps) >= len(part) and all(
        wanted == step or (wanted == "*" and step.startswith("["))
        for wanted, step in zip(part, steps, strict=False)
    )


# --- What the API server does not tell apart ------------------------------------------------------

DEFAULTS: Mapping[str, Mapping[str, object]] = {
    "": {
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": True,
        "failureThreshold": 3,
        "periodSeconds": 10,
        "protocol": "TCP",
        "schedulerName": "default-scheduler",
        "successThreshold": 1,
        "terminationGracePeriodSeconds": 30,
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "timeoutSeconds": 1,
    },
    "ClusterRoleBinding": {"apiGroup": "rbac.authorization.k8s.io"},
    "CSIDriver": {"attachRequired": True},
    "DaemonSet": {"restartPolicy": "Always"},
    "Deployment": {"restartPolicy": "Always"},
    "Job": {"completionMode": "NonIndexed", "manualSelector": False},
    "PersistentVolume": {"volumeMode": "Filesystem"},
    "PersistentVolumeClaim": {"volumeMode": "Filesystem"},
    "Pod": {"restartPolicy": "Always"},
    "PriorityClass": {"preemptionPolicy": "PreemptLowerPriority"},
    "RoleBinding": {"apiGroup": "rbac.authorization.k8s.io"},
    "Secret": {"type": "Opaque"},
    "StatefulSet": {
        "podManagementPolicy": "OrderedReady",
        "restartPolicy": "Always",
        "volumeMode": "Filesystem",
    },
    "StorageClass": {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"},
}
"""What the API puts in where a field is left out, by kind; under no kind what pods have.
Source: the defaults.go files of kubernetes v1.36.3, pkg/apis."""


TELLING_EMPTY = {"storageClassName"}
"""Fields whose empty text means something: no StorageClass at all, where nothing is the default."""


def is_effective(kind: str, change: Change) -> bool:
    """Say whether the API server sees a change as one."""
    if change.steps[-1] == ORDER:
        return True
    name = change.steps[-1]
    if name in TELLING_EMPTY:
        return bool(change.old != change.new)
    default = DEFAULTS.get(kind, {}).get(name, DEFAULTS[""].get(name, MISSING))
    old, new = (_plain(value, default) for value in (change.old, change.new))
    if "resources" in change.steps:
        sizes = quantity(old), quantity(new)
        if None not in sizes:
            return sizes[0] != sizes[1]
    return bool(old != new)


def _plain(value: object, default: object) -> object:
    """Give a value as the API server compares it: with its default, and nothing for empty."""
    if value is MISSING or value is None or value in ({}, [], ""):
        return None if default is MISSING else default
    return value


QUANTITY = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:([eE][+-]?\d+)|([numkMGTPE]|[KMGTPE]i)?)")
POWERS = {
    **{unit: Fraction(10) ** (3 * n) for n, unit in enumerate("num kMGTPE", start=-3)},
    **{f"{unit}i": Fraction(1024) ** n for n, unit in enumerate("KMGTPE", start=1)},
}


def quantity(value: object) -> Fraction | None:
    """Give a Kubernetes quantity, such as ``10Gi`` or ``250m``, as a number; None for others."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    found = QUANTITY.fullmatch(str(value).strip())
    if not found:
        return None
    number, exponent, unit = found.groups()
    return Fraction(number + (exponent or "")) * POWERS.get(unit or " ", Fraction(1))


# --- What is accepted on a condition --------------------------------------------------------------


def _spec(found: Object) -> dict[str, Any]:
    spec = found.get("spec")
    return spec if isinstance(spec, dict) else {}


def _completions(old: Object, new: Object, _: Change) -> bool:
    """An Indexed Job may be scaled, when completions and parallelism stay the same."""
    spec = _spec(new)
    wanted = spec.get("completions")
    return (
        _spec(old).get("completionMode") == spec.get("completionMode") == "Indexed"
        and wanted is not None
        and wanted == spec.get("parallelism", 1)
    )


SCHEDULING = (
    ("metadata", "annotations"),
    ("metadata", "labels"),
    ("spec", "affinity", "nodeAffinity"),
    ("spec", "nodeSelector"),
    ("spec", "schedulingGates"),
    ("spec", "tolerations"),
)
"""What may change in the pod template of a Job that is suspended and has not started."""


def _suspended(old: Object, _: Object, change: Change) -> bool:
    if not _spec(old).get("suspend"):
        return False
    rest = change.steps[2:]
    if rest == ("spec", "affinity"):
        values = [value for value in (change.old, change.new) if isinstance(value, dict)]
        return all(value.keys() <= {"nodeAffinity"} for value in values)
    return any(_below(rest, part) for part in SCHEDULING)


def _larger(_: Object, __: Object, change: Change) -> bool:
    """A bound claim may grow, where its StorageClass allows it."""
    if change.steps != ("spec", "resources", "requests", "storage"):
        return False
    old, new = quantity(change.old), quantity(change.new)
    return old is not None and new is not None and new > old


def _service_type(found: Object) -> str:
    return str(_spec(found).get("type", "ClusterIP"))


def _external(old: Object, new: Object) -> bool:
    return "ExternalName" in (_service_type(old), _service_type(new))


def _cluster_ip(old: Object, new: Object, change: Change) -> bool:
    """An address that is no longer named stays as it was; one that is named must be the old one."""
    return _external(old, new) or not change.new or change.new is MISSING


def _families(old: Object, new: Object, change: Change) -> bool:
    """The second family may come or go, the first stays; headless Services are free."""
    if _external(old, new) or "None" in (s.get("clusterIP") for s in (_spec(old), _spec(new))):
        return True
    before, after = (_spec(found).get("ipFamilies") or [] for found in (old, new))
    if not before or not after:
        return True
    released = len(after) < len(before)
    return bool(before[0] == after[0]) and (
        not released or _spec(new).get("ipFamilyPolicy") == "SingleStack"
    )


def _not_both(type_: str) -> Permits:
    return lambda old, new, _: {_service_type(old), _service_type(new)} != {type_}


def _health_check(old: Object, new: Object, change: Change) -> bool:
    def needs(found: Object) -> bool:
        policy = _spec(found).get("externalTrafficPolicy")
        return _service_type(found) == "LoadBalancer" and policy == "Local"

    return not (needs(old) and needs(new)) or change.new is MISSING


def _was_mutable(old: Object, _: Object, __: Change) -> bool:
    return old.get("immutable") is not True


def _more_tolerations(old: Object, new: Object, change: Change) -> bool:
    if change.steps[:2] != ("spec", "tolerations"):
        return False
    before, after = (_spec(found).get("tolerations") or [] for found in (old, new))
    return all(toleration in after for toleration in before)


# --- The table ------------------------------------------------------------------------------------


def _kinds(*names: str) -> frozenset[str]:
    return frozenset(names)


ORPHAN = "keep the old value, or delete the object first: kubectl delete --cascade=orphan {object}"
REPLACE = "keep the old value, or delete the object before the upgrade: kubectl delete {object}"
RUN = (
    "give the Job another name when its content changes (a hash of it, or the revision), make it a "
    "hook, or uninstall and install again"
)
COPY = "give the object another name when its content changes, such as with a hash of it"

TABLE = (
    Immutable(
        _kinds("apps/Deployment", "apps/ReplicaSet", "apps/DaemonSet"),
        ("spec", "selector"),
        f"{KUBERNETES}/apps/validation: ValidateDeploymentUpdate, ValidateReplicaSetUpdate, "
        "ValidateDaemonSetSpecUpdate",
        ORPHAN,
    ),
    Immutable(
        _kinds("apps/StatefulSet"),
        ("spec",),
        f"{KUBERNETES}/apps/validation: ValidateStatefulSetUpdate "
        "(revisionHistoryLimit is refused too by 1.32 and older)",
        ORPHAN,
        but=tuple(
            ("spec", name)
            for name in (
                "replicas",
                "ordinals",
                "template",
                "updateStrategy",
                "revisionHistoryLimit",
                "persistentVolumeClaimRetentionPolicy",
                "minReadySeconds",
            )
        ),
    ),
    Immutable(
        _kinds("batch/Job"),
        ("spec", "template"),
        f"{KUBERNETES}/batch/validation: validatePodTemplateUpdate",
        RUN,
        permits=_suspended,
    ),
    Immutable(
        _kinds("batch/Job"),
        ("spec", "completions"),
        f"{KUBERNETES}/batch/validation: validateCompletions (elastic Jobs: 1.27 and later)",
        "set completionMode: Indexed, and completions equal to parallelism, from the first release",
        permits=_completions,
    ),
    *(
        Immutable(
            _kinds("batch/Job"),
            ("spec", name),
            f"{KUBERNETES}/batch/validation: ValidateJobSpecUpdate",
            RUN,
        )
        for name in (
            "selector",
            "completionMode",
            "podFailurePolicy",
            "backoffLimitPerIndex",
            "managedBy",
            "successPolicy",
        )
    ),
    *(
        Immutable(
            _kinds("/Service"),
            ("spec", name),
            f"{KUBERNETES}/core/validation: validateUpgradeDowngradeClusterIPs",
            REPLACE,
            permits=_cluster_ip,
        )
        for name in ("clusterIP", "clusterIPs")
    ),
    Immutable(
        _kinds("/Service"),
        ("spec", "ipFamilies"),
        f"{KUBERNETES}/core/validation: validateUpgradeDowngradeIPFamilies",
        REPLACE,
        permits=_families,
    ),
    Immutable(
        _kinds("/Service"),
        ("spec", "loadBalancerClass"),
        f"{KUBERNETES}/core/validation: validateLoadBalancerClassField",
        REPLACE,
        permits=_not_both("LoadBalancer"),
    ),
    Immutable(
        _kinds("/Service"),
        ("spec", "healthCheckNodePort"),
        f"{KUBERNETES}/core/validation: validateServiceExternalTrafficFieldsUpdate",
        REPLACE,
        permits=_health_check,
    ),
    Immutable(
        _kinds("/PersistentVolumeClaim"),
        ("spec",),
        f"{KUBERNETES}/core/validation: ValidatePersistentVolumeClaimUpdate",
        "keep the old value; only the size may grow. For another class or mode make a new claim "
        "and copy the data",
        but=(("spec", "volumeAttributesClassName"),),
        permits=_larger,
    ),
    Immutable(
        _kinds("/PersistentVolume"),
        ("spec", "volumeMode"),
        f"{KUBERNETES}/core/validation: ValidatePersistentVolumeUpdate",
        REPLACE,
    ),
    *(
        Immutable(
            _kinds("/PersistentVolume"),
            ("spec", source),
            f"{KUBERNETES}/core/validation: ValidatePersistentVolumeUpdate",
            REPLACE,
        )
        for source in ("csi", "fc", "hostPath", "iscsi", "local", "nfs")
    ),
    Immutable(
        _kinds("/Pod"),
        ("spec",),
        f"{KUBERNETES}/core/validation: ValidatePodUpdate",
        "delete the pod first, or let a Job or a Deployment make it",
        but=(
            ("spec", "containers", "*", "image"),
            ("spec", "initContainers", "*", "image"),
            ("spec", "activeDeadlineSeconds"),
        ),
        permits=_more_tolerations,
    ),
    Immutable(
        _kinds(
            "rbac.authorization.k8s.io/RoleBinding", "rbac.authorization.k8s.io/ClusterRoleBinding"
        ),
        ("roleRef",),
        f"{KUBERNETES}/rbac/validation: ValidateRoleBindingUpdate, "
        "ValidateClusterRoleBindingUpdate",
        "give the binding another name when it binds another role",
    ),
    *(
        Immutable(
            _kinds("/ConfigMap", "/Secret"),
            (name,),
            f"{KUBERNETES}/core/validation: ValidateConfigMapUpdate, ValidateSecretUpdate",
            COPY,
            permits=_was_mutable,
        )
        for name in ("data", "binaryData", "stringData", "immutable")
    ),
    Immutable(
        _kinds("/Secret"),
        ("type",),
        f"{KUBERNETES}/core/validation: ValidateSecretUpdate",
        COPY,
    ),
    *(
        Immutable(
            _kinds("storage.k8s.io/StorageClass"),
            (name,),
            f"{KUBERNETES}/storage/validation: ValidateStorageClassUpdate",
            "give the class another name; claims keep the one they were made with",
        )
        for name in ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode")
    ),
    *(
        Immutable(
            _kinds("storage.k8s.io/CSIDriver"),
            ("spec", name),
            f"{KUBERNETES}/storage/validation: ValidateCSIDriverUpdate",
            REPLACE,
        )
        for name in ("attachRequired", "volumeLifecycleModes")
    ),
    *(
        Immutable(
            _kinds("scheduling.k8s.io/PriorityClass"),
            (name,),
            f"{KUBERNETES}/scheduling/validation: ValidatePriorityClassUpdate",
            "give the class another name; pods keep the priority they were made with",
        )
        for name in ("value", "preemptionPolicy")
    ),
    Immutable(
        _kinds("networking.k8s.io/IngressClass"),
        ("spec", "controller"),
        f"{KUBERNETES}/networking/validation: validateIngressClassSpecUpdate",
        REPLACE,
    ),
    Immutable(
        _kinds("node.k8s.io/RuntimeClass"),
        ("handler",),
        f"{KUBERNETES}/node/validation: ValidateRuntimeClassUpdate",
        REPLACE,
    ),
    Immutable(
        _kinds("discovery.k8s.io/EndpointSlice"),
        ("addressType",),
        f"{KUBERNETES}/discovery/validation: ValidateEndpointSliceUpdate",
        REPLACE,
    ),
    Immutable(
        _kinds("resource.k8s.io/ResourceClaim", "resource.k8s.io/ResourceClaimTemplate"),
        ("spec",),
        f"{KUBERNETES}/resource/validation: ValidateResourceClaimUpdate, "
        "ValidateResourceClaimTemplateUpdate",
        COPY,
    ),
    *(
        Immutable(
            _kinds("apiextensions.k8s.io/CustomResourceDefinition"),
            ("spec", *path),
            "apiextensions-apiserver v0.37.1, pkg/apis/apiextensions/validation: "
            "validateCustomResourceDefinitionSpecUpdate",
            "make a definition of another name; deleting this one deletes all its objects",
        )
        for path in (("scope",), ("group",), ("names", "kind"), ("names", "plural"))
    ),
)
"""Read in the sources of Kubernetes 1.36.3. Older servers refuse the same, but where it is said."""
