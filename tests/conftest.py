"""What every suite shares: the cluster that live tests use, and a diagnosis when one fails."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from trainyard import diagnosis
from trainyard.cluster.base import Cluster
from trainyard.cluster.choice import VARIABLE, choose, wanted
from trainyard.console import Stages
from trainyard.kube import Kubectl

NAMESPACES = pytest.StashKey[list[tuple[Path, str]]]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip, visibly, what needs a cluster where the user said that there is none."""
    if wanted() != "none":
        return
    for item in items:
        if item.get_closest_marker("cluster"):
            item.add_marker(pytest.mark.skip(reason=f"{VARIABLE}=none"))


@pytest.fixture(scope="session")
def cluster() -> Cluster:
    """Give the chosen cluster, started; a test that needs it fails where it cannot be had."""
    chosen = choose()
    chosen.up(Stages())
    return chosen


@pytest.fixture
def namespace(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Kubectl]:
    """Give kubectl for a new namespace of the test's own, under Pod Security ``restricted``."""
    name = re.sub(r"[^a-z0-9]+", "-", f"test-{request.node.name.lower()}")[:60].strip("-")
    kubectl = Kubectl(cluster.kubeconfig(), name)
    labels = "{pod-security.kubernetes.io/enforce: restricted}"
    kubectl.apply(
        f"{{apiVersion: v1, kind: Namespace, metadata: {{name: {name}, labels: {labels}}}}}"
    )
    request.node.stash[NAMESPACES] = [(cluster.kubeconfig(), name)]
    yield kubectl
    kubectl.run("delete", "namespace", name, "--wait=false")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Write a diagnosis of a failed test's namespace before it is deleted."""
    report: pytest.TestReport = yield  # type: ignore[assignment]
    if report.when == "call" and report.failed:
        for kubeconfig, name in item.stash.get(NAMESPACES, []):
            folder = diagnosis.write(kubeconfig, name, item.name)
            report.sections.append(("diagnosis", f"State and logs of {name}: {folder}"))
    return report  # type: ignore[return-value]
