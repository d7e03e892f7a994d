"""A task waits until those are there whom it needs, and a lead until it is alone with them."""

import signal
import socket
import threading
import time

import pytest

SERVICE = "my.lab.svc"


@pytest.fixture
def begin(launch, tasks, names):
    """`begin(role, index, *arguments)`: start the program as that task."""

    def run(role, index, *arguments, deadline="20"):
        options = ("--cluster-file", str(tasks.path), "--deadline", deadline)
        task = ("--role", role, "--index", str(index), "--poll-seconds", "0.05")
        return launch("await_peers.py", *options, *task, *arguments, **names.environment)

    return run


@pytest.fixture
def finish(begin):
    """`finish(role, index, *arguments)`: run it to its end."""

    def run(role, index, *arguments, deadline="0.3"):
        program = begin(role, index, *arguments, deadline=deadline)
        return program.end(), program.words

    return run


@pytest.fixture
def wait(module, tasks, monkeypatch):
    """`wait(hosts, role, index)`: the waiting in this process, and the names it looks up."""
    program = module("await_peers")

    def build(hosts, role, index, **named):
        asked: list[str] = []
        lock = threading.Lock()

        def look_up(host, port, *rest, **kinds):
            with lock:
                asked.append(host)
                count = asked.count(host)
            numbers = hosts(host, count)
            if not numbers:
                raise socket.gaierror(socket.EAI_NONAME, "no such name")
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (n, 0)) for n in numbers]

        monkeypatch.setattr(socket, "getaddrinfo", look_up)
        named = {"deadline": 20.0, "poll": 0.01, **named}
        return program.Wait(tasks.path, role, index, **named), asked

    return build


def test_a_chief_waits_until_all_others_accept_connections(begin, tasks, names):
    worker, server = tasks.silent("127.0.1.2"), tasks.silent("127.0.1.3")
    ports = [address.rpartition(":")[2] for address in (worker, server)]
    spec = {"worker": [f"worker-0:{ports[0]}"], "ps": [f"ps-0:{ports[1]}"]}
    tasks.write({"chief": ["chief-0:1"], **spec})
    names.set(worker_0=["127.0.1.2"], ps_0=["127.0.1.3"])
    program = begin("chief", 0)
    tasks.listen(worker)
    with pytest.raises(TimeoutError):
        end_soon(program)
    tasks.listen(server)
    assert program.end() == 0
    assert "all 2 peers of chief 0 are there" in program.words


def end_soon(program):
    deadline = time.monotonic() + 0.4
    while program.runs():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.01)


def test_a_chief_says_why_each_peer_is_absent(finish, tasks, names):
    silent = tasks.silent()
    tasks.write({"chief": ["chief-0:1"], "worker": ["worker-0:2222"], "ps": [silent]})
    code, words = finish("chief", 0)
    assert code == 69
    assert "gave up after 0.3 s of waiting for 2 of 2 peers: " in words
    assert f"ps 0 at {silent} (connection refused)" in words
    assert "worker 0 at worker-0:2222 (unknown host name)" in words
    assert "kubectl get pods" in words
    assert "kubectl describe pod" in words


def test_a_leading_worker_waits_for_the_names_of_all(begin, tasks, names):
    tasks.write({"worker": ["worker-0:2222", "worker-1:2222"], "ps": ["ps-0:2222"]})
    names.set(worker_0=["127.0.1.1"], worker_1=["127.0.1.2"])
    program = begin("worker", 0)
    with pytest.raises(TimeoutError):
        end_soon(program)
    names.set(ps_0=["127.0.1.3"])
    assert program.end() == 0


@pytest.mark.parametrize("lead", ["chief", "worker"])
def test_another_worker_waits_for_the_lead_and_the_parameter_servers(begin, tasks, names, lead):
    chief = {"chief": ["chief-0:1"]} if lead == "chief" else {}
    tasks.write({**chief, "worker": ["worker-0:1", "worker-1:1", "worker-2:1"], "ps": ["ps-0:1"]})
    program = begin("worker", 2)
    names.set(ps_0=["127.0.1.3"])
    with pytest.raises(TimeoutError):
        end_soon(program)
    names.set(**{f"{lead}_0": ["127.0.1.1"]})
    assert program.end() == 0
    assert "all 2 peers of worker 2 are there" in program.words


def test_another_worker_is_not_kept_by_pods_of_an_earlier_run(finish, tasks, names):
    tasks.write({"worker": ["worker-0:1", "worker-1:1"]})
    names.set(worker_0=["127.0.1.1"], **{SERVICE: ["127.0.1.9"]})
    assert finish("worker", 1, "--service", SERVICE)[0] == 0


def test_a_lone_worker_needs_nobody(finish, tasks):
    tasks.write({"worker": ["worker-0:1"]})
    assert finish("worker", 0)[0] == 0


@pytest.mark.parametrize("lead", ["chief", "worker"])
def test_a_lead_waits_until_an_earlier_run_has_ended(begin, finish, tasks, names, lead):
    address = tasks.listening("127.0.1.2")
    port = address.rpartition(":")[2]
    spec = {"worker": ["lead:1", f"peer:{port}"]}
    tasks.write(spec if lead == "worker" else {"chief": ["lead:1"], "worker": [f"peer:{port}"]})
    mine = ["127.0.1.1", "127.0.1.2"]
    names.set(lead=mine[:1], peer=mine[1:], **{SERVICE: [*mine, "10.0.0.8", "10.0.0.7"]})
    code, words = finish(lead, 0, "--service", SERVICE)
    assert code == 69
    assert "waiting for 2 pods of an earlier run to end: 10.0.0.7, 10.0.0.8" in words
    program = begin(lead, 0, "--service", SERVICE)
    with pytest.raises(TimeoutError):
        end_soon(program)
    names.set(**{SERVICE: mine})
    assert program.end() == 0


def test_a_lead_waits_for_earlier_pods_of_the_same_names(begin, finish, tasks, names):
    tasks.write({"worker": ["lead:1", "peer:1"]})
    mine = ["127.0.1.1", "127.0.1.2"]
    names.set(lead=[mine[0], "10.0.0.7"], peer=mine[1:], **{SERVICE: [*mine, "10.0.0.7"]})
    code, words = finish("worker", 0, "--service", SERVICE)
    assert code == 69
    assert "waiting for earlier pods of the same names to end: lead" in words
    program = begin("worker", 0, "--service", SERVICE)
    names.set(lead=mine[:1], **{SERVICE: mine})
    assert program.end() == 0


def test_the_earlier_run_is_named_while_peers_are_absent_too(finish, tasks, names):
    tasks.write({"worker": ["lead:1", "peer:1"]})
    names.set(lead=["127.0.1.1"], **{SERVICE: ["127.0.1.1", "10.0.0.7"]})
    code, words = finish("worker", 0, "--service", SERVICE)
    assert code == 69
    assert "1 of 2 peers" not in words
    assert "1 of 1 peers: worker 1 at peer:1 (unknown host name)" in words
    assert "and for 1 pod of an earlier run to end: 10.0.0.7" in words


@pytest.mark.parametrize(
    ("listed", "reason"),
    [
        ([], f"Service {SERVICE} to have addresses"),
        (["127.0.1.2"], f"Service {SERVICE} to list this pod"),
    ],
)
def test_a_service_that_does_not_list_the_lead_proves_nothing(finish, tasks, names, listed, reason):
    tasks.write({"worker": ["lead:1", "peer:1"]})
    names.set(lead=["127.0.1.1"], peer=["127.0.1.2"], **{SERVICE: listed})
    code, words = finish("worker", 0, "--service", SERVICE)
    assert code == 69
    assert reason in words


def test_the_service_need_not_list_all_peers(finish, tasks, names):
    tasks.write({"worker": ["lead:1", "peer:1"]})
    names.set(lead=["127.0.1.1"], peer=["127.0.1.2"], **{SERVICE: ["127.0.1.1"]})
    assert finish("worker", 0, "--service", SERVICE)[0] == 0


def test_each_round_looks_everybody_up_anew_for_the_earlier_run(wait, tasks):
    tasks.write({"worker": ["lead:1", "peer:1"]})

    def hosts(host, time_asked):
        moved = "10.0.0.2" if time_asked < 4 else "10.0.0.3"
        return {"lead": ["10.0.0.1"], "peer": [moved], SERVICE: ["10.0.0.1", "10.0.0.3"]}[host]

    waiting, asked = wait(hosts, "worker", 0, service=SERVICE)
    assert waiting.run() == 0
    assert asked.count(SERVICE) == 3
    assert asked.count("peer") == 4


def test_only_the_absent_are_asked_again(wait, tasks):
    tasks.write({"worker": [f"worker-{index}:1" for index in range(6)]})
    waiting, asked = wait(
        lambda host, count: [] if host == "worker-5" and count < 4 else ["10.0.0.1"], "worker", 0
    )
    assert waiting.run() == 0
    assert {host: asked.count(host) for host in asked} == {
        **{f"worker-{index}": 1 for index in range(1, 5)},
        "worker-5": 4,
    }


def test_a_thousand_peers_take_seconds(wait, tasks):
    tasks.write({"worker": [f"worker-{index}:1" for index in range(1000)]})

    def slow(host, count):
        time.sleep(0.01)
        return ["10.0.0.1"]

    waiting, asked = wait(slow, "worker", 0)
    began = time.monotonic()
    assert waiting.run() == 0
    assert time.monotonic() - began < 2
    assert len(asked) == 999


def test_a_cluster_that_grows_and_shrinks_is_followed(begin, tasks, names):
    tasks.write({"worker": ["lead:1", "gone:1"]})
    names.set(lead=["127.0.1.1"])
    program = begin("worker", 0)
    with pytest.raises(TimeoutError):
        end_soon(program)
    tasks.write({"worker": ["lead:1"], "ps": ["new:1"]})
    with pytest.raises(TimeoutError):
        end_soon(program)
    names.set(new=["127.0.1.2"])
    assert program.end() == 0
    assert "all 1 peers of worker 0" in program.words


def test_a_task_that_the_file_does_not_name_yet_waits_for_it(begin, finish, tasks, names):
    tasks.write({"worker": ["lead:1"]})
    names.set(lead=["127.0.1.1"])
    code, words = finish("worker", 1)
    assert code == 69
    assert f"waiting for worker 1 to be named in {tasks.path}" in words
    program = begin("worker", 1)
    tasks.write({"worker": ["lead:1", "peer:1"]})
    assert program.end() == 0


@pytest.mark.parametrize("text", ["", "[]", '{"worker": ["no-port"]}'])
def test_a_cluster_file_that_is_none_is_said(finish, tasks, text):
    tasks.path.write_text(text)
    code, words = finish("worker", 0)
    assert code == 69
    assert str(tasks.path) in words
    assert "Traceback" not in words


def test_a_cluster_file_that_comes_late_is_waited_for(begin, tasks):
    program = begin("worker", 0)
    with pytest.raises(TimeoutError):
        end_soon(program)
    tasks.write({"worker": ["lead:1"]})
    assert program.end() == 0


def test_it_tells_of_its_progress_and_names_but_a_few(module, wait, tasks, monkeypatch, capsys):
    monkeypatch.setattr(module("await_peers"), "REPORT_SECONDS", 0.2)
    tasks.write({"worker": [f"worker-{index}:1" for index in range(31)]})
    waiting, _ = wait(lambda host, count: [], "worker", 0, deadline=0.5)
    assert waiting.run() == 69
    *progress, last = capsys.readouterr().out.splitlines()
    assert 1 <= len(progress) <= 2
    for line in progress:
        assert "waiting for 30 of 30 peers: worker 1 at worker-1:1 (unknown host name)" in line
    for line in (*progress, last):
        assert line.count("unknown host name") == 20
        assert "and 10 more" in line


def test_numbers_in_brackets_are_understood(finish, tasks, names):
    tasks.write({"worker": ["[fd00::1]:1", "[fd00::2]:1"]})
    names.set(**{SERVICE: ["fd00::1", "fd00::2"]})
    assert finish("worker", 0, "--service", SERVICE)[0] == 0
    names.set(**{SERVICE: ["fd00::1", "fd00::3"]})
    code, words = finish("worker", 0, "--service", SERVICE)
    assert code == 69
    assert "earlier run to end: fd00::3" in words


def test_all_families_of_a_name_are_known(finish, tasks, names):
    both = ["127.0.1.1", "fd00::1"]
    tasks.write({"worker": ["lead:1"]})
    names.set(lead=both, **{SERVICE: both})
    assert finish("worker", 0, "--service", SERVICE)[0] == 0


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (socket.gaierror(socket.EAI_NONAME, "no"), "unknown host name"),
        (socket.gaierror(socket.EAI_AGAIN, "again"), "no name server answers"),
        (UnicodeError("label empty or too long"), "no valid host name"),
    ],
)
def test_the_reason_is_told_in_plain_words(module, monkeypatch, error, words):
    network = module("network")

    def fail(*given, **named):
        raise error

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    assert network.unresolved("host:1") == words
    assert network.unreachable("host:1") == words


def test_a_peer_that_does_not_answer_is_left_after_its_time(module, monkeypatch):
    network = module("network")
    seen = []

    def connect(address, timeout):
        seen.append((address, timeout))
        raise socket.timeout("timed out")  # noqa: UP041 - its name before Python 3.10.

    monkeypatch.setattr(socket, "create_connection", connect)
    assert network.unreachable("[fd00::1]:2222") == "timed out"
    assert seen == [(("fd00::1", 2222), 2.0)]


def test_the_deadline_holds_while_no_name_server_answers(begin, tasks, names):
    tasks.write({"worker": [f"worker-{index}:1" for index in range(100)]})
    names.hang()
    began = time.monotonic()
    program = begin("worker", 0, deadline="0.5")
    assert program.end() == 69
    assert time.monotonic() - began < 2
    assert "99 of 99 peers: worker 1 at worker-1:1 (not asked yet)" in program.words


def test_the_deadline_holds_while_the_earlier_run_is_looked_for(module, wait, tasks, monkeypatch):
    monkeypatch.setattr(module("await_peers"), "LEAST_LOOK_UP_SECONDS", 0.1)
    tasks.write({"worker": ["lead:1"]})
    over = threading.Event()
    waiting, _ = wait(lambda host, count: over.wait(20), "worker", 0, service=SERVICE, deadline=0.3)
    began = time.monotonic()
    assert waiting.run() == 69
    assert time.monotonic() - began < 2
    over.set()


def test_without_a_deadline_it_waits_as_long_as_it_takes(begin, tasks, names):
    tasks.write({"worker": ["lead:1", "peer:1"]})
    names.set(lead=["127.0.1.1"], **{SERVICE: ["127.0.1.1", "10.0.0.7"]})
    program = begin("worker", 0, "--service", SERVICE, deadline="0")
    with pytest.raises(TimeoutError):
        end_soon(program)
    names.set(peer=["127.0.1.2"])
    with pytest.raises(TimeoutError):
        end_soon(program)
    names.set(**{SERVICE: ["127.0.1.1", "127.0.1.2"]})
    assert program.end() == 0
    assert "gave up" not in program.words


def test_without_a_deadline_each_peer_is_asked_again(wait, tasks):
    tasks.write({"chief": ["lead:1"], "worker": ["worker-0:1"]})
    waiting, asked = wait(
        lambda host, count: ["10.0.0.1"] if count > 20 else [], "worker", 0, deadline=0.0
    )
    assert waiting.run() == 0
    assert asked == ["lead"] * 21


def test_without_a_deadline_it_tells_of_its_progress(module, wait, tasks, monkeypatch, capsys):
    monkeypatch.setattr(module("await_peers"), "REPORT_SECONDS", 0.0)
    tasks.write({"chief": ["lead:1"], "worker": ["worker-0:1"]})
    waiting, _ = wait(
        lambda host, count: ["10.0.0.1"] if count > 2 else [], "worker", 0, deadline=0.0
    )
    assert waiting.run() == 0
    words = "waiting for 1 of 1 peers: chief 0 at lead:1 (unknown host name)"
    assert words in capsys.readouterr().out


def test_sigterm_ends_it_at_once(begin, tasks, names, until):
    tasks.write({"worker": [f"worker-{index}:1" for index in range(100)]})
    names.hang()
    program = begin("worker", 0)
    until(names.asked.exists)
    began = time.monotonic()
    program.send(signal.SIGTERM)
    assert program.end() == 143
    assert time.monotonic() - began < 2


@pytest.mark.parametrize("flags", [("--role", "ps", "--index", "0"), ("--role", "worker"), ()])
def test_flags_that_do_not_fit_are_refused(launch, tasks, flags):
    program = launch("await_peers.py", "--cluster-file", str(tasks.path), *flags)
    assert program.end() == 2
