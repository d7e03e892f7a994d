"""CustomResourceDefinitions as JSON Schemas in which an unknown field is an error.

The rules of structural schemas are those of the Kubernetes documentation, "Extend the
Kubernetes API with CustomResourceDefinitions".
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from trainyard.errors import TrainyardError
from trainyard.schemas.bundle import OBJECT_META

Schema = dict[str, Any]

COPIED = (
    "enum",
    "format",
    "maxItems",
    "maxLength",
    "maxProperties",
    "minItems",
    "minLength",
    "minProperties",
    "multipleOf",
    "pattern",
    "required",
    "uniqueItems",
)
"""Keywords that mean the same in OpenAPI 3.0 and in JSON Schema."""

IDENTITY: Schema = {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "metadata": {"$ref": OBJECT_META},
}


def read(files: Iterable[Path]) -> list[dict[str, Any]]:
    """Read all CustomResourceDefinitions of YAML files; other objects are left out."""
    found: list[dict[str, Any]] = []
    for file in files:
        try:
            documents = list(yaml.load_all(file.read_text(), yaml.CSafeLoader))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise TrainyardError(f"{file} cannot be read: {error}") from error
        found += [document for document in documents if is_crd(document)]
    return found


def of_chart(chart: Path) -> list[dict[str, Any]]:
    """Read the ``crds`` folders of a chart and of the charts within it."""
    return read(sorted(chart.glob("**/crds/**/*.yaml")) + sorted(chart.glob("**/crds/**/*.yml")))


def is_crd(document: object) -> bool:
    """Say whether a YAML document is a CustomResourceDefinition."""
    return isinstance(document, dict) and document.get("kind") == "CustomResourceDefinition"


def schemas(definition: dict[str, Any]) -> Iterator[tuple[str, str, Schema]]:
    """Give (apiVersion, kind, JSON Schema) for each served version of a definition.

    A version without a schema is left out: nothing is known of its objects.
    """
    spec = definition.get("spec")
    if not isinstance(spec, dict):
        return
    kind = (spec.get("names") or {}).get("kind", "")
    for version in spec.get("versions") or ():
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if isinstance(schema, dict) and version.get("served", True):
            yield f"{spec.get('group')}/{version.get('name')}", kind, _root(schema)


def _root(schema: Schema) -> Schema:
    strict = rewrite(schema)
    strict["properties"] = {**strict.get("properties", {}), **IDENTITY}
    strict["required"] = sorted({*strict.get("required", ()), *IDENTITY})
    return strict


def rewrite(schema: Schema) -> Schema:
    """Give a structural schema as JSON Schema; an unknown field becomes an error."""
    strict = _validation(schema)
    if schema.get("x-kubernetes-int-or-string"):
        strict["type"] = ["integer", "string"]
    elif "type" in schema:
        strict["type"] = [schema["type"]]
    if isinstance(schema.get("items"), dict):
        strict["items"] = rewrite(schema["items"])
    if schema.get("type") == "object" or "properties" in schema:
        _close(strict, schema)
    if _may_be_null(schema):
        if "type" in strict:
            strict["type"] = [*strict["type"], "null"]
        if "enum" in strict:
            strict["enum"] = [*strict["enum"], None]
    return strict


def _may_be_null(schema: Schema) -> bool:
    # The API server removes a null where a default follows.
    return bool(schema.get("nullable")) or "default" in schema


def _close(strict: Schema, schema: Schema) -> None:
    """Say which fields an object may have."""
    fields = {name: rewrite(field) for name, field in (schema.get("properties") or {}).items()}
    if schema.get("x-kubernetes-embedded-resource"):
        fields |= IDENTITY
        strict["required"] = sorted({*strict.get("required", ()), "apiVersion", "kind"})
    if fields:
        strict["properties"] = fields
    others = schema.get("additionalProperties")
    if isinstance(others, dict):
        strict["additionalProperties"] = rewrite(others)
    elif others is None and not schema.get("x-kubernetes-preserve-unknown-fields"):
        strict["additionalProperties"] = False


def _validation(schema: Schema) -> Schema:
    """Copy what constrains values; what is inside ``anyOf`` and its like closes no object."""
    strict = {key: schema[key] for key in COPIED if key in schema}
    for limit in ("minimum", "maximum"):
        if limit in schema:
            exclusive = f"exclusive{limit.capitalize()}"
            strict[exclusive if schema.get(exclusive) is True else limit] = schema[limit]
    for junctor in ("allOf", "anyOf", "oneOf"):
        if junctor in schema:
            strict[junctor] = [_open(part) for part in schema[junctor]]
    if isinstance(schema.get("not"), dict):
        strict["not"] = _open(schema["not"])
    return strict


def _open(schema: Schema) -> Schema:
    strict = _validation(schema)
    if "type" in schema:
        strict["type"] = schema["type"]
    if isinstance(schema.get("properties"), dict):
        strict["properties"] = {name: _open(part) for name, part in schema["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            strict[key] = _open(schema[key])
    return strict
