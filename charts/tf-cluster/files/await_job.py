"""Wait until the training has ended, and end with its result.

The main container of server pods (parameter servers, and workers that follow a chief) runs this
beside a TensorFlow server that never ends by itself. When it ends, the kubelet stops the server,
and the pod is done. Its exit codes, which the pods' Job knows:

    0    the deciding Job is Complete
    3    it is Failed, or it is gone, or reading it stays forbidden, or nobody tells of it and
         nobody trains any more: starting again is of no use
    143  asked to stop (SIGTERM)

It asks the API server for the Job, or, where pods may not do that, looks for the marker of its name
that mark_end.py leaves on a shared volume. A file says which Job that is, and is read anew before
each look: the Job has another name when the cluster has another scale, and these pods live on.
Where neither tells anything, it listens whether the deciding task still lives: training outlives an
API server that is away for hours, and nobody holds a GPU for one that can never be reached.
Python's standard library is all it needs, so that it runs
in any image that has Python.
"""

from __future__ import annotations

import argparse
import random
import signal
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import cluster_file
import job_reader
import network
from cluster_file import Cluster, ClusterFileError, Task
from console import leave, say, stop_on_sigterm
from job_reader import COMPLETE, Jobs, NoAnswerError, NotNamedError, NotThereError, RefusedError
from marker import Markers

EXIT_FAILED = 3
TASKS_A_SECOND = 50
"""How many of a cluster's tasks may ask in one second, all together."""


@dataclass(frozen=True)
class End:
    """The end of the waiting. `told` means that the training said so, and nobody gave up on it."""

    code: int
    words: str
    told: bool = False


class Listener:
    """Listens whether the training goes on: whether a task that decides accepts connections."""

    def __init__(
        self,
        spec: Path,
        tasks: Callable[[Cluster], Iterable[Task]],
        silence: float,
        absence: Callable[[str], str] = network.unreachable,
    ) -> None:
        """Listen to these tasks of the cluster, with patience for `silence` seconds; 0: for ever.

        `absence` says of an address why nobody is there, and "" if somebody is.
        """
        self.spec, self.tasks, self.silence, self.absence = spec, tasks, silence, absence
        self.pool = network.crew(8)
        self.addresses: tuple[str, ...] = ()
        self.trouble = ""
        self.begin()

    def begin(self) -> None:
        """Have patience anew."""
        self.heard = time.monotonic()

    def lost(self) -> bool:
        """Listen once, and say whether all have been silent for too long."""
        if not self.silence:
            return False
        try:
            addresses = tuple(task.address for task in self.tasks(cluster_file.read(self.spec)))
        except ClusterFileError as error:
            if str(error) != self.trouble:
                self.trouble = str(error)
                say(f"trying again: {error}")
        else:
            if addresses and addresses != self.addresses:
                self.addresses, self.heard = addresses, time.monotonic()
        if self._answers():
            self.heard = time.monotonic()
        return time.monotonic() - self.heard >= self.silence

    def _answers(self) -> bool:
        # In threads, for SIGTERM is not heard during the look-up of a name.
        answers = network.ask(self.pool, self.absence, self.addresses, 30)
        return any(not why for _, why in answers)

    def __str__(self) -> str:
        """Tell of the silence in a message."""
        silent = (
            "had no address" if self.absence is network.unresolved else "accepted no connection"
        )
        who = " ".join(("the deciding task", *self.addresses[:1], "has"))
        if len(self.addresses) > 1:
            who = f"the {len(self.addresses)} deciding tasks have"
        return f"{who} {silent} for {self.silence:g} s"


class Watch:
    """Watches the deciding Job, which a file names, until its end is told."""

    def __init__(
        self,
        job_file: Path,
        source: Jobs | Markers,
        gone: float,
        limits: Mapping[type[NoAnswerError], tuple[float, str]],
    ) -> None:
        """Ask `source`; give up when the file names no Job for `gone` seconds, or by `limits`.

        These say how long to bear a kind of trouble, and what to say in the end.
        """
        self.job_file, self.source = job_file, source
        self.name = self.trouble = ""
        self.kind: type[NoAnswerError] = NoAnswerError
        self.since = 0.0
        self.limits: dict[type[NoAnswerError], tuple[float, str]] = {
            NotNamedError: (gone, f"is not named in {job_file} after {{:g}} s"),
            **limits,
        }

    def ask(self) -> End | None:
        """Return the end, if it has come."""
        try:
            self._read_name()
            how, words = self.source.outcome(self.name)
        except NoAnswerError as error:
            return self._bear(error)
        if self.trouble:
            say(f"job {self.name} can be read again")
        self._forget()
        if not how:
            return None
        code = 0 if how == COMPLETE else EXIT_FAILED
        return End(code, f"job {self.name} is {how}" + (f" ({words})" if words else ""), told=True)

    def _read_name(self) -> None:
        """Learn for which Job to ask: a new run or new scale of the cluster has another one."""
        name = job_reader.read_name(self.job_file)
        if name != self.name:
            was = f", no longer for {self.name}" if self.name else ""
            say(f"waiting for job {name}{was}")
            self.name = name
            self._begin()

    def _begin(self) -> None:
        """Have patience anew with a Job that has just got its name."""
        self._forget()

    def _forget(self) -> None:
        self.trouble, self.kind = "", NoAnswerError

    def _bear(self, error: NoAnswerError) -> End | None:
        """Note trouble, and return the end when it has lasted too long.

        What fails in passing is asked again for as long as it takes. But a Job that stays absent
        was removed, and one that stays forbidden will not be shown to us. Either may be so for a
        while only because our file still names the Job of the run before.
        """
        subject = f"job {self.name}" if self.name else "the job"
        if str(error) != self.trouble:
            self.trouble = str(error)
            say(f"cannot read {subject}, trying again: {error}")
        now = time.monotonic()
        if type(error) is not self.kind:
            self.kind, self.since = type(error), now
        if self.kind in self.limits:
            seconds, words = self.limits[self.kind]
            if now - self.since >= seconds:
                return End(EXIT_FAILED, f"{subject} {words.format(seconds)}")
        return None


class JobWatch(Watch):
    """Asks the API server, and listens whether the training goes on where that gives no answer."""

    def __init__(
        self,
        jobs: Jobs,
        job_file: Path,
        gone: float,
        refused: float,
        listener: Listener | None = None,
    ) -> None:
        """Give up when the Job stays absent for `gone` seconds or forbidden for `refused`.

        Or when there is no answer at all, and the `listener` has heard nothing for too long either.
        """
        limits: dict[type[NoAnswerError], tuple[float, str]] = {
            NotThereError: (gone, "has been gone for {:g} s: its release was removed"),
            RefusedError: (
                refused,
                "stays forbidden after {:g} s: the account needs `get` on it (rbac.create)",
            ),
        }
        super().__init__(job_file, jobs, gone, limits)
        self.listener = listener

    def ask(self) -> End | None:
        """Return the end, if it has come."""
        end = super().ask()
        if end or not self.listener:
            return end
        if not self.trouble or self.kind is not NoAnswerError:
            # An answer, if not the one that we want.
            self.listener.begin()
            return None
        if not self.listener.lost():
            return None
        return End(
            EXIT_FAILED,
            f"job {self.name} cannot be read ({self.trouble}), and {self.listener}: the training "
            "has ended or never began, and nobody can tell how; see whether these pods may reach "
            "the API server (networkPolicy.egress.apiServerPorts, and policies of others), and "
            "`kubectl get jobs`",
        )

    def _begin(self) -> None:
        super()._begin()
        if self.listener:
            self.listener.begin()


class MarkerWatch(Watch):
    """Looks for the Job's marker, and whether the deciding task that will leave it still runs."""

    def __init__(self, markers: Markers, job_file: Path, gone: float, listener: Listener) -> None:
        """Give up when the Job has no name for `gone` seconds.

        Or when the `listener` has heard nothing for too long.
        """
        super().__init__(job_file, markers, gone, {})
        self.markers, self.listener = markers, listener

    def ask(self) -> End | None:
        """Return the end, if it has come."""
        end = super().ask()
        if end or self.kind is NotNamedError or not self.listener.lost():
            return end
        try:
            how, words = self.markers.outcome(self.name, old_too=True)
        except NoAnswerError:
            how = words = ""
        if how:
            # We came after the end, and took its marker for an earlier one's.
            code = 0 if how == COMPLETE else EXIT_FAILED
            return End(code, f"job {self.name} is {how} ({words}), and nobody answers", told=True)
        return End(
            EXIT_FAILED,
            f"{self.listener} and left no marker {self.markers.path(self.name)}: the program "
            "failed for good, or its release was removed; see `kubectl get pods` and its log",
        )

    def _begin(self) -> None:
        super()._begin()
        self.listener.begin()
        self.markers.disregard(self.name)
        say(f"looking for the marker {self.markers.path(self.name)}")


def interval(poll: float, spec: Path | None) -> float:
    """Return the seconds between two questions, so that a large cluster overwhelms nobody."""
    try:
        tasks = len(cluster_file.read(spec).tasks) if spec else 0
    except ClusterFileError:
        tasks = 0
    return max(poll, tasks / TASKS_A_SECOND)


def wait(ask: Callable[[], End | None], pause: Callable[[], float], stay: bool) -> int:
    """Ask until the end has come; return its exit code, or stay until SIGTERM if so wished."""
    while True:
        end = ask()
        if end:
            break
        # Many pods ask the same server; the odd fraction keeps them apart.
        time.sleep(pause() * random.uniform(1.0, 1.5))
    say(end.words)
    if stay and end.told:
        say("staying until the pod is deleted")
        _stay()
    return end.code


def _stay() -> NoReturn:
    while True:
        signal.pause()


def main(arguments: list[str] | None = None) -> int:
    """Run the program."""
    stop_on_sigterm()
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.marker_folder and not given.cluster_file:
        parser.error("--marker-folder needs --cluster-file, which names the deciding task")
    return wait(
        _watch(given).ask,
        lambda: interval(given.poll_seconds, given.cluster_file),
        stay=given.after_end == "stay",
    )


def _watch(given: argparse.Namespace) -> Watch:
    if given.marker_folder:
        # The first task's marker decides.
        listener = Listener(
            given.cluster_file, lambda cluster: cluster.deciding[:1], given.silence_seconds
        )
        return MarkerWatch(
            Markers(given.marker_folder), given.job_file, given.gone_seconds, listener
        )
    jobs = Jobs(given.server, given.account)
    seconds = given.gone_seconds, given.refused_seconds
    if not given.cluster_file:
        return JobWatch(jobs, given.job_file, *seconds)
    absence = network.unresolved if given.no_ports else network.unreachable
    listener = Listener(
        given.cluster_file, lambda cluster: cluster.deciding, given.silence_seconds, absence
    )
    return JobWatch(jobs, given.job_file, *seconds, listener)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description="Wait until the training has ended, and end with its result.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--job-file",
        required=True,
        type=Path,
        help="the file that names the deciding Job; read anew each time",
    )
    parser.add_argument(
        "--marker-folder",
        type=Path,
        help="the folder where mark_end.py leaves a marker with the Job's name; the API server is "
        "not asked then",
    )
    parser.add_argument("--cluster-file", type=Path, help="the cluster spec, a JSON file")
    parser.add_argument(
        "--after-end",
        choices=["stop", "stay"],
        default="stop",
        help="when the training has ended, stop, or stay until SIGTERM (%(default)s)",
    )
    parser.add_argument(
        "--poll-seconds",
        type=float,
        default=2.0,
        help="least time between two questions (%(default)s); with --cluster-file it is at least "
        f"a {TASKS_A_SECOND}th of a second for each task, so that a cluster of 1,000 asks every "
        f"{1000 // TASKS_A_SECOND} to {1500 // TASKS_A_SECOND} s, some {TASKS_A_SECOND} times a "
        "second in all",
    )
    parser.add_argument(
        "--gone-seconds",
        type=float,
        default=180.0,
        help="how long the Job may be absent under the same name, or have none (%(default)s)",
    )
    parser.add_argument(
        "--refused-seconds",
        type=float,
        default=300.0,
        help="how long 401 and 403 may last under the same name (%(default)s)",
    )
    parser.add_argument(
        "--silence-seconds",
        type=float,
        default=900.0,
        help="how long the deciding task may accept no connection under the same name of the Job, "
        "where there is no marker, or while the API server gives no answer (%(default)s; 0: for "
        "ever); needs --cluster-file",
    )
    parser.add_argument(
        "--no-ports",
        action="store_true",
        help="the deciding task opens no port: it is alive as long as its name is known (without "
        "--marker-folder)",
    )
    job_reader.add_flags(parser)
    return parser


if __name__ == "__main__":
    leave(main())
