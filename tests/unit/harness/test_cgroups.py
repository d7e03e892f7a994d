"""The node's cgroups on machines of either version, by trees made for the purpose.

These trees are stand-ins: plain folders, whose control files do not act.
"""

from pathlib import Path

import pytest

from trainyard.cluster.node.cgroups import Cgroups, hierarchies
from trainyard.errors import TrainyardError


def line(place: Path, kind: str) -> str:
    return f"30 20 0:28 / {place} rw,nosuid - {kind} cgroup rw\n"


def test_hybrid_machines_count_as_version_1(tmp_path):
    text = line(tmp_path / "cpu", "cgroup") + line(tmp_path / "unified", "cgroup2")
    first, second = hierarchies(text)
    assert first == [tmp_path / "cpu", tmp_path / "unified"]
    assert second is None


def test_version_2_alone_is_the_tree_to_use(tmp_path):
    assert hierarchies(line(tmp_path, "cgroup2")) == ([], tmp_path)


def test_a_machine_without_cgroups_is_told_what_to_do():
    with pytest.raises(TrainyardError, match="TRAINYARD_CLUSTER=kind"):
        Cgroups("x", "29 1 0:5 / /proc rw - proc proc rw\n")


def test_version_1_cpusets_are_filled_and_removed(tmp_path):
    for file, content in (("cpuset.cpus", "0-1\n"), ("cpuset.mems", "0\n")):
        (tmp_path / file).write_text(content)
    groups = Cgroups("x", line(tmp_path, "cgroup"))
    assert groups.create() == []
    assert (tmp_path / "x" / "cpuset.cpus").read_text() == "0-1\n"
    assert (tmp_path / "x" / "cpuset.mems").read_text() == "0\n"
    # The kernel removes the control files with their folder; these stand-ins need help.
    for file in ("cpuset.cpus", "cpuset.mems"):
        (tmp_path / "x" / file).unlink()
    (tmp_path / "x" / "pod" / "container").mkdir(parents=True)
    groups.remove([])
    assert not (tmp_path / "x").exists()


def test_version_2_controllers_are_handed_on_and_taken_back(tmp_path):
    def tree(folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        (folder / "cgroup.controllers").write_text("cpuset cpu io memory hugetlb pids\n")
        (folder / "cgroup.subtree_control").write_text("cpu memory\n")

    tree(tmp_path)
    tree(tmp_path / "x")
    groups = Cgroups("x", line(tmp_path, "cgroup2"))
    assert groups.version == 2
    assert groups.create() == ["cpuset", "io", "pids"]
    for file in ("cgroup.controllers", "cgroup.subtree_control"):
        (tmp_path / "x" / file).unlink()
    groups.remove(["pids"])
    assert (tmp_path / "cgroup.subtree_control").read_text() == "-pids"
    assert not (tmp_path / "x").exists()


def test_removing_what_is_not_there_is_no_error(tmp_path):
    Cgroups("x", line(tmp_path, "cgroup")).remove([])
