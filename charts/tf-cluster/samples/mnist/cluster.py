"""The cluster as the environment describes it: who am I, who are the others, how do we train?"""

import json
import os
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from errors import EXIT_TRY_AGAIN, NotReadyError, UsageError

CLIENT = "client"  # A chief from outside: its address is not in the list of the cluster.
EVALUATOR = "evaluator"
MEMBERS = ("chief", "worker", "ps")
ROLES = (*MEMBERS, EVALUATOR)

PARAMETER_SERVER = "parameter-server"
MULTI_WORKER_MIRRORED = "multi-worker-mirrored"
MIRRORED = "mirrored"
STRATEGIES = (PARAMETER_SERVER, MULTI_WORKER_MIRRORED, MIRRORED)

FOLLOWED = ("worker", "ps")
LOOK_SECONDS = 5.0
EXAMPLE = '{"cluster": {"chief": ["host:2222"], "ps": [...], "worker": [...]}, "task": {...}}'
NO_CLUSTER = (
    "TF_CONFIG is not set: it tells each process of the cluster its role and its peers, "
    f"for example TF_CONFIG='{EXAMPLE}'; or name a file with the cluster in TRAINYARD_CLUSTER_FILE"
)


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

    def located(self) -> "Task":
        """This task with its own host: a client's is the one that the first server can reach.

        Call it once that server is there: its name must be known by then.
        """
        if not self.address.startswith(":"):
            return self
        own = own_host(*split_address(self.cluster["ps"][0]))
        own = f"[{own}]" if ":" in own else own
        return replace(self, cluster={**self.cluster, self.role: (own + self.address,)})


def split_address(address: str) -> tuple[str, int]:
    """The host, without the brackets of IPv6, and the port of `host:port`."""
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)


def own_host(host: str, port: int) -> str:
    """The local address from which `host` is reached. A UDP socket that connects sends nothing.

    Raises:
        NotReadyError: the name is not known (any more), or there is no route.
    """
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind) as probe:
            probe.connect(address)
            return str(probe.getsockname()[0])
    except OSError as error:
        raise NotReadyError(f"no own address found that {host} can reach: {error}") from error


def find_task(environment: Mapping[str, str]) -> Task | None:
    """This process's task, from TF_CONFIG or else a file; None if the environment names neither.

    Raises:
        UsageError: what it names cannot be right.
    """
    if config := environment.get("TF_CONFIG"):
        return parse_tf_config(config)
    if path := environment.get("TRAINYARD_CLUSTER_FILE"):
        return read_cluster_file(Path(path), environment)
    return None


def parse_tf_config(text: str | None) -> Task:
    """Read the value of TF_CONFIG.

    Raises:
        UsageError: it is absent, no JSON, or names no task that this program can run.
    """
    if not text:
        raise UsageError(NO_CLUSTER)
    try:
        config = json.loads(text)
        role, index = config["task"]["type"], int(config["task"]["index"])
        roles = ROLES if role == EVALUATOR else MEMBERS
        cluster = {name: tuple(config["cluster"].get(name, ())) for name in roles}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f"TF_CONFIG cannot be read ({type(error).__name__}: {error}); it must look like "
            f"{EXAMPLE} and is {text!r}"
        ) from error
    _check_addresses(cluster, "TF_CONFIG")
    _check_task(cluster, role, index, "TF_CONFIG")
    return Task(cluster, role, index)


def read_cluster_file(path: Path, environment: Mapping[str, str]) -> Task:
    """Read a file of addresses by role; the task is in TASK_TYPE and TASK_INDEX.

    Raises:
        UsageError: the file or a variable cannot be right.
    """
    role, index = environment.get("TASK_TYPE", ""), environment.get("TASK_INDEX") or "0"
    if role not in (*ROLES, CLIENT) or not index.isdecimal():
        raise UsageError(
            f"with TRAINYARD_CLUSTER_FILE, TASK_TYPE must be one of {', '.join((*ROLES, CLIENT))} "
            f"and TASK_INDEX a number; they are {role!r} and {index!r}"
        )
    try:
        cluster = read_addresses(path)
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise UsageError(f"the list of the cluster, {path}, cannot be read: {error}") from error
    _check_addresses(cluster, str(path))
    if role == EVALUATOR:
        return Task(cluster, role, int(index))  # It watches from outside: no list names it.
    if role == CLIENT:
        role, index, cluster = "chief", "0", {**cluster, "chief": (_client_address(environment),)}
    _check_task(cluster, role, int(index), str(path))
    return Task(cluster, role, int(index))


def read_addresses(path: Path) -> dict[str, tuple[str, ...]]:
    """The addresses of every member, by role; errors of reading and of JSON pass through."""
    lists = json.loads(path.read_text())
    return {role: tuple(map(str, lists.get(role, ()))) for role in MEMBERS}


def _client_address(environment: Mapping[str, str]) -> str:
    """Where a client listens: `host:port`, or `:port` as long as its host is not known."""
    host, port = environment.get("TASK_HOST", ""), environment.get("TASK_PORT") or "2222"
    if not port.isdecimal():
        raise UsageError(f"TASK_PORT must be a port number and is {port!r}")
    return f"{host}:{port}"


def _check_addresses(cluster: Mapping[str, tuple[str, ...]], source: str) -> None:
    for address in (address for addresses in cluster.values() for address in addresses):
        host, _, port = str(address).rpartition(":")
        if not host or not port.isdigit() or not 0 < int(port) < 65536:
            raise UsageError(f"{source} holds the address {address!r}; it must be host:port")


def _check_task(cluster: Mapping[str, tuple[str, ...]], role: str, index: int, source: str) -> None:
    """Raise UsageError unless the role and the index make sense in this cluster."""
    if role not in ROLES:
        raise UsageError(f"{source} gives the task type {role!r}; known are {', '.join(ROLES)}")
    if not 0 <= index < len(cluster[role]):
        raise UsageError(
            f"{source} names {role} {index}, but its cluster lists {len(cluster[role])} {role}"
        )
    if role == "chief" and (cluster["ps"] or cluster["worker"]):
        absent = [needed for needed in ("ps", "worker") if not cluster[needed]]
        if absent:
            raise UsageError(f"{source} lists no {' and no '.join(absent)}; one is the least")


def choose_strategy(wanted: str, task: Task | None) -> str:
    """The one of STRATEGIES to train by; `wanted` is one of them, or "auto" for what fits `task`.

    Raises:
        UsageError: the cluster has not the roles for it.
    """
    fitting = _fitting_strategy(task)
    if wanted in ("auto", fitting):
        return fitting
    if task is None:
        raise UsageError(NO_CLUSTER)
    if wanted == MIRRORED and sum(map(len, task.cluster.values())) == 1:
        return wanted
    if wanted == PARAMETER_SERVER and task.role != "chief":
        return wanted  # A server need not know the others.
    needs = {
        PARAMETER_SERVER: "a chief (or client), parameter servers and workers",
        MULTI_WORKER_MIRRORED: "workers and nothing else",
        MIRRORED: "a single process",
    }
    found = ", ".join(f"{len(task.cluster[role])} {role}" for role in MEMBERS)
    raise UsageError(f"--strategy {wanted} needs {needs[wanted]}, and the cluster has {found}")


def _fitting_strategy(task: Task | None) -> str:
    if task is None or sum(map(len, task.cluster.values())) == len(task.cluster["chief"]):
        return MIRRORED
    if task.cluster["ps"] or task.cluster["chief"]:
        return PARAMETER_SERVER
    return MULTI_WORKER_MIRRORED


class Follower:
    """Sees when the file with the list of the cluster changes, as a mounted ConfigMap does."""

    def __init__(self, path: str, task: Task | None) -> None:
        """Compare the file at `path` with what `task` knows; an empty path never changes."""
        self.path, self.task = path, task
        self.looked = time.monotonic()
        self.changed = False

    def has_changed(self) -> bool:
        """Whether the list differs, looked up every LOOK_SECONDS; quick at other times."""
        if self.path and time.monotonic() - self.looked >= LOOK_SECONDS:
            self.look()
        return self.changed

    def look(self) -> bool:
        """Whether the list differs now; the first time that it does is printed."""
        change = self._change()
        if change and not self.changed:
            print(f"cluster changed: {change}", flush=True)
        self.looked, self.changed = time.monotonic(), self.changed or bool(change)
        return self.changed

    def _change(self) -> str:
        """What differs, as in `worker 2 -> 4, ps 1 -> 1`; "" if nothing does."""
        if not self.path or not self.task:
            return ""
        try:
            now = read_addresses(Path(self.path))
        except (OSError, ValueError, AttributeError, TypeError):
            return ""  # Something is exchanging it: the next look will see.
        before = self.task.cluster
        if all(now[role] == before[role] for role in FOLLOWED):
            return ""
        return ", ".join(f"{role} {len(before[role])} -> {len(now[role])}" for role in FOLLOWED)

    @contextmanager
    def ending_waits(self) -> Iterator[None]:
        """While the block waits for others, end the process as soon as the list changes."""
        done = threading.Event()

        def look() -> None:
            while not done.wait(LOOK_SECONDS):
                if self.look():
                    os._exit(EXIT_TRY_AGAIN)

        if self.path:
            threading.Thread(target=look, name="follower", daemon=True).start()
        try:
            yield
        finally:
            done.set()
