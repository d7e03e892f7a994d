"""Missing system packages: told, or installed."""

import pytest

from trainyard import system
from trainyard.errors import TrainyardError
from trainyard.system import Need

MISSING = Need("example-package", "no-such-program-here")


def test_what_is_there_asks_for_nothing():
    system.ensure([Need("coreutils", "ls")])


def test_without_root_one_message_lists_all_with_the_command(monkeypatch):
    monkeypatch.setattr(system.os, "geteuid", lambda: 1000)
    other = Need("another-package", files=())
    with pytest.raises(TrainyardError) as caught:
        system.ensure([MISSING, other, Need("coreutils", "ls")])
    assert "another-package, example-package" in caught.value.message
    assert "sudo apt-get install" in caught.value.remedy
    assert "coreutils" not in str(caught.value)


def test_as_root_on_debian_the_packages_are_installed(monkeypatch):
    installed: list[list[str]] = []
    monkeypatch.setattr(system.os, "geteuid", lambda: 0)
    monkeypatch.setattr(system, "which", lambda name: "/x" if name == "apt-get" else None)
    monkeypatch.setattr(system, "_install", installed.append)
    system.ensure([MISSING])
    assert installed == [["example-package"]]
