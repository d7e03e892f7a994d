"""One way to render a chart, in the words of ``helm template``."""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Case:
    """A chart with everything that decides what comes out of it.

    ``name`` is for people: it says which values these are. Values are merged in Helm's order:
    first the texts, then the files, then ``set_json``, ``set_values``, ``set_string``,
    ``set_file`` and ``set_literal``. ``kube_version`` is what the chart is told of the cluster,
    such as ``1.33``; empty leaves it to Helm.
    """

    chart: Path
    name: str = "defaults"
    release: str = "my"
    namespace: str = "default"
    is_upgrade: bool = False
    kube_version: str = ""
    kube_since: str = ""
    """The oldest Kubernetes for which these values are meant; empty: all that the chart allows."""
    api_versions: tuple[str, ...] = ()
    include_crds: bool = False
    skip_schema: bool = False
    skip_missing: bool = False
    """Whether dependencies that Chart.yaml names and charts/ lacks are left out; only the
    renderer process can."""
    values_text: tuple[str, ...] = ()
    """Contents of values files. Numbers get the types that a file gives them."""
    value_files: tuple[Path, ...] = ()
    set_values: tuple[str, ...] = ()
    """``--set`` arguments, such as ``worker.replicas=3``."""
    set_string: tuple[str, ...] = ()
    set_json: tuple[str, ...] = ()
    set_file: tuple[str, ...] = ()
    set_literal: tuple[str, ...] = ()
    tags: tuple[str, ...] = field(default=())
    """What else distinguishes this case from others of its name, such as ``sub-chart``."""

    @property
    def title(self) -> str:
        """Name, version and tags, for messages."""
        version = f"kubernetes {self.kube_version}" if self.kube_version else ""
        return ", ".join(part for part in (self.name, version, *self.tags) if part)
