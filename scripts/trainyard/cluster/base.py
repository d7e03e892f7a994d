"""What every provider of a cluster can do."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from trainyard.console import Stages


@dataclass(frozen=True)
class Status:
    """Whether a cluster is there, and a sentence about it."""

    running: bool
    detail: str


class Cluster(Protocol):
    """A Kubernetes cluster that tests and demonstrations may use."""

    name: str
    """The provider and, where there is a choice, which cluster: as in TRAINYARD_CLUSTER."""

    takes_images: bool
    """Whether images can be loaded into its nodes."""

    def up(self, stages: Stages) -> None:
        """Start it, until it can run pods; nothing where it runs already."""

    def down(self, *, images: bool = False) -> None:
        """Stop it and remove what it left; with ``images`` also what is kept for the next start."""

    def status(self) -> Status:
        """Say whether it runs."""

    def kubeconfig(self) -> Path:
        """Give a kubeconfig whose current context is this cluster.

        Raises TrainyardError where it is not up.
        """

    def load_image(self, archive: Path, reference: str) -> None:
        """Make ``reference``, saved as an OCI or Docker ``archive``, known to the nodes."""

    def has_image(self, reference: str) -> bool:
        """Say whether the nodes know the image already."""
