"""The waiter ends when the deciding Job has ended, with its result, and for nothing less."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

FILES = Path(__file__).resolve().parents[3] / "charts" / "tf-cluster" / "files"
FAST = ("--poll-seconds", "0.02")
RESULTS = [("Complete", 0, 0), ("Failed", 2, 3)]
"""How the training ended, with which exit code, and the waiter's own."""


@pytest.fixture
def begin(start, job_file):
    def run(*arguments, **environment):
        return start("await_job.py", "--job-file", str(job_file), *FAST, *arguments, **environment)

    return run


@pytest.fixture
def wait(begin):
    def run(*arguments, **environment):
        program = begin(*arguments, **environment)
        return program.end(), program.words

    return run


class Clock:
    """A clock that goes when a test says so."""

    def __init__(self):
        self.now = 100.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clocked(module, monkeypatch):
    """Give the program as a module, and its clock."""
    program, clock = module("await_job"), Clock()
    monkeypatch.setattr(program, "time", clock)
    return program, clock


def test_it_ends_well_when_the_job_is_complete(server, wait):
    server.say("running", "running", "Complete")
    code, words = wait()
    assert code == 0
    assert "job my-chief is Complete (Because: of this)" in words
    assert len(server.paths) == 3


def test_it_ends_with_three_when_the_job_is_failed(server, wait):
    server.say("running", "Failed")
    code, words = wait()
    assert code == 3
    assert "job my-chief is Failed (Because: of this)" in words


def test_it_asks_for_the_one_job_in_its_own_namespace(server, wait):
    server.say("Complete")
    wait()
    assert server.paths == ["/apis/batch/v1/namespaces/lab/jobs/my-chief"]
    assert server.tokens == ["Bearer secret-1"]


def test_a_job_that_is_about_to_fail_has_not_failed_yet(server, wait):
    server.say("failing", "{}", '{"status": {"conditions": null}}', "Complete")
    assert wait()[0] == 0
    assert len(server.paths) == 4


@pytest.mark.parametrize("trouble", [500, 503, 429, 404, 403, 401, "no JSON", "[]"])
def test_trouble_in_passing_is_waited_out(server, wait, trouble):
    server.say(trouble, trouble, trouble, "Complete")
    code, words = wait()
    assert code == 0
    assert words.count("cannot read job my-chief") == 1
    assert "can be read again" in words


def test_a_server_that_cannot_be_reached_is_waited_for(server, begin):
    server.say("Complete")
    port = server.http.server_port
    server.http.shutdown()
    server.http.server_close()
    program = begin()
    program.says("cannot read job my-chief, trying again")
    assert program.runs()
    again = type(server.http)(("127.0.0.1", port), server.http.RequestHandlerClass)
    try:
        threading.Thread(target=again.serve_forever, args=(0.05,), daemon=True).start()
        assert program.end() == 0
    finally:
        again.shutdown()
        again.server_close()


def test_a_server_that_breaks_off_is_asked_again(server, begin):
    server.say("Complete")
    with socket.create_server(("127.0.0.1", 0)) as broken:
        program = begin("--server", f"http://127.0.0.1:{broken.getsockname()[1]}")
        for _ in range(2):
            connection, _ = broken.accept()
            connection.recv(4096)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
            connection.close()
        program.says("IncompleteRead")
        assert program.runs()


def test_a_job_that_stays_gone_was_removed(server, wait):
    server.say("running", 404)
    began = time.monotonic()
    code, words = wait("--gone-seconds", "0.3")
    assert code == 3
    assert "was removed" in words
    assert time.monotonic() - began >= 0.3


def test_being_gone_counts_anew_after_the_job_was_seen(server, begin, until):
    server.say(*[404, "running"] * 400)
    program = begin("--gone-seconds", "0.3")
    until(lambda: server.paths)
    began = time.monotonic()
    until(lambda: time.monotonic() - began > 0.6 and len(server.paths) >= 10)
    assert program.runs()


def test_a_job_that_stays_forbidden_is_given_up_with_the_way_out(server, wait):
    server.say(403)
    code, words = wait("--refused-seconds", "0.3")
    assert code == 3
    assert "rbac.create" in words


@pytest.mark.parametrize("trouble", [404, 403])
def test_the_job_of_a_new_run_is_found_by_its_name(server, begin, job_file, trouble):
    server.say(trouble)
    program = begin()
    program.says("cannot read job my-chief")
    job_file.write_text("my-chief-2")
    program.says("waiting for job my-chief-2, no longer for my-chief")
    server.say("Complete")
    assert program.end() == 0
    assert server.paths[-1].endswith("/jobs/my-chief-2")
    assert "job my-chief-2 is Complete" in program.words


@pytest.mark.parametrize("trouble", [404, 403])
def test_patience_begins_anew_with_a_new_name(server, account, clocked, job_file, trouble):
    program, clock = clocked
    server.say(trouble)
    watch = program.JobWatch(program.Jobs(server.url, str(account)), job_file, 10, 10)
    for number in range(4):
        job_file.write_text(f"run-{number}")
        assert watch.ask() is None
        clock.now += 9
    assert watch.ask() is None
    clock.now += 1
    assert watch.ask().code == 3


# --- an API server that gives no answer -----------------------------------------------------------


@pytest.fixture
def deaf(server, account, clocked, job_file, tasks):
    """`deaf.ask()`: ask once; it bears 5 s of 404 and 403, and 10 s of no answer and silence."""
    program, clock = clocked

    def ask(silence=10, absence=program.network.unreachable):
        listener = program.Listener(tasks.path, lambda it: it.deciding, silence, absence)
        jobs = program.Jobs(server.url, str(account))
        return program.JobWatch(jobs, job_file, 5, 5, listener)

    it = ask()
    return SimpleNamespace(ask=it.ask, clock=clock, another=ask, program=program)


@pytest.mark.parametrize("trouble", [500, 503, "no JSON"])
def test_nobody_is_waited_for_who_neither_answers_nor_trains(server, deaf, tasks, trouble):
    address = tasks.silent()
    tasks.write({"chief": [address], "worker": [tasks.listening()], "ps": [tasks.listening()]})
    server.say(trouble)
    assert deaf.ask() is None
    deaf.clock.now += 9
    assert deaf.ask() is None
    deaf.clock.now += 1
    end = deaf.ask()
    assert (end.code, end.told) == (3, False)
    assert "job my-chief cannot be read (" in end.words
    assert f"the deciding task {address} has accepted no connection for 10 s" in end.words
    assert "networkPolicy.egress.apiServerPorts" in end.words


def test_training_outlives_an_api_server_that_is_away_for_hours(server, deaf, tasks):
    address = tasks.listening()
    tasks.write({"chief": [address]})
    server.say(503)
    for _ in range(20):
        assert deaf.ask() is None
        deaf.clock.now += 3600
    assert deaf.ask() is None
    tasks.end(address)
    deaf.clock.now += 9
    assert deaf.ask() is None
    deaf.clock.now += 1
    assert deaf.ask().code == 3


@pytest.mark.parametrize("answer", ["running", 404, 403])
def test_a_silent_task_has_its_whole_time_after_an_answer(server, deaf, tasks, answer):
    tasks.write({"chief": [tasks.silent()]})
    server.say(*[503, answer] * 5, 503)
    for _ in range(5):
        assert deaf.ask() is None
        deaf.clock.now += 9
        assert deaf.ask() is None
    assert deaf.ask() is None
    deaf.clock.now += 10
    assert deaf.ask().code == 3


def test_an_api_server_that_answers_is_believed_whoever_is_silent(server, deaf, tasks):
    tasks.write({"chief": [tasks.silent()]})
    server.say("running")
    for _ in range(3):
        assert deaf.ask() is None
        deaf.clock.now += 3600
    server.say("Complete")
    assert deaf.ask().code == 0


def has_its_own_time(watch, renew):
    """Whatever `renew` makes new, four times, is borne for 10 s of silence from then on."""
    for number in range(4):
        renew(number)
        assert watch.ask() is None
        watch.clock.now += 9
    assert watch.ask() is None
    watch.clock.now += 1
    assert watch.ask().code == 3


def test_a_silent_task_of_a_new_run_has_its_own_time(server, deaf, tasks, job_file):
    tasks.write({"chief": [tasks.silent()]})
    server.say(503)
    has_its_own_time(deaf, lambda number: job_file.write_text(f"run-{number}"))


def test_any_of_the_workers_that_decide_together_will_do(server, deaf, tasks):
    address = tasks.listening()
    tasks.write({"worker": [tasks.silent(), tasks.silent(), address], "ps": [tasks.listening()]})
    server.say(503)
    for _ in range(3):
        assert deaf.ask() is None
        deaf.clock.now += 9
    tasks.end(address)
    assert deaf.ask() is None
    deaf.clock.now += 10
    end = deaf.ask()
    assert end.code == 3
    assert "the 3 deciding tasks have accepted no connection for 10 s" in end.words


def test_no_patience_ends_that_was_to_last_for_ever(server, deaf, tasks):
    tasks.write({"chief": [tasks.silent()]})
    server.say(503)
    watch = deaf.another(silence=0)
    for _ in range(3):
        assert watch.ask() is None
        deaf.clock.now += 1e6


def test_a_task_without_a_port_lives_as_long_as_its_name(server, deaf, tasks):
    tasks.write({"chief": [tasks.silent()]})
    server.say(503)
    watch = deaf.another(absence=deaf.program.network.unresolved)
    for _ in range(3):
        assert watch.ask() is None
        deaf.clock.now += 9
    tasks.write({"chief": ["chief.invalid:2222"]})
    assert watch.ask() is None
    deaf.clock.now += 10
    end = watch.ask()
    assert end.code == 3
    words = "the deciding task chief.invalid:2222 has had no address for 10 s"
    assert words in end.words


def test_who_has_heard_enough_asks_nobody_else(module):
    network, asked = module("network"), []

    def ask(number):
        asked.append(number)
        time.sleep(0.02)
        return number

    pool = network.crew(1)
    answers = network.ask(pool, ask, range(100), 30)
    assert next(answers) == (0, 0)
    answers.close()
    pool.shutdown()
    assert len(asked) < 100


def test_an_api_server_out_of_reach_ends_with_the_training(server, begin, tasks):
    address = tasks.listening()
    tasks.write({"chief": [address]})
    with socket.create_server(("127.0.0.1", 0)) as taken:
        nowhere = f"http://127.0.0.1:{taken.getsockname()[1]}"
    silence = ("--cluster-file", str(tasks.path), "--silence-seconds", "0.3")
    program = begin("--server", nowhere, "--after-end", "stay", *silence)
    hear(tasks, address)
    assert program.runs()
    tasks.end(address)
    assert program.end() == 3
    assert f"the deciding task {address} has accepted no connection for 0.3 s" in program.words
    assert "Connection refused" in program.words


def test_a_task_without_a_port_is_looked_for_by_name(begin, tasks, names):
    names.set(chief=["127.0.0.1"])
    tasks.write({"chief": ["chief:1"]})
    with socket.create_server(("127.0.0.1", 0)) as taken:
        nowhere = f"http://127.0.0.1:{taken.getsockname()[1]}"
    flags = ("--cluster-file", str(tasks.path), "--silence-seconds", "0.3", "--no-ports")
    program = begin("--server", nowhere, *flags, **names.environment)
    program.says("cannot read job my-chief")
    time.sleep(0.6)
    assert program.runs()
    names.set(chief=[])
    assert program.end() == 3
    assert "has had no address for 0.3 s" in program.words


def test_a_missing_job_file_is_waited_for_and_said(server, begin, job_file):
    server.say("Complete")
    job_file.unlink()
    program = begin()
    program.says(f"cannot read the job, trying again: {job_file} cannot be read")
    job_file.write_text("late")
    assert program.end() == 0


def test_a_job_file_that_stays_empty_is_given_up(server, wait, job_file):
    job_file.write_text("\n")
    code, words = wait("--gone-seconds", "0.2")
    assert code == 3
    assert f"the job is not named in {job_file}" in words


def test_the_token_is_read_anew_each_time(server, begin, account, until):
    server.say(*["running"] * 1000)
    program = begin()
    until(lambda: "Bearer secret-1" in server.tokens)
    (account / "token").write_text("secret-2")
    until(lambda: "Bearer secret-2" in server.tokens)
    assert program.runs()


def test_a_missing_token_is_waited_for(server, begin, account):
    server.say("Complete")
    (account / "token").unlink()
    program = begin()
    program.says("cannot read job my-chief")
    assert program.runs()
    (account / "token").write_text("late")
    assert program.end() == 0


def test_a_proxy_of_the_image_is_not_asked(server, wait):
    server.say("Complete")
    assert wait(http_proxy="http://127.0.0.1:9", HTTP_PROXY="http://127.0.0.1:9")[0] == 0


def test_sigterm_ends_it_at_once(server, begin, until):
    server.say("running")
    program = begin("--poll-seconds", "600")
    until(lambda: server.paths)
    began = time.monotonic()
    program.send(signal.SIGTERM)
    assert program.end() == 143
    assert time.monotonic() - began < 2


def test_sigterm_ends_it_at_once_while_an_answer_is_awaited(begin):
    with socket.create_server(("127.0.0.1", 0)) as mute:
        program = begin("--server", f"http://127.0.0.1:{mute.getsockname()[1]}")
        connection, _ = mute.accept()
        with connection:
            began = time.monotonic()
            program.send(signal.SIGTERM)
            assert program.end() == 143
            assert time.monotonic() - began < 2


@pytest.mark.parametrize("result", ["Complete", "Failed"])
def test_it_stays_after_the_end_if_so_wished(server, begin, result):
    server.say(result)
    program = begin("--after-end", "stay")
    program.says(f"job my-chief is {result}")
    program.says("staying until the pod is deleted")
    assert program.runs()
    program.send(signal.SIGTERM)
    assert program.end() == 143


def test_it_does_not_stay_for_a_job_that_was_removed(server, wait):
    server.say(404)
    assert wait("--after-end", "stay", "--gone-seconds", "0.1")[0] == 3


@pytest.mark.parametrize(
    ("poll", "count", "seconds"),
    [(2.0, 3, 2.0), (2.0, 100, 2.0), (2.0, 1000, 20.0), (30, 1000, 30)],
)
def test_a_large_cluster_asks_less_often(module, tasks, poll, count, seconds):
    tasks.write({"worker": [f"worker-{index}:2222" for index in range(count)]})
    assert module("await_job").interval(poll, tasks.path) == seconds


def test_without_a_cluster_file_the_interval_is_as_given(module, tmp_path):
    assert module("await_job").interval(2.0, None) == 2.0
    assert module("await_job").interval(2.0, tmp_path / "absent") == 2.0


def test_the_interval_follows_the_cluster_file(server, begin, tasks):
    server.say("running")
    tasks.write({"worker": [f"worker-{index}:2222" for index in range(5000)]})
    program = begin("--cluster-file", str(tasks.path))
    program.says("waiting for job")
    deadline = time.monotonic() + 0.5
    while time.monotonic() < deadline:
        assert len(server.paths) <= 1
        time.sleep(0.02)
    assert program.runs()


def test_the_pause_is_never_the_same(module, monkeypatch):
    program = module("await_job")
    pauses: list[float] = []
    monkeypatch.setattr(program.time, "sleep", pauses.append)
    ends = iter([*[None] * 50, program.End(0, "over")])
    assert program.wait(lambda: next(ends), lambda: 2.0, stay=False) == 0
    assert len(set(pauses)) > 40
    assert all(2.0 <= pause <= 3.0 for pause in pauses)


def test_the_help_tells_of_large_clusters(launch):
    program = launch("await_job.py", "--help", COLUMNS="200")
    assert program.end() == 0
    assert "1,000" in program.words


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--job", "a"),
        ("--job-file", "a", "--marker", "b", "--cluster-file", "c"),
        ("--job-file", "a", "--marker-folder", "b"),
        ("--marker-folder", "b", "--cluster-file", "c"),
    ],
)
def test_flags_that_do_not_fit_are_refused(launch, arguments):
    program = launch("await_job.py", *arguments)
    assert program.end() == 2
    assert "usage" in program.words


@pytest.mark.parametrize(
    ("host", "port", "url"),
    [
        ("10.0.0.1", "443", "https://10.0.0.1:443"),
        ("fd00::1", "6443", "https://[fd00::1]:6443"),
        (None, None, "https://kubernetes.default.svc:443"),
    ],
)
def test_the_api_server_is_found_as_the_kubelet_says(host, port, url):
    names = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
    environment = {name: value for name, value in names.items() if value}
    program = "import job_reader; print(job_reader._cluster_server())"
    result = subprocess.run(
        [sys.executable, "-B", "-c", program],
        cwd=FILES,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.strip() == url


@pytest.fixture
def look(launch, markers, job_file, tasks):
    """`look(*arguments)`: wait for the marker, and no API server far and wide."""

    def run(*arguments, **environment):
        files = ("--job-file", str(job_file), "--cluster-file", str(tasks.path))
        return launch("await_job.py", markers.flag, *files, *FAST, *arguments, **environment)

    return run


def hear(tasks, address, rounds=3):
    """Wait until a waiter has looked for the marker, and then at the deciding task, so often."""
    tasks.sockets[address].settimeout(20)
    for _ in range(rounds):
        tasks.sockets[address].accept()[0].close()


@pytest.mark.parametrize(("result", "ended"), [("Complete", 0), ("Failed", 2)])
def test_the_marker_ends_it(look, tasks, markers, result, ended):
    tasks.write({"chief": [tasks.listening()]})
    program = look()
    program.says("waiting for job my-chief\n")
    program.says(f"looking for the marker {markers.path()}")
    assert program.runs()
    markers.write(result, ended)
    assert program.end() == (0 if result == "Complete" else 3)
    words = f"job my-chief is {result} (exit code {ended}, says {markers.path()})"
    assert words in program.words


@pytest.mark.parametrize("other", [("my-chief-0", 0), ("my-chief-2", 0), ("my-chief", 1)])
def test_a_marker_of_another_job_or_task_is_none(look, tasks, markers, other):
    tasks.write({"chief": [tasks.silent()]})
    markers.write("Complete", 0, *other)
    assert look("--silence-seconds", "0.3").end() == 3


@pytest.mark.parametrize("old", [("Complete", 0), ("Failed", 2)])
@pytest.mark.parametrize("new", RESULTS)
def test_a_marker_of_an_earlier_run_is_not_believed(look, tasks, markers, old, new):
    result, ended, code = new
    markers.write(*old)
    address = tasks.listening()
    tasks.write({"chief": [address]})
    program = look()
    hear(tasks, address)
    assert program.runs()
    markers.write(result, ended)
    assert program.end() == code
    assert f"job my-chief is {result} (exit code {ended}, says" in program.words


def test_half_a_marker_of_an_earlier_run_troubles_nobody(look, tasks, markers):
    markers.folder.mkdir(parents=True)
    markers.path().write_text("half")
    address = tasks.listening()
    tasks.write({"chief": [address]})
    program = look()
    hear(tasks, address)
    assert program.runs()
    markers.write("Complete", 0)
    assert program.end() == 0
    assert "cannot read" not in program.words


def test_the_end_of_a_run_is_told_from_that_of_an_earlier_one(
    launch, look, tasks, markers, tmp_path
):
    markers.write("Failed", 2)
    address = tasks.listening()
    tasks.write({"chief": [address]})
    waiter = look()
    hear(tasks, address)
    over = tmp_path / "over"
    os.mkfifo(over)
    training = ("-c", f"print('begun', flush=True); open({str(over)!r}).read()")
    marker = f"--marker={markers.path()}"
    deciding = launch("mark_end.py", marker, "--", sys.executable, *training)
    deciding.says("begun")
    hear(tasks, address)
    assert waiter.runs()
    over.write_text("over")
    assert deciding.end() == 0
    assert waiter.end() == 0
    assert "job my-chief is Complete" in waiter.words


@pytest.mark.parametrize("end", RESULTS)
def test_who_comes_after_the_end_believes_the_marker_when_nobody_answers(look, tasks, markers, end):
    result, ended, code = end
    markers.write(result, ended)
    tasks.write({"chief": [tasks.silent()]})
    program = look("--silence-seconds", "0.3")
    assert program.end() == code
    words = f"job my-chief is {result} (exit code {ended}, says {markers.path()})"
    assert f"{words}, and nobody answers" in program.words


def test_an_old_marker_that_is_cleared_while_it_is_read_is_not_believed(
    module, monkeypatch, markers
):
    markers.write("Failed", 2)
    folder = module("marker").Markers(markers.folder)
    folder.disregard("my-chief")
    real = Path.open

    def clear_too(path, *given, **named):
        file = real(path, *given, **named)
        path.unlink()
        return file

    monkeypatch.setattr(Path, "open", clear_too)
    assert folder.outcome("my-chief") == ("", "")
    assert not markers.path().exists()


@pytest.mark.parametrize("result", ["Complete", "Failed"])
def test_the_marker_of_a_new_name_is_found(look, tasks, markers, job_file, result):
    tasks.write({"chief": [tasks.listening()]})
    program = look()
    program.says(f"looking for the marker {markers.path()}")
    job_file.write_text("my-chief-2")
    program.says("waiting for job my-chief-2, no longer for my-chief")
    program.says(f"looking for the marker {markers.path('my-chief-2')}")
    markers.write("Failed", 2)
    assert program.runs()
    markers.write(result, 2, "my-chief-2")
    assert program.end() == (0 if result == "Complete" else 3)
    assert f"job my-chief-2 is {result}" in program.words


@pytest.mark.parametrize(
    "half",
    ["", '{"result": "Comp', "[]", "7", '{"result": "Complete"}', '{"result":"x","exit_code":0}'],
)
def test_half_a_marker_is_read_again(look, tasks, markers, half):
    tasks.write({"worker": [tasks.listening()]})
    markers.folder.mkdir(parents=True)
    program = look()
    program.says("looking for the marker")
    markers.path().write_text(half)
    program.says("cannot read job my-chief, trying again: the marker")
    assert program.runs()
    markers.write("Complete", 0)
    assert program.end() == 0


def test_a_marker_that_is_no_text_is_read_again(look, tasks, markers):
    tasks.write({"worker": [tasks.listening()]})
    markers.path().mkdir(parents=True)
    program = look()
    program.says("cannot be read")
    markers.path().rmdir()
    markers.write("Complete", 0)
    assert program.end() == 0


def test_the_folders_are_listed_for_a_client_that_remembers_absence(module, monkeypatch, markers):
    listed: list[Path] = []
    real = Path.iterdir

    def look(path):
        listed.append(path)
        return real(path)

    monkeypatch.setattr(Path, "iterdir", look)
    program, folder = module("marker"), markers.folder
    assert program.read(markers.path()) is None
    assert listed == [folder, folder.parent, folder.parent.parent]
    markers.write("Failed", 2)
    assert program.read(markers.path()) == program.Mark("Failed", 2)
    assert listed[3:] == [folder]
    program.Markers(folder).disregard("my-chief")
    assert listed[4:] == [folder]


@pytest.mark.parametrize("role", ["chief", "worker"])
def test_a_deciding_task_that_stays_silent_has_failed_for_good(look, tasks, markers, role):
    silent = tasks.silent()
    tasks.write({role: [silent, tasks.listening()], "ps": [tasks.listening()]})
    program = look("--silence-seconds", "0.3")
    assert program.end() == 3
    assert f"the deciding task {silent} has accepted no connection for 0.3 s" in program.words
    assert f"no marker {markers.path()}" in program.words


def test_half_a_marker_does_not_keep_a_silent_task_waited_for(look, tasks, markers):
    tasks.write({"chief": [tasks.silent()]})
    markers.folder.mkdir(parents=True)
    markers.path().write_text("half")
    program = look("--silence-seconds", "0.3")
    assert program.end() == 3
    assert "has accepted no connection for 0.3 s" in program.words
    assert "Traceback" not in program.words


def test_a_deciding_task_that_answers_is_waited_for(look, tasks):
    address = tasks.listening()
    tasks.sockets[address].settimeout(10)
    tasks.write({"chief": [address], "worker": [tasks.silent()]})
    program = look("--silence-seconds", "0.3")
    began = time.monotonic()
    while time.monotonic() - began < 0.7:
        tasks.sockets[address].accept()[0].close()
    assert program.runs()
    tasks.end(address)
    assert program.end() == 3


@pytest.fixture
def watch(clocked, markers, job_file, tasks):
    """`watch.ask()`: look once; it bears 5 s without a name and 10 s of silence."""
    program, clock = clocked
    folder = program.Markers(markers.folder)
    listener = program.Listener(tasks.path, lambda cluster: cluster.deciding[:1], 10)
    it = program.MarkerWatch(folder, job_file, 5, listener)
    return SimpleNamespace(ask=it.ask, clock=clock)


def test_a_new_deciding_task_has_its_own_time(watch, tasks):
    has_its_own_time(watch, lambda _: tasks.write({"chief": [tasks.silent()]}))


def test_a_new_name_has_its_own_time(watch, tasks, job_file):
    tasks.write({"chief": [tasks.silent()]})
    has_its_own_time(watch, lambda number: job_file.write_text(f"run-{number}"))


def test_an_old_marker_is_believed_when_the_silence_is_over_and_not_before(watch, tasks, markers):
    markers.write("Complete", 0)
    tasks.write({"chief": [tasks.silent()]})
    assert watch.ask() is None
    watch.clock.now += 9
    assert watch.ask() is None
    watch.clock.now += 1
    end = watch.ask()
    assert (end.code, end.told) == (0, True)


def test_an_old_marker_of_a_new_name_is_not_believed_either(watch, tasks, markers, job_file):
    markers.write("Failed", 2, "run-2")
    tasks.write({"chief": [tasks.listening()]})
    assert watch.ask() is None
    job_file.write_text("run-2")
    for _ in range(2):
        assert watch.ask() is None
        watch.clock.now += 100
    markers.write("Complete", 0, "run-2")
    assert watch.ask().code == 0


def test_a_marker_is_believed_that_came_while_the_name_was_gone(watch, tasks, markers, job_file):
    tasks.write({"chief": [tasks.listening()]})
    assert watch.ask() is None
    job_file.unlink()
    assert watch.ask() is None
    markers.write("Complete", 0)
    job_file.write_text("my-chief")
    assert watch.ask().code == 0


@pytest.mark.parametrize("name", [None, "\n"])
def test_a_name_that_is_gone_for_a_while_is_waited_for(watch, tasks, markers, job_file, name):
    tasks.write({"chief": [tasks.listening()]})
    markers.write("Complete", 0)
    for _ in range(3):
        job_file.unlink() if name is None else job_file.write_text(name)
        assert watch.ask() is None
        watch.clock.now += 4
        assert watch.ask() is None
        job_file.write_text("run-2")
        assert watch.ask() is None
        watch.clock.now += 4
    job_file.write_text("my-chief")
    assert watch.ask() is None
    markers.write("Complete", 0)
    assert watch.ask().code == 0


@pytest.mark.parametrize("name", [None, "\n"])
def test_a_name_that_stays_away_is_given_up_whoever_answers(look, tasks, job_file, name):
    tasks.write({"chief": [tasks.listening()]})
    job_file.unlink() if name is None else job_file.write_text(name)
    program = look("--gone-seconds", "0.2", "--after-end", "stay")
    assert program.end() == 3
    assert f"cannot read the job, trying again: {job_file}" in program.words
    assert f"the job is not named in {job_file} after 0.2 s" in program.words


@pytest.mark.parametrize("spec", [{}, {"ps": ["a:1"]}, [], {"chief": ["no-port"]}])
def test_a_cluster_that_names_no_deciding_task_is_given_up_too(look, tasks, spec):
    tasks.write(spec)
    program = look("--silence-seconds", "0.2")
    assert program.end() == 3
    assert "the deciding task has accepted no connection" in program.words


def test_it_stays_after_the_marker_if_so_wished(look, tasks, markers):
    tasks.write({"chief": [tasks.silent()]})
    program = look("--after-end", "stay")
    program.says("looking for the marker")
    markers.write("Failed", 2)
    program.says("staying")
    program.send(signal.SIGTERM)
    assert program.end() == 143


def test_who_comes_after_the_end_stays_too_if_so_wished(look, tasks, markers):
    tasks.write({"chief": [tasks.silent()]})
    markers.write("Failed", 2)
    program = look("--after-end", "stay", "--silence-seconds", "0.2")
    program.says("staying")
    program.send(signal.SIGTERM)
    assert program.end() == 143


def test_sigterm_ends_it_while_a_name_is_looked_up(look, tasks, names, until):
    tasks.write({"chief": ["slow:2222"]})
    names.hang()
    program = look(**names.environment)
    until(names.asked.exists)
    began = time.monotonic()
    program.send(signal.SIGTERM)
    assert program.end() == 143
    assert time.monotonic() - began < 2
