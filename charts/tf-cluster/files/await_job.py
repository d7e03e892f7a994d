"""Wait until a Kubernetes Job has ended, and end with its result.

The main container of worker and parameter-server pods runs this beside a TensorFlow server that
never ends by itself. When it ends, the kubelet stops the server, and the pod is done. Its exit
codes, which the pods' Job knows:

    0    the awaited Job is Complete
    3    it is Failed, or it is gone, or reading it stays forbidden: starting again is of no use
    143  asked to stop (SIGTERM)

Python's standard library is all it needs, so that it runs in any image that has Python.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import ssl
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, NoReturn

COMPLETE, FAILED = "Complete", "Failed"
EXIT_FAILED = 3
SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


class ApiError(Exception):
    """The API server gave no usable answer; it may do so a moment later."""


class NotThereError(ApiError):
    """The API server knows no such object."""


class RefusedError(ApiError):
    """The API server knows us not (401), or forbids it (403)."""


class Jobs:
    """Reads Jobs of one namespace with the pod's service account."""

    def __init__(self, server: str = "", account: str = SERVICE_ACCOUNT) -> None:
        """Speak to `server` (or this cluster's) as the account whose files lie in `account`."""
        self.server = server or _cluster_server()
        self.account = Path(account)
        # A proxy that an image is set up with has no business between a pod and its API server.
        self._handlers: list[urllib.request.BaseHandler] = [urllib.request.ProxyHandler({})]
        if self.server.startswith("https:"):
            context = ssl.create_default_context(cafile=str(self.account / "ca.crt"))
            self._handlers.append(urllib.request.HTTPSHandler(context=context))

    def get(self, name: str) -> dict[str, Any]:
        """Return the Job called `name`; raise an ApiError that says why not."""
        try:
            # Both files are read anew each time: the kubelet renews the token.
            namespace = (self.account / "namespace").read_text(encoding="ascii").strip()
            token = (self.account / "token").read_text(encoding="ascii").strip()
            request = urllib.request.Request(
                f"{self.server}/apis/batch/v1/namespaces/{namespace}/jobs/{name}",
                headers={"Authorization": f"Bearer {token}", "Accept": "application/json"},
            )
            opener = urllib.request.build_opener(*self._handlers)
            with opener.open(request, timeout=10) as answer:
                job = json.load(answer)
        except urllib.error.HTTPError as error:
            kind = {404: NotThereError, 401: RefusedError, 403: RefusedError}.get(
                error.code, ApiError
            )
            raise kind(f"HTTP {error.code} {error.reason}") from error
        except (OSError, ValueError) as error:
            raise ApiError(f"{type(error).__name__}: {error}") from error
        if not isinstance(job, dict):
            raise ApiError("the answer is no object")
        return job


def _cluster_server() -> str:
    """Return the API server's address, by number where the kubelet says it: DNS may be slow."""
    host = os.environ.get("KUBERNETES_SERVICE_HOST", "kubernetes.default.svc")
    port = os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"


def outcome(job: dict[str, Any]) -> tuple[str, str]:
    """Return how a Job ended (COMPLETE, FAILED or "", not yet) and Kubernetes' words on it."""
    status = job.get("status") or {}
    for condition in status.get("conditions") or []:
        if condition.get("status") == "True" and condition.get("type") in (COMPLETE, FAILED):
            words = [condition.get("reason"), condition.get("message")]
            return condition["type"], ": ".join(word for word in words if word)
    return "", ""


def say(text: str) -> None:
    """Print a line with the time of day in front."""
    print(time.strftime("%H:%M:%S"), text, flush=True)


def wait(jobs: Jobs, name: str, poll: float, gone: float, refused: float) -> int:
    """Ask for Job `name` every `poll` seconds, and return the exit code once it has ended.

    An API server that fails in passing is asked again for as long as it takes. A Job that is absent
    for `gone` seconds was removed, and one that stays forbidden for `refused` seconds will not be
    shown to us: both are failures.
    """
    say(f"waiting for job {name}")
    since: dict[type[ApiError], float] = {}
    last_trouble = ""
    while True:
        try:
            job = jobs.get(name)
        except ApiError as error:
            if str(error) != last_trouble:
                last_trouble = str(error)
                say(f"cannot read job {name}, trying again: {error}")
            now = time.monotonic()
            kind = type(error)
            since = {kind: since.get(kind, now)}
            if kind is NotThereError and now - since[kind] >= gone:
                say(f"job {name} has been gone for {gone:g} s: its release was removed")
                return EXIT_FAILED
            if kind is RefusedError and now - since[kind] >= refused:
                say(f"job {name} stays forbidden: the account needs `get` on it (rbac.create)")
                return EXIT_FAILED
        else:
            since = {}
            if last_trouble:
                last_trouble = ""
                say(f"job {name} can be read again")
            how, words = outcome(job)
            if how:
                say(f"job {name} is {how}" + (f" ({words})" if words else ""))
                return 0 if how == COMPLETE else EXIT_FAILED
        # Many pods ask the same server; the odd fraction keeps them apart.
        time.sleep(poll * random.uniform(1.0, 1.5))


def stop(_signal: int, _frame: object) -> NoReturn:
    """End at once on SIGTERM, which process 1 of a container hears only with a handler."""
    sys.exit(128 + signal.SIGTERM)


def main(arguments: list[str] | None = None) -> int:
    """Run the program."""
    signal.signal(signal.SIGTERM, stop)
    parser = argparse.ArgumentParser(
        description="Wait until a Kubernetes Job has ended, and end with its result."
    )
    parser.add_argument("--job", required=True, help="the Job's name")
    parser.add_argument(
        "--poll-seconds", type=float, default=2.0, help="time between two questions (%(default)s)"
    )
    parser.add_argument(
        "--gone-seconds", type=float, default=60.0, help="how long it may be absent (%(default)s)"
    )
    parser.add_argument(
        "--refused-seconds",
        type=float,
        default=300.0,
        help="how long 401 and 403 may last (%(default)s)",
    )
    parser.add_argument("--server", default="", help="URL of the API server (this cluster's)")
    parser.add_argument(
        "--account",
        default=SERVICE_ACCOUNT,
        help="folder with token, namespace, ca.crt (%(default)s)",
    )
    given = parser.parse_args(arguments)
    jobs = Jobs(given.server, given.account)
    return wait(jobs, given.job, given.poll_seconds, given.gone_seconds, given.refused_seconds)


if __name__ == "__main__":
    sys.exit(main())
