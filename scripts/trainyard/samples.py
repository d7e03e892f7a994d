"""A Python in which the sample program runs: with the same TensorFlow as in the image."""

import hashlib
import shutil
import sys
import tempfile
from functools import cache as once
from pathlib import Path

from trainyard import paths
from trainyard.console import say
from trainyard.process import run

LOCKS = tuple(
    paths.ROOT / "images" / "tensorflow" / name
    for name in ("requirements-cpu.lock", "requirements-data.lock")
)


@once
def python() -> Path:
    """Give the Python of a virtual environment with what the image's lock files list.

    It is made once, in the user's cache; about 1.9 GB. Raises TrainyardError where pip cannot
    install it.
    """
    folder = paths.cache() / f"tensorflow-{_fingerprint()}"
    if not folder.is_dir():
        say("Installing TensorFlow for the sample's tests (once)")
        folder.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(dir=folder.parent, prefix="tensorflow-"))
        try:
            _install(scratch)
            scratch.rename(folder)
        except OSError:
            # Another process may have been faster; its result is as good.
            if not folder.is_dir():
                raise
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    return folder / "bin" / "python"


def _install(folder: Path) -> None:
    run([sys.executable, "-m", "venv", "--without-pip", folder])
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python")]
    quiet = ["--quiet", "--disable-pip-version-check", "--no-cache-dir"]
    pinned = ["--only-binary", ":all:", "--require-hashes", "--no-deps"]
    files = [part for lock in LOCKS for part in ("-r", str(lock))]
    run([*pip, "install", *quiet, *pinned, *files])


def _fingerprint() -> str:
    digest = hashlib.sha256(sys.version.encode())
    for lock in LOCKS:
        digest.update(lock.read_bytes())
    return digest.hexdigest()[:12]
