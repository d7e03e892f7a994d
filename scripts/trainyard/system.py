"""System packages: which are missing, and how they come onto the machine."""

import os
import shutil
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from trainyard.console import say
from trainyard.errors import TrainyardError
from trainyard.process import run

SEARCHED = ("/usr/local/sbin", "/usr/sbin", "/sbin")
"""Folders of system programs that are not always on PATH."""

CNI_FOLDERS = (Path("/usr/lib/cni"), Path("/opt/cni/bin"), Path("/usr/libexec/cni"))


@dataclass(frozen=True)
class Need:
    """Something that a command needs: a program or files, and the Debian package it lies in."""

    package: str
    program: str = ""
    files: tuple[Path, ...] = ()

    def met(self) -> bool:
        """Say whether it is on this machine."""
        if self.program:
            return which(self.program) is not None
        return any(path.exists() for path in self.files)


RUNC = Need("runc", "runc")
IPTABLES = Need("iptables", "iptables")
IPSET = Need("ipset", "ipset")
IPROUTE = Need("iproute2", "ip")
UNSHARE = Need("util-linux", "unshare")
NSENTER = Need("util-linux", "nsenter")
CNI = Need("containernetworking-plugins", files=tuple(f / "bridge" for f in CNI_FOLDERS))
BUILDAH = Need("buildah", "buildah")
MMDEBSTRAP = Need("mmdebstrap", "mmdebstrap")

_one_at_a_time = threading.Lock()


def which(program: str) -> str | None:
    """Find a program on PATH or in the usual folders of system programs."""
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), *SEARCHED])
    return shutil.which(program, path=path)


def cni_folder() -> Path:
    """Give the folder with the CNI plugins."""
    return next(folder for folder in CNI_FOLDERS if (folder / "bridge").exists())


def ensure(needs: Iterable[Need]) -> None:
    """See to it that all ``needs`` are met.

    As root on Debian or Ubuntu the missing packages are installed, and that is said.
    Elsewhere TrainyardError lists them with the command that installs them.
    """
    missing = sorted({need.package for need in needs if not need.met()})
    if not missing:
        return
    command = f"apt-get install --no-install-recommends {' '.join(missing)}"
    if os.geteuid() != 0 or not which("apt-get"):
        raise TrainyardError(
            f"These system packages are missing: {', '.join(missing)}.",
            f"On Debian or Ubuntu: sudo {command}. Elsewhere they may have other names.",
        )
    with _one_at_a_time:
        say(f"Installing system packages: {' '.join(missing)}")
        _install(missing)


def _install(packages: list[str]) -> None:
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    # Another program may be installing something: wait for it, in seconds.
    apt = ["apt-get", "--yes", "--quiet", "--option=DPkg::Lock::Timeout=300"]
    install = [*apt, "install", "--no-install-recommends", *packages]
    # The package lists of a new machine may be missing or too old.
    if run(install, env=quiet, check=False).returncode != 0:
        run([*apt, "update"], env=quiet)
        run(install, env=quiet)
