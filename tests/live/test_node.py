"""The embedded node: what it gives, what it leaves, and how it takes being killed.

These tests run a node of their own, beside the one that other tests use: its state lies in a
temporary cache that shares only the built programs.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.live import host
from tests.live.components import pid_of
from trainyard import paths, system, tools
from trainyard.cluster.choice import choose, wanted
from trainyard.cluster.node import layout
from trainyard.cluster.node.holder import Holder
from trainyard.cluster.node.provider import NEEDS
from trainyard.kube import Kubectl
from trainyard.waiting import wait_for

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(
        wanted() != "none" and choose().name != "node",
        reason="the chosen cluster is not the embedded node",
    ),
]

UP_TIMEOUT_S = 240


class Trainyard:
    """The command line with a cache, and so with a node, of its own."""

    def __init__(self, cache: Path) -> None:
        self.state = cache / "node"
        self.marker = f"TRAINYARD_CACHE={cache}"
        self._environment = {
            **os.environ,
            "TRAINYARD_CACHE": str(cache),
            "TRAINYARD_CLUSTER": "node",
        }

    def start(self, *arguments: str, **variables: str) -> subprocess.Popen[str]:
        """Start a command, with more environment variables, and give it while it works."""
        return subprocess.Popen(
            [sys.executable, "-m", "trainyard", *arguments],
            env={**self._environment, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        process = self.start(*arguments, **variables)
        stdout, stderr = process.communicate(timeout=UP_TIMEOUT_S)
        return subprocess.CompletedProcess(arguments, process.returncode, stdout, stderr)

    def ok(self, *arguments: str) -> str:
        """Run a command that must end well, and give what it printed."""
        done = self.run(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    @property
    def kubectl(self) -> Kubectl:
        """kubectl for this node."""
        return Kubectl(self.state / "kubeconfig")

    @property
    def holder(self) -> Holder:
        """The record of the node that was started last."""
        found = Holder.load(self.state / "holder.json")
        assert found is not None
        return found


@pytest.fixture(scope="module")
def trainyard(tmp_path_factory):
    """Give the command line for a node that no other test uses; it is down before and after."""
    system.ensure(NEEDS)
    for build in (*tools.NODE_BUILDS, tools.HELM):
        tools.build(build)
    tools.kubectl()
    cache = tmp_path_factory.mktemp("cache")
    (cache / "tools").symlink_to(paths.cache() / "tools")
    command = Trainyard(cache)
    yield command
    command.run("down", "--images")


@pytest.fixture
def up(trainyard):
    """Give the command line with its node up."""
    trainyard.ok("up")
    return trainyard


POD = """
apiVersion: v1
kind: Namespace
metadata:
  name: sandbox
  labels: {pod-security.kubernetes.io/enforce: privileged}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: sandbox}
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Mi}}
---
apiVersion: v1
kind: Pod
metadata: {name: sleeper, namespace: sandbox, labels: {app: sleeper}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
    - name: pause
      image: localhost/trainyard/pause:node
      imagePullPolicy: Never
      ports: [{containerPort: 80, hostPort: 8080}]
      volumeMounts: [{name: data, mountPath: /data}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
---
apiVersion: v1
kind: Service
metadata: {name: sleeper, namespace: sandbox}
spec: {selector: {app: sleeper}, ports: [{port: 80}], type: NodePort}
"""


def run_a_pod(kubectl: Kubectl) -> None:
    kubectl.apply(POD)
    wait_for(
        lambda: kubectl.within("sandbox").ready("pod", "sleeper"), "the pod", timeout=60, every=0.5
    )


def test_the_host_is_as_before_after_down_and_its_network_even_while_up(trainyard):
    trainyard.ok("down")
    before = host.snapshot(trainyard.marker)
    report = json.loads(trainyard.ok("up", "--json"))
    assert {"containerd", "api", "ready", "dns"} <= set(report["stages"])
    assert report["total_s"] >= sum(report["stages"].values()) * 0.9
    run_a_pod(trainyard.kubectl)
    during = host.snapshot(trainyard.marker)
    assert host.differences(before, during, host.NETWORK) == []
    # What is compared must be what a node changes, or the last comparison would prove nothing.
    changed = {line.partition(":")[0] for line in host.differences(before, during)}
    assert {"processes", "namespaces", "cgroups"} <= changed
    trainyard.ok("down")
    left = host.differences(before, host.snapshot(trainyard.marker))
    deadline = time.monotonic() + 10
    # The machine's first process takes a moment to bury the node's.
    while left and time.monotonic() < deadline:
        left = host.differences(before, host.snapshot(trainyard.marker))
    assert left == []


def test_the_api_is_for_this_machine_and_its_owner_only(up):
    assert (up.state / "kubeconfig").stat().st_mode & 0o777 == 0o600
    server = up.kubectl.run("config", "view", "--output=jsonpath={.clusters[0].cluster.server}")
    assert server.stdout.startswith("https://127.0.0.1:")
    port = int(server.stdout.rpartition(":")[2])
    sockets = Path("/proc/net/tcp").read_text() + Path("/proc/net/tcp6").read_text()
    listening = [line.split()[1] for line in sockets.splitlines() if line.split()[3] == "0A"]
    assert [s for s in listening if s.endswith(f":{port:04X}")] == [f"0100007F:{port:04X}"]


def test_the_node_has_no_way_off_the_machine(up):
    run_a_pod(up.kubectl)
    routes = up.holder.enter("net", ["ip", "route"]).stdout
    assert "default" not in routes
    asked = up.holder.enter("net", ["ip", "route", "get", "192.0.2.1"])
    assert asked.returncode != 0, asked.stdout
    assert "unreachable" in asked.stderr
    # A link into another namespace shows an index behind @; all of them are pods' own.
    links = up.holder.enter("net", ["ip", "-o", "link", "show", "type", "veth"]).stdout.splitlines()
    assert links
    assert all("master pods" in link for link in links)


def test_a_second_up_says_that_it_runs(up):
    holder = up.holder
    done = up.run("up")
    assert done.returncode == 0
    assert f"The node runs already (process {holder.pid})" in done.stderr
    assert up.holder == holder


def test_volumes_are_made_and_removed(up):
    run_a_pod(up.kubectl)
    claim = up.kubectl.within("sandbox").get("pvc", "data")
    folder = up.state / "volumes" / claim["spec"]["volumeName"]
    assert folder.is_dir()
    assert folder.stat().st_mode & 0o777 == 0o777
    up.kubectl.within("sandbox").run("delete", "pod/sleeper", "pvc/data")
    wait_for(lambda: not folder.exists(), "the volume to be removed", timeout=60)


def test_pod_security_is_enforced(up):
    up.kubectl.run("create", "namespace", "strict")
    up.kubectl.run("label", "namespace", "strict", "pod-security.kubernetes.io/enforce=restricted")
    refused = up.kubectl.within("strict").run(
        "run", "root", "--image=localhost/trainyard/pause:node", check=False
    )
    up.kubectl.run("delete", "namespace", "strict", "--wait=false")
    assert refused.returncode != 0
    assert "runAsNonRoot" in refused.stderr


@pytest.mark.parametrize("component", ["kubelet", "containerd", "kube-apiserver", "etcd"])
def test_a_killed_component_comes_back_and_pods_stay(up, component):
    run_a_pod(up.kubectl)
    kubectl = up.kubectl.within("sandbox")
    before = kubectl.get("pod", "sleeper")["status"]["containerStatuses"][0]["containerID"]
    old = pid_of(up.holder, component)
    os.kill(old, signal.SIGKILL)
    wait_for(lambda: pid_of(up.holder, component) not in {0, old}, f"a new {component}", timeout=30)
    wait_for(kubectl.api_ready, "the API server", timeout=60)
    wait_for(lambda: up.kubectl.ready("node", layout.NAME), "the node", timeout=60)
    kubectl.run("annotate", "pod", "sleeper", f"seen-{component}=yes")
    after = kubectl.get("pod", "sleeper")["status"]["containerStatuses"][0]["containerID"]
    assert after == before


def test_a_node_that_was_killed_starts_again_cleanly(up):
    run_a_pod(up.kubectl)
    holder = up.holder
    os.kill(holder.inner, signal.SIGKILL)
    wait_for(lambda: not holder.alive, "the node's end", timeout=30)
    status = up.run("status")
    assert status.returncode == 1
    assert "not started" in status.stdout
    done = up.run("up")
    assert done.returncode == 0, done.stderr
    assert "Removing what an earlier node left" in done.stderr
    assert up.kubectl.within("sandbox").get("pod", "sleeper") is None
    run_a_pod(up.kubectl)


@pytest.mark.parametrize("seconds_in", [0.0, 1.0, 3.0])
def test_an_up_that_was_killed_in_the_middle_is_no_obstacle(trainyard, seconds_in):
    trainyard.ok("down")
    process = trainyard.start("up")
    record = trainyard.state / "holder.json"
    wait_for(record.exists, "the start", timeout=60, every=0.005)
    # The moment of the kill is the subject here, not a wait for something.
    time.sleep(seconds_in)
    process.kill()
    process.wait()
    assert trainyard.run("status").returncode == 1
    trainyard.ok("up")
    assert trainyard.kubectl.ready("node", layout.NAME)


def test_a_second_start_at_the_same_time_is_refused(trainyard):
    trainyard.ok("down")
    first = trainyard.start("up")
    lock = trainyard.state / "lock"
    wait_for(lambda: lock.exists() and lock.read_text() == str(first.pid), "the lock", timeout=60)
    second = trainyard.run("up")
    assert second.returncode == 1
    assert f"Another command (process {first.pid}) is starting or stopping" in second.stderr
    first.communicate(timeout=UP_TIMEOUT_S)
    assert first.returncode == 0


def test_any_cluster_can_be_used_by_the_name_of_its_context(up):
    own = {"KUBECONFIG": str(up.state / "kubeconfig")}
    named = {**own, "TRAINYARD_CLUSTER": "kubeconfig:trainyard"}
    assert "Context trainyard answers" in up.run("status", **named).stdout
    assert layout.NAME in up.run("kubectl", "get", "nodes", **named).stdout
    written = Path(up.run("kubeconfig", **named).stdout.strip())
    assert written.stat().st_mode & 0o777 == 0o600

    unnamed = up.run("status", **{**own, "TRAINYARD_CLUSTER": "kubeconfig:"})
    assert unnamed.returncode == 1
    assert "never taken unasked" in unnamed.stderr
    up.run("down", **named)
    assert up.holder.alive, "another's cluster must not be stopped"


def test_diagnose_writes_everything_into_one_folder(up):
    run_a_pod(up.kubectl)
    folder = Path(up.ok("diagnose", "--namespace", "sandbox").strip())
    assert "sleeper" in (folder / "objects.txt").read_text()
    assert "Started" in (folder / "events.txt").read_text()
    assert (folder / "logs" / "sandbox.sleeper.pause.log").is_file()
