"""Texts that a template spoilt, and secrets where anyone can read them."""

import base64
import re
from collections.abc import Iterator

from trainyard.render.objects import Object
from trainyard.rules.base import Problem, Render, at, entries, mapping, rule
from trainyard.schemas.paths import step

DESCRIBES_OTHERS = frozenset({"CustomResourceDefinition"})
"""Kinds whose texts are documentation."""

RESIDUE = re.compile(
    r"<nil>|<no value>"
    r"|\bmap\[(?:[\w./-]+:[^\]]*)?\](?!\w)"
    r"|%!(?:[a-zA-Z]\(|\(EXTRA|\(NOVERB)"
    r"|error (?:converting YAML to JSON|unmarshaling JSON)"
)
"""What Go prints for a missing value, a map, a wrong verb, and what ``fromYaml`` gives."""

RESIDUE_PARTS = ("<nil>", "<no value>", "map[", "%!", "error ")
"""One of these is in every text that ``RESIDUE`` finds; looking for them is faster."""


def texts(found: Object) -> Iterator[tuple[str, str]]:
    """Give every text of an object, keys included, with its path."""
    yield from _texts("", found)


def _texts(path: str, value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path.removeprefix("."), value
    elif isinstance(value, dict):
        for key, entry in value.items():
            place = path + step(key)
            if isinstance(key, str) and not key.isidentifier():
                yield place.removeprefix("."), key
            yield from _texts(place, entry)
    elif isinstance(value, list):
        for index, entry in enumerate(value):
            yield from _texts(f"{path}[{index}]", entry)


def _has(found: Object, parts: tuple[str, ...]) -> bool:
    return any(part in found.text for part in parts)


def _shown(text: str, at_: int) -> str:
    start = max(at_ - 20, 0)
    return repr(text[start : start + 60])


@rule(
    "template-residue",
    "Go prints <nil>, map[a:b] or %!d(float64=1) where a template got a value of another type "
    "than it wanted.",
    bad='{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: "n=%!d(float64=1)"}}',
    near_miss='{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: "map[string]int"}}',
)
def template_residue(render: Render) -> Iterator[Problem]:
    """Find texts with what Go prints for a value that does not fit."""
    for found in render.objects:
        if found.kind in DESCRIBES_OTHERS or not _has(found, RESIDUE_PARTS):
            continue
        for path, text in texts(found):
            if match := RESIDUE.search(text):
                message = f"{match[0]!r} stands in {_shown(text, match.start())}"
                remedy = "Render maps with `toYaml`, numbers with `int`, and guard missing values."
                yield Problem(found, path, message, remedy)


SCIENTIFIC = re.compile(r"(?<![\w.+-])\d(?:\.\d+)?e\+\d{2,}(?!\w)")
"""A large number as Go prints a ``float64``: ``1e+06``."""


@rule(
    "scientific-notation",
    "A number from a values file is a float64, and from a million on Go prints it as 1e+06 "
    "(helm/helm#12195).",
    bad='{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {steps: "1e+06"}}',
    near_miss='{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {rate: "1e-05"}}',
)
def scientific_notation(render: Render) -> Iterator[Problem]:
    """Find large numbers that were printed in scientific notation."""
    for found in render.objects:
        if found.kind in DESCRIBES_OTHERS or not _has(found, ("e+", "E+")):
            continue
        for path, value in _scalars("", found):
            text = value if isinstance(value, str) else f"{value:.15g}"
            if match := SCIENTIFIC.search(text):
                message = f"{match[0]} stands in {_shown(text, match.start())}"
                yield Problem(found, path, message, "Render it with `int64`, or `toYaml`.")


def _scalars(path: str, value: object) -> Iterator[tuple[str, str | float]]:
    if isinstance(value, str | float):
        yield path.removeprefix("."), value
    for key, entry in _inner(value):
        yield from _scalars(path + step(key), entry)


def _inner(value: object) -> Iterator[tuple[object, object]]:
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from enumerate(value)


PRIVATE_KEY = re.compile(r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----\s*[A-Za-z0-9+/=]")
TOKEN = re.compile(
    r"\b(?:AKIA[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{36}|xox[baprs]-[\w-]{20,}|glpat-[\w-]{20})\b"
)
TOKEN_PARTS = ("PRIVATE KEY", "AKIA", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "xox", "glpat-")
"""One of these is in every text that ``PRIVATE_KEY`` or ``TOKEN`` finds."""

SECRET_NAME = re.compile(
    r"(?:^|[_.-])(?:password|passwd|passphrase|(?:client|app|jwt|session|shared)[_.-]?secret"
    r"|secret_?key|secret_?access_?key|api_?key"
    r"|access_?token|auth_?token|token|private_?key|credentials?)$",
    re.IGNORECASE,
)
HARMLESS = re.compile(r"(?i)|true|false|yes|no|none|null|\d{1,3}|\$\(.*\)|/.*|\$\{.*\}|file:.*")
"""Values that tell no secret: nothing, a switch, a reference, a path."""

PASSWORD_OPTION = re.compile(r"--?(?:[\w-]+-)?(?:password|secret-key|api-key|token)=(?P<value>.+)")


@rule(
    "plain-secret",
    "Anyone who may read pods or ConfigMaps reads it; a Secret has rights of its own "
    "(Kubernetes documentation, Good practices for Secrets).",
    bad="""
apiVersion: v1
kind: Pod
metadata: {name: a}
spec: {containers: [{name: a, image: a, env: [{name: DB_PASSWORD, value: hunter2}]}]}
""",
    near_miss="""
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers:
    - name: a
      image: a
      env:
        - {name: DB_PASSWORD_FILE, value: /run/secret}
        - {name: DB_PASSWORD, valueFrom: {secretKeyRef: {name: a, key: a, optional: true}}}
""",
)
def plain_secret(render: Render) -> Iterator[Problem]:
    """Find private keys, tokens and passwords outside Secrets."""
    remedy = "Put it into a Secret and refer to it: `valueFrom.secretKeyRef`, or a volume."
    for found in render.objects:
        if found.kind == "Secret" or found.kind in DESCRIBES_OTHERS:
            continue
        if _has(found, TOKEN_PARTS):
            for path, text in texts(found):
                if PRIVATE_KEY.search(text) or TOKEN.search(text):
                    yield Problem(found, path, "it holds a private key or a token", remedy)
        if found.kind == "ConfigMap":
            for key, value in mapping(found.get("data")).items():
                if _is_secret(key, value):
                    yield Problem(found, f"data{step(key)}", f"{key} holds a secret", remedy)
    for pod in render.pods:
        for path, container in pod.containers():
            for place, name in _told(container):
                yield Problem(pod.object, f"{path}.{place}", f"{name} holds a secret", remedy)


def _told(container: object) -> Iterator[tuple[str, str]]:
    """Give the place and the name of each secret that a container's definition tells."""
    for index, variable in entries(at(container, "env")):
        if _is_secret(variable.get("name"), variable.get("value")):
            yield f"env[{index}].value", str(variable["name"])
    for part in ("command", "args"):
        words = at(container, part)
        for index, word in enumerate(words if isinstance(words, list) else ()):
            option = PASSWORD_OPTION.fullmatch(str(word))
            if option and not HARMLESS.fullmatch(option["value"]):
                yield f"{part}[{index}]", str(word).partition("=")[0]


def _is_secret(name: object, value: object) -> bool:
    return (
        isinstance(value, str)
        and len(value) <= 256
        and "\n" not in value.strip()
        and bool(SECRET_NAME.search(str(name)))
        and not HARMLESS.fullmatch(value)
    )


@rule(
    "secret-encoding",
    "The API server refuses a Secret whose data are no base64; plain text belongs into stringData "
    "(Kubernetes documentation, Secrets).",
    bad="{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {password: hunter-2}}",
    near_miss="""
apiVersion: v1
kind: Secret
metadata: {name: a}
data: {password: aHVudGVyMg==, empty: ""}
stringData: {plain: hunter-2}
""",
)
def secret_encoding(render: Render) -> Iterator[Problem]:
    """Find data of Secrets, and binary data of ConfigMaps, that are no base64."""
    for found in render.objects:
        part = {"Secret": "data", "ConfigMap": "binaryData"}.get(found.kind)
        for key, value in mapping(found.get(part)).items() if part else ():
            if isinstance(value, str) and not _is_base64(value):
                message, remedy = "the value is no base64", "Encode it: `| b64enc`."
                yield Problem(found, f"{part}{step(key)}", message, remedy)


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode("".join(text.split()), validate=True)
    except ValueError:
        return False
    return True
