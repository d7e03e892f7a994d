"""Fixtures that render the charts with the real Helm and hand the objects to the tests."""

from __future__ import annotations

import functools
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from trainyard import tools

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "charts" / "tf-cluster"

Object = dict[str, Any]
Completed = subprocess.CompletedProcess[str]
Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def run_helm(*arguments: str, stdin: str | None = None) -> Completed:
    """Run the pinned Helm."""
    return subprocess.run(
        [tools.helm(), *arguments], input=stdin, capture_output=True, text=True, check=False
    )


@dataclass(frozen=True)
class Pod:
    """A pod that a release would start: a Job's template, or a pod of its own."""

    owner: Object
    metadata: Object
    spec: Object
    replicas: int

    @property
    def role(self) -> str:
        """The component label: chief, worker, ps, test."""
        return str(self.metadata["labels"]["app.kubernetes.io/component"])

    @property
    def containers(self) -> list[Object]:
        """All containers, init containers first."""
        return [*self.spec.get("initContainers", []), *self.spec["containers"]]

    def container(self, name: str) -> Object:
        """The container of that name."""
        return next(each for each in self.containers if each["name"] == name)

    def env(self, container: str = "tensorflow") -> dict[str, Any]:
        """The container's variables by name: a text, or what stands under valueFrom."""
        return {
            each["name"]: each.get("value", each.get("valueFrom"))
            for each in self.container(container).get("env", [])
        }


class Objects(list[Object]):
    """The objects of a release."""

    def of(self, kind: str) -> list[Object]:
        """All objects of a kind."""
        return [each for each in self if each["kind"] == kind]

    def one(self, kind: str, name: str) -> Object:
        """The object of that kind and name; it must be there, once."""
        found = [each for each in self.of(kind) if each["metadata"]["name"] == name]
        names = [each["metadata"]["name"] for each in self.of(kind)]
        assert len(found) == 1, f"{kind} {name}: {len(found)} among {names}"
        return found[0]

    def job(self, role: str) -> Object:
        """The Job of a role."""
        label = "app.kubernetes.io/component"
        (found,) = [each for each in self.of("Job") if each["metadata"]["labels"][label] == role]
        return found

    def pods(self) -> list[Pod]:
        """Every pod that the release would start."""
        jobs = [
            Pod(
                each,
                each["spec"]["template"]["metadata"],
                each["spec"]["template"]["spec"],
                each["spec"]["completions"],
            )
            for each in self.of("Job")
        ]
        return jobs + [Pod(each, each["metadata"], each["spec"], 1) for each in self.of("Pod")]

    def pod(self, role: str) -> Pod:
        """The pod of a role."""
        (found,) = [each for each in self.pods() if each.role == role]
        return found

    def cluster(self) -> dict[str, list[str]]:
        """The cluster spec."""
        (found,) = [each for each in self.of("ConfigMap") if "cluster" in each["data"]]
        spec: dict[str, list[str]] = json.loads(found["data"]["cluster"])
        return spec

    def tf_config(self, pod: Pod, index: int) -> dict[str, Any]:
        """TF_CONFIG of a pod as its program reads it: composed as the kubelet does, in order."""
        seen: dict[str, str] = {}
        for variable in pod.container("tensorflow")["env"]:
            source = variable.get("valueFrom")
            if source is None:
                known = dict(seen)
                value = re.sub(
                    r"\$\((\w+)\)",
                    lambda match, known=known: known.get(match[1], match[0]),  # type: ignore[misc]
                    variable["value"],
                )
            elif "configMapKeyRef" in source:
                key = source["configMapKeyRef"]
                value = self.one("ConfigMap", key["name"])["data"][key["key"]]
            else:
                path = source["fieldRef"]["fieldPath"]
                assert path == "metadata.annotations['batch.kubernetes.io/job-completion-index']"
                value = str(index)
            seen[variable["name"]] = value
        config: dict[str, Any] = json.loads(seen["TF_CONFIG"])
        return config


@functools.cache
def _template(chart: str, values: str | None, arguments: tuple[str, ...], name: str) -> Completed:
    extra = () if values is None else ("--values", "-")
    return run_helm("template", name, chart, *extra, *arguments, stdin=values)


def run_template(
    values: Object | None = None, *arguments: str, name: str = "my", chart: Path = CHART
) -> Completed:
    """Run `helm template` with values from a file, as people do."""
    text = None if values is None else json.dumps(values)  # JSON is YAML, with quotes
    remembered = _template if chart == CHART else _template.__wrapped__
    return remembered(str(chart), text, arguments, name)


@pytest.fixture
def helm() -> Callable[..., Completed]:
    """`helm(*arguments)`: run Helm."""
    return run_helm


@pytest.fixture
def template() -> Callable[..., Completed]:
    """`template(values, *arguments, name=..., chart=...)`: run `helm template`."""
    return run_template


@pytest.fixture
def render() -> Callable[..., Objects]:
    """`render(values, *arguments, name=..., chart=...)`: the objects that Helm makes."""

    def run(*arguments: Any, **named: Any) -> Objects:
        result = run_template(*arguments, **named)
        assert result.returncode == 0, result.stderr
        return Objects(each for each in yaml.load_all(result.stdout, Loader=Loader) if each)

    return run


@pytest.fixture
def refuse() -> Callable[..., str]:
    """`refuse(values, *arguments, name=...)`: the message with which Helm refuses."""

    def run(*arguments: Any, **named: Any) -> str:
        result = run_template(*arguments, **named)
        assert result.returncode != 0, "Helm took these values"
        assert "nil pointer" not in result.stderr, result.stderr
        return result.stderr

    return run


@pytest.fixture
def copy_of_chart(tmp_path: Path) -> Path:
    """Give a copy of the chart that a test may change, with the library chart beside it."""
    shutil.copytree(CHART.parent / "common", tmp_path / "common")
    shutil.copytree(CHART, tmp_path / CHART.name, symlinks=True)
    return tmp_path / CHART.name
