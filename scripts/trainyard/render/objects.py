"""What a render gave: Kubernetes objects that know which template they came from."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import yaml

from trainyard.errors import TrainyardError

SOURCE = re.compile(r"^# Source: (?P<path>\S+)\s*$", re.MULTILINE)
SEPARATOR = re.compile(r"^---[ \t]*$", re.MULTILINE)


class UniqueKeyLoader(yaml.CSafeLoader):
    """YAML's fast loader, but a key that stands twice in a map is an error, not the last one."""


def _mapping(loader: UniqueKeyLoader, node: yaml.MappingNode) -> dict[Any, Any]:
    seen: set[Any] = set()
    for key_node, _ in node.value:
        if key_node.tag == "tag:yaml.org,2002:merge":
            continue
        key = loader.construct_object(key_node, deep=True)
        if key in seen:
            raise yaml.constructor.ConstructorError(
                None, None, f"the key {key!r} stands twice", key_node.start_mark
            )
        seen.add(key)
    return yaml.CSafeLoader.construct_mapping(loader, node, deep=True)


UniqueKeyLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


class Object(dict[str, Any]):
    """A rendered Kubernetes object: a plain dict, with its name at hand and its template."""

    def __init__(self, content: dict[str, Any], template: str, text: str) -> None:
        super().__init__(content)
        self.template = template
        """The template's path, beginning with the chart's name."""
        self.text = text
        """The document as it was rendered."""

    @property
    def kind(self) -> str:
        """Its kind."""
        return str(self.get("kind", ""))

    @property
    def api_version(self) -> str:
        """Its apiVersion."""
        return str(self.get("apiVersion", ""))

    @property
    def metadata(self) -> dict[str, Any]:
        """Its metadata; empty where there is none."""
        found = self.get("metadata")
        return found if isinstance(found, dict) else {}

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.metadata.get("name", ""))

    @property
    def namespace(self) -> str:
        """The namespace that it names; empty where it names none."""
        return str(self.metadata.get("namespace") or "")

    @property
    def title(self) -> str:
        """``Kind/name``, for messages."""
        return f"{self.kind}/{self.name}"


@dataclass(frozen=True)
class Document:
    """One YAML document, read: what is in it, or why it cannot be read."""

    object: Any = None
    error: str = ""


@dataclass(frozen=True)
class Rendered:
    """All that came out of one render."""

    manifest: str
    """What ``helm template`` prints."""
    notes: str = ""
    hooks: tuple[str, ...] = field(default=())
    """The templates of hooks, in the order of the manifest's end."""
    documents: tuple[Document, ...] | None = None
    """What stands between the manifest's separators, where the renderer has read it already."""

    @cached_property
    def objects(self) -> tuple[Object, ...]:
        """All objects, hooks and tests included; TrainyardError where a document is no YAML."""
        texts = SEPARATOR.split(self.manifest)
        documents = self.documents or tuple(map(_read, texts))
        return tuple(_objects(texts, documents))

    def all(self, kind: str, **labels: str) -> list[Object]:
        """Give the objects of a kind, with these labels; an error where there is none.

        Underscores in a label's name stand for ``app.kubernetes.io/``'s own: ``component``
        means ``app.kubernetes.io/component``.
        """
        found = self._matching(kind, labels)
        if not found:
            there = ", ".join(o.title for o in self.objects) or "nothing at all"
            raise TrainyardError(f"No {kind} with {labels or 'any label'} was rendered: {there}.")
        return found

    def one(self, kind: str, name: str = "", **labels: str) -> Object:
        """Give the only object of a kind with this name or these labels."""
        found = [o for o in self.all(kind, **labels) if name in ("", o.name)]
        if len(found) != 1:
            raise TrainyardError(
                f"{len(found)} objects are a {kind} {name or labels}: "
                f"{', '.join(o.title for o in found) or 'none of those rendered'}."
            )
        return found[0]

    def absent(self, kind: str, **labels: str) -> bool:
        """Say that there is no such object: the only way to ask for nothing."""
        return not self._matching(kind, labels)

    def _matching(self, kind: str, labels: dict[str, str]) -> list[Object]:
        wanted = {f"app.kubernetes.io/{name}": value for name, value in labels.items()}
        return [
            o
            for o in self.objects
            if o.kind == kind and wanted.items() <= (o.metadata.get("labels") or {}).items()
        ]


def _read(text: str) -> Document:
    try:
        return Document(yaml.load(text, UniqueKeyLoader))
    except yaml.YAMLError as error:
        return Document(error=str(error))


def _objects(texts: Iterable[str], documents: Iterable[Document]) -> Iterator[Object]:
    for text, document in zip(texts, documents, strict=True):
        source = SOURCE.search(text)
        template = source["path"] if source else ""
        if document.error:
            raise TrainyardError(f"{template or 'A document'} is no YAML: {document.error}")
        if document.object is None:
            continue
        if not isinstance(document.object, dict):
            kind = type(document.object).__name__
            raise TrainyardError(f"{template} renders {kind}, not an object.")
        yield Object(document.object, template, text)
