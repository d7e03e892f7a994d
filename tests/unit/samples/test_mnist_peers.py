"""Peers that do not answer: found, named, waited for, and given up in time."""

import socket

import pytest
from tests.unit.samples.clock import Clock


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def address(server):
    return f"127.0.0.1:{server.getsockname()[1]}"


def fake(sample, clock, ready_at):
    """Make two peers, and a look at them that finds each from its time in `ready_at` on."""
    peers = [sample("cluster").Peer(role, 0, f"{role}:1") for role in ("ps", "worker")]

    def find_missing(candidates):
        return {p: "no answer" for p in candidates if clock.now < ready_at[p.role]}

    return peers, find_missing


def wait(sample, ready_at, timeout):
    clock = Clock()
    peers, find_missing = fake(sample, clock, ready_at)
    module = sample("peers")
    module.wait_for_peers(peers, timeout, find_missing=find_missing, clock=clock, sleep=clock.sleep)
    return clock.now


def test_a_listening_peer_is_reachable(sample, listener):
    assert sample("peers").unreachable(address(listener)) == ""


def test_a_closed_port_is_refused(sample, listener):
    closed = address(listener)
    listener.close()
    assert sample("peers").unreachable(closed) == "connection refused"


def test_a_name_nobody_knows_is_said_to_be_unknown(sample):
    assert sample("peers").unreachable("no-such-host.invalid:2222") == "unknown host name"


def test_only_the_missing_are_found(sample, listener):
    peer = sample("cluster").Peer
    here, gone = peer("ps", 0, address(listener)), peer("worker", 1, "no-such-host.invalid:1")
    found = sample("peers").missing([here, gone])
    assert found == {gone: "unknown host name"}
    assert sample("peers").describe(found) == (
        "worker 1 at no-such-host.invalid:1 (unknown host name)"
    )


def test_no_time_is_lost_when_all_are_there(sample, capsys):
    assert wait(sample, {"ps": 0, "worker": 0}, timeout=300) == 100
    assert capsys.readouterr().out == ""


def test_waiting_ends_soon_after_the_last_has_come(sample, capsys):
    assert 125 <= wait(sample, {"ps": 103, "worker": 125}, timeout=300) <= 126
    assert capsys.readouterr().out.splitlines() == [
        "waiting for worker 0 at worker:1 (no answer)",
        "waiting for worker 0 at worker:1 (no answer)",
    ]


def test_a_peer_that_came_is_not_asked_again(sample):
    clock, asked = Clock(), []
    peers, find_missing = fake(sample, clock, {"ps": 0, "worker": 103})

    def recorded(candidates):
        asked.append([peer.role for peer in candidates])
        return find_missing(candidates)

    sample("peers").wait_for_peers(
        peers, 300, find_missing=recorded, clock=clock, sleep=clock.sleep
    )
    assert asked == [["ps", "worker"], ["worker"], ["worker"], ["worker"]]


def test_giving_up_names_who_is_missing_and_how_long_it_was(sample):
    with pytest.raises(sample("errors").NotReadyError) as caught:
        wait(sample, {"ps": 0, "worker": 1e9}, timeout=12.5)
    assert caught.value.exit_code == 69
    assert "12.5 s" in str(caught.value)
    assert "worker 0 at worker:1 (no answer)" in str(caught.value)
    assert "ps 0" not in str(caught.value)


def watch(sample, gone_at, timeout=1e9):
    """Watch peers that vanish at these times, looking 100 times a second; give the error's time."""
    clock = Clock()
    peers = [sample("cluster").Peer(role, 0, f"{role}:1") for role in ("ps", "worker")]
    probes = []

    def find_missing(candidates):
        probes.append(clock.now)
        return {p: "no answer" for p in candidates if clock.now >= gone_at.get(p.role, 1e9)}

    module = sample("peers")
    watching = module.Watch(peers, timeout, find_missing=find_missing, clock=clock)
    error = None
    while clock.now < 300 and not error:
        try:
            watching.check()
        except sample("errors").LostPeerError as caught:
            error = caught
        else:
            clock.sleep(0.01)
    return clock.now, error, probes


def test_peers_that_answer_are_asked_now_and_then(sample, capsys):
    _, error, probes = watch(sample, {})
    assert error is None
    assert 35 <= len(probes) <= 40
    assert capsys.readouterr().out == ""


def test_a_server_that_vanishes_is_lost_after_half_a_minute(sample, capsys):
    now, error, _ = watch(sample, {"ps": 120})
    assert 150 <= now <= 160
    assert "lost a parameter server: ps 0 at ps:1 (no answer)" in str(error)
    assert capsys.readouterr().out == "no answer from ps 0 at ps:1 (no answer)\n"


def test_a_worker_that_vanishes_is_no_reason_to_end(sample, capsys):
    _, error, _ = watch(sample, {"worker": 120})
    assert error is None
    assert capsys.readouterr().out.count("worker 0 at worker:1") == 1


def test_a_worker_that_vanishes_while_nothing_gets_done_is(sample):
    now, error, _ = watch(sample, {"worker": 120}, timeout=60)
    assert 160 <= now <= 166
    assert "worker 0 at worker:1 (no answer)" in str(error)


def test_finished_steps_start_the_watch_anew(sample):
    clock = Clock()
    peers, find_missing = fake(sample, clock, {"ps": 1e9, "worker": 0})
    watching = sample("peers").Watch(peers, 1e9, find_missing=find_missing, clock=clock)
    for _ in range(20):  # 20 s of trouble, then progress: not the 30 s that make a loss
        clock.sleep(20)
        watching.check()
        watching.start()
