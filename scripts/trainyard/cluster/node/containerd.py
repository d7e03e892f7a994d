"""The node's containerd, spoken to through its own command line, ctr."""

import subprocess
from pathlib import Path
from typing import IO

from trainyard.cluster.node import layout
from trainyard.cluster.node.holder import Holder
from trainyard.cluster.references import whole
from trainyard.errors import TrainyardError
from trainyard.process import tail


class Containerd:
    """Images and containers of the Kubernetes namespace of one node."""

    def __init__(self, holder: Holder, ctr: Path) -> None:
        self._holder = holder
        self._ctr_argv = [
            str(ctr),
            f"--address={layout.CONTAINERD_SOCKET}",
            "--namespace=k8s.io",
            "--connect-timeout=2s",
        ]

    def answers(self) -> bool:
        """Say whether it is up."""
        return self._run("version").returncode == 0

    def images(self) -> set[str]:
        """Give the references of all images."""
        return set(self._ctr("images", "list", "--quiet").split())

    def load(self, archive: Path, reference: str) -> None:
        """Import an OCI or Docker archive and make sure that it brought ``reference``."""
        with archive.open("rb") as stream:
            self._ctr("images", "import", "-", stdin=stream)
        if whole(reference) not in self.images():
            raise TrainyardError(f"{archive} was imported, but it holds no image {reference}.")

    def forget_containers(self) -> None:
        """Remove the records of containers that ended with an earlier node."""
        if left := self._ctr("containers", "list", "--quiet").split():
            self._ctr("containers", "remove", *left)
        if left := self._ctr("snapshots", "list").splitlines()[1:]:
            # Only a container's own, writable layer is of the kind Active.
            for name in (line.split()[0] for line in left if line.split()[-1] == "Active"):
                self._run("snapshots", "remove", name)

    def _ctr(self, *arguments: str, stdin: IO[bytes] | int = subprocess.DEVNULL) -> str:
        done = self._run(*arguments, stdin=stdin)
        if done.returncode != 0:
            raise TrainyardError(f"ctr {' '.join(arguments)} failed:\n{tail(done.stderr)}")
        return done.stdout

    def _run(
        self, *arguments: str, stdin: IO[bytes] | int = subprocess.DEVNULL
    ) -> subprocess.CompletedProcess[str]:
        return self._holder.enter("mount", [*self._ctr_argv, *arguments], stdin)
