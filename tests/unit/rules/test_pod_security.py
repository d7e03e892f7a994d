"""The profile ``restricted``, one violation at a time."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from trainyard.render.case import Case
from trainyard.render.objects import Rendered
from trainyard.rules import RULES, Render

CONTAINER: dict[str, Any] = {
    "name": "a",
    "image": "a",
    "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
}
SPEC: dict[str, Any] = {
    "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
    "containers": [CONTAINER],
}


def paths(
    spec: dict[str, Any], version: str = "1.33", annotations: dict[str, str] | None = None
) -> list[str]:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "annotations": annotations or {}},
        "spec": spec,
    }
    render = Render(Case(Path("a"), kube_version=version), Rendered(yaml.safe_dump(pod)))
    return [problem.path for problem in RULES["pod-security"].check(render)]


def pod(**context: object) -> dict[str, Any]:
    return {**SPEC, "securityContext": {**SPEC["securityContext"], **context}}


def container(context: dict[str, Any] | None = None, **fields: object) -> dict[str, Any]:
    context = {**CONTAINER["securityContext"], **(context or {})}
    return {**SPEC, "containers": [{**CONTAINER, **fields, "securityContext": context}]}


def test_a_restricted_pod_is_allowed():
    assert paths(SPEC) == []


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({**SPEC, "hostNetwork": True}, "spec.hostNetwork"),
        ({**SPEC, "hostPID": True}, "spec.hostPID"),
        (
            {**SPEC, "volumes": [{"name": "a", "hostPath": {"path": "/"}}]},
            "spec.volumes[0].hostPath",
        ),
        ({**SPEC, "volumes": [{"name": "a", "nfs": {}}]}, "spec.volumes[0].nfs"),
        (
            container(ports=[{"containerPort": 1, "hostPort": 1}]),
            "spec.containers[0].ports[0].hostPort",
        ),
        (
            container(context={"privileged": True}),
            "spec.containers[0].securityContext.privileged",
        ),
        (
            container(context={"procMount": "Unmasked"}),
            "spec.containers[0].securityContext.procMount",
        ),
        (
            container(context={"runAsNonRoot": False}),
            "spec.containers[0].securityContext.runAsNonRoot",
        ),
        (container(context={"runAsUser": 0}), "spec.containers[0].securityContext.runAsUser"),
        (
            container(context={"seccompProfile": {"type": "Unconfined"}}),
            "spec.containers[0].securityContext.seccompProfile.type",
        ),
        (
            container(context={"capabilities": {"drop": ["all"]}}),
            "spec.containers[0].securityContext.capabilities.drop",
        ),
        (
            container(context={"capabilities": {"drop": ["ALL"], "add": ["CHOWN"]}}),
            "spec.containers[0].securityContext.capabilities.add",
        ),
        (pod(runAsUser=0), "spec.securityContext.runAsUser"),
        (pod(seccompProfile={"type": "Unconfined"}), "spec.securityContext.seccompProfile.type"),
        (pod(seLinuxOptions={"type": "spc_t"}), "spec.securityContext.seLinuxOptions.type"),
        (pod(seLinuxOptions={"role": "a"}), "spec.securityContext.seLinuxOptions.role"),
        (
            pod(appArmorProfile={"type": "Unconfined"}),
            "spec.securityContext.appArmorProfile.type",
        ),
        (pod(sysctls=[{"name": "kernel.msgmax"}]), "spec.securityContext.sysctls[0]"),
        (
            pod(windowsOptions={"hostProcess": True}),
            "spec.securityContext.windowsOptions.hostProcess",
        ),
        (
            {**SPEC, "ephemeralContainers": [{"name": "b"}]},
            "spec.ephemeralContainers[0].securityContext.allowPrivilegeEscalation",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_violation_is_found(spec, path):
    assert path in paths(spec)


@pytest.mark.parametrize(
    "spec",
    [
        container(context={"capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]}}),
        pod(sysctls=[{"name": "net.ipv4.tcp_syncookies"}]),
        pod(seLinuxOptions={"level": "s0:c1"}),
        {**SPEC, "volumes": [{"name": "a", "emptyDir": {}}, {"name": "b", "image": {}}]},
        {**SPEC, "hostNetwork": False},
        {
            "containers": [
                {
                    **CONTAINER,
                    "securityContext": {
                        **CONTAINER["securityContext"],
                        "runAsNonRoot": True,
                        "seccompProfile": {"type": "Localhost", "localhostProfile": "a"},
                    },
                }
            ]
        },
    ],
)
def test_what_the_standard_allows_is_no_fault(spec):
    assert paths(spec) == []


@pytest.mark.parametrize(
    ("spec", "before", "since"),
    [
        (pod(sysctls=[{"name": "net.ipv4.tcp_rmem"}]), "1.31", "1.32"),
        (pod(seLinuxOptions={"type": "container_engine_t"}), "1.30", "1.31"),
        ({**pod(runAsUser=0), "hostUsers": False}, "1.34", "1.35"),
    ],
)
def test_what_later_versions_relaxed_is_judged_by_the_version(spec, before, since):
    assert paths(spec, before) and paths(spec, since) == []


def test_hosts_of_probes_are_judged_from_1_34_on():
    spec = container(livenessProbe={"httpGet": {"port": 1, "host": "example.org"}})
    assert paths(spec, "1.33") == []
    assert paths(spec, "v1.34.1-gke.1") == ["spec.containers[0].livenessProbe.httpGet.host"]


def test_windows_pods_need_no_linux_settings():
    windows = {
        "os": {"name": "windows"},
        "securityContext": {"runAsNonRoot": True},
        "containers": [{"name": "a", "image": "a"}],
    }
    assert paths(windows) == []


def test_the_old_annotation_of_apparmor_counts():
    key = "container.apparmor.security.beta.kubernetes.io/a"
    assert paths(SPEC, annotations={key: "unconfined"})
    assert paths(SPEC, annotations={key: "runtime/default"}) == []
