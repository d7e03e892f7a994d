"""The init container that fetches a program, run as it is rendered with this machine's git."""

import os
import subprocess
from pathlib import Path

import pytest
from tests.repositories import git, with_commits

REPOSITORY = "https://git.example.org/team/train.git"


@pytest.fixture
def repository(tmp_path):
    """Give a repository with two commits, a tag on the first, and a branch."""
    folder = with_commits(tmp_path / "origin", "one", "two")
    git(folder, "branch", "old", "HEAD~1")
    return folder


@pytest.fixture
def fetch(render, tmp_path, repository):
    """Give a function that runs the container's command for a revision, and gives what it did."""

    def run(revision: str, origin: Path = repository) -> subprocess.CompletedProcess[str]:
        code = {"source": "git", "git": {"repository": REPOSITORY, "revision": revision}}
        container = render({"code": code, "command": ["/t"]}).pod("chief").container("fetch-code")
        folder = tmp_path / "code"
        folder.mkdir(exist_ok=True)
        shell, flags, script = container["command"]
        own = {each["name"]: each["value"] for each in container["env"]}
        own |= {"REPOSITORY": f"file://{origin}", "HOME": str(tmp_path)}
        own["GIT_CONFIG_VALUE_0"] = str(folder)
        return subprocess.run(
            [shell, flags, script.replace("/code", str(folder))],
            env={"PATH": os.environ["PATH"], **own},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.mark.parametrize(
    ("revision", "text"), [("", "two"), ("main", "two"), ("v1", "one"), ("old", "one")]
)
def test_branches_and_tags_are_fetched(fetch, tmp_path, revision, text):
    done = fetch(revision)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "code" / "train.py").read_text() == text
    assert "fetched " in done.stdout


@pytest.mark.parametrize("digits", [40, 7])
def test_commits_are_fetched_whole_or_short(fetch, tmp_path, repository, digits):
    done = fetch(git(repository, "rev-parse", "HEAD~1")[:digits])
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "code" / "train.py").read_text() == "one"


def test_what_an_interrupted_start_has_left_is_no_obstacle(fetch, tmp_path):
    assert fetch("main").returncode == 0
    (tmp_path / "code" / ".git" / "index.lock").write_text("")
    assert fetch("v1").returncode == 0
    assert (tmp_path / "code" / "train.py").read_text() == "one"


def test_a_revision_that_is_not_there_fails_and_is_named(fetch):
    done = fetch("nowhere")
    assert done.returncode != 0
    assert "nowhere" in done.stdout + done.stderr


def test_a_repository_that_is_not_there_fails_and_is_named(fetch, tmp_path):
    done = fetch("main", tmp_path / "absent")
    assert done.returncode != 0
    assert "absent" in done.stderr


def test_credentials_come_from_the_secret_by_variables_alone(render):
    code = {
        "source": "git",
        "git": {"repository": REPOSITORY, "credentialsSecret": "login"},
    }
    container = render({"code": code, "command": ["/t"]}).pod("ps").container("fetch-code")
    secrets = {
        each["name"]: each["valueFrom"]["secretKeyRef"]
        for each in container["env"]
        if "valueFrom" in each
    }
    assert secrets == {
        "GIT_USERNAME": {"name": "login", "key": "username"},
        "GIT_PASSWORD": {"name": "login", "key": "password"},
    }
