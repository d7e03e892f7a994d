"""The embedded node as a cluster: what happens on the host's side."""

import fcntl
import os
import platform
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from trainyard import paths, system, tools
from trainyard.cluster.base import Status
from trainyard.cluster.node import dns, layout, settings
from trainyard.cluster.node.cgroups import Cgroups
from trainyard.cluster.node.containerd import Containerd
from trainyard.cluster.node.holder import Holder, spawn
from trainyard.cluster.node.images import write_archive
from trainyard.cluster.references import whole
from trainyard.console import Stages, say
from trainyard.errors import TrainyardError
from trainyard.kube import Kubectl
from trainyard.process import tail
from trainyard.waiting import wait_for

NEEDS = (
    system.RUNC,
    system.CNI,
    system.IPTABLES,
    system.IPSET,
    system.IPROUTE,
    system.UNSHARE,
    system.NSENTER,
)

OWN_IMAGES = {
    "localhost/trainyard/pause:node": tools.PAUSE,
    "localhost/trainyard/coredns:node": tools.COREDNS,
}

START_TIMEOUT_S = 180

BRIDGE_FILTER = Path("/proc/sys/net/bridge/bridge-nf-call-iptables")


class NodeCluster:
    """The embedded node; its state lies in the user's cache, so there is one for each user."""

    name = "node"
    takes_images = True

    def __init__(self) -> None:
        self._state = layout.outside()
        self._record = self._state / "holder.json"
        self._kubeconfig = self._state / "kubeconfig"

    def up(self, stages: Stages) -> None:
        """Start the node; nothing where it runs already. What an ended one left is removed."""
        refuse_where_it_cannot_run()
        with stages.stage("packages", "System packages"):
            system.ensure(NEEDS)
        with stages.stage("tools", "Kubernetes programs", len(tools.NODE_BUILDS)) as done:
            for build in tools.NODE_BUILDS:
                tools.build(build)
                done()
            tools.kubectl()
        with self._lock():
            holder = Holder.load(self._record)
            if holder and holder.alive and holder.ready:
                say(f"The node runs already (process {holder.pid}).")
                return
            if holder:
                say("Removing what an earlier node left; its images stay.")
            self._end(holder)
            try:
                self._start(stages)
            except BaseException:
                # Also on ctrl-C: a half-started node is of no use, but its logs are.
                self._end(Holder.load(self._record))
                raise

    def down(self, *, images: bool = False) -> None:
        """End every process of the node and remove its cgroups and its state."""
        if not self._state.is_dir():
            return
        refuse_where_it_cannot_run()
        with self._lock():
            self._end(Holder.load(self._record))
            self._wipe(keep=() if images else layout.KEPT)

    def status(self) -> Status:
        """Say whether the node runs."""
        holder = Holder.load(self._record)
        if not holder or not holder.alive:
            return Status(False, "The node is not started. Start it: trainyard up")
        if not holder.ready:
            return Status(False, f"The node is starting (process {holder.pid}).")
        return Status(True, f"The node runs (process {holder.pid}).")

    def kubeconfig(self) -> Path:
        """Give the kubeconfig of the running node."""
        status = self.status()
        if not status.running:
            raise TrainyardError(status.detail)
        return self._kubeconfig

    def load_image(self, archive: Path, reference: str) -> None:
        """Import an image archive into the node's containerd."""
        self._containerd(self._running()).load(archive, reference)

    def has_image(self, reference: str) -> bool:
        """Say whether the node's containerd knows ``reference``."""
        return whole(reference) in self._containerd(self._running()).images()

    def _running(self) -> Holder:
        self.kubeconfig()
        holder = Holder.load(self._record)
        assert holder is not None
        return holder

    def _start(self, stages: Stages) -> None:
        with stages.stage("containerd", "containerd answers"):
            holder = self._spawn()
            containerd = self._containerd(holder)
            self._await(holder, containerd.answers, "containerd")
            containerd.forget_containers()
            self._load_own_images(containerd)
        kubectl = Kubectl(self._kubeconfig)
        with stages.stage("api", "The API server is ready"):
            self._await(holder, kubectl.api_ready, "the API server")
            self._await(holder, lambda: _addons_applied(kubectl), "DNS, storage and policies")
        with stages.stage("ready", "The node is ready"):
            self._await(holder, lambda: kubectl.ready("node", layout.NAME), "the node")
        with stages.stage("dns", "DNS answers"):
            self._await(holder, lambda: _dns_answers(holder), "DNS")
        holder.marked_ready().save(self._record)

    def _spawn(self) -> Holder:
        """Lay out a new state folder and start the node's first process on it."""
        self._wipe(keep=layout.KEPT)
        for name in ("logs/pods", "kubelet", "volumes"):
            (self._state / name).mkdir(parents=True)
        programs = {p: _inside(b) / p for b in tools.NODE_BUILDS for p in b.programs}
        # The socket is the host's, and so is its port; the node's processes only inherit it.
        with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
            settings.write_files(self._state, f"127.0.0.1:{listener.getsockname()[1]}")
            plan = settings.Plan(
                components=settings.components(programs),
                search_path=[*sorted({str(p.parent) for p in programs.values()}), *system.SEARCHED],
                listener=listener.fileno(),
                tools=str(paths.cache() / "tools"),
                state=str(self._state),
            )
            plan.dump(self._state / "plan.json")
            added = Cgroups(layout.cgroup()).create()
            log = self._state / "logs" / "init.log"
            return spawn(self._record, self._state / "plan.json", log, listener.fileno(), added)

    def _await(self, holder: Holder, condition: Callable[[], bool], what: str) -> None:
        """Wait for a part of the node; say why where it does not come."""
        last = ""

        def seen() -> bool:
            nonlocal last
            if not holder.alive:
                return True
            try:
                return condition()
            except TrainyardError as error:  # One slow answer is no end of a start.
                last = error.message
                return False

        try:
            wait_for(seen, f"{what} of the node", timeout=START_TIMEOUT_S, every=0.1)
            if not holder.alive:
                raise TrainyardError(f"The node ended before {what} was ready.")
        except TrainyardError as error:
            logs = self._state / "logs"
            said = (error.message, last, tail((logs / "init.log").read_text()))
            raise TrainyardError(
                "\n".join(filter(None, said)), f"The logs of its programs lie in {logs}."
            ) from error

    def _containerd(self, holder: Holder) -> Containerd:
        return Containerd(holder, _inside(tools.CONTAINERD) / "ctr")

    def _load_own_images(self, containerd: Containerd) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            for reference, build in OWN_IMAGES.items():
                archive = Path(scratch) / "image.tar"
                write_archive(archive, reference, tools.build(build) / build.programs[0])
                containerd.load(archive, reference)

    def _end(self, holder: Holder | None) -> None:
        """End the node that is on record, if any, and remove its cgroups."""
        if holder:
            holder.end()
        self._record.unlink(missing_ok=True)
        Cgroups(layout.cgroup()).remove(holder.controllers_added if holder else [])

    def _wipe(self, keep: tuple[str, ...]) -> None:
        for path in self._state.iterdir():
            if path.name in (*keep, "lock"):
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()

    @contextmanager
    def _lock(self) -> Iterator[None]:
        """Let one command at a time start or stop the node; refuse a second one."""
        self._state.mkdir(parents=True, exist_ok=True)
        self._state.chmod(0o700)
        with (self._state / "lock").open("a+") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                lock.seek(0)
                raise TrainyardError(
                    f"Another command (process {lock.read().strip()}) is starting or stopping the "
                    "node right now.",
                    "Wait for it to end, then try again.",
                ) from error
            lock.truncate(0)
            lock.write(str(os.getpid()))
            lock.flush()
            yield


def refuse_where_it_cannot_run() -> None:
    """Raise TrainyardError with the way out where the machine or the user cannot run the node."""
    instead = (
        "Use kind (TRAINYARD_CLUSTER=kind, with Docker or Podman) or a cluster of your own "
        "(TRAINYARD_CLUSTER=kubeconfig:CONTEXT)."
    )
    if platform.system() != "Linux":
        raise TrainyardError(
            f"The embedded node runs on Linux only, not on {platform.system()}.", instead
        )
    if os.geteuid() != 0:
        raise TrainyardError("The embedded node must be started by root.", instead)
    if not BRIDGE_FILTER.exists():
        raise TrainyardError(
            "The kernel does not filter what crosses a bridge, as Services need it.",
            "Load the module, which stays loaded: modprobe br_netfilter",
        )


def _inside(build: tools.Build) -> Path:
    """Give the folder of a build's programs as the node sees it."""
    return layout.TOOLS / tools.build(build).name


def _addons_applied(kubectl: Kubectl) -> bool:
    kubectl.apply(settings.addons())
    return True


def _dns_answers(holder: Holder) -> bool:
    name = f"kubernetes.default.svc.{layout.CLUSTER_DOMAIN}"
    asked = [sys.executable, dns.__file__, layout.DNS_ADDRESS, name]
    return holder.enter("net", asked).stdout.split() == [layout.API_SERVICE_ADDRESS]
