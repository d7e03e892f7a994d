"""Releases of tf-cluster on the chosen cluster."""

from collections.abc import Callable, Iterator

import pytest

from trainyard import images, paths
from trainyard.cluster.base import Cluster
from trainyard.kube import Helm, Kubectl, Values
from trainyard.training import Release

CHART = paths.CHARTS / "tf-cluster"

Install = Callable[..., Release]


@pytest.fixture(scope="session")
def image_values(cluster: Cluster) -> Values:
    """Give the values that name our image, loaded; none where the public one must do."""
    return images.provide(cluster, images.TENSORFLOW)


@pytest.fixture
def helm(namespace: Kubectl) -> Helm:
    """Give helm for the test's own namespace."""
    return Helm(namespace.kubeconfig, namespace.namespace)


@pytest.fixture
def install(namespace: Kubectl, helm: Helm, image_values: Values) -> Install:
    """Give a function that installs the chart with more values and gives the release."""

    def installed(values: Values | None = None, name: str = "my", lead: str = "chief") -> Release:
        helm.install(name, CHART, {**image_values, **(values or {})})
        return Release(namespace, name, lead)

    return installed


@pytest.fixture
def neighbour(namespace: Kubectl) -> Iterator[Kubectl]:
    """Give kubectl for another new namespace."""
    other = namespace.within(f"{namespace.namespace[:50]}-other")
    other.run("create", "namespace", other.namespace)
    yield other
    other.run("delete", "namespace", other.namespace, "--wait=false")
