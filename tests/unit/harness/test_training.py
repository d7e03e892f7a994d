"""Following a release: progress lines, ends of pods, and logs across restarts of the chief."""

from datetime import UTC, datetime

import pytest

from trainyard.errors import TrainyardError
from trainyard.training import Progress, Release, ended_at


def test_a_progress_line_is_read():
    line = "step=100 of=1400 loss=0.3456 accuracy=0.9012 examples_per_s=5123"
    assert Progress.read(line) == Progress(100, 1400, 0.3456, 0.9012, 5123.0)


@pytest.mark.parametrize("line", ["", "held_out accuracy=0.94 examples=500", "step=x of=1 loss=1"])
def test_other_lines_are_no_progress(line):
    assert Progress.read(line) is None


def terminated(moment: str) -> dict[str, object]:
    return {"state": {"terminated": {"finishedAt": moment}}}


def test_a_pod_ends_with_its_last_container():
    status = {
        "initContainerStatuses": [terminated("2026-01-01T00:00:09Z")],
        "containerStatuses": [terminated("2026-01-01T00:00:05Z")],
    }
    pod = {"metadata": {"name": "ps"}, "status": status}
    assert ended_at(pod) == datetime(2026, 1, 1, 0, 0, 9, tzinfo=UTC)


def test_a_pod_that_runs_has_no_end():
    with pytest.raises(TrainyardError, match="Pod ps has no container that ended"):
        ended_at({"metadata": {"name": "ps"}, "status": {"containerStatuses": [{"state": {}}]}})


class FakeKubectl:
    """A stand-in for kubectl: a chief whose first pod dies and whose second one succeeds."""

    def __init__(self) -> None:
        self.asked = 0

    def list(self, kind: str, *flags: str) -> list[dict[str, object]]:
        self.asked += 1
        late = self.asked > 4
        if kind == "jobs":
            labels = {"app.kubernetes.io/component": "chief"}
            ended = [{"type": "Complete", "status": "True"}] if late else []
            about = {"labels": labels, "creationTimestamp": "2026-01-01T00:00:00Z"}
            return [{"metadata": about, "status": {"conditions": ended}}]
        names = ["chief-a", "chief-b"] if late else ["chief-a"]
        return [
            {
                "metadata": {"name": name, "creationTimestamp": name},
                "status": {"phase": "Running"},
            }
            for name in names
        ]


def test_the_log_goes_on_with_the_pod_that_takes_the_chiefs_place(monkeypatch):
    release = Release(FakeKubectl(), "my")  # type: ignore[arg-type]
    monkeypatch.setattr(release, "_stream", lambda pod: iter([f"12:00 line of {pod}"]))
    monkeypatch.setattr(release, "_runs", lambda pod: False)
    assert list(release.follow()) == ["line of chief-a", "line of chief-b"]


def test_a_log_whose_stream_breaks_goes_on_without_a_line_twice(monkeypatch):
    release = Release(FakeKubectl(), "my")  # type: ignore[arg-type]
    asked: list[tuple[str, ...]] = []
    parts = [["12:00 a", "12:01 b"], ["12:01 b", "12:02 c"]]

    def stream(pod: str, *flags: str):
        asked.append(flags)
        return iter(parts[len(asked) - 1])

    monkeypatch.setattr(release, "_stream", stream)
    monkeypatch.setattr(release, "_runs", lambda pod: len(asked) < 2)
    assert list(release._lines("chief-a")) == ["a", "b", "c"]
    assert asked == [(), ("--since-time=12:01",)]
