"""What objects refer to must be in the release or be known to lie outside it."""

from collections.abc import Iterator
from dataclasses import dataclass

from trainyard.render.objects import Object
from trainyard.rules.base import Map, Pod, Problem, Render, at, entries, mapping, rule
from trainyard.rules.labels import matches, selects

EVERYWHERE = frozenset(
    {
        "ConfigMap/kube-root-ca.crt",
        "ConfigMap/openshift-service-ca.crt",
        "ServiceAccount/default",
    }
)
"""What the controller manager puts into every namespace."""

MAKERS = {
    "Certificate": ("spec.secretName",),
    "ExternalSecret": ("spec.target.name", "metadata.name"),
    "SealedSecret": ("spec.template.metadata.name", "metadata.name"),
}
"""Custom resources that make a Secret, and where its name stands; the first one given."""


@dataclass(frozen=True)
class Reference:
    """One object that another one names."""

    kind: str
    name: str
    path: str
    keys: tuple[str, ...] = ()
    """The keys of a ConfigMap or Secret that are wanted."""
    how: str = ""
    """``env``, ``file`` or ``subPath`` for the content of a ConfigMap or Secret."""


def of_pod(pod: Pod) -> Iterator[Reference]:
    """Give all that a pod cannot start without; what is ``optional`` is left out."""
    account = pod.spec.get("serviceAccountName") or pod.spec.get("serviceAccount")
    if account:
        yield Reference("ServiceAccount", str(account), f"{pod.path}.serviceAccountName")
    for index, secret in entries(pod.spec.get("imagePullSecrets")):
        if secret.get("name"):
            path = f"{pod.path}.imagePullSecrets[{index}].name"
            yield Reference("Secret", str(secret["name"]), path)
    for path, volume in pod.volumes():
        yield from _of_volume(path, volume, _sub_path(pod, volume))
    for path, container in pod.containers():
        yield from _of_env(path, container)


def _sub_path(pod: Pod, volume: Map) -> bool:
    return any(
        mount.get("name") == volume.get("name") and mount.get("subPath")
        for _, container in pod.containers()
        for _, mount in entries(container.get("volumeMounts"))
    )


def _of_volume(path: str, volume: Map, sub_path: bool) -> Iterator[Reference]:
    how = "subPath" if sub_path else "file"
    claim = at(volume, "persistentVolumeClaim.claimName")
    if claim:
        place = f"{path}.persistentVolumeClaim.claimName"
        yield Reference("PersistentVolumeClaim", str(claim), place)
    sources = [
        (f"{path}.projected.sources[{i}]", source, "name")
        for i, source in entries(at(volume, "projected.sources"))
    ]
    sources.append((path, volume, "secretName"))
    for place, source, secret_name in sources:
        for key, kind, name in (
            ("configMap", "ConfigMap", "name"),
            ("secret", "Secret", secret_name),
        ):
            named = mapping(source.get(key))
            if named.get(name) and not named.get("optional"):
                keys = tuple(str(i.get("key")) for _, i in entries(named.get("items")))
                yield Reference(kind, str(named[name]), f"{place}.{key}.{name}", keys, how)


def _of_env(path: str, container: Map) -> Iterator[Reference]:
    for index, source in entries(container.get("envFrom")):
        for key, kind in (("configMapRef", "ConfigMap"), ("secretRef", "Secret")):
            named = mapping(source.get(key))
            if named.get("name") and not named.get("optional"):
                place = f"{path}.envFrom[{index}].{key}.name"
                yield Reference(kind, str(named["name"]), place, how="env")
    for index, variable in entries(container.get("env")):
        for key, kind in (("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret")):
            named = mapping(at(variable, f"valueFrom.{key}"))
            if named.get("name") and not named.get("optional"):
                place = f"{path}.env[{index}].valueFrom.{key}.name"
                keys = (str(named["key"]),) if named.get("key") else ()
                yield Reference(kind, str(named["name"]), place, keys, "env")


def is_there(render: Render, kind: str, name: str, near: Object) -> bool:
    """Say whether a name leads to something: in the release, outside it, or made by it."""
    if f"{kind}/{name}" in EVERYWHERE or render.is_external(kind, name):
        return True
    if render.find(kind, name, near) is not None:
        return True
    if kind == "Secret":
        return any(name == _made_secret(found) for found in render.objects)
    if kind == "PersistentVolumeClaim":
        return any(
            name.startswith(f"{at(claim, 'metadata.name')}-{owner.name}-")
            for owner in render.all("StatefulSet")
            for _, claim in entries(at(owner, "spec.volumeClaimTemplates"))
        )
    return False


def _made_secret(found: Object) -> object:
    return next(filter(None, (at(found, path) for path in MAKERS.get(found.kind, ()))), None)


OUTSIDE = "Make it in the chart, name it in a value, or declare it as outside the release."


@rule(
    "reference",
    "A pod waits forever for a ConfigMap, Secret, claim or service account that nobody makes "
    "(Kubernetes documentation, Configure a Pod to Use a ConfigMap).",
    bad="""
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers: [{name: a, image: a}]
  volumes: [{name: v, configMap: {name: missing}}]
""",
    near_miss="""
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  serviceAccountName: default
  containers: [{name: a, image: a, envFrom: [{secretRef: {name: no, optional: true}}]}]
  volumes:
    - {name: v, configMap: {name: there}}
    - {name: w, projected: {sources: [{configMap: {name: kube-root-ca.crt}}]}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: there}}
""",
)
def reference(render: Render) -> Iterator[Problem]:
    """Find pods that refer to what is nowhere."""
    for pod in render.pods:
        for wanted in of_pod(pod):
            if not is_there(render, wanted.kind, wanted.name, pod.object):
                message = f"there is no {wanted.kind} {wanted.name} in the release"
                yield Problem(pod.object, wanted.path, message, OUTSIDE)
    for ingress in render.all("Ingress"):
        issued = any("cert-manager.io/" in k for k in mapping(ingress.metadata.get("annotations")))
        for index, tls in entries(at(ingress, "spec.tls")):
            name = tls.get("secretName")
            if name and not issued and not is_there(render, "Secret", str(name), ingress):
                path = f"spec.tls[{index}].secretName"
                message = f"there is no Secret {name} in the release"
                yield Problem(ingress, path, message, OUTSIDE)


@rule(
    "reference-key",
    "A pod does not start where a ConfigMap or Secret lacks the key that it wants "
    "(Kubernetes documentation, Configure a Pod to Use a ConfigMap).",
    bad="""
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers:
    - name: a
      image: a
      env: [{name: A, valueFrom: {configMapKeyRef: {name: c, key: absent}}}]
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {present: "1"}}
""",
    near_miss="""
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers:
    - name: a
      image: a
      env: [{name: A, valueFrom: {configMapKeyRef: {name: c, key: present}}}]
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {present: "1"}}
""",
)
def reference_key(render: Render) -> Iterator[Problem]:
    """Find references to keys that the release's own ConfigMap or Secret has not."""
    for pod in render.pods:
        for wanted in of_pod(pod):
            found = render.find(wanted.kind, wanted.name, pod.object) if wanted.keys else None
            if found is None or not (keys := _keys(found)):
                # A Secret without any content is filled by a controller.
                continue
            for key in wanted.keys:
                if key not in keys:
                    message = f"{found.title} has no key {key}: {', '.join(sorted(keys))}"
                    yield Problem(pod.object, wanted.path, message, "Name the key as it is made.")


def _keys(found: Object) -> set[str]:
    return {
        str(k) for part in ("data", "stringData", "binaryData") for k in mapping(found.get(part))
    }


@rule(
    "volume-mount",
    "A container can mount only the volumes of its pod "
    "(ValidateVolumeMounts of Kubernetes: not found).",
    bad="""
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers: [{name: a, image: a, volumeMounts: [{name: data, mountPath: /data}]}]
""",
    near_miss="""
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: a}
spec:
  volumeClaimTemplates: [{metadata: {name: data}}]
  template:
    spec:
      containers: [{name: a, image: a, volumeMounts: [{name: data, mountPath: /data}]}]
""",
)
def volume_mount(render: Render) -> Iterator[Problem]:
    """Find mounts of volumes that the pod has not."""
    for pod in render.pods:
        known = {str(volume.get("name")) for _, volume in pod.volumes()}
        for _, claim in entries(at(pod.object, "spec.volumeClaimTemplates")):
            known.add(str(at(claim, "metadata.name")))
        for path, container in pod.containers():
            for part in ("volumeMounts", "volumeDevices"):
                for index, mount in entries(container.get(part)):
                    if str(mount.get("name")) not in known:
                        message = f"the pod has no volume {mount.get('name')}"
                        place = f"{path}.{part}[{index}].name"
                        yield Problem(pod.object, place, message, "Add it to the pod's volumes.")


@rule(
    "selects-nothing",
    "A budget, policy or monitor that selects nothing protects and watches nothing, and says so "
    "nowhere.",
    bad="""
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: a}
spec: {minAvailable: 1, selector: {matchLabels: {app: other}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {app: a}}, spec: {containers: []}}
""",
    near_miss="""
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: a}
spec: {podSelector: {}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: a}
spec: {minAvailable: 1, selector: {matchExpressions: [{key: app, operator: In, values: [a]}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {app: a}}, spec: {containers: []}}
""",
)
def selects_nothing(render: Render) -> Iterator[Problem]:
    """Find budgets, policies and monitors whose selector fits nothing of the release."""
    for found in render.objects:
        path = SELECTORS.get(found.kind)
        selector = at(found, path) if path else None
        if not path or not selector or at(found, "spec.namespaceSelector"):
            continue
        if found.kind == "ServiceMonitor":
            hit = any(
                matches(selector, mapping(service.metadata.get("labels")))
                for service in _near(render, "Service", found)
            )
        else:
            near = [
                pod
                for pod in render.pods
                if render.namespace(pod.object) == render.namespace(found)
            ]
            hit = any(selects(selector, pod) for pod in near)
        if not hit:
            what = "Service" if found.kind == "ServiceMonitor" else "pod"
            message = f"the selector {selector} selects no {what} of the release"
            yield Problem(found, path, message, "Make selector and labels from one helper.")


SELECTORS = {
    "PodDisruptionBudget": "spec.selector",
    "NetworkPolicy": "spec.podSelector",
    "PodMonitor": "spec.selector",
    "ServiceMonitor": "spec.selector",
}


def _near(render: Render, kind: str, found: Object) -> list[Object]:
    return [o for o in render.all(kind) if render.namespace(o) == render.namespace(found)]


@rule(
    "monitor-port",
    "A monitor scrapes a port by its name in the Service, and silently nothing where there is "
    "none (Prometheus Operator, API reference of ServiceMonitor).",
    bad="""
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: a}
spec: {selector: {matchLabels: {app: a}}, endpoints: [{port: metrics}]}
---
apiVersion: v1
kind: Service
metadata: {name: a, labels: {app: a}}
spec: {ports: [{name: http, port: 80}]}
""",
    near_miss="""
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: a}
spec: {selector: {matchLabels: {app: a}}, endpoints: [{port: http}, {targetPort: 8080}]}
---
apiVersion: v1
kind: Service
metadata: {name: a, labels: {app: a}}
spec: {ports: [{name: http, port: 80}]}
""",
)
def monitor_port(render: Render) -> Iterator[Problem]:
    """Find endpoints of monitors whose port no selected Service has."""
    for monitor in render.all("ServiceMonitor"):
        services = [
            service
            for service in _near(render, "Service", monitor)
            if matches(at(monitor, "spec.selector"), mapping(service.metadata.get("labels")))
        ]
        names = {str(p.get("name")) for s in services for _, p in entries(at(s, "spec.ports"))}
        for index, endpoint in entries(at(monitor, "spec.endpoints")):
            port = endpoint.get("port")
            if services and port and str(port) not in names:
                message = f"no selected Service has a port {port}"
                path = f"spec.endpoints[{index}].port"
                yield Problem(monitor, path, message, "Name a port of the Service.")


@rule(
    "scale-target",
    "An autoscaler of something that is not there does nothing, forever.",
    bad="""
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: a}
spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: b}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}}
""",
    near_miss="""
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: a}
spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: a}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}}
""",
)
def scale_target(render: Render) -> Iterator[Problem]:
    """Find autoscalers whose target is nowhere."""
    for scaler in render.all("HorizontalPodAutoscaler"):
        target = mapping(at(scaler, "spec.scaleTargetRef"))
        kind, name = str(target.get("kind")), str(target.get("name"))
        if target and not is_there(render, kind, name, scaler):
            message = f"there is no {kind} {name} in the release"
            yield Problem(scaler, "spec.scaleTargetRef", message, "Name the workload as it is.")


BUILT_IN_ROLES = frozenset(
    {"admin", "cluster-admin", "edit", "view", "extension-apiserver-authentication-reader"}
)
"""Roles that every cluster has, beside those that begin with ``system:``."""


@rule(
    "role-reference",
    "A binding to a role or account that is not there grants nothing "
    "(Kubernetes documentation, Using RBAC Authorization).",
    bad="""
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: a}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: absent}
""",
    near_miss="""
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: a}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "system:auth-delegator"}
subjects: [{kind: ServiceAccount, name: default, namespace: default}]
""",
)
def role_reference(render: Render) -> Iterator[Problem]:
    """Find bindings of roles and of service accounts that are nowhere."""
    for binding in render.objects:
        if binding.kind not in {"RoleBinding", "ClusterRoleBinding"}:
            continue
        role = mapping(binding.get("roleRef"))
        kind, name = str(role.get("kind")), str(role.get("name"))
        known = name in BUILT_IN_ROLES or name.startswith("system:")
        if kind == "ClusterRole":
            known = known or any(found.name == name for found in render.all(kind))
        else:
            known = known or render.find(kind, name, binding) is not None
        if role and not known and not render.is_external(kind, name):
            yield Problem(binding, "roleRef", f"there is no {kind} {name}", OUTSIDE)
        yield from _subjects(render, binding)


def _subjects(render: Render, binding: Object) -> Iterator[Problem]:
    for index, subject in entries(binding.get("subjects")):
        name = str(subject.get("name"))
        namespace = subject.get("namespace") or render.namespace(binding)
        if subject.get("kind") != "ServiceAccount" or namespace != render.namespace(binding):
            continue
        if not is_there(render, "ServiceAccount", name, binding):
            message = f"there is no ServiceAccount {name} in the release"
            yield Problem(binding, f"subjects[{index}]", message, OUTSIDE)
