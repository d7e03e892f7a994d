"""`helm test` is content with a cluster that answers or has done its work, and with no other."""

import signal
import socket
import sys
import time

import pytest


@pytest.fixture
def begin(start, tasks, job_file):
    """`begin(spec, *arguments)`: start the program for a cluster spec that a Job decides."""

    def run(spec, *arguments, timeout="0.3"):
        tasks.write(spec)
        options = ("--cluster-file", str(tasks.path), "--timeout", timeout)
        return start("check_cluster.py", "--job-file", str(job_file), *options, *arguments)

    return run


@pytest.fixture
def check(begin):
    """`check(spec, *arguments)`: run the program to its end."""

    def run(spec, *arguments, timeout="0.3"):
        program = begin(spec, *arguments, timeout=timeout)
        return program.end(), program.words

    return run


@pytest.fixture
def check_servers(launch, tasks):
    """`check_servers(spec, *arguments)`: run the program for a cluster that no Job decides."""

    def run(spec, *arguments, timeout="0.3"):
        tasks.write(spec)
        options = ("--cluster-file", str(tasks.path), "--timeout", timeout)
        program = launch("check_cluster.py", *options, *arguments)
        return program.end(), program.words

    return run


@pytest.fixture
def check_by_marker(check, markers, tmp_path, server):
    """`check_by_marker(spec, *arguments)`: run it where no API server may be asked."""

    def run(spec, *arguments):
        (tmp_path / "token").unlink()
        outcome = check(spec, f"--account={tmp_path / 'none'}", markers.flag, *arguments)
        assert not server.paths
        return outcome

    return run


@pytest.fixture
def listening(tasks):
    """Addresses of two tasks that listen."""
    return [tasks.listening(), tasks.listening()]


@pytest.fixture
def silent(tasks):
    """Give an address at which nothing listens."""
    return tasks.silent()


def judge(code: int) -> tuple[str, ...]:
    return ("--", sys.executable, "-c", f"print('judged'); raise SystemExit({code})")


def test_a_running_cluster_of_which_all_answer_is_well(server, check, listening):
    server.say("running")
    code, words = check({"chief": listening[:1], "ps": listening[1:]}, *judge(1))
    assert code == 0
    assert "job my-chief is running, and all 2 addresses of the cluster answer" in words
    assert "judged" not in words


def test_workers_alone_are_a_cluster_too(server, check, listening):
    server.say("running")
    assert check({"worker": listening})[0] == 0


def test_a_running_cluster_with_a_silent_task_is_not(server, check, listening, silent):
    server.say("running")
    code, words = check({"chief": listening, "worker": [silent]})
    assert code == 1
    assert f"silent after 0.3 s: 1 of 3: {silent}" in words


def test_it_waits_for_a_task_that_comes_late(server, begin, tasks, silent, until):
    server.say("running")
    program = begin({"ps": [silent]}, timeout="30")
    until(lambda: server.paths)
    tasks.listen(silent)
    assert program.end() == 0


def test_it_follows_a_cluster_file_that_changes(server, begin, tasks, silent, until):
    server.say("running")
    program = begin({"ps": [silent]}, timeout="30")
    until(lambda: server.paths)
    tasks.write({"ps": [tasks.listening()]})
    assert program.end() == 0
    assert "all 1 addresses" in program.words


def test_it_follows_a_job_file_that_changes(server, begin, job_file, silent, until):
    server.say(404)
    program = begin({"ps": [silent]}, timeout="30")
    until(lambda: server.paths)
    server.say("Complete")
    job_file.write_text("my-chief-2")
    assert program.end() == 0


def test_a_complete_cluster_is_well_without_a_judge(server, check, silent):
    server.say("Complete")
    assert check({"ps": [silent]})[0] == 0


@pytest.mark.parametrize("code", [0, 1, 7])
def test_the_judge_of_a_complete_cluster_decides(server, check, silent, code):
    server.say("Complete")
    seen, words = check({"ps": [silent]}, *judge(code))
    assert seen == code
    assert "judged" in words


def test_a_cluster_that_completes_in_the_meantime_is_judged(server, check, silent):
    server.say("running", "Complete")
    code, words = check({"ps": [silent]}, *judge(0), timeout="30")
    assert code == 0
    assert "judged" in words


def test_a_failed_cluster_is_not_well_and_no_one_judges_it(server, check, listening):
    server.say("Failed")
    code, words = check({"ps": listening}, *judge(0))
    assert code == 1
    assert "Because: of this" in words
    assert "kubectl logs job/my-chief" in words
    assert "judged" not in words


@pytest.mark.parametrize("trouble", [403, 404, 500])
def test_a_job_that_cannot_be_read_is_not_well(server, check, listening, trouble):
    server.say(trouble)
    code, words = check({"ps": listening})
    assert code == 1
    assert f"job my-chief cannot be read: HTTP {trouble}" in words


def test_trouble_in_passing_is_waited_out(server, check, listening):
    server.say(500, "running")
    assert check({"ps": listening}, timeout="30")[0] == 0


def test_a_job_file_that_names_nobody_is_not_well(server, check, job_file, listening):
    job_file.write_text("")
    code, words = check({"ps": listening})
    assert code == 1
    assert f"the job cannot be read: {job_file} is empty" in words
    assert not server.paths


def test_without_a_marker_all_must_answer(check_by_marker, listening):
    code, words = check_by_marker({"chief": listening[:1], "ps": listening[1:]}, *judge(1))
    assert code == 0
    assert "job my-chief is running, and all 2 addresses of the cluster answer" in words
    assert "judged" not in words


def test_without_a_marker_a_silent_task_is_not_well(check_by_marker, markers, listening, silent):
    markers.write("Complete", 0, "my-chief-0")
    markers.write("Complete", 0, index=1)
    code, words = check_by_marker({"chief": listening, "worker": [silent]}, *judge(0))
    assert code == 1
    assert f"silent after 0.3 s: 1 of 3: {silent}" in words
    assert "judged" not in words


@pytest.mark.parametrize("code", [0, 7])
def test_the_judge_of_a_cluster_that_is_marked_complete_decides(
    check_by_marker, markers, silent, code
):
    markers.write("Complete", 0)
    seen, words = check_by_marker({"chief": [silent]}, *judge(code))
    assert seen == code
    assert "job my-chief is Complete" in words
    assert "judged" in words


def test_a_cluster_that_is_marked_failed_is_not_well(check_by_marker, markers, listening):
    markers.write("Failed", 2)
    code, words = check_by_marker({"chief": listening}, *judge(0))
    assert code == 1
    assert f"job my-chief is Failed (exit code 2, says {markers.path()})" in words
    assert "kubectl logs job/my-chief" in words
    assert "judged" not in words


def test_a_marker_that_cannot_be_read_is_not_well(check_by_marker, markers, listening):
    markers.folder.mkdir(parents=True)
    markers.path().write_text("half")
    code, words = check_by_marker({"chief": listening})
    assert code == 1
    assert f"job my-chief cannot be read: the marker {markers.path()} is not whole" in words


def test_a_marker_needs_the_name_of_a_job(launch):
    program = launch("check_cluster.py", "--cluster-file", "a", "--marker-folder", "b")
    assert program.end() == 2
    assert "--marker-folder needs --job-file" in program.words


def test_a_running_task_that_opens_no_port_is_well(server, check, silent):
    server.say("running")
    code, words = check({"worker": [silent]}, "--no-ports", *judge(1))
    assert code == 0
    assert "job my-chief has not failed; its only task opens no port" in words
    assert "judged" not in words


def test_without_a_marker_a_task_that_opens_no_port_is_well(check_by_marker, silent):
    code, words = check_by_marker({"worker": [silent]}, "--no-ports")
    assert code == 0
    assert "job my-chief has not failed" in words


@pytest.mark.parametrize("code", [0, 7])
def test_the_judge_decides_of_a_task_that_opens_no_port_too(server, check, silent, code):
    server.say("Complete")
    seen, words = check({"worker": [silent]}, "--no-ports", *judge(code))
    assert seen == code
    assert "job my-chief is Complete" in words
    assert "judged" in words


def test_a_failed_task_that_opens_no_port_is_not_well(server, check, silent):
    server.say("Failed")
    code, words = check({"worker": [silent]}, "--no-ports", *judge(0))
    assert code == 1
    assert "job my-chief is Failed (Because: of this)" in words
    assert "judged" not in words


@pytest.mark.parametrize("trouble", [403, 404, 500])
def test_a_task_that_opens_no_port_needs_a_job_that_can_be_read(server, check, silent, trouble):
    server.say(trouble)
    code, words = check({"worker": [silent]}, "--no-ports")
    assert code == 1
    assert f"job my-chief cannot be read: HTTP {trouble}" in words


def test_the_job_of_a_task_that_opens_no_port_is_waited_for(server, check, silent):
    server.say(404, "running")
    assert check({"worker": [silent]}, "--no-ports", timeout="30")[0] == 0


def test_a_task_that_opens_no_port_needs_the_name_of_a_job(launch):
    program = launch("check_cluster.py", "--cluster-file", "a", "--no-ports")
    assert program.end() == 2
    assert "--no-ports needs --job-file" in program.words


def test_servers_that_no_job_decides_must_all_answer(check_servers, listening):
    code, words = check_servers({"worker": listening[:1], "ps": listening[1:]}, *judge(1))
    assert code == 0
    assert "all 2 addresses of the cluster answer" in words
    assert "job" not in words
    assert "judged" not in words


def test_a_silent_server_that_no_job_decides_is_not_well(check_servers, listening, silent):
    code, words = check_servers({"worker": [*listening, silent]})
    assert code == 1
    assert f"1 of 3: {silent}" in words


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({}, "names no address"),
        ([], "must hold an object"),
        ({"ps": ["nowhere"]}, "it must be host:port"),
        ({"ps": ["host:0"]}, "it must be host:port"),
        ({"ps": [7]}, "it must be host:port"),
    ],
)
def test_a_cluster_file_that_names_nobody_is_not_well(check_servers, spec, words):
    code, said = check_servers(spec)
    assert code == 1
    assert words in said
    assert "Traceback" not in said


def test_an_address_in_brackets_is_understood(check_servers, tasks):
    try:
        tasks.sockets["six"] = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("this machine has no IPv6")
    port = tasks.sockets["six"].getsockname()[1]
    assert check_servers({"ps": [f"[::1]:{port}"]})[0] == 0


def test_sigterm_ends_it_while_connections_are_tried(launch, tasks, names, until):
    tasks.write({"ps": [f"slow-{index}:2222" for index in range(500)]})
    names.hang()
    program = launch("check_cluster.py", "--cluster-file", str(tasks.path), **names.environment)
    until(names.asked.exists)
    began = time.monotonic()
    program.send(signal.SIGTERM)
    assert program.end() == 143
    assert time.monotonic() - began < 2
