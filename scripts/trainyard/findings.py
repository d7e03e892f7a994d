"""What checks find: where, what, why it is wrong, and what to do."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, order=True)
class Finding:
    """One fault, told so that the reader need not look for anything."""

    chart: str
    """The chart's name."""
    rule: str
    """The rule's id, such as ``name-length``."""
    object: str
    """``Kind/name`` of the object; empty where the fault is in no object."""
    path: str
    """Where in the object, such as ``spec.template.spec.containers[0].env[2].name``; or the
    path of a value, or of a file."""
    message: str
    """What is wrong, with the value that caused it."""
    remedy: str
    """What to do."""
    case: str = ""
    """Which values, Kubernetes version and context showed it."""
    template: str = ""
    """The template's path, beginning with the chart's name."""
    line: int = 0
    """The line in the template or file; 0 where it is not known."""

    def as_dict(self) -> dict[str, Any]:
        """Give it for JSON."""
        return asdict(self)

    @property
    def place(self) -> str:
        """Template and line, object and path, as far as they are known."""
        file = f"{self.template}:{self.line}" if self.line else self.template
        return " ".join(part for part in (file, self.object, self.path) if part)
