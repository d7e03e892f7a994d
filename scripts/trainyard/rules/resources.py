"""Quantities, requests and limits, devices.

Source: ``resource.ParseQuantity`` of apimachinery and ``validateResourceRequirements`` of
Kubernetes.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from trainyard.rules.base import Map, Problem, Render, mapping, pod_with, rule
from trainyard.schemas.fields import Node
from trainyard.schemas.paths import step

QUANTITY = re.compile(
    r"(?P<number>[+-]?(\d+(\.\d*)?|\.\d+))(?P<suffix>[KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?"
)
"""The form of ``resource.ParseQuantity`` in apimachinery."""

FACTORS = {
    **{suffix: Decimal(1000) ** power for power, suffix in enumerate(["", *"kMGTPE"])},
    **{f"{suffix}i": Decimal(1024) ** power for power, suffix in enumerate("KMGTPE", 1)},
    **{suffix: Decimal(1000) ** -power for power, suffix in enumerate("mun", 1)},
}


def quantity(value: object) -> Decimal | None:
    """Read a quantity such as ``250m``, ``2Gi`` or 3; None where it is none."""
    found = QUANTITY.fullmatch(str(value))
    if not found or isinstance(value, bool):
        return None
    number, suffix = Decimal(found["number"]), found["suffix"] or ""
    return number * (FACTORS[suffix] if suffix in FACTORS else Decimal(f"1{suffix}"))


@rule(
    "quantity",
    "The schema takes any text as a quantity, the API server only a number with a suffix "
    "(resource.ParseQuantity of Kubernetes).",
    bad=pod_with('resources: {limits: {cpu: "12 cores", memory: 2GB}}'),
    near_miss=pod_with("resources: {limits: {cpu: 1.5, memory: 2G, ephemeral-storage: 1e3}}"),
)
def quantities(render: Render) -> Iterator[Problem]:
    """Find quantities that cannot be read, and negative ones of resources."""
    for found, node in render.nodes():
        if node.field.type != "Quantity":
            continue
        for path, value in _values(node):
            read = quantity(value)
            if value is not None and read is None:
                message = f"{value!r} is no quantity"
                yield Problem(found, path, message, "Write it such as 500m, 2 or 4Gi.")
            elif read is not None and read < 0 and node.field.owner in RESOURCES:
                yield Problem(found, path, f"{value!r} is negative", "Ask for 0 or more.")


RESOURCES = frozenset({"ResourceRequirements", "VolumeResourceRequirements", "ResourceQuotaSpec"})


def _values(node: Node) -> Iterator[tuple[str, Any]]:
    if node.field.shape == "map":
        for key, value in mapping(node.value).items():
            yield node.path + step(key), value
    elif not node.field.shape:
        yield node.path, node.value


@rule(
    "resource-limits",
    "A request above its limit is refused (validateResourceRequirements of Kubernetes).",
    bad=pod_with("resources: {requests: {memory: 2Gi}, limits: {memory: 2G}}"),
    near_miss=pod_with("resources: {requests: {memory: 1Gi, cpu: 4}, limits: {memory: 1024Mi}}"),
)
def resource_limits(render: Render) -> Iterator[Problem]:
    """Find containers that ask for more than they may have."""
    for pod in render.pods:
        for path, container in pod.containers():
            for name, request, limit in _pairs(container):
                if request is not None and limit is not None and request > limit:
                    resources = mapping(container["resources"])
                    message = (
                        f"the request {resources['requests'][name]} is above "
                        f"the limit {resources['limits'][name]}"
                    )
                    place = f"{path}.resources.requests{step(name)}"
                    yield Problem(pod.object, place, message, "Lower it, or raise the limit.")


def _pairs(container: Map) -> Iterator[tuple[str, Decimal | None, Decimal | None]]:
    """Give (resource, request, limit) of a container; None for what is not said."""
    resources = mapping(container.get("resources"))
    requests, limits = mapping(resources.get("requests")), mapping(resources.get("limits"))
    for name in {**requests, **limits}:
        yield str(name), quantity(requests.get(name)), quantity(limits.get(name))


@rule(
    "gpu-request",
    "A device cannot be shared or overcommitted: its limit must be said, be whole, and equal the "
    "request (Kubernetes documentation, Schedule GPUs; validateResourceRequirements).",
    bad=pod_with("resources: {requests: {nvidia.com/gpu: 1}, limits: {nvidia.com/gpu: 2}}"),
    near_miss=pod_with("resources: {requests: {cpu: 500m}, limits: {nvidia.com/gpu: 1, cpu: 1}}"),
)
def gpu_request(render: Render) -> Iterator[Problem]:
    """Find extended resources whose request and limit differ or are no whole numbers."""
    for pod in render.pods:
        for path, container in pod.containers():
            for name, request, limit in _pairs(container):
                domain, slash, _ = name.rpartition("/")
                if not slash or domain == "kubernetes.io" or domain.endswith(".kubernetes.io"):
                    continue
                if message := _device(request, limit):
                    place = f"{path}.resources.limits{step(name)}"
                    remedy = "Set only the limit, to a whole number."
                    yield Problem(pod.object, place, message, remedy)


def _device(request: Decimal | None, limit: Decimal | None) -> str:
    if limit is None:
        return "there is no limit, which a device must have"
    if request is not None and request != limit:
        return f"the request {request} is not the limit {limit}"
    return "" if limit == limit.to_integral_value() else f"{limit} is no whole number"
