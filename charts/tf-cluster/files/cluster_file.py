"""The cluster spec, as the chart mounts it: who is in the cluster, and who leads it.

The file is one line of JSON, {"chief": ["host:port"], "worker": [...], "ps": [...]}, in which a
role may be absent. Kubernetes changes it in place, up to 90 seconds late, so it is read again and
again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


class ClusterFileError(Exception):
    """The file cannot be read, or is no cluster spec."""


@dataclass(frozen=True)
class Task:
    """One member of the cluster and its address, `host:port`."""

    role: str
    index: int
    address: str

    @property
    def host(self) -> str:
        """Its host name, or its number without brackets."""
        return split(self.address)[0]

    def __str__(self) -> str:
        """Name it for a message: `worker 1 at host:2222`."""
        return f"{self.role} {self.index} at {self.address}"


@dataclass(frozen=True)
class Cluster:
    """All members of the cluster, role by role."""

    tasks: tuple[Task, ...]

    @property
    def lead(self) -> Task | None:
        """The task whose end is the end of the training: the chief, else the first worker."""
        return self.find("chief", 0) or self.find("worker", 0)

    @property
    def deciding(self) -> tuple[Task, ...]:
        """The tasks of the Job that decides: all that have the lead's role, the lead first."""
        return tuple(self.of(self.lead.role)) if self.lead else ()

    def find(self, role: str, index: int) -> Task | None:
        """Return a task, unless there is no such one."""
        return next((task for task in self.of(role) if task.index == index), None)

    def of(self, *roles: str) -> Iterator[Task]:
        """Return the tasks of these roles."""
        return (task for task in self.tasks if task.role in roles)


def read(path: Path) -> Cluster:
    """Read the cluster spec; raise a ClusterFileError that says why it is none."""
    try:
        spec = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ClusterFileError(f"{path} cannot be read: {error}") from error
    if not isinstance(spec, Mapping):
        raise ClusterFileError(f"{path} must hold an object of roles, and holds {spec!r}")
    return Cluster(tuple(_tasks(spec, path)))


def _tasks(spec: Mapping[str, Sequence[str]], path: Path) -> Iterator[Task]:
    """Return the tasks of a spec whose addresses all make sense."""
    for role in sorted(spec):
        for index, address in enumerate(spec[role] or ()):
            try:
                split(address)
            except (ValueError, AttributeError) as error:
                raise ClusterFileError(
                    f"{path} gives {role} {index} the address {address!r}; it must be host:port"
                ) from error
            yield Task(role, index, address)


def split(address: str) -> tuple[str, int]:
    """Return host and port of `host:port` or `[IPv6]:port`."""
    host, _, port = address.rpartition(":")
    host = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if not host or not 0 < int(port) < 65536:
        raise ValueError(f"{address!r} is not host:port")
    return host, int(port)
