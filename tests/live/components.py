"""The programs of an embedded node, found by their names."""

from pathlib import Path

from trainyard.cluster.node.holder import Holder


def pid_of(holder: Holder, component: str) -> int:
    """Give the host's id of one of the node's programs; 0 where it does not run."""
    inner = holder.inner
    children = Path(f"/proc/{inner}/task/{inner}/children").read_text().split()
    for child in children:
        try:
            program = Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")[0].decode()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if Path(program).name == component:
            return int(child)
    return 0
