"""What to look at when something failed: everything about a namespace, in one folder."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

from trainyard import paths
from trainyard.kube import Kubectl, Object

KINDS = (
    "pods,jobs,statefulsets,deployments,services,endpointslices,configmaps,"
    "persistentvolumeclaims,serviceaccounts,roles,rolebindings,resourcequotas,networkpolicies"
)
"""What is written. Secrets are not among them."""


def write(kubeconfig: Path, namespace: str, name: str) -> Path:
    """Write all about ``namespace``, or about the whole cluster, and give the folder.

    The folder is named by ``name`` and the time, below ``.trainyard/diagnoses``. A part
    that cannot be had is told in its file, so that the rest is still written.
    """
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    folder = paths.WORK / "diagnoses" / f"{re.sub(r'[^A-Za-z0-9._-]+', '-', name)}-{stamp}"
    folder.mkdir(parents=True, exist_ok=True)
    kubectl = Kubectl(kubeconfig)
    scope = ["--namespace", namespace] if namespace else ["--all-namespaces"]

    def keep(file: str, *arguments: str) -> str:
        done = kubectl.run(*arguments, check=False)
        (folder / file).write_text(done.stdout + done.stderr)
        return done.stdout

    keep("events.txt", "get", "events", "--sort-by=.lastTimestamp", "--output=wide", *scope)
    keep("objects.txt", "get", KINDS, "--output=wide", *scope)
    keep("objects.yaml", "get", KINDS, "--output=yaml", *scope)
    keep("describe.txt", "describe", "pods,jobs,persistentvolumeclaims", *scope)
    keep("nodes.txt", "describe", "nodes")
    said = keep("pods.json", "get", "pods", "--output=json", *scope)
    for pod in json.loads(said or '{"items": []}')["items"]:
        _write_logs(kubectl, pod, folder / "logs")
    return folder


def _write_logs(kubectl: Kubectl, pod: Object, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    space, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
    spec = pod["spec"]
    for container in [*spec.get("initContainers", []), *spec["containers"]]:
        file = folder / f"{space}.{name}.{container['name']}.log"
        asked = ["logs", name, "--namespace", space, "--container", container["name"]]
        now = kubectl.run(*asked, "--timestamps", check=False)
        file.write_text(now.stdout + now.stderr)
        before = kubectl.run(*asked, "--timestamps", "--previous", check=False)
        if before.returncode == 0:
            file.with_suffix(".previous.log").write_text(before.stdout)
