"""The program as a process: its exit codes, its last words, and how fast a signal ends it."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest
from tests.unit.samples.programs import PROMPT_SECONDS, SAMPLE

PREAMBLE = f"import sys; sys.dont_write_bytecode = True; sys.path.insert(0, {str(SAMPLE)!r})\n"


@contextmanager
def ready(code):
    """Give a process that runs some code, once it has said that it is ready."""
    process = subprocess.Popen(
        [sys.executable, "-c", PREAMBLE + code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def result(code):
    """Run some code to its end, and give its exit code and what it printed."""
    return outcome([sys.executable, "-c", PREAMBLE + code])


def outcome(argv, **options):
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False, **options)
    return done.returncode, done.stdout, done.stderr


def train(*flags, **environment):
    pytest.importorskip("numpy", reason="the sample program needs numpy")
    env = {key: value for key, value in os.environ.items() if key != "TF_CONFIG"}
    return outcome([sys.executable, "-B", SAMPLE / "train.py", *flags], env=env | environment)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_at_once_even_inside_a_call_that_never_returns(number):
    # A lock taken twice in C, which waits as TensorFlow does: no handler in Python would run.
    code = (
        "import ctypes, process\n"
        "process.end_on_signals()\n"
        "print('ready', flush=True)\n"
        "mutex = ctypes.create_string_buffer(64)\n"
        "for _ in range(2): ctypes.CDLL(None).pthread_mutex_lock(mutex)\n"
    )
    with ready(code) as process:
        time.sleep(0.2)  # into the lock
        process.send_signal(number)
        assert process.wait(timeout=PROMPT_SECONDS) == 128 + number


# TensorFlow does that: it puts a handler of its own, which ignores SIGTERM, in place of ours.
STUBBORN = (
    "import ctypes, process\n"
    "process.end_on_signals()\n"
    "ignore = ctypes.CDLL(None).getppid\n"
    "ctypes.CDLL(None).signal(15, ignore)\n"
    "print('ready', flush=True)\n"
    "import time; time.sleep(60)\n"
)


# Such a thread may be given the signal, for it does not block it: numpy starts some.
EARLY = (
    "import process, threading, time\n"
    "threading.Thread(target=time.sleep, args=[60], daemon=True).start()\n"
    "process.end_on_signals()\n"
    "print('ready', flush=True)\n"
    "time.sleep(60)\n"
)


@pytest.mark.parametrize(
    "code",
    [STUBBORN, EARLY],
    ids=["a handler that is put in place later", "a thread that was there before"],
)
def test_what_could_keep_a_signal_away_does_not_matter(code):
    with ready(code) as process:
        process.terminate()
        assert process.wait(timeout=PROMPT_SECONDS) == 143


ASKED = (
    "import process, sys, time\n"
    "def run(_):\n"
    "    asked = process.ask_first({grace})\n"
    "    print('ready', flush=True)\n"
    "    asked.wait()\n"
    "    print('asked', flush=True)\n"
    "    time.sleep({rest})\n"
    "process.end(run, [])\n"
)


@pytest.mark.parametrize(
    ("grace", "rest", "again", "expected"),
    [(60, 0, False, 0), (60, 60, True, 143), (1, 60, False, 143)],
    ids=["done in time", "a second signal", "out of time"],
)
def test_who_wants_to_be_asked_first_may_end_by_itself(grace, rest, again, expected):
    with ready(ASKED.format(grace=grace, rest=rest)) as process:
        process.terminate()
        assert process.stdout.readline() == "asked\n"
        if again:
            process.terminate()
        assert process.wait(timeout=PROMPT_SECONDS) == expected


def test_a_deadline_ends_what_never_returns():
    code, out, err = result(
        "import process, time\nwith process.deadline(0.2, 'they are silent'): time.sleep(60)\n"
    )
    assert (code, out, err) == (69, "", "gave up after 0.2 s: they are silent\n")


def test_a_deadline_ends_even_what_holds_all_threads_of_python():
    # As TensorFlow does while it joins mirrored workers: PyDLL keeps the interpreter's lock.
    code, _, err = result(
        "import ctypes, process\n"
        "process.BACKUP_SECONDS = 0.1\n"
        "lock, mutex = ctypes.PyDLL(None).pthread_mutex_lock, ctypes.create_string_buffer(64)\n"
        "lock(mutex)\n"
        "with process.deadline(1, 'they are silent'): lock(mutex)\n"
    )
    assert code == 1
    assert err.startswith("Timeout (0:00:01.1")


def test_a_deadline_met_is_forgotten():
    code, out, _ = result(
        "import process, time\n"
        "with process.deadline(0.5, 'late'): pass\n"
        "time.sleep(1); print('done')\n"
    )
    assert (code, out) == (0, "done\n")


@pytest.mark.parametrize(
    ("body", "code", "words"),
    [
        ("pass", 0, ""),
        ("raise errors.UsageError('wrong')", 2, "-c: wrong\n"),
        ("raise errors.NotReadyError('absent')", 69, "-c: absent\n"),
        ("raise errors.LostPeerError('gone')", 69, "-c: gone\n"),
        ("raise errors.TryAgainError('lost')", 75, "-c: lost\n"),
        ("raise errors.SampleError('bad')", 1, "-c: bad\n"),
        ("raise SystemExit(2)", 2, ""),
    ],
)
def test_an_end_has_its_code_and_one_line(body, code, words):
    program = f"import errors, process\ndef run(_):\n    {body}\nprocess.end(run, [])"
    assert result(program) == (code, "", words)


def test_what_nobody_foresaw_has_a_traceback():
    code, _, err = result("import process\nprocess.end(lambda _: 1 / 0, [])")
    assert code == 1
    assert "ZeroDivisionError" in err


def test_without_a_cluster_one_sentence_says_what_is_missing():
    code, out, err = train("--strategy=parameter-server")
    assert (code, out) == (2, "")
    assert err.startswith("train.py: TF_CONFIG is not set")
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--epochs", "0"], "'0' is not a whole number of at least 1"),
        (["--batch-size", "1.5"], "'1.5' is not a whole number of at least 1"),
        (["--learning-rate", "nan"], "'nan' is not a number"),
        (["--peer-timeout", "inf"], "'inf' is not a number of at least 0"),
        (["--dataset", "cifar"], "invalid choice: 'cifar'"),
        (["--model-name", "../x"], "'../x' is not a plain folder name"),
        (["--epoch", "3"], "unrecognized arguments"),
        (["--strategy", "horovod"], "invalid choice: 'horovod'"),
        (["--updates", "never"], "invalid choice: 'never'"),
        (["--collectives", "mpi"], "invalid choice: 'mpi'"),
    ],
)
def test_wrong_flags_are_named(flags, message):
    code, _, err = train(*flags)
    assert code == 2
    assert message in err


def test_every_flag_is_explained():
    code, out, _ = train("--help")
    assert code == 0
    flags = [
        *("dataset", "data-dir", "epochs", "batch-size", "learning-rate", "seed"),
        *("checkpoint-dir", "checkpoint-every", "log-dir", "log-every"),
        *("model-dir", "model-name", "peer-timeout"),
        *("strategy", "updates", "collectives", "follow-cluster"),
    ]
    for flag in flags:
        assert f"--{flag} " in out


def test_nothing_of_tensorflow_is_needed_to_see_that_flags_are_wrong():
    # The light half of the program must stay importable without TensorFlow, for these tests too.
    pytest.importorskip("numpy", reason="the sample program needs numpy")
    code, out, err = result(
        "import cluster, data, errors, export, lock, peers, predict, process, progress\n"
        "import rendezvous, train\n"
        "print({'tensorflow', 'keras'} & sys.modules.keys() or 'none')"
    )
    assert (code, out) == (0, "none\n"), err


def test_an_evaluator_needs_a_folder_to_watch():
    config = '{"cluster": {"evaluator": ["e:1"]}, "task": {"type": "evaluator", "index": 0}}'
    code, out, err = train(TF_CONFIG=config)
    assert (code, out) == (2, "")
    assert "an evaluator needs --checkpoint-dir" in err
