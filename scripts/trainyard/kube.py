"""kubectl and helm against one cluster."""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trainyard import tools
from trainyard.process import run

Object = dict[str, Any]
"""A Kubernetes object as JSON gives it."""

Values = Mapping[str, Any]
"""What a values file holds."""


def environment(kubeconfig: Path) -> dict[str, str]:
    """Give an environment in which kubectl and helm know only the cluster of ``kubeconfig``."""
    return {**os.environ, "KUBECONFIG": str(kubeconfig)}


def condition(found: Object, kind: str) -> str:
    """Give the status of an object's condition: ``True``, ``False``, ``Unknown``, or nothing."""
    conditions = found.get("status", {}).get("conditions") or []
    return next((str(c["status"]) for c in conditions if c["type"] == kind), "")


class Kubectl:
    """kubectl with one kubeconfig and, where it is given, one namespace."""

    def __init__(self, kubeconfig: Path, namespace: str = "") -> None:
        self.kubeconfig = kubeconfig
        self.namespace = namespace

    def within(self, namespace: str) -> "Kubectl":
        """Give the same cluster's kubectl for another namespace."""
        return Kubectl(self.kubeconfig, namespace)

    def run(
        self,
        *arguments: str,
        stdin: str | None = None,
        check: bool = True,
        timeout: float | None = 120,
    ) -> subprocess.CompletedProcess[str]:
        """Run kubectl; TrainyardError as ``process.run`` raises it. ``timeout`` in seconds."""
        return run(
            self.argv(*arguments),
            env=environment(self.kubeconfig),
            stdin=stdin,
            check=check,
            timeout=timeout,
        )

    def argv(self, *arguments: str) -> list[str]:
        """Give the whole command line for ``arguments``."""
        scope = ["--namespace", self.namespace] if self.namespace else []
        return [str(tools.kubectl()), *scope, *arguments]

    def list(self, kind: str, *flags: str) -> list[Object]:
        """Give all objects of ``kind``, such as ``pods``, that the flags select."""
        said = self.run("get", kind, "--output", "json", *flags).stdout
        found: list[Object] = json.loads(said)["items"]
        return found

    def get(self, kind: str, name: str) -> Object | None:
        """Give one object, or nothing where it does not exist."""
        said = self.run("get", kind, name, "--ignore-not-found", "--output", "json").stdout
        return json.loads(said) if said.strip() else None

    def apply(self, manifests: str) -> None:
        """Create or change the objects of a YAML text."""
        self.run("apply", "--server-side", "--filename", "-", stdin=manifests)

    def ready(self, kind: str, name: str) -> bool:
        """Say whether an object exists and has the condition Ready."""
        found = self.get(kind, name)
        return found is not None and condition(found, "Ready") == "True"

    def api_ready(self) -> bool:
        """Say whether the API server answers that it is ready."""
        return self.run("get", "--raw", "/readyz", check=False, timeout=10).returncode == 0

    def logs(self, pod: str, *flags: str) -> str:
        """Give a pod's log; what kubectl says instead where there is none."""
        done = self.run("logs", pod, *flags, check=False)
        return done.stdout or done.stderr


class Helm:
    """helm with one kubeconfig and one namespace."""

    def __init__(self, kubeconfig: Path, namespace: str) -> None:
        self.kubeconfig = kubeconfig
        self.namespace = namespace

    def run(
        self,
        *arguments: str | Path,
        values: Values | None = None,
        check: bool = True,
        timeout: float | None = 300,
    ) -> subprocess.CompletedProcess[str]:
        """Run helm, with ``values`` as a values file where they are given.

        Raises TrainyardError as ``process.run`` does. ``timeout`` in seconds.
        """
        argv: list[str | Path] = [tools.helm(), "--namespace", self.namespace, *arguments]
        if values is not None:
            argv += ["--values", "-"]
        return run(
            argv,
            env=environment(self.kubeconfig),
            stdin=None if values is None else json.dumps(values),
            check=check,
            timeout=timeout,
        )

    def install(self, release: str, chart: Path, values: Values) -> None:
        """Install ``chart`` with ``values`` over its own."""
        self.run("install", release, chart, values=values)

    def upgrade(self, release: str, chart: Path, values: Values) -> None:
        """Upgrade a release, its former values kept and ``values`` laid over them."""
        self.run("upgrade", release, chart, "--reuse-values", values=values)

    def uninstall(self, release: str) -> None:
        """Uninstall a release; nothing where it does not exist."""
        self.run("uninstall", release, "--ignore-not-found", "--wait")


def pod_summary(pods: Sequence[Object]) -> dict[str, str]:
    """Give each pod's phase by its name."""
    return {pod["metadata"]["name"]: pod["status"].get("phase", "Unknown") for pod in pods}
