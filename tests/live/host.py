"""What a machine looks like, to compare before and after."""

import subprocess
from collections.abc import Iterable
from pathlib import Path

VOLATILE = (
    "dev/cdrom/info",
    "fs/dentry-state",
    "fs/file-nr",
    "fs/inode-nr",
    "fs/inode-state",
    "fs/quota/",
    "kernel/ns_last_pid",
    "kernel/pty/nr",
    "kernel/random/",
    "net/netfilter/nf_conntrack_count",
    "net/ipv6/route/flush",
)
"""Files of /proc/sys that change by themselves, or that can only be written."""

FOLDERS = ("/etc", "/opt", "/run", "/run/netns", "/var/lib", "/var/log", "/var/run", "/mnt", "/srv")


def snapshot(marker: str) -> dict[str, list[str]]:
    """Give all that a node might change on its host, by topic, as sorted lines.

    Of processes only those count that inherited ``marker`` in their environment, as all of
    the node's do: others of the machine come and go. Containers, which have an environment
    of their own, show in the namespaces.
    """
    return {
        "processes": _processes(marker),
        "namespaces": _namespaces(),
        "mounts": _mounts(),
        "links": _output("ip", "-o", "link", drop="qdisc"),
        "addresses": _output("ip", "-o", "address", drop="valid_lft"),
        "routes": _output("ip", "route", "show", "table", "all"),
        "rules": _output("ip", "rule"),
        "iptables": _iptables(),
        "cgroups": _cgroups(),
        "sysctls": _sysctls(),
        "folders": sorted(str(n) for f in FOLDERS if Path(f).is_dir() for n in Path(f).iterdir()),
    }


NETWORK = ("links", "addresses", "routes", "rules", "iptables")
"""The topics that may not change while a node runs, either."""


def differences(
    before: dict[str, list[str]], after: dict[str, list[str]], topics: Iterable[str] = ()
) -> list[str]:
    """Give a line for each thing that is in one of the two only, of some topics or of all."""
    found = []
    for topic in topics or before:
        lines = before[topic]
        found += [f"{topic}: gone: {line}" for line in sorted(set(lines) - set(after[topic]))]
        found += [f"{topic}: new: {line}" for line in sorted(set(after[topic]) - set(lines))]
    return found


def _processes(marker: str) -> list[str]:
    """Give every process that was started with ``marker`` in its environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if marker.encode() in (folder / "environ").read_bytes():
                found.append(f"{folder.name} {(folder / 'comm').read_text().strip()}")
        except OSError:  # It ended, or is not ours to look at.
            continue
    return sorted(found)


def _namespaces() -> list[str]:
    found = set()
    for link in Path("/proc").glob("[0-9]*/ns/*"):
        try:
            found.add(str(link.readlink()))
        except OSError:  # It ended, or is not ours to look at.
            continue
    return sorted(found)


def _mounts() -> list[str]:
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    # The first two fields are numbers that the kernel gives out.
    return sorted(line.split(" ", 3)[3] for line in lines)


def _iptables() -> list[str]:
    found = []
    for program in ("iptables-nft-save", "iptables-legacy-save", "ip6tables-nft-save"):
        # Counters in brackets change with every packet, and comments carry the time.
        lines = [line.partition(" [")[0] for line in _output(program) if not line.startswith("#")]
        found += [f"{program}: {line}" for line in lines]
    return found


def _cgroups() -> list[str]:
    return sorted(str(p) for p in Path("/sys/fs/cgroup").rglob("*") if p.is_dir())


def _sysctls() -> list[str]:
    found = []
    base = Path("/proc/sys")
    for path in base.rglob("*"):
        name = path.relative_to(base).as_posix()
        if name.startswith(VOLATILE) or not path.is_file():
            continue
        try:
            found.append(f"{name} = {path.read_text(errors='replace').strip()}")
        except OSError:
            continue
    return sorted(found)


def _output(*argv: str, drop: str = "") -> list[str]:
    """Give a command's lines, each without ``drop`` and what follows it."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return []
    lines = done.stdout.splitlines()
    return sorted(line.partition(drop)[0] if drop else line for line in lines)
