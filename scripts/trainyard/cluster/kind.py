"""A kind cluster as a cluster: nodes are containers of Docker or Podman."""

import os
from functools import cache
from pathlib import Path

from trainyard import paths, system, tools
from trainyard.cluster.base import Status
from trainyard.cluster.references import whole
from trainyard.console import Stages
from trainyard.errors import TrainyardError
from trainyard.process import run

NAME = "trainyard"
CREATE_TIMEOUT_S = 900

ENGINES = ("docker", "podman")


@cache
def engine() -> str | None:
    """Give the container engine that answers: ``docker``, else ``podman``, else nothing.

    A client whose engine does not run is no engine.
    """
    for name in ENGINES:
        if not system.which(name):
            continue
        try:
            asked = run([name, "info", "--format", "{{json .}}"], check=False, timeout=20)
        except TrainyardError:  # It hangs: its engine does not answer.
            continue
        # The docker client prints its own half and ends with 0 where only the engine is missing.
        if asked.returncode == 0 and '"ServerErrors"' not in asked.stdout:
            return name
    return None


class KindCluster:
    """One kind cluster of a fixed name."""

    name = "kind"
    takes_images = True

    def __init__(self) -> None:
        self._kubeconfig = paths.cache() / "kind" / "kubeconfig"

    def up(self, stages: Stages) -> None:
        """Create the cluster; nothing where it exists."""
        if not engine():
            raise TrainyardError(
                "kind needs a container engine, and neither Docker nor Podman answers.",
                "Start one, or use another cluster: TRAINYARD_CLUSTER=node, or kubeconfig:CONTEXT.",
            )
        with stages.stage("tools", "kind and kubectl"):
            tools.kubectl()
            tools.kind()
        with stages.stage("kind", "The kind cluster is ready"):
            self._kubeconfig.parent.mkdir(parents=True, exist_ok=True)
            if self._exists():
                self._kind("export", "kubeconfig", f"--kubeconfig={self._kubeconfig}")
            else:
                self._kind("create", "cluster", f"--kubeconfig={self._kubeconfig}", "--wait=5m")
            self._kubeconfig.chmod(0o600)

    def down(self, *, images: bool = False) -> None:
        """Delete the cluster, and with it the images that its nodes hold."""
        if engine() and self._exists():
            self._kind("delete", "cluster", f"--kubeconfig={self._kubeconfig}")
        self._kubeconfig.unlink(missing_ok=True)

    def status(self) -> Status:
        """Say whether the cluster exists."""
        if not engine():
            return Status(False, "No container engine answers.")
        if not self._exists():
            return Status(False, "The kind cluster is not started. Start it: trainyard up")
        return Status(True, f"The kind cluster {NAME} runs.")

    def kubeconfig(self) -> Path:
        """Give the kubeconfig that holds only this cluster."""
        if not self._kubeconfig.exists():
            raise TrainyardError("The kind cluster is not started.", "Start it: trainyard up")
        return self._kubeconfig

    def load_image(self, archive: Path, reference: str) -> None:
        """Load an image archive into every node."""
        self._kind("load", "image-archive", str(archive))
        if not self.has_image(reference):
            raise TrainyardError(f"{archive} was loaded, but it holds no image {reference}.")

    def has_image(self, reference: str) -> bool:
        """Say whether every node's containerd knows the image."""
        nodes = self._kind("get", "nodes").split()
        listing = ["ctr", "--namespace=k8s.io", "images", "list", "--quiet"]
        known = [run([engine() or "docker", "exec", node, *listing]).stdout for node in nodes]
        return bool(nodes) and all(whole(reference) in images.split() for images in known)

    def _exists(self) -> bool:
        # This one verb of kind takes no name.
        return NAME in run([tools.kind(), "get", "clusters"], env=_environment()).stdout.split()

    def _kind(self, *arguments: str) -> str:
        argv = [str(tools.kind()), *arguments, f"--name={NAME}"]
        return run(argv, env=_environment(), timeout=CREATE_TIMEOUT_S).stdout


def _environment() -> dict[str, str]:
    return {**os.environ, "KIND_EXPERIMENTAL_PROVIDER": engine() or ""}
