"""What a render gives reads like prose, and asking for nothing is an error."""

import pytest

from trainyard import paths
from trainyard.errors import TrainyardError

CHART = paths.CHARTS / "tf-cluster"


def test_objects_are_found_by_kind_name_and_component(render_chart):
    rendered = render_chart(CHART, {"worker": {"replicas": 3}}, release="big")
    assert rendered.one("Job", component="worker")["spec"]["completions"] == 3
    assert rendered.one("Job", component="ps").template == "tf-cluster/templates/ps/workload.yaml"
    assert rendered.one("Service", "big-tf-cluster")["kind"] == "Service"
    assert len(rendered.all("Job")) == 3


def test_selecting_nothing_is_an_error_unless_it_was_asked(render_chart):
    rendered = render_chart(CHART)
    assert rendered.absent("Ingress")
    assert not rendered.absent("Job")
    with pytest.raises(
        TrainyardError, match=r"No Ingress .* was rendered: .*Job/my-tf-cluster-chief"
    ):
        rendered.all("Ingress")
    with pytest.raises(TrainyardError, match="3 objects are a Job"):
        rendered.one("Job")


def test_a_key_that_stands_twice_is_an_error(render_chart, tmp_path):
    (tmp_path / "templates").mkdir()
    (tmp_path / "Chart.yaml").write_text("{apiVersion: v2, name: twice, version: 1.0.0}")
    (tmp_path / "templates" / "map.yaml").write_text(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {}\ndata: {}\n"
    )
    with pytest.raises(TrainyardError, match=r"(?s)twice/templates/map\.yaml is no YAML.*data"):
        _ = render_chart(tmp_path).objects
