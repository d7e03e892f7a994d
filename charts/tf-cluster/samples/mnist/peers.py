"""Do the other members of the cluster answer? TensorFlow itself would wait for ever, in silence."""

import socket
import time
from collections.abc import Callable, Iterable, Mapping

from cluster import Peer, split_address
from errors import LostPeerError, NotReadyError

REPORT_SECONDS = 10.0
PROBE_SECONDS = 5.0
SERVER_LOST_SECONDS = 30.0


def unreachable(address: str, timeout: float = 2.0) -> str:
    """Why no TCP connection to `host:port` can be made within `timeout` seconds; "" if it can."""
    try:
        socket.create_connection(split_address(address), timeout).close()
    except OSError as error:
        return reason(error)
    return ""


def reason(error: OSError) -> str:
    """Why a connection failed, in a few words."""
    if isinstance(error, socket.gaierror):
        return "unknown host name"
    if isinstance(error, TimeoutError):
        return "no answer"
    return (error.strerror or str(error)).lower()


def missing(peers: Iterable[Peer]) -> dict[Peer, str]:
    """The peers that do not answer, each with the reason."""
    reasons = {peer: unreachable(peer.address) for peer in peers}
    return {peer: why for peer, why in reasons.items() if why}


def describe(absent: Mapping[Peer, str]) -> str:
    """The missing peers in one line: `worker 1 at host:2222 (connection refused), ...`."""
    return ", ".join(f"{peer} ({why})" for peer, why in absent.items())


def wait_for_peers(
    peers: Iterable[Peer],
    timeout: float,
    *,
    find_missing: Callable[[Iterable[Peer]], dict[Peer, str]] = missing,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Return once every peer has answered.

    Prints every REPORT_SECONDS which peers are missing. The last three arguments are for tests.

    Raises:
        NotReadyError: some peers have not answered after `timeout` seconds.
    """
    start = reported = clock()
    absent = find_missing(peers)
    while absent:
        now = clock()
        if now - start >= timeout:
            raise NotReadyError(
                f"gave up after {timeout:g} s (--peer-timeout) without {describe(absent)}; see why "
                "they do not run (kubectl get pods, kubectl describe pod), or raise --peer-timeout"
            )
        if now - reported >= REPORT_SECONDS:
            print(f"waiting for {describe(absent)}", flush=True)
            reported = now
        sleep(min(1.0, start + timeout - now))
        absent = find_missing(absent)


class Watch:
    """Looks after the peers while the chief waits for training steps.

    TensorFlow notices a process that dies, but waits for ever on a machine that vanishes.
    """

    def __init__(
        self,
        peers: Iterable[Peer],
        timeout: float,
        *,
        find_missing: Callable[[Iterable[Peer]], dict[Peer, str]] = missing,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.peers, self.timeout = list(peers), timeout
        self.find_missing, self.clock = find_missing, clock
        self.absent: dict[Peer, str] = {}
        self.start()

    def start(self) -> None:
        """Begin to wait for some steps."""
        self.started = self.probed = self.clock()
        self.absent_since: dict[Peer, float] = {}

    def check(self) -> None:
        """Look whether the peers answer, every PROBE_SECONDS; quick at other times.

        Raises:
            LostPeerError: a parameter server has not answered for SERVER_LOST_SECONDS, or the
                steps have taken longer than the timeout and a worker is missing.
        """
        now = self.clock()
        if now - self.probed < PROBE_SECONDS:
            return
        absent = self.find_missing(self.peers)
        if absent and absent.keys() != self.absent.keys():
            print(f"no answer from {describe(absent)}", flush=True)
        self.absent = absent
        self.absent_since = {peer: self.absent_since.get(peer, now) for peer in absent}
        self.probed = self.clock()
        for peer, since in self.absent_since.items():
            if peer.role == "ps" and now - since >= SERVER_LOST_SECONDS:
                raise LostPeerError(f"lost a parameter server: {describe({peer: absent[peer]})}")
        if absent and now - self.started >= self.timeout:
            raise LostPeerError(
                f"the last steps have not ended in {self.timeout:g} s, and there is no answer "
                f"from {describe(absent)}"
            )
