"""Fixtures that render the charts with Helm's own code and hand the objects to the tests."""

from __future__ import annotations

import copy
import functools
import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from trainyard import tools
from trainyard.render.case import Case
from trainyard.render.objects import Rendered
from trainyard.render.renderer import Pool, RendererProcess, RenderError

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "charts" / "tf-cluster"
COMPONENT = "app.kubernetes.io/component"
INDEX = {
    "Job": "metadata.annotations['batch.kubernetes.io/job-completion-index']",
    "StatefulSet": "metadata.labels['apps.kubernetes.io/pod-index']",
}
"""Where a pod of each kind finds its own index."""

Object = dict[str, Any]
Completed = subprocess.CompletedProcess[str]


def run_helm(*arguments: str, stdin: str | None = None) -> Completed:
    """Run the pinned Helm."""
    return subprocess.run(
        [tools.helm(), *arguments], input=stdin, capture_output=True, text=True, check=False
    )


@dataclass(frozen=True)
class Pod:
    """A pod that a release would start: a workload's template, or a pod of its own."""

    owner: Object
    metadata: Object
    spec: Object
    replicas: int

    @property
    def role(self) -> str:
        """The component label: chief, worker, ps, evaluator, test."""
        return str(self.metadata["labels"][COMPONENT])

    @property
    def labels(self) -> dict[str, str]:
        """Its labels."""
        found: dict[str, str] = self.metadata["labels"]
        return found

    @property
    def containers(self) -> list[Object]:
        """All containers, init containers first."""
        return [*self.spec.get("initContainers", []), *self.spec["containers"]]

    def has(self, name: str) -> bool:
        """Say whether there is a container of that name."""
        return name in {each["name"] for each in self.containers}

    def container(self, name: str = "tensorflow") -> Object:
        """The container of that name."""
        return next(each for each in self.containers if each["name"] == name)

    def env(self, container: str = "tensorflow") -> dict[str, Any]:
        """The container's variables by name: a text, or what stands under valueFrom."""
        return {
            each["name"]: each.get("value", each.get("valueFrom"))
            for each in self.container(container).get("env", [])
        }

    def volume(self, name: str) -> Object | None:
        """What a volume of the pod is, without its name; None where there is no such volume."""
        for each in self.spec.get("volumes", []):
            if each["name"] == name:
                return {key: value for key, value in each.items() if key != "name"}
        return None

    def mount(self, name: str, container: str = "tensorflow") -> Object | None:
        """Where a container mounts a volume; None where it does not."""
        found = self.container(container).get("volumeMounts", [])
        return next((each for each in found if each["name"] == name), None)

    def host(self, index: int) -> str:
        """The host name that Kubernetes gives the pod of that index."""
        return f"{self.owner['metadata']['name']}-{index}"

    def address(self, index: int) -> str:
        """The name under which the objects, and not the chart's own word, put that pod."""
        owner = self.owner
        zone = self.spec.get("subdomain") or owner["spec"]["serviceName"]
        return f"{self.host(index)}.{zone}.{owner['metadata']['namespace']}.svc"


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

    def workloads(self) -> list[Object]:
        """The Jobs, or the StatefulSets of a session."""
        return [each for each in self if each["kind"] in INDEX]

    def workload(self, role: str) -> Object:
        """What runs the pods of a role."""
        (found,) = [
            each for each in self.workloads() if each["metadata"]["labels"][COMPONENT] == role
        ]
        return found

    def job(self, role: str) -> Object:
        """The Job of a role."""
        found = self.workload(role)
        assert found["kind"] == "Job"
        return found

    def pods(self) -> list[Pod]:
        """Every pod that the release would start."""
        made = [
            Pod(
                each,
                each["spec"]["template"]["metadata"],
                each["spec"]["template"]["spec"],
                each["spec"]["completions" if each["kind"] == "Job" else "replicas"],
            )
            for each in self.workloads()
        ]
        return made + [Pod(each, each["metadata"], each["spec"], 1) for each in self.of("Pod")]

    def tasks(self) -> list[Pod]:
        """The pods that train: all but the one of `helm test`."""
        return [pod for pod in self.pods() if pod.role != "test"]

    def roles(self) -> set[str]:
        """The roles that train."""
        return {pod.role for pod in self.tasks()}

    def pod(self, role: str) -> Pod:
        """The pod of a role."""
        (found,) = [each for each in self.pods() if each.role == role]
        return found

    def told(self) -> dict[str, str]:
        """What the ConfigMap of the cluster says."""
        (found,) = [each for each in self.of("ConfigMap") if "cluster" in each["data"]]
        data: dict[str, str] = found["data"]
        return data

    def cluster(self) -> dict[str, list[str]]:
        """The cluster spec."""
        spec: dict[str, list[str]] = json.loads(self.told()["cluster"])
        return spec

    def lead(self) -> str:
        """The role that decides; nothing in a session."""
        name = self.told().get("job")
        return self.one("Job", name)["metadata"]["labels"][COMPONENT] if name else ""

    def variables(self, pod: Pod, index: int, container: str = "tensorflow") -> dict[str, str]:
        """A container's variables as its program reads them: put together by the kubelet's rules.

        What comes from objects outside the release, or from other fields, stays out.
        """
        seen: dict[str, str] = {}
        for variable in pod.container(container)["env"]:
            source = variable.get("valueFrom")
            if source is None:
                known = dict(seen)
                seen[variable["name"]] = re.sub(
                    r"\$\((\w+)\)",
                    lambda match, known=known: known.get(match[1], match[0]),  # type: ignore[misc]
                    variable["value"],
                )
            elif "configMapKeyRef" in source:
                key = source["configMapKeyRef"]
                seen[variable["name"]] = self.one("ConfigMap", key["name"])["data"][key["key"]]
            elif source.get("fieldRef", {}).get("fieldPath") == INDEX[pod.owner["kind"]]:
                seen[variable["name"]] = str(index)
        return seen

    def tf_config(self, pod: Pod, index: int) -> dict[str, Any]:
        """TF_CONFIG of a pod as its program reads it."""
        config: dict[str, Any] = json.loads(self.variables(pod, index)["TF_CONFIG"])
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


@pytest.fixture(scope="session")
def rendering(renderer: RendererProcess) -> Callable[..., Rendered]:
    """`rendering(values, name=..., chart=..., **case)`: all that a render gives.

    It is made by the renderer process, whose output test_renderer.py holds against Helm's. What
    has been made once of the chart is remembered.
    """
    remembered: dict[tuple[Any, ...], Rendered | RenderError] = {}

    def run(
        values: Object | None = None, name: str = "my", chart: Path = CHART, **case: Any
    ) -> Rendered:
        text = () if values is None else (json.dumps(values),)
        asked = Case(chart, release=name, values_text=text, **case)
        found = remembered.get((asked,)) if chart == CHART else None
        if found is None:
            try:
                found = renderer.render(asked)
            except RenderError as error:
                found = error
            remembered[asked,] = found
        if isinstance(found, RenderError):
            raise RenderError(found.message)
        return found

    return run


@pytest.fixture(scope="session")
def render_all() -> Iterator[Callable[[list[Case]], list[Rendered | RenderError]]]:
    """`render_all(cases)`: what comes out of each, or the error; made two at a time."""
    pool = Pool(2)

    def one(case: Case) -> Rendered | RenderError:
        try:
            return pool.render(case)
        except RenderError as error:
            return error

    def run(cases: list[Case]) -> list[Rendered | RenderError]:
        with ThreadPoolExecutor(2) as threads:
            return list(threads.map(one, cases))

    yield run
    pool.close()


@pytest.fixture(scope="session")
def as_objects() -> Callable[[Rendered], Objects]:
    """`as_objects(rendered)`: its objects, to do with as one likes."""
    return lambda rendered: Objects(copy.deepcopy(dict(each)) for each in rendered.objects)


@pytest.fixture(scope="session")
def render(
    rendering: Callable[..., Rendered], as_objects: Callable[[Rendered], Objects]
) -> Callable[..., Objects]:
    """`render(values, name=..., chart=..., **case)`: the objects of a render."""
    return lambda *arguments, **named: as_objects(rendering(*arguments, **named))


@pytest.fixture(scope="session")
def refuse(rendering: Callable[..., Rendered]) -> Callable[..., str]:
    """`refuse(values, name=..., **case)`: the message with which Helm refuses."""

    def run(*arguments: Any, **named: Any) -> str:
        with pytest.raises(RenderError) as refused:
            rendering(*arguments, **named)
        assert "nil pointer" not in refused.value.message
        return refused.value.message

    return run


@pytest.fixture
def copy_of_chart(tmp_path: Path) -> Path:
    """Give a copy of the chart that a test may change, with the library chart beside it."""
    shutil.copytree(CHART.parent / "common", tmp_path / "common")
    shutil.copytree(CHART, tmp_path / CHART.name, symlinks=True)
    return tmp_path / CHART.name
