"""Watching a chart: what a save changes is shown, once, and errors come and go."""

import signal
import subprocess
import sys
import threading
import time

import pytest
from rich.console import Console

from trainyard import watching
from trainyard.render.case import Case
from trainyard.watching import Watch, follow

CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: "


def save(file, text: str) -> None:
    """Save as editors do: a new file, moved over the old one."""
    fresh = file.with_suffix(".swp")
    fresh.write_text(text)
    fresh.rename(file)


@pytest.fixture
def watched(process, write_chart):
    """A watch of a chart with one template, which is looked at once already."""
    chart = write_chart("chart", "v: b\n", a=f"{CONFIG}{{{{ .Values.v }}}}\n")
    watch = Watch(Case(chart), process)
    assert watch.look() == ["small: 1 objects."]
    return watch, chart


def test_without_a_save_there_is_nothing_to_show(watched):
    watch, chart = watched
    assert watch.look() == []
    (chart / "README.md").write_text("A file that changes no object.")
    assert watch.look() == []


@pytest.mark.parametrize(
    ("file", "text"),
    [("templates/a.yaml", f"{CONFIG}c\n"), ("values.yaml", "v: c\n")],
)
def test_a_save_shows_what_becomes_of_the_objects(watched, file, text):
    watch, chart = watched
    save(chart / file, text)
    assert '    data.a: "b" → "c"' in watch.look()
    assert watch.look() == []


def test_a_values_file_is_watched_too(process, write_chart, tmp_path):
    chart = write_chart("chart", "", a=f"{CONFIG}{{{{ .Values.v }}}}\n")
    values = tmp_path / "mine.yaml"
    values.write_text("v: b\n")
    watch = Watch(Case(chart, value_files=(values,)), process)
    watch.look()
    save(values, "v: c\n")
    assert '    data.a: "b" → "c"' in watch.look()


def test_a_library_behind_a_link_is_watched_too(process, write_chart, tmp_path):
    chart = write_chart("chart", "", a=f"{CONFIG}{{{{ include `l` . }}}}\n")
    library = tmp_path / "library"
    (library / "templates").mkdir(parents=True)
    (library / "Chart.yaml").write_text("apiVersion: v2\nname: library\nversion: 1.0.0\n")
    (library / "templates" / "_l.tpl").write_text("{{ define `l` }}b{{ end }}")
    (chart / "charts").mkdir()
    (chart / "charts" / "library").symlink_to(library)
    watch = Watch(Case(chart), process)
    watch.look()
    save(library / "templates" / "_l.tpl", "{{ define `l` }}c{{ end }}")
    assert '    data.a: "b" → "c"' in watch.look()


def test_an_error_is_shown_once_and_that_it_is_mended_too(watched):
    watch, chart = watched
    template = chart / "templates" / "a.yaml"
    save(template, "{{ fail `no` }}")
    lines = watch.look()
    assert lines[0] == "! The chart does not render:"
    assert "small/templates/a.yaml:1:3" in lines[1]
    save(template, "{{ fail `no` }}\n")
    assert watch.look() == []
    save(template, "{{ fail `no` }}{{ end }}")
    assert "unexpected {{end}}" in "".join(watch.look())
    save(template, f"{CONFIG}c\n")
    lines = watch.look()
    assert lines[0] == "+ The chart renders again."
    # The difference is the one from the last render that worked.
    assert '    data.a: "b" → "c"' in lines


def test_a_chart_that_is_broken_from_the_start_can_be_mended(process, write_chart):
    chart = write_chart("chart", "", a="{{ fail `no` }}")
    watch = Watch(Case(chart), process)
    assert watch.look()[0].startswith("!")
    save(chart / "templates" / "a.yaml", f"{CONFIG}c\n")
    assert watch.look() == ["+ The chart renders again.", "small: 1 objects."]


def test_what_is_saved_is_shown_soon(watched):
    watch, chart = watched
    shown, ended = threading.Event(), threading.Event()
    thread = threading.Thread(target=follow, args=(watch, lambda _: shown.set(), ended.is_set))
    thread.start()
    started = time.monotonic()
    save(chart / "values.yaml", "v: c\n")
    assert shown.wait(10)
    took = time.monotonic() - started
    ended.set()
    thread.join()
    # 0.3 s is the bar on a quiet machine; here others may be at work.
    assert took < 2


def test_colours_follow_the_signs(capsys):
    console = Console(force_terminal=True, color_system="standard")
    watching._show(console, ["+ A/a", "- B/b", "~ C/c", "        -old", "    a: 1"])
    said = capsys.readouterr().out
    assert "\x1b[32m+ A/a" in said
    assert "\x1b[31m- B/b" in said
    assert "\x1b[33m~ C/c" in said
    assert "\x1b[31m        -old" in said
    assert "\n    a: 1" in said


def test_ctrl_c_ends_it_cleanly(write_chart):
    chart = write_chart("chart", "", a=f"{CONFIG}b\n")
    # Tests that run in the background of a shell are started with ctrl-C switched off.
    program = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "import sys; from pathlib import Path; from rich.console import Console\n"
        "from trainyard.render.case import Case; from trainyard.watching import watch\n"
        "watch(Case(Path(sys.argv[1])), Console()); print('ended')"
    )
    running = subprocess.Popen(
        [sys.executable, "-c", program, str(chart)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stdout is not None
    lines = [running.stdout.readline(), running.stdout.readline()]
    assert "1 objects" in "".join(lines)
    running.send_signal(signal.SIGINT)
    out, errors = running.communicate(timeout=30)
    assert (out, errors, running.returncode) == ("ended\n", "", 0)
