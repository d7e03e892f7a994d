"""Follow one tf-cluster release: its progress, its end, and what every pod did."""

import re
import subprocess
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from trainyard.errors import TrainyardError
from trainyard.kube import Kubectl, Object, condition, environment
from trainyard.waiting import wait_for

INSTANCE = "app.kubernetes.io/instance"
ROLE = "app.kubernetes.io/component"

INDEX = ("batch.kubernetes.io/job-completion-index", "apps.kubernetes.io/pod-index")

LINES_REMEMBERED = 1000
"""Log lines of the last second or so, which come again when a stream is taken up again."""

PROGRESS = re.compile(
    r"^step=(?P<step>\d+) of=(?P<of>\d+) loss=(?P<loss>\S+) accuracy=(?P<accuracy>\S+) "
    r"examples_per_s=(?P<rate>\S+)"
)


NOISE = re.compile(r"WARNING: All log messages before absl|[IW]\d{4} [\d:.]+ ")
"""How lines begin that TensorFlow's libraries log before they can be told to be silent."""


@dataclass(frozen=True)
class Progress:
    """One progress line of the sample program."""

    step: int
    of: int
    loss: float
    accuracy: float
    examples_per_s: float

    @staticmethod
    def read(line: str) -> "Progress | None":
        """Read a line of the program's output; nothing where it is another one."""
        found = PROGRESS.match(line)
        if not found:
            return None
        return Progress(
            int(found["step"]),
            int(found["of"]),
            float(found["loss"]),
            float(found["accuracy"]),
            float(found["rate"]),
        )


class Release:
    """A tf-cluster release that was installed into a namespace.

    ``lead`` is the role whose end is the end of the cluster: chief or worker.
    """

    def __init__(self, kubectl: Kubectl, name: str, lead: str = "chief") -> None:
        self.kubectl = kubectl
        self.name = name
        self.lead = lead

    def jobs(self) -> dict[str, Object]:
        """Give the release's Jobs by role; those of the newest run, while an older one goes."""
        found = self.kubectl.list("jobs", f"--selector={INSTANCE}={self.name}")
        found.sort(key=lambda job: str(job["metadata"]["creationTimestamp"]))
        return {job["metadata"]["labels"][ROLE]: job for job in found}

    def pods(self, role: str = "") -> list[Object]:
        """Give the release's pods, of one role or of all; not those of ``helm test``."""
        selector = f"{INSTANCE}={self.name}"
        selector += f",{ROLE}={role}" if role else f",{ROLE} in (chief,worker,ps,evaluator)"
        return self.kubectl.list("pods", f"--selector={selector}")

    def job(self, role: str) -> Object:
        """Give the Job of one role."""
        jobs = self.jobs()
        if role not in jobs:
            raise TrainyardError(f"Release {self.name} has no Job of the role {role}.")
        return jobs[role]

    def outcome(self, role: str = "") -> str:
        """Give how the role's Job ended: ``Complete``, ``Failed``, or nothing while it runs.

        Without a role it is the lead's, as everywhere here.
        """
        job = self.job(role or self.lead)
        return next((end for end in ("Complete", "Failed") if condition(job, end) == "True"), "")

    def wait_for_end(self, role: str = "", *, timeout: float) -> str:
        """Wait until the role's Job ends, and give how."""
        return wait_for(
            lambda: self.outcome(role),
            f"the {role or self.lead} Job of release {self.name} to end",
            timeout=timeout,
            every=0.5,
        )

    def wait_until_freed(self, *, timeout: float) -> None:
        """Wait until no pod of the release runs or will run."""

        def freed() -> bool:
            phases = {pod["status"].get("phase") for pod in self.pods()}
            return phases <= {"Succeeded", "Failed"}

        wait_for(freed, f"all pods of release {self.name} to end", timeout=timeout, every=0.5)

    def running_pod(self, role: str) -> str:
        """Give the name of a running pod of the role; empty where there is none."""
        for pod in self.pods(role):
            ending = pod["metadata"].get("deletionTimestamp")
            if pod["status"].get("phase") == "Running" and not ending:
                return str(pod["metadata"]["name"])
        return ""

    def follow(self, role: str = "") -> Iterator[str]:
        """Give the log lines of the role's pods as they come, until the role's Job ends.

        Of several tasks it is the first. A pod that takes another's place is followed from its
        own beginning.
        """
        role = role or self.lead
        followed: set[str] = set()
        while True:
            ended = self.outcome(role)
            for pod in self.first_tasks(role):
                name = pod["metadata"]["name"]
                if name in followed or pod["status"].get("phase") == "Pending":
                    continue
                followed.add(name)
                yield from self._lines(name)
            if ended:
                return
            wait_for(
                lambda: self.outcome(role) or self._new_pod(role, followed),
                f"the {role} of release {self.name} to start or to end",
                timeout=600,
                every=0.3,
            )

    def first_tasks(self, role: str = "") -> list[Object]:
        """Give the pods of the role's first task, oldest first."""
        found = [pod for pod in self.pods(role or self.lead) if index(pod) == 0]
        return sorted(found, key=lambda pod: str(pod["metadata"]["creationTimestamp"]))

    def _new_pod(self, role: str, known: set[str]) -> bool:
        return any(
            pod["metadata"]["name"] not in known and pod["status"].get("phase") != "Pending"
            for pod in self.first_tasks(role)
        )

    def _runs(self, pod: str) -> bool:
        found = self.kubectl.get("pod", pod)
        ending = found is None or "deletionTimestamp" in found["metadata"]
        return not ending and found is not None and found["status"].get("phase") == "Running"

    def _lines(self, pod: str) -> Iterator[str]:
        """Give the lines of one pod's log until it ends, also when the stream breaks meanwhile."""
        seen: deque[str] = deque(maxlen=LINES_REMEMBERED)
        since: list[str] = []
        while True:
            for line in self._stream(pod, *since):
                if line not in seen:
                    seen.append(line)
                    yield line.partition(" ")[2]
            if not self._runs(pod):
                return
            since = [f"--since-time={seen[-1].partition(' ')[0]}"] if seen else []

    def _stream(self, pod: str, *flags: str) -> Iterator[str]:
        """Give a pod's log lines, each with its time before it."""
        with subprocess.Popen(
            self.kubectl.argv("logs", "--follow", "--timestamps", *flags, pod),
            env=environment(self.kubectl.kubeconfig),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            errors="replace",
        ) as process:
            assert process.stdout is not None
            try:
                for line in process.stdout:
                    yield line.rstrip("\n")
            finally:
                process.terminate()


def index(pod: Object) -> int:
    """Give the number of a pod's task; 0 where it has none."""
    labels = pod["metadata"].get("labels", {})
    return int(next((labels[key] for key in INDEX if key in labels), 0))


def ended_at(pod: Object) -> datetime:
    """Give the moment at which the last container of a pod ended."""
    status = pod["status"]
    statuses = [*status.get("initContainerStatuses", []), *status.get("containerStatuses", [])]
    moments = [
        datetime.fromisoformat(state["state"]["terminated"]["finishedAt"])
        for state in statuses
        if "terminated" in state["state"]
    ]
    if not moments:
        raise TrainyardError(f"Pod {pod['metadata']['name']} has no container that ended.")
    return max(moments)
