"""Services, the pods behind them, and the ports of both.

Sources: Kubernetes documentation, "Service", "DNS for Services and Pods", "StatefulSets".
"""

from collections.abc import Iterator

from trainyard.render.objects import Object
from trainyard.rules.base import Map, Pod, Problem, Render, at, entries, mapping, rule
from trainyard.rules.labels import selects
from trainyard.rules.references import is_there


def pods_behind(render: Render, service: Object) -> list[Pod]:
    """Give the pods that a Service selects; none where it has no selector."""
    selector = at(service, "spec.selector")
    return [
        pod
        for pod in render.pods
        if selector
        and render.namespace(pod.object) == render.namespace(service)
        and selects({"matchLabels": selector}, pod)
    ]


def _ports(pods: list[Pod]) -> Iterator[Map]:
    for pod in pods:
        for _, container in pod.containers():
            for _, port in entries(container.get("ports")):
                yield port


@rule(
    "service-pods",
    "A Service whose selector fits no pod has no endpoints, and every call to it fails "
    "(Kubernetes documentation, Debug Services).",
    bad="""
{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {selector: {app: b}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {app: a}}, spec: {containers: []}}
""",
    near_miss="""
{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {selector: {app: a}}}
---
{apiVersion: v1, kind: Service, metadata: {name: b}, spec: {clusterIP: None}}
---
{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {app: a}}, spec: {containers: []}}
""",
)
def service_pods(render: Render) -> Iterator[Problem]:
    """Find Services that select no pod of the release."""
    for service in render.all("Service"):
        selector = at(service, "spec.selector")
        if not selector or at(service, "spec.type") == "ExternalName":
            continue
        if not pods_behind(render, service):
            message = f"the selector {selector} selects no pod of the release"
            remedy = "Make selector and labels from one helper."
            yield Problem(service, "spec.selector", message, remedy)


@rule(
    "service-port",
    "A target port is looked up by its name in the pods; without it the port has no endpoints "
    "(Kubernetes documentation, Service, Port definitions).",
    bad="""
apiVersion: v1
kind: Service
metadata: {name: a}
spec: {selector: {app: a}, ports: [{port: 80, targetPort: http}]}
---
apiVersion: v1
kind: Pod
metadata: {name: a, labels: {app: a}}
spec: {containers: [{name: a, image: a, ports: [{name: web, containerPort: 80}]}]}
""",
    near_miss="""
apiVersion: v1
kind: Service
metadata: {name: a}
spec: {selector: {app: a}, ports: [{port: 80, targetPort: web}, {name: b, port: 9}]}
---
apiVersion: v1
kind: Pod
metadata: {name: a, labels: {app: a}}
spec: {containers: [{name: a, image: a, ports: [{name: web, containerPort: 80}]}]}
""",
)
def service_port(render: Render) -> Iterator[Problem]:
    """Find named target ports that no selected pod has."""
    for service in render.all("Service"):
        pods = pods_behind(render, service)
        known = {
            (str(port.get("name")), str(port.get("protocol") or "TCP")) for port in _ports(pods)
        }
        for index, port in entries(at(service, "spec.ports")):
            target, protocol = port.get("targetPort"), str(port.get("protocol") or "TCP")
            if pods and isinstance(target, str) and (target, protocol) not in known:
                message = f"no selected pod has a {protocol} port {target}"
                path = f"spec.ports[{index}].targetPort"
                yield Problem(service, path, message, "Name a port of the container.")


@rule(
    "headless-service",
    "Pods have addresses of their own only under a headless Service of that name that selects "
    "them (Kubernetes documentation, DNS for Services and Pods).",
    bad="""
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: a}
spec: {serviceName: a, template: {metadata: {labels: {app: a}}, spec: {containers: []}}}
---
{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {selector: {app: a}}}
""",
    near_miss="""
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: a}
spec: {serviceName: a, template: {metadata: {labels: {app: a}}, spec: {containers: []}}}
---
{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {selector: {app: a}, clusterIP: None}}
""",
)
def headless_service(render: Render) -> Iterator[Problem]:
    """Find StatefulSets and pods with a subdomain that have no headless Service."""
    for pod in render.pods:
        if pod.object.kind == "StatefulSet":
            path, name = "spec.serviceName", at(pod.object, "spec.serviceName")
        else:
            path, name = f"{pod.path}.subdomain", pod.spec.get("subdomain")
        if not name or render.is_external("Service", name):
            continue
        service = render.find("Service", name, pod.object)
        if service is None:
            message = f"there is no Service {name}"
        elif at(service, "spec.clusterIP") != "None":
            message = f"{service.title} is not headless"
        elif pod not in pods_behind(render, service):
            message = f"{service.title} does not select these pods"
        else:
            continue
        remedy = "Make a Service of that name with `clusterIP: None` and the pods' labels."
        yield Problem(pod.object, path, message, remedy)


HANDLERS = (
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle.postStart",
    "lifecycle.preStop",
)


@rule(
    "probe-port",
    "A probe looks up a named port in its own container, and fails forever without it "
    "(Kubernetes documentation, Configure Liveness, Readiness and Startup Probes).",
    bad="""
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers: [{name: a, image: a, readinessProbe: {httpGet: {port: http}}}]
""",
    near_miss="""
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers:
    - name: a
      image: a
      ports: [{name: http, containerPort: 8080}]
      readinessProbe: {httpGet: {port: http}}
      livenessProbe: {tcpSocket: {port: 9090}}
""",
)
def probe_port(render: Render) -> Iterator[Problem]:
    """Find probes and lifecycle hooks of a named port that the container has not."""
    for pod in render.pods:
        for path, container in pod.containers():
            names = {str(port.get("name")) for _, port in entries(container.get("ports"))}
            for handler in HANDLERS:
                for action in ("httpGet", "tcpSocket"):
                    port = at(container, f"{handler}.{action}.port")
                    if isinstance(port, str) and not port.isdigit() and port not in names:
                        message = f"the container has no port {port}"
                        place = f"{path}.{handler}.{action}.port"
                        yield Problem(pod.object, place, message, "Name a port of the container.")


@rule(
    "ingress-backend",
    "An Ingress to a Service or port that is not there answers 503 "
    "(Kubernetes documentation, Ingress).",
    bad="""
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: a}
spec: {defaultBackend: {service: {name: a, port: {number: 8080}}}}
---
{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: 80}]}}
""",
    near_miss="""
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: a}
spec: {defaultBackend: {service: {name: a, port: {number: 80}}}}
---
{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: 80}]}}
""",
)
def ingress_backend(render: Render) -> Iterator[Problem]:
    """Find backends of an Ingress or webhook whose Service or port is nowhere."""
    for found in render.objects:
        for path, backend, near in _backends(found, render):
            name = str(backend.get("name"))
            service = render.find("Service", name, near)
            port = mapping(backend.get("port"))
            if service is None:
                if not is_there(render, "Service", name, near):
                    message = f"there is no Service {name} in the release"
                    yield Problem(found, path, message, "Name the Service as it is made.")
            elif not _has(service, port):
                told = port.get("name") or port.get("number")
                message = f"{service.title} has no port {told}"
                yield Problem(found, path, message, "Name a port of the Service.")


def _has(service: Object, port: Map) -> bool:
    if not port:
        return True
    return any(
        (port.get("name") or one.get("name")) == one.get("name")
        and (port.get("number") or one.get("port")) == one.get("port")
        for _, one in entries(at(service, "spec.ports"))
    )


def _backends(found: Object, render: Render) -> Iterator[tuple[str, Map, Object]]:
    """Give (path, ServiceBackend, an object of the Service's namespace)."""
    if found.kind == "Ingress":
        default = at(found, "spec.defaultBackend.service")
        if isinstance(default, dict):
            yield "spec.defaultBackend.service", default, found
        for index, entry in entries(at(found, "spec.rules")):
            for place, path in entries(at(entry, "http.paths")):
                service = at(path, "backend.service")
                if isinstance(service, dict):
                    where = f"spec.rules[{index}].http.paths[{place}].backend.service"
                    yield where, service, found
    for index, webhook in entries(found.get("webhooks")):
        service = at(webhook, "clientConfig.service")
        namespace = mapping(service).get("namespace")
        if service and namespace == render.case.namespace:
            port = {"number": mapping(service).get("port", 443)}
            named: Map = {"name": mapping(service).get("name"), "port": port}
            yield f"webhooks[{index}].clientConfig.service", named, found
