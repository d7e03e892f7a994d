"""Look whether a training cluster is alive or has done its work: the program of `helm test`.

running    every address of the cluster spec must answer on its port, in time
Complete   well; a command after "--" then judges the result, and its exit code is ours
Failed     exit 1, with Kubernetes' words on it
"""

from __future__ import annotations

import argparse
import json
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from await_job import COMPLETE, FAILED, SERVICE_ACCOUNT, ApiError, Jobs, outcome, say, stop


def addresses(spec: dict[str, list[str]]) -> list[str]:
    """Return every host:port of a cluster spec."""
    return [address for role in sorted(spec) for address in spec[role]]


def answers(address: str, timeout: float = 3.0) -> bool:
    """Say whether something listens at host:port."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout):
            return True
    except OSError:
        return False


def check(
    jobs: Jobs, name: str, spec: dict[str, list[str]], timeout: float, judge: list[str]
) -> int:
    """Return 0 when the cluster that Job `name` decides is well, else 1 or the judge's code."""
    silent = addresses(spec)
    total = len(silent)
    deadline = time.monotonic() + timeout
    trouble = ""
    with ThreadPoolExecutor(max_workers=32) as pool:
        while True:
            try:
                how, words = outcome(jobs.get(name))
            except ApiError as error:
                trouble = f"job {name} cannot be read: {error}"
            else:
                trouble = ""
                if how == FAILED:
                    say(f"job {name} is Failed ({words}); see `kubectl logs job/{name}`")
                    return 1
                if how == COMPLETE:
                    say(f"job {name} is Complete")
                    break
                reached = list(pool.map(answers, silent))
                silent = [address for place, address in enumerate(silent) if not reached[place]]
                if not silent:
                    say(f"job {name} is running, and all {total} addresses of the cluster answer")
                    return 0
            if time.monotonic() >= deadline:
                few = ", ".join(silent[:20])
                say(trouble or f"silent after {timeout:g} s: {len(silent)} of {total}: {few}")
                return 1
            time.sleep(1)
    if not judge:
        return 0
    say("running " + " ".join(judge))
    return subprocess.run(judge, check=False).returncode


def main(arguments: list[str] | None = None) -> int:
    """Run the program."""
    signal.signal(signal.SIGTERM, stop)
    given_all = sys.argv[1:] if arguments is None else arguments
    split = given_all.index("--") if "--" in given_all else len(given_all)
    parser = argparse.ArgumentParser(
        description="Check a training cluster.", usage="%(prog)s [options] [-- judge ...]"
    )
    parser.add_argument("--job", required=True, help="the deciding Job's name")
    parser.add_argument(
        "--cluster-file", required=True, type=Path, help="the cluster spec, a JSON file"
    )
    parser.add_argument(
        "--timeout", type=float, default=120.0, help="seconds for all to answer (%(default)s)"
    )
    parser.add_argument("--server", default="", help="URL of the API server (this cluster's)")
    parser.add_argument(
        "--account",
        default=SERVICE_ACCOUNT,
        help="folder with token, namespace, ca.crt (%(default)s)",
    )
    given = parser.parse_args(given_all[:split])
    spec = json.loads(given.cluster_file.read_text(encoding="utf-8"))
    return check(
        Jobs(given.server, given.account), given.job, spec, given.timeout, given_all[split + 1 :]
    )


if __name__ == "__main__":
    sys.exit(main())
