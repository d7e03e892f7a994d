"""The node's first process: PID 1 of its namespaces.

``python -m trainyard.cluster.node.init PLAN`` is started by ``unshare`` in new network, mount,
PID, UTS and IPC namespaces. It sets them up, starts the components, starts those again that
end, and reaps orphans. Its end is the end of every process of the node.
"""

import os
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from trainyard.cluster.node import layout
from trainyard.cluster.node.holder import GO
from trainyard.cluster.node.layout import INSIDE, STATE
from trainyard.cluster.node.settings import Component, Plan

RESTART_AFTER_S = 1.0
"""Seconds between a component's end and its next start."""

TURN_S = 0.05
"""Seconds between two looks at the children and, at first, at the API server."""


def main() -> None:
    """Run the node until it is told to end."""
    if sys.stdin.buffer.readline() != GO:
        sys.exit("The command that started this node ended before it was recorded.")
    plan = Plan.load(Path(sys.argv[1]))
    set_up_mounts(plan)
    set_up_network()
    socket.sethostname(layout.NAME)
    Supervisor(plan).run()


def set_up_mounts(plan: Plan) -> None:
    """Give the node its own /run, and keep its writes to /var/lib and /var/log off the host."""
    # The new /run is put together aside first: the folders bound into it may lie in the old one.
    aside = Path(plan.state) / "run"
    aside.mkdir(exist_ok=True)
    _mount("-t", "tmpfs", "-o", "mode=0755", "tmpfs", str(aside))
    inside = aside / INSIDE.relative_to("/run")
    for source, target in ((plan.state, STATE), (plan.tools, layout.TOOLS)):
        place = inside / target.relative_to(INSIDE)
        place.mkdir(parents=True)
        _mount("--bind", source, str(place))
    _mount("--move", str(aside), "/run")
    # Containers may pass mounts on to each other, which private mounts would not let them.
    _mount("--make-rshared", "/")

    for folder in ("/var/lib", "/var/log"):
        layers = INSIDE / "writes" / folder.strip("/").replace("/", "-")
        upper, work = layers / "upper", layers / "work"
        upper.mkdir(parents=True)
        work.mkdir()
        options = f"lowerdir={folder},upperdir={upper},workdir={work}"
        _mount("-t", "overlay", "-o", options, "overlay", folder)
    for name, value in plan.kernel_settings.items():
        shown = INSIDE / "sys" / name
        shown.parent.mkdir(parents=True, exist_ok=True)
        shown.write_text(f"{value}\n")
        _mount("--bind", str(shown), f"/proc/sys/{name}")


def set_up_network() -> None:
    """Give the node an address and a way to Services, and no way off the machine."""
    for command in (
        "link set lo up",
        "link add node type bridge",
        f"addr add {layout.NODE_ADDRESS}/32 dev node",
        "link set node up",
        f"route add {layout.SERVICE_NETWORK} dev node",
    ):
        subprocess.run(["ip", *command.split()], check=True)
    for name in ("ipv4/ip_forward", "bridge/bridge-nf-call-iptables"):
        Path("/proc/sys/net", name).write_text("1")


class Supervisor:
    """Starts the components in their order, and again when they end."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._running: dict[int, Component] = {}
        self._due: list[tuple[float, Component]] = []

    def run(self) -> None:
        """Work until SIGTERM or SIGINT; then leave, and the kernel ends all the rest."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: os._exit(0))
        waiting = [component for component in self._plan.components if component.after_api]
        for component in self._plan.components:
            if not component.after_api:
                self._start(component)
        self._start(self._forwarder())
        while True:
            if waiting and api_answers():
                for component in waiting:
                    self._start(component)
                waiting = []
            self._reap()
            self._start_due()
            time.sleep(TURN_S)

    def _forwarder(self) -> Component:
        target = f"127.0.0.1:{layout.API_PORT}"
        module = "trainyard.cluster.node.forward"
        return Component(
            "forwarder", [sys.executable, "-m", module, str(self._plan.listener), target]
        )

    def _start(self, component: Component) -> None:
        search = os.pathsep.join([*self._plan.search_path, os.environ.get("PATH", os.defpath)])
        with (STATE / "logs" / f"{component.name}.log").open("ab") as log:
            process = subprocess.Popen(
                component.argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, "PATH": search},
                # Only the forwarder may take connections from the host.
                pass_fds=[self._plan.listener] if component.name == "forwarder" else [],
                start_new_session=True,
            )
        self._running[process.pid] = component
        # Its end is seen by _reap; Popen's own book-keeping would only race with that.
        process.returncode = 0

    def _reap(self) -> None:
        """Take the end of every child that ended; components among them are due again."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            ended = self._running.pop(pid, None)
            if ended:
                code = os.waitstatus_to_exitcode(status)
                print(f"{ended.name} ended with {code}; starting it again", flush=True)
                self._due.append((time.monotonic() + RESTART_AFTER_S, ended))

    def _start_due(self) -> None:
        now = time.monotonic()
        ready = [component for due, component in self._due if due <= now]
        self._due = [(due, component) for due, component in self._due if due > now]
        for component in ready:
            self._start(component)


def api_answers() -> bool:
    """Say whether the API server answers that it is ready."""
    context = ssl.create_default_context(cafile=str(STATE / "pki" / "ca.crt"))
    url = f"https://127.0.0.1:{layout.API_PORT}/readyz"
    try:
        with urllib.request.urlopen(url, context=context, timeout=2):
            return True
    except (urllib.error.URLError, OSError):
        return False


def _mount(*arguments: str) -> None:
    # libmount would note its mounts in /run/mount, which at first is still the host's.
    subprocess.run(["mount", "--no-mtab", *arguments], check=True)


if __name__ == "__main__":
    main()
