"""The profile ``restricted`` of the Pod Security Standards, check by check.

Source: ``k8s.io/pod-security-admission/policy`` of 1.36. A check's first version is named
where it is newer than 1.29.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from trainyard.rules.base import Map, Pod, Problem, Render, at, entries, mapping, rule, strings
from trainyard.schemas.paths import step

Fault = tuple[str, str, str]
"""Path, message and remedy."""

ALLOWED_VOLUMES = frozenset(
    {
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "image",
        "persistentVolumeClaim",
        "projected",
        "secret",
    }
)

SAFE_SYSCTLS = {
    "kernel.shm_rmid_forced": 0,
    "net.ipv4.ip_local_port_range": 0,
    "net.ipv4.ip_local_reserved_ports": 0,
    "net.ipv4.ip_unprivileged_port_start": 0,
    "net.ipv4.ping_group_range": 0,
    "net.ipv4.tcp_fin_timeout": 0,
    "net.ipv4.tcp_keepalive_intvl": 0,
    "net.ipv4.tcp_keepalive_probes": 0,
    "net.ipv4.tcp_keepalive_time": 0,
    "net.ipv4.tcp_syncookies": 0,
    "net.ipv4.tcp_rmem": 32,
    "net.ipv4.tcp_wmem": 32,
}
"""The sysctls that are allowed, and the minor version from which on."""

SELINUX_TYPES = {
    "container_t": 0,
    "container_init_t": 0,
    "container_kvm_t": 0,
    "container_engine_t": 31,
}

CONFINED = ("RuntimeDefault", "Localhost")
"""The types of AppArmor and seccomp profiles that confine."""

APPARMOR_ANNOTATION = "container.apparmor.security.beta.kubernetes.io/"


@dataclass(frozen=True)
class Subject:
    """A pod, and the minor version of the Kubernetes that judges it."""

    pod: Pod
    minor: int

    @property
    def is_windows(self) -> bool:
        """Whether the pod says that it is one of Windows."""
        return bool(at(self.pod.spec, "os.name") == "windows")

    @property
    def has_own_users(self) -> bool:
        """Whether it has a user namespace, for which 1.35 relaxed the checks of users."""
        return self.pod.spec.get("hostUsers") is False and self.minor >= 35

    def levels(self) -> Iterator[tuple[str, Map]]:
        """Give the security contexts of the pod and of each container, with their paths."""
        yield f"{self.pod.path}.securityContext", mapping(self.pod.spec.get("securityContext"))
        for path, container in self.pod.containers():
            yield f"{path}.securityContext", mapping(container.get("securityContext"))

    def contexts(self) -> Iterator[tuple[str, Map]]:
        """Give the security contexts of the containers alone."""
        levels = self.levels()
        next(levels)
        yield from levels

    def everywhere(self, field: str) -> Iterator[tuple[str, Any]]:
        """Give a field of every security context where it is set."""
        for path, context in self.levels():
            value = at(context, field)
            if value is not None:
                yield f"{path}.{field}", value


def privileged(subject: Subject) -> Iterator[Fault]:
    """No host namespaces, no privileged containers, no host processes, no host ports."""
    for name in ("hostNetwork", "hostPID", "hostIPC"):
        if subject.pod.spec.get(name):
            yield f"{subject.pod.path}.{name}", f"{name} is true", f"Leave {name} out."
    for path, value in subject.everywhere("privileged"):
        if value:
            yield path, "the container is privileged", "Leave privileged out."
    for path, value in subject.everywhere("windowsOptions.hostProcess"):
        if value:
            yield path, "it is a host process", "Leave hostProcess out."
    for path, container in subject.pod.containers():
        for index, port in entries(container.get("ports")):
            if port.get("hostPort"):
                place = f"{path}.ports[{index}].hostPort"
                yield place, f"it takes port {port['hostPort']} of the host", "Use a Service."


def probe_hosts(subject: Subject) -> Iterator[Fault]:
    """No probes and lifecycle hooks of other hosts (1.34)."""
    if subject.minor < 34:
        return
    for path, container in subject.pod.containers():
        for handler in (
            "livenessProbe",
            "readinessProbe",
            "startupProbe",
            "lifecycle.postStart",
            "lifecycle.preStop",
        ):
            for action in ("httpGet", "tcpSocket"):
                if host := at(container, f"{handler}.{action}.host"):
                    place = f"{path}.{handler}.{action}.host"
                    yield place, f"it asks the host {host}", "Leave host out: the pod is meant."


def profiles(subject: Subject) -> Iterator[Fault]:
    """AppArmor and SELinux as the runtime sets them, or stricter; the usual /proc."""
    for path, value in subject.everywhere("appArmorProfile.type"):
        if value not in CONFINED:
            yield path, f"the AppArmor profile is {value}", "Leave it out, or RuntimeDefault."
    for key, value in mapping(subject.pod.metadata.get("annotations")).items():
        free = not value or value == "runtime/default" or str(value).startswith("localhost/")
        if str(key).startswith(APPARMOR_ANNOTATION) and not free:
            yield f"metadata.annotations{step(key)}", f"the profile is {value}", "Leave it out."
    for path, value in subject.everywhere("seLinuxOptions.type"):
        if value and subject.minor < SELINUX_TYPES.get(str(value), subject.minor + 1):
            yield path, f"the SELinux type is {value}", "Leave it out."
    for field in ("seLinuxOptions.user", "seLinuxOptions.role"):
        for path, value in subject.everywhere(field):
            if value:
                yield path, f"it sets {value}", "Leave it out."
    for path, value in subject.everywhere("procMount"):
        if value != "Default":
            yield path, f"procMount is {value}", "Leave it out."


def sysctls(subject: Subject) -> Iterator[Fault]:
    """Only sysctls that stay in the pod."""
    for index, sysctl in entries(at(subject.pod.spec, "securityContext.sysctls")):
        name = str(sysctl.get("name"))
        if subject.minor < SAFE_SYSCTLS.get(name, subject.minor + 1):
            place = f"{subject.pod.path}.securityContext.sysctls[{index}]"
            yield place, f"{name} is no safe sysctl", "Leave it out."


def volume_types(subject: Subject) -> Iterator[Fault]:
    """Only volumes that reach neither the host nor a storage system directly."""
    for path, volume in subject.pod.volumes():
        types = {key for key, value in volume.items() if key != "name" and value is not None}
        for wrong in sorted(types - ALLOWED_VOLUMES):
            yield f"{path}.{wrong}", f"volumes of type {wrong} are forbidden", "Use a claim."


def escalation(subject: Subject) -> Iterator[Fault]:
    """No gain of privileges, and of the capabilities at most NET_BIND_SERVICE."""
    if subject.is_windows:
        return
    for path, context in subject.contexts():
        if context.get("allowPrivilegeEscalation") is not False:
            message = "allowPrivilegeEscalation is not false"
            yield f"{path}.allowPrivilegeEscalation", message, "Set it to false."
        if "ALL" not in strings(at(context, "capabilities.drop")):
            message = "capabilities.drop does not hold ALL"
            yield f"{path}.capabilities.drop", message, "Set `drop: [ALL]`."
        added = {*strings(at(context, "capabilities.add"))} - {"NET_BIND_SERVICE"}
        if added:
            message = f"it adds {', '.join(sorted(added))}"
            yield f"{path}.capabilities.add", message, "Add at most NET_BIND_SERVICE."


def users(subject: Subject) -> Iterator[Fault]:
    """Never root: said for the pod or for each container, and refused nowhere."""
    if subject.has_own_users:
        return
    levels = list(subject.levels())
    for path, context in levels:
        if context.get("runAsNonRoot") is False:
            yield f"{path}.runAsNonRoot", "runAsNonRoot is false", "Set it to true."
        if context.get("runAsUser") == 0:
            yield f"{path}.runAsUser", "the user is root", "Use another user than 0."
    (_, of_pod), *containers = levels
    for path, context in containers:
        if context.get("runAsNonRoot") is None and of_pod.get("runAsNonRoot") is not True:
            message = "neither pod nor container sets runAsNonRoot"
            yield f"{path}.runAsNonRoot", message, "Set it to true for the pod."


def seccomp(subject: Subject) -> Iterator[Fault]:
    """A seccomp profile: said for the pod or for each container."""
    if subject.is_windows:
        return
    (path, of_pod), *containers = subject.levels()
    for place, context in ((path, of_pod), *containers):
        profile = context.get("seccompProfile")
        if profile is not None and at(profile, "type") not in CONFINED:
            message = f"the seccomp profile is {at(profile, 'type')}"
            yield f"{place}.seccompProfile.type", message, "Use RuntimeDefault."
    for place, context in containers:
        if context.get("seccompProfile") is None and at(of_pod, "seccompProfile.type") is None:
            message = "neither pod nor container sets a seccomp profile"
            yield f"{place}.seccompProfile", message, "Set RuntimeDefault for the pod."


CHECKS: tuple[Callable[[Subject], Iterator[Fault]], ...] = (
    privileged,
    probe_hosts,
    profiles,
    sysctls,
    volume_types,
    escalation,
    users,
    seccomp,
)


@rule(
    "pod-security",
    "A namespace of Pod Security level restricted refuses any other pod "
    "(Kubernetes documentation, Pod Security Standards).",
    bad="""
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
  initContainers: [{name: b, image: a}]
  containers:
    - name: a
      image: a
      securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
""",
    near_miss="""
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  securityContext: {seccompProfile: {type: RuntimeDefault}}
  containers:
    - name: a
      image: a
      securityContext:
        runAsNonRoot: true
        allowPrivilegeEscalation: false
        capabilities: {drop: [ALL], add: [NET_BIND_SERVICE]}
""",
)
def pod_security(render: Render) -> Iterator[Problem]:
    """Find what a namespace of level ``restricted`` refuses in any pod, hooks and tests too."""
    for pod in render.pods:
        for check in CHECKS:
            for path, message, remedy in check(Subject(pod, render.minor)):
                yield Problem(pod.object, path, message, remedy)
