"""Sizes: what etcd, the API server and the kernel take."""

import base64
import gzip
import json
import random
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import lru_cache
from pathlib import Path

import yaml

from trainyard.render.objects import Object
from trainyard.rules.base import Problem, Render, at, entries, mapping, rule

OBJECT_LIMIT = 1536 * 1024
"""Bytes of one request to etcd (its ``--max-request-bytes``)."""

CONFIG_LIMIT = 1024 * 1024
"""Bytes of all values of a ConfigMap or Secret (``MaxSecretSize`` of Kubernetes)."""

STRING_LIMIT = 131072
"""Bytes of one argument or variable, its end included (``MAX_ARG_STRLEN`` of Linux)."""

BIG = "a" * CONFIG_LIMIT
NOISE = base64.b64encode(random.Random(0).randbytes(800_000)).decode()
"""Text that no compression makes smaller than its 800,000 bytes."""


@rule(
    "object-size",
    "etcd refuses requests above 1.5 MiB (etcd documentation, System limits).",
    bad="{apiVersion: example.org/v1, kind: A, metadata: {name: a}, spec: {a: "
    + "a" * OBJECT_LIMIT
    + "}}",
    near_miss="{apiVersion: example.org/v1, kind: A, metadata: {name: a}, spec: {a: " + BIG + "}}",
)
def object_size(render: Render) -> Iterator[Problem]:
    """Find objects that are too large for etcd."""
    for found in render.objects:
        if len(found.text) < OBJECT_LIMIT // 4:
            continue
        size = len(json.dumps(found, separators=(",", ":"), default=str).encode())
        if size > OBJECT_LIMIT:
            message = f"it has {size} bytes, of which etcd takes {OBJECT_LIMIT}"
            yield Problem(found, "", message, "Split it, or bring the content in an image.")


@rule(
    "config-size",
    "The API server refuses ConfigMaps and Secrets whose values are above 1 MiB "
    "(Kubernetes documentation, ConfigMaps).",
    bad="{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: a" + BIG + "}}",
    near_miss="{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: " + BIG + "}}",
)
def config_size(render: Render) -> Iterator[Problem]:
    """Find ConfigMaps and Secrets with too much in them."""
    for found in render.objects:
        size = _content(found) if found.kind in {"ConfigMap", "Secret"} else 0
        if size > CONFIG_LIMIT:
            message = f"its values have {size} bytes, of which {CONFIG_LIMIT} are allowed"
            yield Problem(found, "data", message, "Split it, or bring the content in an image.")


def _content(found: Object) -> int:
    if len(found.text) < CONFIG_LIMIT // 4:
        return 0
    plain = [*mapping(found.get("stringData")).values()]
    coded = [*mapping(found.get("binaryData")).values()]
    (coded if found.kind == "Secret" else plain).extend(mapping(found.get("data")).values())
    return sum(len(str(text).encode()) for text in plain) + sum(
        len(str(text)) * 3 // 4 for text in coded
    )


@rule(
    "env-size",
    "Linux starts no program with an argument or variable above 131,072 bytes "
    "(execve(2), MAX_ARG_STRLEN).",
    bad="{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: "
    "[{name: a, image: a, env: [{name: A, value: " + "a" * (STRING_LIMIT - 2) + "}]}]}}",
    near_miss="{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: "
    "[{name: a, image: a, env: [{name: A, value: " + "a" * (STRING_LIMIT - 3) + "}]}]}}",
)
def env_size(render: Render) -> Iterator[Problem]:
    """Find variables and arguments that are too long, those from ConfigMaps included."""
    for pod in render.pods:
        for path, container in pod.containers():
            for place, size in _strings(render, pod.object, container):
                if size > STRING_LIMIT:
                    message = f"it has {size} bytes, of which Linux takes {STRING_LIMIT}"
                    yield Problem(pod.object, f"{path}.{place}", message, "Mount it as a file.")


def _strings(render: Render, near: Object, container: object) -> Iterator[tuple[str, int]]:
    """Give place and size in bytes of each string that a container starts with."""
    for part in ("command", "args"):
        words = at(container, part)
        for index, word in enumerate(words if isinstance(words, list) else ()):
            yield f"{part}[{index}]", len(str(word).encode()) + 1
    for index, variable in entries(at(container, "env")):
        value = variable.get("value")
        wanted = mapping(at(variable, "valueFrom.configMapKeyRef"))
        if wanted:
            source = render.find("ConfigMap", wanted.get("name"), near)
            value = mapping(at(source, "data")).get(str(wanted.get("key")))
        yield f"env[{index}]", _size(variable.get("name"), value)
    for index, named in entries(at(container, "envFrom")):
        found = render.find("ConfigMap", at(named, "configMapRef.name"), near)
        for key, value in mapping(at(found, "data")).items():
            yield f"envFrom[{index}]", _size(f"{named.get('prefix') or ''}{key}", value)


def _size(name: object, value: object) -> int:
    """Give the bytes of a variable as the kernel counts them, with the zero at its end."""
    return len(f"{name}={value or ''}".encode()) + 1


@rule(
    "release-size",
    "Helm keeps each release, chart included, in one Secret, and fails where its value is above "
    "1 MiB (helm/helm#7126).",
    bad="{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: " + NOISE + "}}",
    near_miss="{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: " + BIG + "}}",
)
def release_size(render: Render) -> Iterator[Problem]:
    """Find releases that do not fit into Helm's Secret."""
    text = render.rendered.manifest + render.rendered.notes
    chart, packed = _chart(render.case.chart)
    # Most releases are far below the limit, and exact sizes take time.
    if _coded(len(text) + len(chart)) <= SECRET_LIMIT:
        return
    if _coded(packed + len(gzip.compress(text.encode(), 1))) <= SECRET_LIMIT:
        return
    size = release_bytes(text + chart)
    if size > SECRET_LIMIT:
        message = f"the release has {size} bytes, of which a Secret takes {SECRET_LIMIT}"
        yield Problem(None, "", message, "Keep large files out of the chart (.helmignore).")


SECRET_LIMIT = CONFIG_LIMIT


def release_bytes(text: str) -> int:
    """Give the size in bytes of a release in Helm's Secret: gzip at its best, then base64.

    ``text`` is the manifest, the notes and the chart. What Helm's JSON has besides is less
    than 1 % of any release that comes near the limit.
    """
    return _coded(len(gzip.compress(text.encode(), 9)))


def _coded(size: int) -> int:
    """Give the size of that many bytes in base64."""
    return (size + 2) // 3 * 4


@lru_cache(maxsize=64)
def _chart(folder: Path) -> tuple[str, int]:
    """Give a chart as Helm stores it, and its size in bytes when compressed.

    Helm stores the chart's own files, each as base64 in JSON, but not the charts within it.
    """
    if not folder.is_dir():
        return "", 0
    ignored = _ignored(folder)
    stored = [
        {"name": name, "data": base64.b64encode(path.read_bytes()).decode()}
        for path, name in _own_files(folder)
        if not any(fnmatch(part, pattern) for pattern in ignored for part in _ways(name))
    ]
    values = folder / "values.yaml"
    loaded = yaml.load(values.read_text(), yaml.CSafeLoader) if values.is_file() else {}
    text = json.dumps({"files": stored, "values": loaded}, default=str)
    return text, len(gzip.compress(text.encode(), 9))


def _own_files(folder: Path) -> Iterator[tuple[Path, str]]:
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        apart = name.partition("/")[0] in {"charts", ".git"}
        if path.is_file() and not apart and name not in {"Chart.yaml", "values.yaml"}:
            yield path, name


def _ignored(folder: Path) -> list[str]:
    """Read the patterns of ``.helmignore``; those that exclude (``!``) are left out."""
    file = folder / ".helmignore"
    lines = file.read_text().splitlines() if file.is_file() else []
    return [line.strip().strip("/") for line in lines if line.strip() and line[0] not in "#!"]


def _ways(name: str) -> list[str]:
    """Give a file's path, those of its folders, and the last name of each."""
    parts = name.split("/")
    folders = ["/".join(parts[: end + 1]) for end in range(len(parts))]
    return folders + parts
