"""The program as a process: its exit codes, its last words, and how fast a signal ends it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SAMPLE = Path(__file__).parents[3] / "charts" / "tf-cluster" / "samples" / "mnist"
PREAMBLE = f"import sys; sys.dont_write_bytecode = True; sys.path.insert(0, {str(SAMPLE)!r})\n"


def python(code, **options):
    return subprocess.Popen(
        [sys.executable, "-c", PREAMBLE + code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def result(code):
    process = python(code)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def train(*flags, **environment):
    pytest.importorskip("numpy", reason="the sample program needs numpy")
    env = {key: value for key, value in os.environ.items() if key != "TF_CONFIG"}
    done = subprocess.run(
        [sys.executable, "-B", SAMPLE / "train.py", *flags],
        env=env | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_at_once_even_inside_a_call_that_never_returns(number):
    # A lock taken twice in C, which waits as TensorFlow does: no handler in Python would run.
    process = python(
        "import ctypes, process\n"
        "process.end_on_signals()\n"
        "print('ready', flush=True)\n"
        "mutex = ctypes.create_string_buffer(64)\n"
        "for _ in range(2): ctypes.CDLL(None).pthread_mutex_lock(mutex)\n"
    )
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.2)  # into the lock
        process.send_signal(number)
        assert process.wait(timeout=5) == 128 + number
    finally:
        process.kill()
        process.communicate()


def test_a_deadline_ends_what_never_returns():
    code, out, err = result(
        "import process, time\nwith process.deadline(0.2, 'they are silent'): time.sleep(60)\n"
    )
    assert (code, out, err) == (75, "", "gave up after 0.2 s: they are silent\n")


def test_a_deadline_met_is_forgotten():
    code, out, _ = result(
        "import process, time\n"
        "with process.deadline(0.2, 'late'): pass\n"
        "time.sleep(0.5); print('done')\n"
    )
    assert (code, out) == (0, "done\n")


@pytest.mark.parametrize(
    ("body", "code", "words"),
    [
        ("pass", 0, ""),
        ("raise errors.UsageError('wrong')", 2, "-c: wrong\n"),
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
    code, out, err = train()
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
    ]
    for flag in flags:
        assert f"--{flag} " in out


def test_nothing_of_tensorflow_is_needed_to_see_that_flags_are_wrong():
    # The light half of the program must stay importable without TensorFlow, for these tests too.
    pytest.importorskip("numpy", reason="the sample program needs numpy")
    code, out, err = result(
        "import cluster, data, errors, export, peers, predict, process, train\n"
        "print({'tensorflow', 'keras'} & sys.modules.keys() or 'none')"
    )
    assert (code, out) == (0, "none\n"), err
