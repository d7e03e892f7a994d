"""One writer at a time, and what the loss of a peer means for the next start."""

import errno
import fcntl

import pytest
from tests.unit.samples.clock import Clock


def take(sample, folder, timeout, flock):
    clock = Clock()
    take = sample("lock").take
    take(str(folder), timeout, flock=flock, clock=clock, sleep=clock.sleep)
    return clock.now - Clock.START


@pytest.fixture
def earlier(sample, tmp_path):
    """Hold the lock as an earlier run would."""
    with (tmp_path / sample("lock").LOCK_FILE).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file


def test_a_new_folder_is_made_and_taken(sample, tmp_path):
    folder = tmp_path / "new" / "folder"
    sample("lock").take(str(folder), 0)
    with (folder / ".lock").open() as file, pytest.raises(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_no_folder_needs_no_lock(sample):
    sample("lock").take("", 0)


def test_an_earlier_run_is_waited_for_and_told_of_once(sample, tmp_path, earlier, capsys):
    def flock(descriptor, operation):
        calls.append(operation)
        if len(calls) == 5:
            fcntl.flock(earlier, fcntl.LOCK_UN)
        fcntl.flock(descriptor, operation)

    calls = []
    assert take(sample, tmp_path, 60, flock) == 4 * sample("lock").POLL_SECONDS
    assert capsys.readouterr().out == f"waiting for the earlier run to release {tmp_path}\n"


def test_an_earlier_run_that_stays_is_given_up_on(sample, tmp_path, earlier):
    with pytest.raises(sample("errors").NotReadyError) as caught:
        take(sample, tmp_path, 30, fcntl.flock)
    assert caught.value.exit_code == 69
    assert f"has not released {tmp_path} in 30 s" in str(caught.value)


@pytest.mark.parametrize("number", [errno.ENOTSUP, errno.ENOLCK])
def test_a_file_system_without_locks_is_warned_of(sample, tmp_path, capsys, number):
    def flock(descriptor, operation):
        raise OSError(number, "not here")

    take(sample, tmp_path, 0, flock)
    assert "warning" in capsys.readouterr().out


def test_any_other_failure_is_one(sample, tmp_path):
    def flock(descriptor, operation):
        raise OSError(errno.EIO, "broken")

    with pytest.raises(OSError, match="broken"):
        take(sample, tmp_path, 0, flock)


@pytest.mark.parametrize(
    ("start", "saved", "code", "words"),
    [
        (0, 100, 75, "resumes from checkpoint step 100"),
        (100, 200, 75, "resumes from checkpoint step 200"),
        (100, 100, 69, "resumes from the same checkpoint"),
        (0, 0, 69, "begins anew"),
    ],
)
def test_only_progress_makes_a_loss_worth_a_free_retry(sample, start, saved, code, words):
    progress = sample("progress").Progress()
    progress.begin(start)
    progress.saved = saved
    error = progress.after_loss("lost a worker")
    assert error.exit_code == code
    assert str(error).startswith("lost a worker")
    assert words in str(error)
