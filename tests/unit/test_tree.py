"""What may not be in the tree: paths of the machine, secrets, binaries, bulk."""

import subprocess
from pathlib import Path

import pytest

from trainyard import paths

LARGEST = 1024 * 1024
"""Bytes; whatever is larger wants another place than git."""


def tracked() -> list[Path]:
    done = subprocess.run(
        ["git", "ls-files", "-z"], cwd=paths.ROOT, capture_output=True, text=True, check=True
    )
    return [paths.ROOT / name for name in done.stdout.split("\0") if name]


@pytest.fixture(scope="module")
def contents() -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in tracked() if path.is_file()}


def test_no_file_names_a_path_of_this_machine(contents):
    places = {f"{place}/".encode() for place in (paths.ROOT, Path.home()) if place != Path("/")}
    named = [
        f"{path.relative_to(paths.ROOT)} names {place.decode()}"
        for path, content in contents.items()
        for place in {*places, b"/root" + b"/"}
        if place in content
    ]
    assert named == []


def test_no_lock_names_where_packages_came_from(contents):
    locks = [path for path in contents if path.suffix in {".lock", ".sum"}]
    assert len(locks) >= 8
    for path in locks:
        assert b"://" not in contents[path], path
        assert b"index-url" not in contents[path], path


def test_nothing_binary_and_nothing_large_is_in_git(contents):
    assert [p for p, content in contents.items() if b"\0" in content] == []
    assert [p for p, content in contents.items() if len(content) > LARGEST] == []


def test_no_private_key_is_in_git(contents):
    marker = b"-----BEGIN " + b"PRIVATE KEY"
    assert [p for p, content in contents.items() if marker in content] == []


def test_links_stay_in_the_tree():
    for path in tracked():
        if path.is_symlink():
            assert not path.readlink().is_absolute(), path
            assert path.resolve().is_relative_to(paths.ROOT), path
