"""What the API server refuses to change: each entry of the table, and what looks like it."""

import pytest
import yaml

from trainyard.render.objects import Object
from trainyard.upgrade.differ import differences
from trainyard.upgrade.immutable import TABLE, Immutable, quantity, refused


def entries(api: str, kind: str, old: str, new: str) -> list[Immutable]:
    """The entries for which a change from one content to another is refused."""
    before, after = (
        Object({"apiVersion": api, "kind": kind, **yaml.safe_load(text)}, "t", "")
        for text in (old, new)
    )
    found = [refused(before, after, change) for change in differences(before, after)]
    return [entry for entry in found if entry]


APPS, BATCH, CORE = "apps/v1", "batch/v1", "v1"
RBAC, STORAGE = "rbac.authorization.k8s.io/v1", "storage.k8s.io/v1"
CRD = "apiextensions.k8s.io/v1"

SELECTOR = ("{spec: {selector: {a: b}}}", "{spec: {selector: {a: c}}}")
POD = "{{spec: {{suspend: {}, template: {{spec: {{{}}}}}}}}}"

REFUSED = [
    *((APPS, kind, *SELECTOR) for kind in ("Deployment", "ReplicaSet", "DaemonSet")),
    (APPS, "StatefulSet", *SELECTOR),
    (APPS, "StatefulSet", "{spec: {serviceName: a}}", "{spec: {serviceName: b}}"),
    (APPS, "StatefulSet", "{spec: {}}", "{spec: {podManagementPolicy: Parallel}}"),
    (
        APPS,
        "StatefulSet",
        "{spec: {volumeClaimTemplates: [{metadata: {labels: {v: '1'}}}]}}",
        "{spec: {volumeClaimTemplates: [{metadata: {labels: {v: '2'}}}]}}",
    ),
    (BATCH, "Job", POD.format("false", "priority: 1"), POD.format("false", "priority: 2")),
    (BATCH, "Job", POD.format("true", "priority: 1"), POD.format("true", "priority: 2")),
    (BATCH, "Job", POD.format("false", "nodeSelector: {a: b}"), POD.format("false", "")),
    (BATCH, "Job", "{spec: {completions: 2}}", "{spec: {completions: 3}}"),
    (
        BATCH,
        "Job",
        "{spec: {completionMode: Indexed, completions: 2, parallelism: 2}}",
        "{spec: {completionMode: Indexed, completions: 3, parallelism: 2}}",
    ),
    *(
        (BATCH, "Job", f"{{spec: {{{field}: 1}}}}", f"{{spec: {{{field}: 2}}}}")
        for field in (
            "selector",
            "completionMode",
            "podFailurePolicy",
            "backoffLimitPerIndex",
            "managedBy",
            "successPolicy",
        )
    ),
    (CORE, "Service", "{spec: {}}", "{spec: {clusterIP: None}}"),
    (CORE, "Service", "{spec: {clusterIP: 10.0.0.1}}", "{spec: {clusterIP: 10.0.0.2}}"),
    (CORE, "Service", "{spec: {clusterIPs: [a]}}", "{spec: {clusterIPs: [b]}}"),
    (CORE, "Service", "{spec: {ipFamilies: [IPv4]}}", "{spec: {ipFamilies: [IPv6]}}"),
    (CORE, "Service", "{spec: {ipFamilies: [IPv4, IPv6]}}", "{spec: {ipFamilies: [IPv4]}}"),
    (
        CORE,
        "Service",
        "{spec: {type: LoadBalancer, loadBalancerClass: a/b}}",
        "{spec: {type: LoadBalancer, loadBalancerClass: a/c}}",
    ),
    (
        CORE,
        "Service",
        "{spec: {type: LoadBalancer, externalTrafficPolicy: Local, healthCheckNodePort: 30000}}",
        "{spec: {type: LoadBalancer, externalTrafficPolicy: Local, healthCheckNodePort: 30001}}",
    ),
    (
        CORE,
        "PersistentVolumeClaim",
        "{spec: {resources: {requests: {storage: 2Gi}}}}",
        "{spec: {resources: {requests: {storage: 1Gi}}}}",
    ),
    (
        CORE,
        "PersistentVolumeClaim",
        "{spec: {accessModes: [ReadWriteOnce]}}",
        "{spec: {accessModes: [ReadWriteMany]}}",
    ),
    (
        CORE,
        "PersistentVolumeClaim",
        "{spec: {storageClassName: slow}}",
        "{spec: {storageClassName: fast}}",
    ),
    (CORE, "PersistentVolume", "{spec: {volumeMode: Block}}", "{spec: {}}"),
    *(
        (CORE, "PersistentVolume", f"{{spec: {{{s}: {{a: 1}}}}}}", f"{{spec: {{{s}: {{a: 2}}}}}}")
        for s in ("csi", "fc", "hostPath", "iscsi", "local", "nfs")
    ),
    (
        CORE,
        "Pod",
        "{spec: {containers: [{name: a, command: [b]}]}}",
        "{spec: {containers: [{name: a, command: [c]}]}}",
    ),
    (CORE, "Pod", "{spec: {tolerations: [{key: a}]}}", "{spec: {tolerations: [{key: b}]}}"),
    *(
        (RBAC, kind, "{roleRef: {kind: Role, name: a}}", "{roleRef: {kind: Role, name: b}}")
        for kind in ("RoleBinding", "ClusterRoleBinding")
    ),
    *(
        (
            CORE,
            kind,
            f"{{immutable: true, {field}: {{a: b}}}}",
            f"{{immutable: true, {field}: {{}}}}",
        )
        for kind in ("ConfigMap", "Secret")
        for field in ("data", "binaryData", "stringData")
    ),
    (CORE, "ConfigMap", "{immutable: true}", "{}"),
    (CORE, "Secret", "{type: Opaque}", "{type: kubernetes.io/tls}"),
    *(
        (STORAGE, "StorageClass", f"{{{field}: a}}", f"{{{field}: b}}")
        for field in ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode")
    ),
    (STORAGE, "CSIDriver", "{spec: {}}", "{spec: {attachRequired: false}}"),
    (STORAGE, "CSIDriver", "{spec: {}}", "{spec: {volumeLifecycleModes: [Ephemeral]}}"),
    ("scheduling.k8s.io/v1", "PriorityClass", "{value: 1}", "{value: 2}"),
    ("scheduling.k8s.io/v1", "PriorityClass", "{}", "{preemptionPolicy: Never}"),
    ("networking.k8s.io/v1", "IngressClass", "{spec: {controller: a}}", "{spec: {controller: b}}"),
    ("node.k8s.io/v1", "RuntimeClass", "{handler: a}", "{handler: b}"),
    ("discovery.k8s.io/v1", "EndpointSlice", "{addressType: IPv4}", "{addressType: IPv6}"),
    *(
        ("resource.k8s.io/v1", kind, "{spec: {a: 1}}", "{spec: {a: 2}}")
        for kind in ("ResourceClaim", "ResourceClaimTemplate")
    ),
    (CRD, "CustomResourceDefinition", "{spec: {scope: Namespaced}}", "{spec: {scope: Cluster}}"),
    (CRD, "CustomResourceDefinition", "{spec: {group: a}}", "{spec: {group: b}}"),
    (CRD, "CustomResourceDefinition", "{spec: {names: {kind: A}}}", "{spec: {names: {kind: B}}}"),
    (
        CRD,
        "CustomResourceDefinition",
        "{spec: {names: {plural: a}}}",
        "{spec: {names: {plural: b}}}",
    ),
]

ACCEPTED = [
    (APPS, "Deployment", "{spec: {replicas: 1}}", "{spec: {replicas: 2}}"),
    (APPS, "Deployment", "{spec: {template: {a: 1}}}", "{spec: {template: {a: 2}}}"),
    *(
        (APPS, "StatefulSet", f"{{spec: {{{field}: 1}}}}", f"{{spec: {{{field}: 2}}}}")
        for field in (
            "replicas",
            "ordinals",
            "template",
            "updateStrategy",
            "revisionHistoryLimit",
            "persistentVolumeClaimRetentionPolicy",
            "minReadySeconds",
        )
    ),
    (APPS, "StatefulSet", "{spec: {}}", "{spec: {podManagementPolicy: OrderedReady}}"),
    # The group decides, not the kind's name alone.
    ("apps.example.org/v1", "StatefulSet", *SELECTOR),
    (
        BATCH,
        "Job",
        "{spec: {completionMode: Indexed, completions: 2, parallelism: 2}}",
        "{spec: {completionMode: Indexed, completions: 4, parallelism: 4}}",
    ),
    *(
        (BATCH, "Job", f"{{spec: {{{field}: 1}}}}", f"{{spec: {{{field}: 2}}}}")
        for field in (
            "parallelism",
            "backoffLimit",
            "activeDeadlineSeconds",
            "ttlSecondsAfterFinished",
            "suspend",
            "podReplacementPolicy",
        )
    ),
    (BATCH, "Job", "{spec: {}}", "{spec: {completionMode: NonIndexed}}"),
    (BATCH, "Job", POD.format("true", "nodeSelector: {a: b}"), POD.format("true", "")),
    (
        BATCH,
        "Job",
        POD.format("true", "priority: 1"),
        POD.format("true", "priority: 1, affinity: {nodeAffinity: {a: 1}}"),
    ),
    (BATCH, "Job", POD.format("false", ""), POD.format("false", "dnsPolicy: ClusterFirst")),
    (BATCH, "Job", POD.format("false", ""), POD.format("false", "nodeSelector: {}")),
    (
        BATCH,
        "Job",
        POD.format("false", "containers: [{name: a, resources: {limits: {cpu: 1000m}}}]"),
        POD.format("false", "containers: [{name: a, resources: {limits: {cpu: 1}}}]"),
    ),
    (BATCH, "CronJob", "{spec: {jobTemplate: {a: 1}}}", "{spec: {jobTemplate: {a: 2}}}"),
    (CORE, "Service", "{spec: {clusterIP: None}}", "{spec: {}}"),
    (
        CORE,
        "Service",
        "{spec: {clusterIP: 10.0.0.1}}",
        "{spec: {type: ExternalName, clusterIP: ''}}",
    ),
    (CORE, "Service", "{spec: {ipFamilies: [IPv4]}}", "{spec: {ipFamilies: [IPv4, IPv6]}}"),
    (
        CORE,
        "Service",
        "{spec: {ipFamilies: [IPv4, IPv6]}}",
        "{spec: {ipFamilies: [IPv4], ipFamilyPolicy: SingleStack}}",
    ),
    (
        CORE,
        "Service",
        "{spec: {clusterIP: None, ipFamilies: [IPv4]}}",
        "{spec: {clusterIP: None, ipFamilies: [IPv6]}}",
    ),
    (
        CORE,
        "Service",
        "{spec: {type: ClusterIP}}",
        "{spec: {type: LoadBalancer, loadBalancerClass: a/b}}",
    ),
    (
        CORE,
        "PersistentVolumeClaim",
        "{spec: {resources: {requests: {storage: 1Gi}}}}",
        "{spec: {resources: {requests: {storage: 2000Mi}}}}",
    ),
    (
        CORE,
        "PersistentVolumeClaim",
        "{spec: {resources: {requests: {storage: 1Gi}}}}",
        "{spec: {resources: {requests: {storage: 1024Mi}}}}",
    ),
    (CORE, "PersistentVolumeClaim", "{spec: {}}", "{spec: {volumeMode: Filesystem}}"),
    (CORE, "PersistentVolume", "{spec: {capacity: a}}", "{spec: {capacity: b}}"),
    (
        CORE,
        "Pod",
        "{spec: {containers: [{name: a, image: b}]}}",
        "{spec: {containers: [{name: a, image: c}]}}",
    ),
    (
        CORE,
        "Pod",
        "{spec: {tolerations: [{key: a}]}}",
        "{spec: {tolerations: [{key: b}, {key: a}]}}",
    ),
    (CORE, "Pod", "{metadata: {labels: {a: b}}}", "{metadata: {labels: {a: c}}}"),
    (RBAC, "RoleBinding", "{subjects: [{name: a}]}", "{subjects: [{name: b}]}"),
    (
        RBAC,
        "RoleBinding",
        "{roleRef: {name: a}}",
        "{roleRef: {name: a, apiGroup: rbac.authorization.k8s.io}}",
    ),
    (CORE, "ConfigMap", "{data: {a: b}}", "{data: {a: c}}"),
    (CORE, "ConfigMap", "{data: {a: b}}", "{data: {a: b}, immutable: true}"),
    (CORE, "Secret", "{data: {a: b}}", "{type: Opaque, data: {a: c}}"),
    (STORAGE, "StorageClass", "{allowVolumeExpansion: false}", "{allowVolumeExpansion: true}"),
    (STORAGE, "StorageClass", "{}", "{reclaimPolicy: Delete}"),
    (STORAGE, "CSIDriver", "{spec: {}}", "{spec: {attachRequired: true}}"),
    ("scheduling.k8s.io/v1", "PriorityClass", "{description: a}", "{description: b}"),
    ("networking.k8s.io/v1", "IngressClass", "{spec: {parameters: a}}", "{spec: {parameters: b}}"),
    (CRD, "CustomResourceDefinition", "{spec: {versions: []}}", "{spec: {versions: [{name: v1}]}}"),
]


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_what_kubernetes_refuses_is_refused(case):
    assert entries(*case)


@pytest.mark.parametrize("case", ACCEPTED, ids=str)
def test_what_kubernetes_accepts_is_not_refused(case):
    assert entries(*case) == []


def test_every_entry_has_a_case_that_trips_it_and_names_its_source():
    tripped = [entry for case in REFUSED for entry in entries(*case)]
    assert [entry for entry in TABLE if entry not in tripped] == []
    assert all("validation: " in entry.source for entry in TABLE)
    assert all(entry.remedy for entry in TABLE)


def test_a_whole_spec_that_goes_takes_its_fields_along():
    assert entries(APPS, "Deployment", "{spec: {selector: {a: b}}}", "{}")


@pytest.mark.parametrize(
    ("text", "number"),
    [("1", 1), (2, 2), ("1k", 1000), ("1Ki", 1024), ("1e3", 1000), ("2E", 2 * 10**18)],
)
def test_quantities_are_numbers(text, number):
    assert quantity(text) == number
    assert quantity(True) is None
    assert quantity("12 cores") is None
    assert quantity("500m") == quantity(0.5)
