"""Two renderers of equal output: the helm command line, and a process that stays."""

import contextlib
import json
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Protocol, Self

from trainyard import tools
from trainyard.errors import TrainyardError
from trainyard.process import run
from trainyard.render.case import Case
from trainyard.render.objects import Document, Rendered


class RenderError(TrainyardError):
    """A chart that could not be rendered, in Helm's own words."""

    status = 2

    def __init__(self, message: str, taken: frozenset[int] = frozenset()) -> None:
        super().__init__(message)
        self.taken = taken
        """The branches that the templates took until then, where ``cover`` had asked."""


class Renderer(Protocol):
    """Renders cases; the same case gives the same text in every renderer."""

    def render(self, case: Case) -> Rendered:
        """Render one case; RenderError where the chart, its schema or a template refuses."""


class HelmCli:
    """The reference: one ``helm template`` for each case. It gives no notes."""

    def render(self, case: Case) -> Rendered:
        """Render one case."""
        argv: list[str | Path] = [tools.helm(), "template", case.release, case.chart]
        argv += ["--namespace", case.namespace]
        argv += ["--is-upgrade"] if case.is_upgrade else []
        argv += ["--include-crds"] if case.include_crds else []
        argv += ["--skip-schema-validation"] if case.skip_schema else []
        argv += ["--kube-version", case.kube_version] if case.kube_version else []
        for flag, values in (
            ("--api-versions", case.api_versions),
            ("--values", case.value_files),
            ("--set", case.set_values),
            ("--set-string", case.set_string),
            ("--set-json", case.set_json),
            ("--set-file", case.set_file),
            ("--set-literal", case.set_literal),
        ):
            argv += [part for value in values for part in (flag, value)]
        if len(case.values_text) > 1:
            raise TrainyardError("The helm command line takes one values file from standard input.")
        if case.values_text:
            # It has to come before the other files, which are laid over it.
            argv[4:4] = ["--values", "-"]
        done = run(argv, stdin=case.values_text[0] if case.values_text else None, check=False)
        if done.returncode != 0:
            raise RenderError(_said(done.stderr))
        return Rendered(done.stdout)


def _said(stderr: str) -> str:
    """Give the error among what helm printed, without its log lines and its advice."""
    lines = [line for line in stderr.splitlines() if not line.startswith("level=")]
    text = "\n".join(lines).strip().removeprefix("Error: ")
    return text.removesuffix("Use --debug flag to render out invalid YAML").strip()


@dataclass(frozen=True)
class Branch:
    """One way through an ``if``, ``range`` or ``with`` of a template."""

    file: str
    line: int
    column: int
    """Where the condition begins on the line, in bytes from 1."""
    keyword: str
    way: str
    """``taken`` or ``else``."""
    text: str
    """The condition as it is written."""


@dataclass(frozen=True)
class Read:
    """One place where a template reads a value; ``path`` is what follows ``.Values``."""

    file: str
    line: int
    path: str


@dataclass(frozen=True)
class Reused:
    """What ``--reuse-values`` makes of a new chart."""

    rendered: Rendered | None
    refused: str
    """Why there is no render, in Helm's words."""
    added: tuple[str, ...]
    """Paths of the new values.yaml that the old one has not got."""


class RendererProcess:
    """A process on Helm's own code, spoken to by lines of JSON; one request at a time."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [tools.build(tools.RENDERER) / "renderer"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        self._one_at_a_time = threading.Lock()

    def render(self, case: Case) -> Rendered:
        """Render one case."""
        return _rendered(self._ask("render", render=_request(case)))

    def cover(self, case: Case) -> tuple[Rendered, frozenset[int]]:
        """Render one case and give the branches it took, as indexes into ``branches``.

        A RenderError knows the branches that were taken before the chart refused.
        """
        result = self._ask("cover", render=_request(case))
        taken = frozenset(result["taken"] or ())
        if "refused" in result:
            raise RenderError(result["refused"], taken)
        return _rendered(result), taken

    def reuse(self, old: Case, new: Case) -> Reused:
        """Render ``new`` as ``helm upgrade --reuse-values`` does over the release ``old``.

        The values of ``new`` are what the upgrade is given on top; RenderError where the old
        chart, or the values of either, cannot be read.
        """
        result = self._ask("reuse", old=_request(old), render=_request(new))
        refused = result.get("refused", "")
        rendered = None if refused else _rendered(result)
        return Reused(rendered, refused, tuple(result["added"] or ()))

    def branches(self, chart: Path) -> list[Branch]:
        """Give every branch of a chart and its dependencies."""
        return [Branch(**found) for found in self._ask("branches", chart=str(chart)) or ()]

    def reads(self, chart: Path) -> list[Read]:
        """Give every place where a chart's own templates read a value."""
        return [Read(**found) for found in self._ask("reads", chart=str(chart)) or ()]

    def close(self) -> None:
        """End the process."""
        self._process.communicate()

    def __enter__(self) -> Self:
        """Give itself, to be closed at the end."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the process."""
        self.close()

    def _ask(self, do: str, **fields: Any) -> Any:  # noqa: ANN401  # JSON of many shapes
        assert self._process.stdin and self._process.stdout
        with self._one_at_a_time:
            try:
                self._process.stdin.write(json.dumps({"do": do, **fields}) + "\n")
                self._process.stdin.flush()
            except BrokenPipeError as error:
                raise TrainyardError("The renderer process has ended.") from error
            line = self._process.stdout.readline()
        if not line:
            raise TrainyardError(f"The renderer process ended while it had to {do}.")
        answer = json.loads(line)
        if "error" in answer:
            raise RenderError(answer["error"])
        return answer.get("result")


class Pool:
    """Several renderer processes, to render in several threads at a time."""

    def __init__(self, size: int) -> None:
        self._processes = [RendererProcess() for _ in range(size)]
        self._free: SimpleQueue[RendererProcess] = SimpleQueue()
        for process in self._processes:
            self._free.put(process)

    @contextlib.contextmanager
    def take(self) -> Iterator[RendererProcess]:
        """Give a process that nobody else uses meanwhile."""
        process = self._free.get()
        try:
            yield process
        finally:
            self._free.put(process)

    def render(self, case: Case) -> Rendered:
        """Render one case."""
        with self.take() as process:
            return process.render(case)

    def close(self) -> None:
        """End all processes."""
        for process in self._processes:
            process.close()


def _request(case: Case) -> dict[str, object]:
    return {
        "chart": str(case.chart),
        "release": case.release,
        "namespace": case.namespace,
        "is_upgrade": case.is_upgrade,
        "kube_version": case.kube_version,
        "api_versions": case.api_versions,
        "include_crds": case.include_crds,
        "skip_schema": case.skip_schema,
        "skip_missing": case.skip_missing,
        "values_text": case.values_text,
        "value_files": [str(path) for path in case.value_files],
        "set": case.set_values,
        "set_string": case.set_string,
        "set_json": case.set_json,
        "set_file": case.set_file,
        "set_literal": case.set_literal,
    }


def _rendered(result: dict[str, Any]) -> Rendered:
    documents = tuple(Document(**found) for found in result["documents"])
    hooks = tuple(result["hooks"] or ())
    return Rendered(result["manifest"], result["notes"], hooks, documents)
