"""The node's own two images, pause and CoreDNS: one static program each, as an OCI archive."""

import gzip
import hashlib
import io
import json
import os
import tarfile
from pathlib import Path
from typing import Any

MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}


def write_archive(target: Path, reference: str, program: Path) -> None:
    """Write an OCI image archive whose image holds only ``program``, as its entry point.

    The same program gives the same archive, byte for byte.
    """
    layer = _tar({program.name: program.read_bytes()}, mode=0o755)
    config = {
        "architecture": MACHINES[os.uname().machine],
        "os": "linux",
        "config": {"Entrypoint": [f"/{program.name}"]},
        "rootfs": {"type": "layers", "diff_ids": [_digest(layer)]},
    }
    blobs: list[bytes] = []

    def blob(kind: str, content: bytes) -> dict[str, Any]:
        blobs.append(content)
        media = f"application/vnd.oci.image.{kind}"
        return {"mediaType": media, "digest": _digest(content), "size": len(content)}

    manifest = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": blob("config.v1+json", _json(config)),
        "layers": [blob("layer.v1.tar+gzip", gzip.compress(layer, 1, mtime=0))],
    }
    entry = blob("manifest.v1+json", _json(manifest))
    entry["annotations"] = {"io.containerd.image.name": reference}
    files = {
        "oci-layout": _json({"imageLayoutVersion": "1.0.0"}),
        "index.json": _json({"schemaVersion": 2, "manifests": [entry]}),
        **{f"blobs/sha256/{hashlib.sha256(content).hexdigest()}": content for content in blobs},
    }
    target.write_bytes(_tar(files, mode=0o644))


def _tar(files: dict[str, bytes], mode: int) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), mode
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def _json(content: dict[str, Any]) -> bytes:
    return json.dumps(content, sort_keys=True).encode()


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
