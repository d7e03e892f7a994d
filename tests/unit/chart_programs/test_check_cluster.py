"""`helm test` is content with a cluster that answers or has done its work, and with no other."""

import json
import socket
import sys
import time

import pytest


@pytest.fixture
def listening():
    """Addresses of two tasks that listen."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    yield [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
    for each in sockets:
        each.close()


@pytest.fixture
def silent():
    """Give an address at which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    return f"127.0.0.1:{port}"


@pytest.fixture
def check(finish, tmp_path):
    """`check(spec, *arguments)`: run the program for a cluster spec."""

    def run(spec, *arguments, timeout="1"):
        path = tmp_path / "cluster.json"
        path.write_text(json.dumps(spec))
        options = ("--job", "my-chief", "--cluster-file", str(path), "--timeout", timeout)
        return finish("check_cluster.py", *options, *arguments)

    return run


def judge(code: int) -> tuple[str, ...]:
    return ("--", sys.executable, "-c", f"print('judged'); raise SystemExit({code})")


def test_a_running_cluster_of_which_all_answer_is_well(server, check, listening):
    server.say("running")
    code, words = check({"chief": listening[:1], "ps": listening[1:]}, *judge(1))
    assert code == 0
    assert "all 2 addresses" in words
    assert "judged" not in words


def test_a_running_cluster_with_a_silent_task_is_not(server, check, listening, silent):
    server.say("running")
    code, words = check({"chief": listening, "worker": [silent]})
    assert code == 1
    assert f"1 of 3: {silent}" in words


def test_it_waits_for_a_task_that_comes_late(server, start, tmp_path, silent):
    server.say("running")
    (tmp_path / "cluster.json").write_text(json.dumps({"ps": [silent]}))
    spec = ("--cluster-file", str(tmp_path / "cluster.json"))
    process = start("check_cluster.py", "--job", "my-chief", *spec, "--timeout", "30")
    time.sleep(1.5)
    assert process.poll() is None
    host, port = silent.split(":")
    with socket.create_server((host, int(port))):
        assert process.wait(timeout=20) == 0


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
    assert f"HTTP {trouble}" in words


def test_trouble_in_passing_is_waited_out(server, check, listening):
    server.say(500, "running")
    assert check({"ps": listening}, timeout="30")[0] == 0
