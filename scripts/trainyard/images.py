"""Build the container images below ``images/``, with whatever engine is there.

An image is tagged with a hash of all that goes into it. What a cluster knows under that tag
is therefore what the tree says, and nothing is built or loaded twice.
"""

import hashlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from trainyard import paths, system
from trainyard.cluster.base import Cluster
from trainyard.cluster.kind import engine as daemon_engine
from trainyard.console import say
from trainyard.errors import TrainyardError
from trainyard.kube import Values
from trainyard.process import run

REGISTRY = "localhost"
"""A registry name that no node ever asks: these images are only loaded, never pulled."""

BASE_RELEASE = "bookworm"
BASE_EPOCH = "1735689600"
"""The time that files of the base get, in seconds since 1970, so that builds agree."""

PULL_TIMEOUT_S = 120
BUILD_TIMEOUT_S = 3600

AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")


@dataclass(frozen=True)
class Image:
    """One image: a folder below ``images/``, and the files outside it that its build copies."""

    name: str
    packages: tuple[str, ...]
    """The Debian packages of a base of our own, where the public one cannot be pulled."""
    sources: tuple[Path, ...] = ()
    """Files and folders outside ``images/<name>`` that go into it, relative to the checkout."""

    @property
    def repository(self) -> str:
        """The reference without its tag and registry."""
        return f"trainyard/{self.name}"

    @property
    def tag(self) -> str:
        """A hash over every file that goes into the image."""
        digest = hashlib.sha256()
        for path in sorted(self._files()):
            name = path.relative_to(paths.ROOT).as_posix()
            digest.update(f"{name}\0".encode() + path.read_bytes() + b"\0")
        digest.update(" ".join((BASE_RELEASE, *self.packages)).encode())
        return digest.hexdigest()[:12]

    @property
    def own_base(self) -> str:
        """The name of the base of our own: one for each choice of packages."""
        digest = hashlib.sha256(" ".join(self.packages).encode()).hexdigest()[:12]
        return f"{REGISTRY}/trainyard/base:{BASE_RELEASE}-{digest}"

    @property
    def reference(self) -> str:
        """The whole name under which a node knows it."""
        return f"{REGISTRY}/{self.repository}:{self.tag}"

    @property
    def values(self) -> Values:
        """The chart values that name it."""
        return {"image": {"registry": REGISTRY, "repository": self.repository, "tag": self.tag}}

    @property
    def dockerfile(self) -> Path:
        """Its Dockerfile; the build context is the whole checkout."""
        return paths.IMAGES / self.name / "Dockerfile"

    def _files(self) -> Iterator[Path]:
        for source in (paths.IMAGES / self.name, *(paths.ROOT / s for s in self.sources)):
            found = source.rglob("*") if source.is_dir() else [source]
            yield from (p for p in found if p.is_file() and p.suffix not in {".md", ".pyc"})


TENSORFLOW = Image(
    "tensorflow",
    packages=("ca-certificates", "python3", "python3-venv"),
    sources=(Path("charts/tf-cluster/samples"),),
)
GIT = Image("git", packages=("ca-certificates", "git"))
ALL = (TENSORFLOW, GIT)


class Builder:
    """Builds images with docker, podman or buildah; each takes the same few verbs."""

    def __init__(self) -> None:
        found = daemon_engine()
        if not found:
            system.ensure([system.BUILDAH])
            found = "buildah"
        self._engine = found

    def build(self, image: Image) -> None:
        """Build ``image`` where the engine does not have it yet."""
        if self._has(image.reference):
            return
        say(f"Building the image {image.reference} (once)")
        base = self._base(image)
        ignore = image.dockerfile.with_name("Dockerfile.dockerignore")
        with _pip_settings() as mounts:
            argv: list[str | Path] = [self._engine, "build", "--tag", image.reference]
            argv += ["--file", image.dockerfile, "--build-arg", f"BASE_IMAGE={base}"]
            if self._engine == "buildah":
                # The chroot isolation needs no privilege beyond root's on any machine.
                argv += ["--isolation", "chroot", "--layers"]
            if self._engine != "docker":
                argv += ["--ignorefile", ignore, *mounts]
            argv.append(paths.ROOT)
            run(argv, timeout=BUILD_TIMEOUT_S)

    def save(self, image: Image, archive: Path) -> None:
        """Write ``image`` into ``archive``, in the format of ``docker save``."""
        if self._engine == "buildah":
            target = f"docker-archive:{archive}:{image.reference}"
            run(["buildah", "push", "--quiet", image.reference, target], timeout=BUILD_TIMEOUT_S)
        else:
            argv: list[str | Path] = [self._engine, "save", "--output", archive, image.reference]
            run(argv, timeout=BUILD_TIMEOUT_S)

    def _has(self, reference: str) -> bool:
        inspect = ["inspect", "--type", "image", reference]
        return run([self._engine, *inspect], check=False).returncode == 0

    def _base(self, image: Image) -> str:
        """Give the base image: the Dockerfile's public one where it can be pulled, else our own."""
        found = re.search(r"^ARG BASE_IMAGE=(\S+)", image.dockerfile.read_text(), re.MULTILINE)
        if not found:
            raise TrainyardError(f"{image.dockerfile} has no line ARG BASE_IMAGE=…")
        public = found[1]
        if self._has(public) or self._pulls(public):
            return public
        if not self._has(image.own_base):
            say(f"{public} cannot be pulled here; making a base image from Debian packages instead")
            self._make_base(image)
        return image.own_base

    def _pulls(self, reference: str) -> bool:
        try:
            pull = [self._engine, "pull", "--quiet", reference]
            return run(pull, check=False, timeout=PULL_TIMEOUT_S).returncode == 0
        except TrainyardError:
            return False

    def _make_base(self, image: Image) -> None:
        """Make a minimal Debian with the image's packages, and give it to the engine."""
        system.ensure([system.MMDEBSTRAP])
        with tempfile.TemporaryDirectory(prefix="trainyard-base-") as scratch:
            tree = Path(scratch) / "base.tar"
            argv = [
                *("mmdebstrap", "--variant=minbase", f"--include={','.join(image.packages)}"),
                # The mirror belongs to the machine that builds, not to the image.
                "--customize-hook=rm -rf $1/etc/apt/sources.list $1/etc/apt/sources.list.d/*",
                "--customize-hook=rm -rf $1/var/log/* $1/var/cache/ldconfig/aux-cache",
                *(BASE_RELEASE, str(tree)),
            ]
            run(argv, env={**os.environ, "SOURCE_DATE_EPOCH": BASE_EPOCH}, timeout=BUILD_TIMEOUT_S)
            if self._engine == "buildah":
                self._commit(tree, image.own_base)
            else:
                run([self._engine, "import", tree, image.own_base], timeout=BUILD_TIMEOUT_S)

    def _commit(self, tree: Path, reference: str) -> None:
        container = run(["buildah", "from", "scratch"]).stdout.strip()
        try:
            run(["buildah", "add", "--quiet", container, tree, "/"], timeout=BUILD_TIMEOUT_S)
            run(["buildah", "commit", "--quiet", container, reference], timeout=BUILD_TIMEOUT_S)
        finally:
            run(["buildah", "rm", container], check=False)


def provide(cluster: Cluster, image: Image) -> Values:
    """See to it that the cluster's nodes have ``image``: build it and load it where needed.

    Gives the chart values that name it: none for a cluster whose nodes are out of reach,
    which is to use the charts' public images.
    """
    if not cluster.takes_images:
        return {}
    if cluster.has_image(image.reference):
        return image.values
    builder = Builder()
    builder.build(image)
    with tempfile.TemporaryDirectory(prefix="trainyard-image-") as scratch:
        archive = Path(scratch) / "image.tar"
        builder.save(image, archive)
        cluster.load_image(archive, image.reference)
    return image.values


@contextmanager
def _pip_settings() -> Iterator[list[str]]:
    """Give the volumes by which pip in a build works as pip on this machine does.

    Where packages come through a mirror or behind a private certificate authority, a build
    needs the same settings; they are mounted, so that nothing of them enters the image. Docker
    mounts nothing into a build: there pip has only what the base image brings.
    """
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False
    ).stdout
    wanted = ("index-url", "extra-index-url", "trusted-host", "timeout", "default-timeout")
    lines = ["[global]"]
    for scope, name, value in re.findall(r"^(\S+)\.(\S+?)='(.*)'$", listed, re.MULTILINE):
        if name in wanted and scope in {"global", ":env:"}:
            lines.append(f"{name.removeprefix('default-')} = {value}")
    if AUTHORITIES.is_file():
        lines.append(f"cert = {AUTHORITIES}")
    with tempfile.TemporaryDirectory(prefix="trainyard-pip-") as scratch:
        settings = Path(scratch) / "pip.conf"
        settings.write_text("\n".join(lines) + "\n")
        volumes = [f"{settings}:/etc/pip.conf:ro"]
        if AUTHORITIES.is_file():
            volumes.append(f"{AUTHORITIES.parent}:{AUTHORITIES.parent}:ro")
        yield [part for volume in volumes for part in ("--volume", volume)]
