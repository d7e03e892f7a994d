"""Wait until the peers of a task are there: an init container of the training program.

TensorFlow would wait for them silently and for ever. Exit codes:

    0    all are there
    69   some are not, in time; the message names them (BSD's EX_UNAVAILABLE)
    143  asked to stop (SIGTERM)

The lead is the chief, or worker 0 of a cluster without one. A chief waits until all others accept
connections. A leading worker waits until their names are known, for they open their ports only
when they have found the lead. All other tasks wait for the names of the lead and of the parameter
servers.

A lead waits besides until nobody of an earlier run is left: pods that are still about to end
answer under the same Service, and would take part in the new run with the old one's state.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import cluster_file
import network
from cluster_file import Cluster, ClusterFileError, Task
from console import few, leave, say, stop_on_sigterm

EXIT_ABSENT = 69
REPORT_SECONDS = 10.0
FOREVER_SECONDS = 1e9
LEAST_LOOK_UP_SECONDS = 3.0
"""Even when the deadline is over, so that the last words can tell of an earlier run."""


class Wait:
    """The waiting of one task for its peers."""

    def __init__(
        self,
        spec: Path,
        role: str,
        index: int,
        *,
        service: str = "",
        deadline: float = 600.0,
        poll: float = 1.0,
    ) -> None:
        """Wait for the peers of task `role` `index`, as a lead for itself alone in `service`."""
        self.spec, self.role, self.index = spec, role, index
        self.service, self.poll = service, poll
        self.pool = network.crew()
        self.cluster = Cluster(())
        self.needed: list[Task] = []
        self.present: set[tuple[Task, Callable[[str], str]]] = set()
        self.absent: dict[Task, str] = {}
        self.trouble = self.earlier = ""
        self.seconds = deadline
        self.deadline = time.monotonic() + (deadline or FOREVER_SECONDS)
        self.reported = time.monotonic()

    def run(self) -> int:
        """Return the exit code of this program."""
        while True:
            self._read_cluster()
            self._ask_peers()
            if self._due() or self._left() <= 0 or not self._missing():
                self._look_for_others()
            if not self._reasons():
                say(f"all {len(self.needed)} peers of {self.role} {self.index} are there")
                return 0
            if self._left() <= 0:
                say(self._farewell())
                return EXIT_ABSENT
            self._report()
            time.sleep(max(0.0, min(self.poll, self._left())))

    @property
    def own(self) -> Task | None:
        """This task, if the cluster spec names it."""
        return self.cluster.find(self.role, self.index)

    @property
    def leads(self) -> bool:
        """Whether this task is the lead."""
        return self.own is not None and self.own == self.cluster.lead

    @property
    def need(self) -> Callable[[str], str]:
        """What says of a peer's address why it is not there yet, and "" if it is."""
        open_port = self.leads and self.role == "chief"
        return network.unreachable if open_port else network.unresolved

    def _read_cluster(self) -> None:
        """Read the cluster spec anew; it changes when the cluster is scaled while we wait."""
        try:
            self.cluster = cluster_file.read(self.spec)
            self.trouble = ""
        except ClusterFileError as error:
            self.trouble = str(error)
            return
        if not self.own:
            # The file is of before the scaling; the program would not find itself in it either.
            self.trouble = f"{self.role} {self.index} to be named in {self.spec}"
        self.needed = list(self._peers())
        need = self.need
        pending = [task for task in self.needed if (task, need) not in self.present]
        self.absent = {task: self.absent.get(task, "not asked yet") for task in pending}

    def _peers(self) -> Iterable[Task]:
        """Return whom this task needs."""
        cluster, lead = self.cluster, self.cluster.lead
        if self.leads:
            return (task for task in cluster.of("chief", "ps", "worker") if task != self.own)
        return (*([lead] if lead else []), *cluster.of("ps"))

    def _ask_peers(self) -> None:
        """Ask all who were absent the last time, and no others: there may be a thousand."""
        need = self.need

        def absence(task: Task) -> str:
            return need(task.address)

        for task, reason in network.ask(self.pool, absence, list(self.absent), self._left()):
            if reason:
                self.absent[task] = reason
            else:
                del self.absent[task]
                self.present.add((task, need))
            self._report()

    def _look_for_others(self) -> None:
        """Note what keeps a lead from being alone with its cluster; all is looked up anew."""
        self.earlier = ""
        if not self.service or not self.leads:
            return
        try:
            # First, so that whoever is listed is also known by name a moment later.
            listed = self._addresses([self.service])[self.service]
        except KeyError:
            self.earlier = f"Service {self.service} to have addresses"
            return
        known = self._addresses(task.host for task in self.cluster.tasks)
        others = sorted(listed.difference(*known.values()))
        shared = sorted(host for host, numbers in known.items() if _crowded(numbers))
        if others:
            pods = "pod" if len(others) == 1 else "pods"
            self.earlier = f"{len(others)} {pods} of an earlier run to end: {few(others)}"
        elif shared:
            # A run that comes again, as after a rollback, has the names of the one before.
            self.earlier = f"earlier pods of the same names to end: {few(shared)}"
        elif self.own and not listed & known.get(self.own.host, frozenset()):
            # An answer without ourselves is an old one: it may lack others, too.
            self.earlier = f"Service {self.service} to list this pod"

    def _addresses(self, hosts: Iterable[str]) -> dict[str, frozenset[str]]:
        """Return the numbers of those hosts that have some."""

        def numbers(host: str) -> frozenset[str]:
            try:
                return network.addresses(host)
            except network.UnknownHostError:
                return frozenset()

        seconds = max(self._left(), LEAST_LOOK_UP_SECONDS)
        found = network.ask(self.pool, numbers, set(hosts), seconds)
        return {host: addresses for host, addresses in found if addresses}

    def _left(self) -> float:
        return self.deadline - time.monotonic()

    def _report(self) -> None:
        """Say every REPORT_SECONDS for whom we wait."""
        if self._due() and self._reasons():
            self.reported = time.monotonic()
            say("; ".join(f"waiting for {reason}" for reason in self._reasons()))

    def _due(self) -> bool:
        return time.monotonic() - self.reported >= REPORT_SECONDS

    def _missing(self) -> list[str]:
        """Return what is not there, each as a part of a sentence."""
        peers = [f"{task} ({reason})" for task, reason in self.absent.items()]
        some = f"{len(peers)} of {len(self.needed)} peers: {few(peers)}" if peers else ""
        return [reason for reason in (self.trouble, some) if reason]

    def _reasons(self) -> list[str]:
        """Return all for what this task waits, each as a part of a sentence."""
        return [*self._missing(), *([self.earlier] if self.earlier else [])]

    def _farewell(self) -> str:
        """Return the last words of a task whose peers did not come."""
        reasons = "; and for ".join(self._reasons())
        return (
            f"gave up after {self.seconds:g} s of waiting for {reasons}. "
            "See why these pods do not run or do not end: `kubectl get pods -o wide`, then "
            "`kubectl describe pod NAME` and `kubectl logs NAME --all-containers`"
        )


def _crowded(addresses: frozenset[str]) -> bool:
    """Say whether more than one pod has them: each pod has at most one address of a family."""
    sixes = sum(":" in address for address in addresses)
    return max(sixes, len(addresses) - sixes) > 1


def main(arguments: list[str] | None = None) -> int:
    """Run the program."""
    stop_on_sigterm()
    parser = argparse.ArgumentParser(
        description="Wait until the peers of a task are there.", allow_abbrev=False
    )
    parser.add_argument(
        "--cluster-file", required=True, type=Path, help="the cluster spec, a JSON file"
    )
    parser.add_argument("--role", required=True, choices=["chief", "worker"], help="of this task")
    parser.add_argument("--index", required=True, type=int, help="of this task")
    parser.add_argument(
        "--service",
        default="",
        help="the name of the Service that lists all pods of the cluster; with it a lead waits "
        "until those of an earlier run have ended",
    )
    parser.add_argument(
        "--deadline",
        type=float,
        default=600.0,
        help="seconds for all to come (%(default)s); 0: as long as it takes",
    )
    parser.add_argument(
        "--poll-seconds", type=float, default=1.0, help="time between two rounds (%(default)s)"
    )
    given = parser.parse_args(arguments)
    return Wait(
        given.cluster_file,
        given.role,
        given.index,
        service=given.service,
        deadline=given.deadline,
        poll=given.poll_seconds,
    ).run()


if __name__ == "__main__":
    leave(main())
