"""Equal workers meet before TensorFlow: nobody goes on until all of the same cluster are there."""

import socket
import threading

import pytest
from tests.unit.samples.programs import PATIENCE_SECONDS, free_addresses

from trainyard.waiting import wait_for


class Worker(threading.Thread):
    """A worker that comes to the meeting; `error` is how that ended for it."""

    def __init__(self, sample, addresses, index, timeout=PATIENCE_SECONDS):
        super().__init__(daemon=True)
        cluster = {"chief": (), "worker": addresses, "ps": ()}
        self.task = sample("cluster").Task(cluster, "worker", index)
        self.meet, self.timeout, self.error = sample("rendezvous").meet, timeout, None
        self.start()

    def run(self):
        try:
            self.meet(self.task, self.timeout)
        except Exception as error:
            self.error = error

    def still_waits(self, seconds):
        """Whether it has neither met the others nor given up after some time."""
        self.join(seconds)
        return self.is_alive()

    def has_met(self):
        self.join(PATIENCE_SECONDS)
        return not self.is_alive() and self.error is None


@pytest.fixture
def addresses():
    return tuple(free_addresses(3))


def hold(address, content=b""):
    """Listen as a program would that has nothing to do with this."""
    server = socket.create_server(("127.0.0.1", int(address.rpartition(":")[2])))

    def answer():
        connection, _ = server.accept()
        server.close()
        connection.sendall(content)
        connection.close()

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    return thread


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0)])
def test_all_go_on_together_whoever_comes_first(sample, addresses, order):
    *first, last = order
    waiting = [Worker(sample, addresses, index) for index in first]
    assert all(worker.still_waits(0.3) for worker in waiting)
    assert all(worker.has_met() for worker in [*waiting, Worker(sample, addresses, last)])


def test_a_single_worker_waits_for_nobody(sample):
    assert Worker(sample, ("no-such-host.invalid:1",), 0).has_met()


def test_the_port_is_free_for_tensorflow_afterwards(sample, addresses):
    workers = [Worker(sample, addresses, index) for index in range(3)]
    assert all(worker.has_met() for worker in workers)
    socket.create_server(("", int(addresses[0].rpartition(":")[2]))).close()


def test_who_is_missing_is_named(sample, addresses):
    workers = [Worker(sample, addresses, index, timeout=1) for index in (0, 1)]
    for worker in workers:
        worker.join(PATIENCE_SECONDS)
        assert isinstance(worker.error, sample("errors").NotReadyError)
    assert f"worker 2 at {addresses[2]} (has not come)" in str(workers[0].error)
    assert f"worker 0 at {addresses[0]}" in str(workers[1].error)


def test_a_worker_that_went_away_again_is_missing(sample, addresses):
    host, gone = Worker(sample, addresses, 0), Worker(sample, addresses, 1, timeout=0.5)
    gone.join(PATIENCE_SECONDS)
    assert gone.error
    rest = [host, Worker(sample, addresses, 2)]
    assert all(worker.still_waits(0.5) for worker in rest)
    assert all(worker.has_met() for worker in [*rest, Worker(sample, addresses, 1)])


def test_a_worker_of_another_cluster_is_not_let_in(sample, addresses):
    rest = [Worker(sample, addresses, index) for index in (0, 2)]

    def is_sent_away():
        stranger = Worker(sample, (*addresses[:2], "127.0.0.1:1"), 1, timeout=1)
        stranger.join(PATIENCE_SECONDS)
        assert isinstance(stranger.error, sample("errors").NotReadyError)
        return "has not begun anew" in str(stranger.error)

    # It tells of its last call only, which may have had no answer yet when its time was up.
    wait_for(is_sent_away, "a stranger that was told so", timeout=PATIENCE_SECONDS / 2)
    assert all(worker.has_met() for worker in [*rest, Worker(sample, addresses, 1)])


def test_who_listens_there_without_knowing_the_meeting_is_tried_again(sample, addresses):
    # An earlier run that is about to end: its TensorFlow server still has the port.
    earlier = hold(addresses[0], b"\0\0\6\4\0")
    guests = [Worker(sample, addresses, index) for index in (1, 2)]
    earlier.join(PATIENCE_SECONDS)
    assert all(worker.has_met() for worker in [*guests, Worker(sample, addresses, 0)])


def test_a_visitor_without_a_greeting_is_sent_away(sample, addresses):
    workers = [Worker(sample, addresses, 0)]
    host, port = "127.0.0.1", int(addresses[0].rpartition(":")[2])

    def call():
        try:
            return socket.create_connection((host, port))
        except OSError:
            return None

    wait_for(call, "somebody who listens", timeout=PATIENCE_SECONDS, every=0.01).close()
    workers += [Worker(sample, addresses, index) for index in (1, 2)]
    assert all(worker.has_met() for worker in workers)
