"""The node's cgroups: made before it starts, removed after it ended.

On version 1 each controller has a hierarchy of its own; on version 2 there is one. Machines
with both (hybrid) mount the controllers as version 1 beside a version 2 tree without any.
"""

import contextlib
import errno
from functools import partial
from pathlib import Path

from trainyard.errors import TrainyardError
from trainyard.waiting import wait_for

CONTROLLERS_V2 = ("cpuset", "cpu", "io", "memory", "pids")


def hierarchies(mountinfo: str) -> tuple[list[Path], Path | None]:
    """Read the version 1 hierarchies and the version 2 tree from ``/proc/self/mountinfo``.

    A version 2 tree beside version 1 controllers gives no resource control and counts as
    one more hierarchy to clean, not as the tree to use.
    """
    first: list[Path] = []
    second: list[Path] = []
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        kind = after.split()[0]
        place = Path(before.split()[4])
        if kind == "cgroup":
            first.append(place)
        elif kind == "cgroup2":
            second.append(place)
    if first:
        return [*first, *second], None
    return [], second[0] if second else None


class Cgroups:
    """The cgroup of one node, by the same name in every hierarchy of the machine."""

    def __init__(self, name: str, mountinfo: str | None = None) -> None:
        text = Path("/proc/self/mountinfo").read_text() if mountinfo is None else mountinfo
        self._name = name
        self._first, self._second = hierarchies(text)
        if not self._first and not self._second:
            raise TrainyardError(
                "This machine mounts no cgroup hierarchy.",
                "Mount cgroup2 on /sys/fs/cgroup, or use another cluster: TRAINYARD_CLUSTER=kind.",
            )

    @property
    def version(self) -> int:
        """1 (hybrid included) or 2."""
        return 2 if self._second else 1

    def create(self) -> list[str]:
        """Make the cgroup, ready to take children with limits.

        Gives the version 2 controllers that the machine's root did not hand on before, so
        that ``remove`` can take them back.
        """
        for hierarchy in self._first:
            group = hierarchy / self._name
            group.mkdir(exist_ok=True)
            # A new cpuset is empty, and no process may enter it before it has both.
            for file in ("cpuset.cpus", "cpuset.mems"):
                if (hierarchy / file).exists():
                    (group / file).write_text((hierarchy / file).read_text())
        if not self._second:
            return []
        added = _hand_on(self._second)
        (self._second / self._name).mkdir(exist_ok=True)
        _hand_on(self._second / self._name)
        return added

    def remove(self, added: list[str]) -> None:
        """Remove the cgroup and all below it; its processes have ended already.

        ``added`` is what ``create`` gave.
        """
        for hierarchy in [*self._first, *([self._second] if self._second else [])]:
            group = hierarchy / self._name
            wait_for(partial(_removed, group), f"{group} to be empty", timeout=20)
        if self._second:
            for name in added:
                # Somebody else on the machine may use the controller by now.
                with contextlib.suppress(OSError):
                    (self._second / "cgroup.subtree_control").write_text(f"-{name}")


def _hand_on(group: Path) -> list[str]:
    """Hand the controllers on to the children of ``group``; give those that were not yet."""
    control = group / "cgroup.subtree_control"
    offered = (group / "cgroup.controllers").read_text().split()
    enabled = control.read_text().split()
    added = [name for name in CONTROLLERS_V2 if name in offered and name not in enabled]
    for name in added:
        try:
            control.write_text(f"+{name}")
        except OSError as error:
            raise TrainyardError(
                f"The cgroup {group} does not hand on its controller {name}: {error.strerror}.",
                "Inside a container use another cluster: TRAINYARD_CLUSTER=kubeconfig:CONTEXT.",
            ) from error
    return added


def _removed(group: Path) -> bool:
    """Try to remove ``group`` with all below it; say whether it is gone."""
    if not group.is_dir():
        return True
    below = sorted((p for p in group.rglob("*") if p.is_dir()), key=lambda p: -len(p.parts))
    for folder in [*below, group]:
        try:
            folder.rmdir()
        except FileNotFoundError:
            continue
        except OSError as error:
            # The kernel needs a moment to let go of a cgroup whose last process has ended.
            if error.errno != errno.EBUSY:
                raise
            return False
    return True
