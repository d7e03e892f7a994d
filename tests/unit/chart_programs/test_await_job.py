"""The waiter ends when the chief's Job has ended, with its result, and for nothing less."""

import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

FILES = Path(__file__).resolve().parents[3] / "charts" / "tf-cluster" / "files"
FAST = ("--job", "my-chief", "--poll-seconds", "0.02")


@pytest.fixture
def wait(finish):
    def run(*arguments, **environment):
        return finish("await_job.py", *FAST, *arguments, **environment)

    return run


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


def test_a_server_that_cannot_be_reached_is_waited_for(server, start):
    server.say("Complete")
    port = server.http.server_port
    server.http.shutdown()
    server.http.server_close()
    process = start("await_job.py", *FAST)
    time.sleep(1)
    assert process.poll() is None
    again = type(server.http)(("127.0.0.1", port), server.http.RequestHandlerClass)
    try:
        threading.Thread(target=again.serve_forever, daemon=True).start()
        assert process.wait(timeout=30) == 0
    finally:
        again.shutdown()
        again.server_close()


def test_a_job_that_stays_gone_was_removed(server, wait):
    server.say("running", 404)
    began = time.monotonic()
    code, words = wait("--gone-seconds", "0.5")
    assert code == 3
    assert "was removed" in words
    assert time.monotonic() - began >= 0.5


def test_being_gone_counts_anew_after_the_job_was_seen(server, start):
    server.say(*[404, "running"] * 400)
    process = start("await_job.py", *FAST, "--gone-seconds", "0.5")
    time.sleep(2)
    assert process.poll() is None


def test_a_job_that_stays_forbidden_is_given_up_with_the_way_out(server, wait):
    server.say(403)
    code, words = wait("--refused-seconds", "0.5")
    assert code == 3
    assert "rbac.create" in words


def test_the_token_is_read_anew_each_time(server, start, account):
    server.say(*["running"] * 1000)
    process = start("await_job.py", *FAST)
    deadline = time.monotonic() + 20
    while "Bearer secret-1" not in server.tokens and time.monotonic() < deadline:
        time.sleep(0.02)
    (account / "token").write_text("secret-2")
    while "Bearer secret-2" not in server.tokens and time.monotonic() < deadline:
        time.sleep(0.02)
    assert process.poll() is None
    assert {"Bearer secret-1", "Bearer secret-2"} <= set(server.tokens)


def test_a_missing_token_is_waited_for(server, start, account):
    server.say("Complete")
    (account / "token").unlink()
    process = start("await_job.py", *FAST)
    time.sleep(1)
    assert process.poll() is None
    (account / "token").write_text("late")
    assert process.wait(timeout=30) == 0


def test_a_proxy_of_the_image_is_not_asked(server, wait):
    server.say("Complete")
    assert wait(http_proxy="http://127.0.0.1:9", HTTP_PROXY="http://127.0.0.1:9")[0] == 0


def test_sigterm_ends_it_at_once(server, start):
    server.say("running")
    process = start("await_job.py", "--job", "my-chief", "--poll-seconds", "600")
    while not server.paths:
        time.sleep(0.02)
    time.sleep(0.2)
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=10) == 143
    assert time.monotonic() - began < 2


def test_sigterm_ends_it_at_once_while_an_answer_is_awaited(server, start):
    with socket.create_server(("127.0.0.1", 0)) as mute:
        url = f"http://127.0.0.1:{mute.getsockname()[1]}"
        process = start("await_job.py", *FAST, "--server", url)
        connection, _ = mute.accept()
        with connection:
            began = time.monotonic()
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=10) == 143
            assert time.monotonic() - began < 2


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
    program = "import await_job; print(await_job._cluster_server())"
    result = subprocess.run(
        [sys.executable, "-B", "-c", program],
        cwd=FILES,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.strip() == url
