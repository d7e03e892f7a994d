"""Look whether a training cluster is alive or has done its work: the program of `helm test`.

running    every address of the cluster spec must answer on its port, in time (a cluster of one
           task that opens no port, --no-ports, is taken at the Job's word)
Complete   well; a command after "--" then judges the result, and its exit code is ours
Failed     exit 1, with Kubernetes' words on it

The API server says which of these the deciding Job is, or, where pods may not ask it, the Job's
marker on a shared volume: without one it is running. A cluster of servers alone, which no Job
decides, is always running.
"""

from __future__ import annotations

import argparse
import subprocess
import time
from pathlib import Path

import cluster_file
import job_reader
import network
from cluster_file import ClusterFileError
from console import few, leave, say, split_command, stop_on_sigterm
from job_reader import COMPLETE, FAILED, Jobs, NoAnswerError
from marker import Markers

PROBE_SECONDS = 3.0


class NotWellError(Exception):
    """The cluster is not well, and will not be."""


class Check:
    """One look at a cluster, until it is well or the time is over."""

    def __init__(
        self,
        spec: Path,
        timeout: float,
        source: Jobs | Markers | None,
        job_file: Path | None,
        *,
        ports: bool = True,
    ) -> None:
        """Look at the cluster of `spec`, whose tasks open ports or not.

        The Job named in `job_file` decides it, if any, and `source` knows how that ended.
        """
        self.spec, self.timeout = spec, timeout
        self.source, self.job_file, self.ports = source, job_file, ports
        self.deadline = time.monotonic() + timeout
        self.pool = network.crew()
        self.name = ""
        self.answered: set[str] = set()

    def run(self, judge: list[str]) -> int:
        """Return 0 when the cluster is well, else 1 or the judge's code."""
        while True:
            try:
                if self._complete():
                    say(f"job {self.name} is Complete")
                    return judged(judge)
                trouble = self._silence() if self.ports else ""
            except NotWellError as error:
                say(str(error))
                return 1
            except ClusterFileError as error:
                trouble = str(error)
            except NoAnswerError as error:
                subject = f"job {self.name}" if self.name else "the job"
                trouble = f"{subject} cannot be read: {error}"
            if not trouble:
                say(self._good_news())
                return 0
            left = self.deadline - time.monotonic()
            if left <= 0:
                say(trouble)
                return 1
            time.sleep(min(left, 1.0))

    def _good_news(self) -> str:
        if not self.ports:
            return f"job {self.name} has not failed; its only task opens no port"
        subject = f"job {self.name} is running, and all" if self.name else "all"
        return f"{subject} {len(self.answered)} addresses of the cluster answer"

    def _complete(self) -> bool:
        """Return whether the work is done; raise a NotWellError if it failed."""
        if not self.source or not self.job_file:
            return False
        self.name = job_reader.read_name(self.job_file)
        how, words = self.source.outcome(self.name)
        if how == FAILED:
            raise NotWellError(
                f"job {self.name} is Failed ({words}); see `kubectl logs job/{self.name}`"
            )
        return how == COMPLETE

    def _silence(self) -> str:
        """Return which addresses have not answered yet; "" if all have."""
        tasks = cluster_file.read(self.spec).tasks
        if not tasks:
            raise ClusterFileError(f"{self.spec} names no address")
        addresses = [task.address for task in tasks]
        self.answered.intersection_update(addresses)
        silent = [address for address in addresses if address not in self.answered]
        left = max(self.deadline - time.monotonic(), PROBE_SECONDS)
        for address, reason in network.ask(self.pool, network.unreachable, silent, left):
            if not reason:
                self.answered.add(address)
        silent = [address for address in silent if address not in self.answered]
        if not silent:
            return ""
        return f"silent after {self.timeout:g} s: {len(silent)} of {len(addresses)}: {few(silent)}"


def judged(judge: list[str]) -> int:
    """Let a command judge the result of the training, and return its exit code."""
    if not judge:
        return 0
    say("running " + " ".join(judge))
    return subprocess.run(judge, check=False).returncode


def _source(given: argparse.Namespace) -> Jobs | Markers | None:
    """Return who knows how the deciding Job ended; nobody where there is none."""
    if given.marker_folder:
        return Markers(given.marker_folder)
    return Jobs(given.server, given.account) if given.job_file else None


def main(arguments: list[str] | None = None) -> int:
    """Run the program."""
    stop_on_sigterm()
    own, judge = split_command(arguments)
    parser = argparse.ArgumentParser(
        description="Check a training cluster.",
        allow_abbrev=False,
        usage="%(prog)s [options] [-- judge ...]",
    )
    parser.add_argument(
        "--cluster-file", required=True, type=Path, help="the cluster spec, a JSON file"
    )
    parser.add_argument(
        "--job-file",
        type=Path,
        help="the file that names the deciding Job; without it all addresses must answer",
    )
    parser.add_argument(
        "--marker-folder",
        type=Path,
        help="the folder where mark_end.py leaves a marker with the Job's name; the API server is "
        "not asked then (needs --job-file)",
    )
    parser.add_argument(
        "--timeout", type=float, default=120.0, help="seconds for all to answer (%(default)s)"
    )
    parser.add_argument(
        "--no-ports", action="store_true", help="the only task of the cluster opens no port"
    )
    job_reader.add_flags(parser)
    given = parser.parse_args(own)
    if given.marker_folder and not given.job_file:
        parser.error("--marker-folder needs --job-file, which names the marker")
    if given.no_ports and not given.job_file:
        parser.error("--no-ports needs --job-file, for nothing else tells of the cluster then")
    check = Check(
        given.cluster_file,
        given.timeout,
        _source(given),
        given.job_file,
        ports=not given.no_ports,
    )
    return check.run(judge)


if __name__ == "__main__":
    leave(main())
