"""Which programs are fitting, and what names a build."""

from pathlib import Path

import pytest

from trainyard import tools
from trainyard.errors import TrainyardError


@pytest.mark.parametrize(
    ("said", "pinned", "skew", "fitting"),
    [
        ("v4.3.9", "v4.3.1", 0, True),
        ("v4.2.3", "v4.3.1", 0, False),
        ("v3.19.0", "v4.3.1", 0, False),
        ("v1.35.1", "v1.36.3", 1, True),
        ("v1.32.4-dispatcher", "v1.36.3", 1, False),
        ('{"clientVersion": {"gitVersion": "v1.37.0"}}', "v1.36.3", 1, True),
        ('{"clientVersion": {"gitVersion": "v1.38.0"}}', "v1.36.3", 1, False),
        ("", "v1.36.3", 1, False),
        ("command not found", "v1.36.3", 1, False),
    ],
)
def test_a_program_on_path_is_used_only_when_its_version_fits(said, pinned, skew, fitting):
    assert tools.fits(said, pinned, skew) is fitting


def test_pins_are_read_from_go_mod():
    assert tools.KUBERNETES.version.startswith("v1.36.")
    assert tools.HELM.version.startswith("v4.3.")


def test_an_unknown_pin_is_an_error_that_names_the_file():
    with pytest.raises(
        TrainyardError, match=r"scripts/tools/helm/go\.mod requires no example\.org/x"
    ):
        tools.pinned_version("helm", "example.org/x")


def test_every_build_has_its_module_and_checksums():
    for build in (tools.HELM, tools.KUBECTL, tools.KIND, *tools.NODE_BUILDS):
        assert (build.folder / "go.mod").is_file()
        requires = "require" in (build.folder / "go.mod").read_text()
        assert (build.folder / "go.sum").is_file() is requires


def test_a_failed_build_leaves_nothing_that_looks_built(tmp_path, monkeypatch):
    module = tmp_path / "tools" / "broken"
    module.mkdir(parents=True)
    (module / "go.mod").write_text("module broken\n\ngo 1.26.0\n")
    (module / "main.go").write_text("package main\n\nfunc main() { undefined() }\n")
    monkeypatch.setattr(tools.paths, "TOOLS", tmp_path / "tools")
    monkeypatch.setenv("TRAINYARD_CACHE", str(tmp_path / "cache"))
    with pytest.raises(TrainyardError, match="undefined"):
        tools.build(tools.Build("broken", (".",), ("broken",)))
    assert not [p for p in Path(tmp_path / "cache" / "tools").iterdir() if p.name.startswith("bro")]


def test_a_second_build_compiles_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("TRAINYARD_CACHE", str(tmp_path))
    folder = tools.build(tools.PAUSE)
    program = folder / "pause"
    before = program.stat().st_mtime_ns
    assert tools.build(tools.PAUSE) == folder
    assert program.stat().st_mtime_ns == before


def test_a_changed_source_is_another_build(tmp_path, monkeypatch):
    module = tmp_path / "x"
    module.mkdir()
    (module / "go.mod").write_text("module x\n")
    (module / "main.go").write_text("package main\n")
    monkeypatch.setattr(tools.paths, "TOOLS", tmp_path)
    build = tools.Build("x", (".",), ("x",))
    first = tools._fingerprint(build)
    (module / "main.go").write_text("package main // changed\n")
    assert tools._fingerprint(build) != first
