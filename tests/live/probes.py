"""Pods of our own, from which connections to a release are tried, and to which they may be."""

import base64
import io
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import yaml

from trainyard.errors import TrainyardError
from trainyard.kube import Kubectl, Object, Values
from trainyard.waiting import wait_for

T = TypeVar("T")

PORT = 8000
"""The port on which every probe serves."""

SETTLES_WITHIN_S = 60
"""A network takes a moment to learn of a new pod or policy."""

SERVE = f"""
import http.server as h
h.ThreadingHTTPServer(("", {PORT}), h.SimpleHTTPRequestHandler).serve_forever()
"""


class Probe:
    """Connections are tried from this running container."""

    def __init__(self, kubectl: Kubectl, pod: str, container: str = "") -> None:
        self.kubectl = kubectl
        self.pod = pod
        self._container = [f"--container={container}"] if container else []

    @property
    def address(self) -> str:
        """The pod's address and port, as ``reaches`` takes it."""
        found = self.kubectl.get("pod", self.pod) or {}
        return f"{found['status']['podIP']}:{PORT}"

    def serve(self) -> None:
        """Serve on PORT until the pod ends."""
        script = 'python3 -c "$0" >/dev/null 2>&1 &'
        self._exec("sh", "-c", script, SERVE)

    def receive(self, folder: Path) -> None:
        """Copy a folder into the working directory of the pod's container, which is served."""
        with io.BytesIO() as packed:
            with tarfile.open(fileobj=packed, mode="w:gz") as archive:
                archive.add(folder, folder.name)
            text = base64.b64encode(packed.getvalue()).decode()
        unpack = ("exec", "--stdin", self.pod, "--", "sh", "-c", "base64 -d | tar xz")
        self.kubectl.run(*unpack, stdin=text)

    def reaches(self, target: str) -> bool:
        """Say whether a connection to ``target``, host:port, comes about."""
        host, _, port = target.rpartition(":")
        program = f"import socket; socket.create_connection(({host!r}, {port}), 2)"
        return self._exec("python3", "-c", program)

    def _exec(self, *command: str) -> bool:
        done = self.kubectl.run("exec", self.pod, *self._container, "--", *command, check=False)
        return done.returncode == 0


def start(
    kubectl: Kubectl, image_values: Values, name: str, labels: Mapping[str, str] | None = None
) -> Probe:
    """Start a pod with these labels that serves on PORT, and wait until it does."""
    kubectl.apply(yaml.safe_dump(pod(name, labels or {}, image_values)))
    wait_for(lambda: kubectl.ready("pod", name), f"the probe {name}", timeout=SETTLES_WITHIN_S)
    return Probe(kubectl, name)


def settled(look: Callable[[], T], expected: T) -> T:
    """Look until ``expected`` is seen, for a while at most; give what was seen last."""
    seen = look()

    def as_expected() -> bool:
        nonlocal seen
        seen = look()
        return seen == expected

    try:
        wait_for(as_expected, "connections to be as expected", timeout=SETTLES_WITHIN_S, every=0.5)
    except TrainyardError:
        return seen
    return seen


def pod(name: str, labels: Mapping[str, str], image_values: Values) -> Object:
    """Give a pod that serves on PORT, of a kind that the strictest Pod Security takes."""
    image = image_values.get("image", {})
    reference = "{registry}/{repository}:{tag}".format(
        registry=image.get("registry", "docker.io"),
        repository=image.get("repository", "tensorflow/tensorflow"),
        tag=image.get("tag", "2.21.0"),
    )
    container = {
        "name": "main",
        "image": reference,
        "command": ["python3", "-c", SERVE],
        "readinessProbe": {"tcpSocket": {"port": PORT}, "periodSeconds": 1},
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 1000,
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": dict(labels)},
        "spec": {
            "containers": [container],
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": False,
        },
    }
