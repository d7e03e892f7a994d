"""Validates objects against the API of one Kubernetes version."""

import difflib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import Enum
from functools import cache
from typing import Any

import jsonschema_rs

from trainyard.errors import TrainyardError
from trainyard.schemas import bundle, crds
from trainyard.schemas.paths import dotted

DRAFT = "https://json-schema.org/draft/2020-12/schema"

FORMER_GROUPS = frozenset({"extensions"})
"""Groups of Kubernetes itself that no supported version serves any more."""


class Verdict(Enum):
    """What validation can say of an object."""

    VALID = "valid"
    INVALID = "invalid"
    NOT_SERVED = "not served"
    """Its API is one of Kubernetes' own, and this version has no such kind."""
    NO_SCHEMA = "no schema"
    """It is a custom resource whose definition is not known: nothing was validated."""


@dataclass(frozen=True)
class SchemaProblem:
    """One place at which an object is not what its API wants."""

    path: str
    message: str
    remedy: str


@dataclass(frozen=True)
class Checked:
    """The result for one object."""

    verdict: Verdict
    problems: tuple[SchemaProblem, ...] = field(default=())
    """What is wrong; for ``NO_SCHEMA``, what is missing."""


VALID = Checked(Verdict.VALID)


class _Api:
    """The API of one Kubernetes version: its kinds, and the definitions they are made of."""

    def __init__(self, version: str) -> None:
        loaded = bundle.definitions(version)
        self.kinds = bundle.kinds(loaded)
        self.groups = {api.partition("/")[0] for api, _ in self.kinds if "/" in api}
        self.registry = jsonschema_rs.Registry([(bundle.DEFINITIONS, loaded)])


@cache
def _api(version: str) -> _Api:
    return _Api(version)


@cache
def _built_in(version: str, definition: str) -> jsonschema_rs.Validator:
    """Compile the schema of one of Kubernetes' own kinds, once for all callers."""
    reference = {"$ref": f"{bundle.DEFINITIONS}#/$defs/{definition}"}
    return _compiled({**reference, "required": ["apiVersion", "kind", "metadata"]}, version)


def _compiled(schema: crds.Schema, version: str) -> jsonschema_rs.Validator:
    whole = {"$schema": DRAFT, "$id": "file:///api/kind.json", **schema}
    return jsonschema_rs.validator_for(whole, registry=_api(version).registry, offline=True)


class Schemas:
    """The schemas of one Kubernetes version, with those of the custom resources given."""

    def __init__(self, version: str, definitions: Iterable[Mapping[str, Any]] = ()) -> None:
        """Take a version such as ``1.33`` (empty: the newest) and CustomResourceDefinitions.

        TrainyardError where there are no schemas of that version.
        """
        self.version = bundle.minor_of(version)
        self._api = _api(self.version)
        self._custom = {
            (api, kind): schema
            for definition in definitions
            for api, kind, schema in crds.schemas(dict(definition))
        }
        self._validators: dict[tuple[str, str], jsonschema_rs.Validator | None] = {}

    def check(self, found: Mapping[str, Any]) -> Checked:
        """Validate one object. It is never VALID where there is no schema for its kind."""
        key = str(found.get("apiVersion", "")), str(found.get("kind", ""))
        if key not in self._validators:
            self._validators[key] = self._validator(*key)
        validator = self._validators[key]
        if validator is None:
            return self._unknown(*key)
        try:
            if validator.is_valid(found):
                return VALID
        except ValueError:
            # YAML has types that JSON does not know, such as dates. For Kubernetes they are texts.
            found = json.loads(json.dumps(found, default=_as_text))
        problems = tuple(_problem(error, self.version) for error in validator.iter_errors(found))
        return Checked(Verdict.INVALID, problems) if problems else VALID

    def _validator(self, api: str, kind: str) -> jsonschema_rs.Validator | None:
        if definition := self._api.kinds.get((api, kind)):
            return _built_in(self.version, definition)
        if schema := self._custom.get((api, kind)):
            try:
                return _compiled(schema, self.version)
            except (ValueError, jsonschema_rs.ValidationError) as error:
                raise TrainyardError(
                    f"The definition of {api} {kind} is no usable schema: {error}"
                ) from error
        return None

    def _unknown(self, api: str, kind: str) -> Checked:
        group = api.partition("/")[0] if "/" in api else ""
        if group and group not in self._api.groups | FORMER_GROUPS:
            return Checked(Verdict.NO_SCHEMA, (self._missing(api, group, kind),))
        message = f"Kubernetes {self.version} serves no {kind or 'kind'} in {api or 'apiVersion'}"
        return Checked(
            Verdict.NOT_SERVED, (SchemaProblem("apiVersion", message, self._instead(kind)),)
        )

    def _missing(self, api: str, group: str, kind: str) -> SchemaProblem:
        known = sorted(a for a, k in self._custom if k == kind and a.startswith(f"{group}/"))
        message = f"nothing was validated: there is no schema of {api} {kind}"
        if known:
            return SchemaProblem("apiVersion", message, f"Use {', '.join(known)}.")
        return SchemaProblem("apiVersion", message, "Give the CustomResourceDefinition.")

    def _instead(self, kind: str) -> str:
        apis = sorted(api for api, known in self._api.kinds if known == kind)
        if apis:
            return f"Use {' or '.join(apis)}."
        close = difflib.get_close_matches(kind, {known for _, known in self._api.kinds}, n=1)
        return f"Is {close[0]} meant?" if close else "Leave it out, or use another API."


def _as_text(value: object) -> str:
    return value.isoformat() if isinstance(value, date) else str(value)


def _problem(error: jsonschema_rs.ValidationError, version: str) -> SchemaProblem:
    """Tell a validator's error in the words of the API."""
    path = list(error.instance_path)
    kind = error.kind.as_dict()
    value = json.dumps(error.instance, default=str)
    value = value if len(value) <= 80 else f"{value[:77]}..."
    match error.kind.name:
        case "additionalProperties":
            names = kind["unexpected"]
            return SchemaProblem(
                dotted([*path, names[0]]),
                f"unknown field{'s' if len(names) > 1 else ''} {', '.join(names)}",
                f"The API of Kubernetes {version} has no such field here: "
                "look at its spelling and its depth.",
            )
        case "required":
            missing = str(kind["property"])
            return SchemaProblem(
                dotted([*path, missing]), f"{missing} is missing", f"Set {missing}."
            )
        case "type":
            wanted = " or ".join(name for name in kind["types"] if name != "null")
            return SchemaProblem(dotted(path), f"{value} is no {wanted}", _remedy(wanted))
        case "oneOf":
            wanted = "number or string"
            return SchemaProblem(dotted(path), f"{value} is no {wanted}", _remedy(wanted))
        case _:
            return SchemaProblem(dotted(path), error.message, "Give a value that the API takes.")


def _remedy(wanted: str) -> str:
    if wanted == "string":
        return "Quote it in the template: `| quote`."
    if wanted == "integer":
        return "Render a whole number: `| int`, without quotes."
    return f"Render a {wanted}."
