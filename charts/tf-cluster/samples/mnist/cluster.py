"""The cluster as TF_CONFIG describes it: who am I, and who are the others?"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from errors import UsageError

ROLES = ("chief", "ps", "worker")
EXAMPLE = '{"cluster": {"chief": ["host:2222"], "ps": [...], "worker": [...]}, "task": {...}}'


@dataclass(frozen=True)
class Peer:
    """One member of the cluster and its address, `host:port`."""

    role: str
    index: int
    address: str

    def __str__(self) -> str:
        """Name it for a message: `worker 1 at host:2222`."""
        return f"{self.role} {self.index} at {self.address}"


@dataclass(frozen=True)
class Task:
    """This process's place in the cluster; `cluster` maps a role to its addresses by index."""

    cluster: Mapping[str, tuple[str, ...]]
    role: str
    index: int

    @property
    def address(self) -> str:
        """This process's own address, `host:port`."""
        return self.cluster[self.role][self.index]

    def peers(self, *roles: str) -> list[Peer]:
        """Every member with one of these roles, in the order of roles and indexes."""
        return [
            Peer(role, index, address)
            for role in roles
            for index, address in enumerate(self.cluster[role])
        ]


def parse_tf_config(text: str | None) -> Task:
    """Read the value of TF_CONFIG.

    Raises:
        UsageError: it is absent, no JSON, or names no task that this program can run.
    """
    if not text:
        raise UsageError(
            "TF_CONFIG is not set: it tells each process of the cluster its role and its peers, "
            f"for example TF_CONFIG='{EXAMPLE}'"
        )
    try:
        config = json.loads(text)
        cluster = {role: tuple(config["cluster"].get(role, ())) for role in ROLES}
        role, index = config["task"]["type"], int(config["task"]["index"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f"TF_CONFIG cannot be read ({type(error).__name__}: {error}); it must look like "
            f"{EXAMPLE} and is {text!r}"
        ) from error
    _check_task(cluster, role, index)
    return Task(cluster, role, index)


def _check_task(cluster: Mapping[str, tuple[str, ...]], role: str, index: int) -> None:
    """Raise UsageError unless the role, the index and all addresses make sense."""
    if role not in ROLES:
        raise UsageError(f"TF_CONFIG gives the task type {role!r}; known are {', '.join(ROLES)}")
    if not 0 <= index < len(cluster[role]):
        raise UsageError(
            f"TF_CONFIG names {role} {index}, but its cluster lists {len(cluster[role])} {role}"
        )
    for address in (address for addresses in cluster.values() for address in addresses):
        host, _, port = str(address).rpartition(":")
        if not host or not port.isdigit() or not 0 < int(port) < 65536:
            raise UsageError(f"TF_CONFIG holds the address {address!r}; it must be host:port")
    if role == "chief":
        absent = [needed for needed in ("ps", "worker") if not cluster[needed]]
        if absent:
            raise UsageError(f"TF_CONFIG lists no {' and no '.join(absent)}; one is the least")
