"""The deciding program runs as if alone, and its end for good leaves a marker."""

import json
import os
import signal
import sys
from pathlib import Path

import pytest

FILES = Path(__file__).resolve().parents[3] / "charts" / "tf-cluster" / "files"

SUBREAPER = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
os.execv(sys.executable, [sys.executable, "-u", *sys.argv[1:]])
"""
LISTENING = """
import signal, sys
awaited = (1, 2, 3, 10, 12, 15)
signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
print("ready", flush=True)
print("heard", int(signal.sigwait(awaited)), flush=True)
sys.exit(40)
"""
"""It blocks them, for Python's handlers miss a signal that comes just before a sleep begins."""
ORPHAN = """
import os, sys, time
reader, writer = os.pipe()
if os.fork() == 0:
    number = os.fork()
    if number == 0:
        os._exit(0)
    os.write(writer, str(number).encode())
    os._exit(0)
os.wait()
number = int(os.read(reader, 20))
deadline = time.monotonic() + 10
while os.path.exists(f"/proc/{number}") and time.monotonic() < deadline:
    time.sleep(0.01)
print("the orphan is", "left" if os.path.exists(f"/proc/{number}") else "gone")
"""


@pytest.fixture
def marker(markers):
    return markers.path()


@pytest.fixture
def begin(launch, marker):
    """`begin(*command, permanent=...)`: start a program that decides."""

    def run(*command, permanent=("--permanent", "2", "3")):
        return launch("mark_end.py", "--marker", str(marker), *permanent, "--", *command)

    return run


@pytest.fixture
def run(begin):
    """`run(*command)`: run a program that decides, to its end."""

    def run(*command, **named):
        program = begin(*command, **named)
        return program.end(), program.words

    return run


def python(program: str) -> tuple[str, ...]:
    return (sys.executable, "-c", program)


def ending(code: int) -> tuple[str, ...]:
    return python(f"raise SystemExit({code})")


def test_a_good_end_is_marked(run, marker):
    code, words = run(*ending(0))
    assert code == 0
    assert json.loads(marker.read_text()) == {"result": "Complete", "exit_code": 0}
    assert f"marked as Complete in {marker}" in words


def test_nothing_but_the_marker_is_left_and_all_users_may_read_it(run, marker):
    run(*ending(0))
    assert list(marker.parent.iterdir()) == [marker]
    assert marker.stat().st_mode & 0o777 == 0o644 & ~os.umask(os.umask(0))


@pytest.mark.parametrize("code", [2, 3])
def test_a_permanent_failure_is_marked(run, marker, code):
    seen, _ = run(*ending(code))
    assert seen == code
    assert json.loads(marker.read_text()) == {"result": "Failed", "exit_code": code}


def test_the_flag_may_be_repeated(run, marker):
    run(*ending(7), permanent=("--permanent", "2", "--permanent=7"))
    assert json.loads(marker.read_text())["result"] == "Failed"


@pytest.mark.parametrize("permanent", [("--permanent", "2"), ("--permanent",), ()])
def test_any_other_failure_is_not(run, marker, permanent):
    code, words = run(*ending(1), permanent=permanent)
    assert code == 1
    assert not marker.exists()
    assert "no marker, it may be started again" in words


def test_a_marker_of_an_earlier_run_is_gone_before_the_program_begins(run, markers, marker):
    markers.write("Failed", 2)
    markers.write("Complete", 0, index=1)
    look = f"import os; print(sorted(os.listdir({str(marker.parent)!r}))); raise SystemExit(1)"
    code, words = run(*python(look))
    assert code == 1
    assert "['my-chief-1']" in words
    assert list(marker.parent.iterdir()) == [markers.path(index=1)]


def test_a_marker_of_an_earlier_run_that_cannot_be_removed_is_said(run, marker):
    marker.mkdir(parents=True)
    code, words = run(*python("print('trained')"))
    assert code == 1
    assert "trained" not in words
    assert f"the marker {marker} cannot be written (" in words
    assert list(marker.parent.iterdir()) == [marker]


def test_an_older_marker_of_the_run_is_replaced(run, marker):
    run(*ending(2))
    run(*ending(0))
    assert json.loads(marker.read_text())["result"] == "Complete"


@pytest.mark.parametrize("permanent", [(), ("--permanent", "137")])
def test_a_killed_program_ends_as_a_shell_would_say(run, marker, permanent):
    program = python("import os; os.kill(os.getpid(), 9)")
    code, _ = run(*program, permanent=permanent)
    assert code == 137
    assert marker.exists() == bool(permanent)


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"])
def test_signals_reach_the_program(begin, name):
    number = signal.Signals[name]
    program = begin(*python(LISTENING))
    program.says("ready")
    program.send(number)
    assert program.end() == 40
    assert f"heard {int(number)}" in program.words


def test_a_program_that_ends_by_the_signal_is_told_so(begin, marker):
    program = begin(*python("import time; print('ready', flush=True); time.sleep(60)"))
    program.says("ready")
    program.send(signal.SIGTERM)
    assert program.end() == 143
    assert not marker.exists()


def test_a_program_that_was_asked_to_stop_has_not_come_to_its_end(begin, marker):
    stopping = (
        "signal.signal(15, lambda *_: sys.exit(0)); print('ready', flush=True); time.sleep(60)"
    )
    program = begin(*python(f"import signal, sys, time; {stopping}; time.sleep(60)"))
    program.says("ready")
    program.send(signal.SIGTERM)
    assert program.end() == 0
    assert not marker.exists()
    assert "was asked to stop" in program.words


def test_the_program_begins_with_no_signal_ignored_or_blocked(run):
    _, words = run("grep", "-E", "^Sig(Ign|Blk)", "/proc/self/status")
    masks = {line.split()[0]: int(line.split()[1], 16) for line in words.splitlines()[:2]}
    standard = 2**31 - 1
    assert {name: mask & standard for name, mask in masks.items()} == {"SigBlk:": 0, "SigIgn:": 0}


def test_orphans_are_taken_note_of_as_process_one_must(launch, marker, tmp_path):
    (tmp_path / "sub.py").write_text(SUBREAPER)
    program = launch(
        str(tmp_path / "sub.py"),
        *(str(FILES / "mark_end.py"), "--marker", str(marker), "--", *python(ORPHAN)),
    )
    assert program.end() == 0
    assert "the orphan is gone" in program.words


def test_the_command_is_passed_on_whole(run):
    _, words = run(*python("import sys; print(sys.argv[1:])"), "--", "--marker", "a b", "")
    assert "['--', '--marker', 'a b', '']" in words


def test_a_program_is_found_on_the_path(run):
    assert run("true")[0] == 0


def test_a_missing_program_is_said(run, marker):
    code, words = run("no-such-program")
    assert code == 127
    assert "no-such-program cannot be started" in words
    assert not marker.exists()


def test_a_program_that_is_none_is_said(run, tmp_path):
    (tmp_path / "data").write_text("no program")
    code, words = run(str(tmp_path / "data"))
    assert code == 126
    assert "cannot be started: Permission denied" in words


def test_no_command_is_refused(launch, marker):
    program = launch("mark_end.py", "--marker", str(marker))
    assert program.end() == 2
    assert "no command after --" in program.words


def test_where_no_marker_can_be_written_nothing_is_trained(run, marker):
    marker.parent.parent.write_text("no folder")
    code, words = run(*python("print('trained')"))
    assert code == 1
    assert "trained" not in words
    assert f"the marker {marker} cannot be written (Not a directory)" in words
    assert "must be mounted" in words


def test_a_marker_that_cannot_be_written_at_last_is_a_failure(run, marker):
    folder = str(marker.parent)
    code, words = run(*python(f"import os; os.rmdir({folder!r}); open({folder!r}, 'w')"))
    assert code == 1
    assert f"the marker {marker} cannot be written" in words
    assert "Traceback" not in words


def test_half_a_marker_is_never_seen(module, monkeypatch, marker):
    program = module("marker")

    def fail(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(program.os, "fsync", fail)
    with pytest.raises(OSError, match="No space"):
        program.write(marker, program.Mark("Complete", 0))
    assert list(marker.parent.iterdir()) == []


def test_the_others_understand_the_marker_of_the_first_task(launch, markers, job_file, tasks):
    tasks.write({"chief": [tasks.listening()]})
    files = ("--job-file", str(job_file), "--cluster-file", str(tasks.path))
    waiter = launch("await_job.py", markers.flag, *files, "--poll-seconds", "0.02")
    waiter.says("looking for the marker")
    for index, code in ((1, 2), (0, 0)):
        flags = (f"--marker={markers.folder}/my-chief-{index}", "--permanent", "2")
        assert launch("mark_end.py", *flags, "--", *ending(code)).end() == code
    assert waiter.end() == 0
    check = launch("check_cluster.py", markers.flag, *files)
    assert check.end() == 0
    assert "job my-chief is Complete" in check.words
