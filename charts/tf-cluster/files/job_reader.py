"""Reads a Job from the API server with the pod's own service account."""

from __future__ import annotations

import argparse
import http.client
import json
import os
import ssl
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

COMPLETE, FAILED = "Complete", "Failed"
SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


class NoAnswerError(Exception):
    """There is no usable answer; there may be one a moment later."""


class NotThereError(NoAnswerError):
    """The API server knows no such object."""


class RefusedError(NoAnswerError):
    """The API server knows us not (401), or forbids it (403)."""


class NotNamedError(NoAnswerError):
    """The file that names the Job names none."""


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
        """Return the Job called `name`; raise a NoAnswerError that says why not."""
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
                error.code, NoAnswerError
            )
            raise kind(f"HTTP {error.code} {error.reason}") from error
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise NoAnswerError(f"{type(error).__name__}: {error}") from error
        if not isinstance(job, dict):
            raise NoAnswerError("the answer is no object")
        return job

    def outcome(self, name: str) -> tuple[str, str]:
        """Return how the Job called `name` ended, or raise a NoAnswerError, as above."""
        return outcome(self.get(name))


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


def read_name(path: Path) -> str:
    """Return the name of the Job that decides; raise a NotNamedError that says why there is none.

    Its file is a ConfigMap's: a new run has a Job of another name, and the file tells it late.
    """
    try:
        name = path.read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        raise NotNamedError(f"{path} cannot be read: {error}") from error
    if not name:
        raise NotNamedError(f"{path} is empty")
    return name


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Give a program the flags that say where the API server is, and as whom to ask it."""
    parser.add_argument("--server", default="", help="URL of the API server (this cluster's)")
    parser.add_argument(
        "--account",
        default=SERVICE_ACCOUNT,
        help="folder with token, namespace, ca.crt (%(default)s)",
    )
