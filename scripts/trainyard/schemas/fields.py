"""What the API definitions tell of each field: its type, and how a list is keyed."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from trainyard.schemas import bundle
from trainyard.schemas.paths import step

NOT_WALKED = frozenset({"CustomResourceDefinition"})
"""Kinds whose content describes other objects."""


@dataclass(frozen=True)
class Field:
    """One field of a type of the API."""

    owner: str
    """The type's last name, such as ``Container``."""
    name: str
    type: str
    """``string``, ``integer``, …, ``Quantity``, ``IntOrString``, or a type's full name."""
    shape: str = ""
    """``list`` or ``map`` where values of ``type`` are gathered; else empty."""
    keys: tuple[str, ...] = ()
    """The keys of a list whose entries must differ in them (``x-kubernetes-list-map-keys``)."""
    is_set: bool = False
    """Whether the entries of a list must differ (``x-kubernetes-list-type: set``)."""


class Node(NamedTuple):
    """One field of one object, with its value."""

    path: str
    field: Field
    value: Any


class Fields:
    """All types of one Kubernetes version."""

    def __init__(self, version: str) -> None:
        loaded = bundle.definitions(version)
        self.kinds = bundle.kinds(loaded)
        self._types = {name: _fields(name, schema) for name, schema in loaded["$defs"].items()}

    def walk(self, found: dict[str, Any]) -> Iterator[Node]:
        """Give every field of an object that its type knows, parents first."""
        kind = str(found.get("kind", ""))
        definition = self.kinds.get((str(found.get("apiVersion", "")), kind))
        if definition and kind not in NOT_WALKED:
            yield from self._walk("", definition, found)

    def _walk(self, path: str, type_: str, value: dict[str, Any]) -> Iterator[Node]:
        known = self._types[type_]
        for key, inner in value.items():
            field = known.get(key) if isinstance(key, str) else None
            if field is None:
                continue
            place = f"{path}.{key}" if path else key
            yield Node(place, field, inner)
            if field.type not in self._types:
                continue
            if field.shape == "list" and isinstance(inner, list):
                for index, entry in enumerate(inner):
                    if isinstance(entry, dict):
                        yield from self._walk(f"{place}[{index}]", field.type, entry)
            elif field.shape == "map" and isinstance(inner, dict):
                for name, entry in inner.items():
                    if isinstance(entry, dict):
                        yield from self._walk(f"{place}{step(name)}", field.type, entry)
            elif isinstance(inner, dict):
                yield from self._walk(place, field.type, inner)


@cache
def newest() -> Fields:
    """Give the types of the newest version: no version keys its lists in another way."""
    return Fields(bundle.versions()[-1])


def _fields(name: str, schema: dict[str, Any]) -> dict[str, Field]:
    owner = _last(name)
    return {
        key: _field(owner, key, field) for key, field in (schema.get("properties") or {}).items()
    }


def _field(owner: str, name: str, schema: dict[str, Any]) -> Field:
    keys = tuple(schema.get("x-kubernetes-list-map-keys", ()))
    is_set = schema.get("x-kubernetes-list-type") == "set"
    if isinstance(schema.get("items"), dict):
        return Field(owner, name, _type(schema["items"]), "list", keys, is_set)
    if isinstance(schema.get("additionalProperties"), dict):
        return Field(owner, name, _type(schema["additionalProperties"]), "map")
    return Field(owner, name, _type(schema))


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        full = str(schema["$ref"]).rpartition("/")[2]
        return _last(full) if _last(full) in {"Quantity", "IntOrString", "Time"} else full
    types = schema.get("type", ())
    named = [types] if isinstance(types, str) else [one for one in types if one != "null"]
    return str(named[0]) if len(named) == 1 else ""


def _last(name: str) -> str:
    return name.rpartition(".")[2]
