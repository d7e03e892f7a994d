"""A cluster of the user's own, by the name of a kubeconfig context."""

import hashlib
from pathlib import Path

from trainyard import paths, tools
from trainyard.cluster.base import Status
from trainyard.console import Stages
from trainyard.errors import TrainyardError
from trainyard.process import run, write_private


class KubeconfigCluster:
    """An existing cluster: never started, never stopped, and only by its context's name."""

    takes_images = False

    def __init__(self, context: str) -> None:
        self.name = f"kubeconfig:{context}"
        self._context = context
        if not context:
            raise TrainyardError(
                "No context was named. The current context is never taken unasked.",
                "Name one: TRAINYARD_CLUSTER=kubeconfig:CONTEXT. "
                "List them: kubectl config get-contexts",
            )

    def up(self, stages: Stages) -> None:
        """Make sure that the cluster answers."""
        with stages.stage("tools", "kubectl"):
            tools.kubectl()
        with stages.stage("api", f"Context {self._context} answers"):
            self._ask()

    def down(self, *, images: bool = False) -> None:
        """Do nothing: the cluster is the user's."""

    def status(self) -> Status:
        """Say whether the cluster answers."""
        try:
            self._ask()
        except TrainyardError as error:
            return Status(False, str(error))
        return Status(True, f"Context {self._context} answers.")

    def kubeconfig(self) -> Path:
        """Give a kubeconfig, mode 0600, that holds only this context."""
        view = ["config", "view", "--raw", "--minify", "--flatten", f"--context={self._context}"]
        done = run([tools.kubectl(), *view], check=False)
        if done.returncode != 0:
            raise TrainyardError(
                f"The kubeconfig has no context {self._context}: {done.stderr.strip()}",
                "List the contexts: kubectl config get-contexts",
            )
        named = hashlib.sha256(self._context.encode()).hexdigest()[:12]
        target = paths.cache() / "kubeconfig" / named
        target.parent.mkdir(parents=True, exist_ok=True)
        write_private(target, done.stdout.encode())
        return target

    def load_image(self, archive: Path, reference: str) -> None:
        """Refuse: this cluster's nodes are out of reach."""
        raise TrainyardError(
            f"An image cannot be loaded into the nodes of context {self._context}.",
            "Push it to a registry that the cluster pulls from, and name it by the chart's image "
            "values, or use the chart's public image.",
        )

    def has_image(self, reference: str) -> bool:
        """Say no: the nodes' images are not known."""
        return False

    def _ask(self) -> None:
        asked = [f"--kubeconfig={self.kubeconfig()}", "--request-timeout=10s", "get", "--raw"]
        done = run([tools.kubectl(), *asked, "/version"], check=False)
        if done.returncode != 0:
            raise TrainyardError(
                f"The cluster of context {self._context} does not answer: {done.stderr.strip()}"
            )
