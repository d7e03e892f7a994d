"""What the cluster already has: runs that go on or have ended, claims, servers that were scaled.

Only a cluster answers `lookup`. Here its answers are put into a copy of the chart instead; the
live tests ask a real one.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

NAMED = re.compile(r':= lookup "\S+" "(\w+)" \S+ (.+?) -}}')
LISTED = re.compile(r'\(lookup "\S+" "(\w+)" \S+ ""\)')
COMPLETE = {"type": "Complete", "status": "True", "reason": "r", "message": "m"}
FAILED = {"type": "Failed", "status": "True", "reason": "r", "message": "m"}
RUNNING = {"type": "Complete", "status": "False"}
RING = {"strategy": "multiWorkerMirrored"}
OWN = {"code": {"source": "image"}, "command": ["/train"]}


@pytest.fixture
def chart_that_knows(copy_of_chart: Path) -> Callable[..., Path]:
    """`chart_that_knows(*objects)`: the chart in a cluster that has these objects."""

    def write(*objects: Any) -> Path:
        known = {f"{each['kind']}/{each['metadata']['name']}": each for each in objects}
        answered = 0
        for file in copy_of_chart.parent.rglob("templates/*.tpl"):
            text, found = NAMED.subn(
                lambda match: (
                    f":= index (fromJson `{json.dumps(known)}`)"
                    f' (printf "{match[1]}/%s" {match[2]}) | default dict -}}}}'
                ),
                file.read_text(),
            )
            text, more = LISTED.subn(
                lambda match: (
                    "(fromJson `"
                    + json.dumps({"items": [each for each in objects if each["kind"] == match[1]]})
                    + "`)"
                ),
                text,
            )
            assert 'lookup "' not in text, file
            answered += found + more
            file.write_text(text)
        assert answered > 4
        return copy_of_chart

    return write


def names(objects: Any) -> dict[str, str]:
    found = {}
    for each in objects.of("Job"):
        metadata = each["metadata"]
        found[metadata["labels"]["app.kubernetes.io/component"]] = metadata["name"]
    return found


def with_condition(job: Any, *conditions: Any) -> Any:
    return {**job, "status": {"conditions": list(conditions)}}


# --- runs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("condition", [COMPLETE, FAILED], ids=["well", "badly"])
@pytest.mark.parametrize("plan", [{}, RING], ids=["chief", "ring"])
def test_a_run_that_has_ended_stays_so_when_workers_are_added(
    chart_that_knows, render, plan, condition
):
    """Its servers have ended, too: a new chief would wait for them in vain."""
    old = render(plan)
    ended = with_condition(old.job(old.lead()), {"type": "Suspended", "status": "False"}, condition)
    more = {**plan, "worker": {"replicas": 5}}
    assert names(render(more)) != names(old)
    scaled = render(more, chart=chart_that_knows(ended))
    assert names(scaled) == names(old)
    assert scaled.told()["job"] == old.told()["job"]


def test_a_run_that_goes_on_has_a_new_chief_when_workers_are_added(chart_that_knows, render):
    old = render()
    more: Any = {"worker": {"replicas": 5}}
    goes_on = chart_that_knows(with_condition(old.job("chief"), RUNNING))
    assert names(render(more, chart=goes_on)) == names(render(more)) != names(old)


def test_the_end_of_another_run_or_release_is_none_of_this_one(chart_that_knows, render):
    others = [
        render({"run": {"id": "before"}}).job("chief"),
        render(name="other").job("chief"),
        render().job("worker"),
    ]
    more: Any = {"worker": {"replicas": 5}}
    chart = chart_that_knows(*(with_condition(job, COMPLETE) for job in others))
    assert names(render(more, chart=chart)) == names(render(more))


def test_a_run_that_goes_on_is_not_ended_where_that_is_to_be_refused(
    chart_that_knows, render, refuse
):
    old = render()
    chart = chart_that_knows(with_condition(old.job("chief"), RUNNING))
    other: Any = {"run": {"onChange": "refuse", "id": "2"}}
    message = refuse(other, chart=chart)
    assert f"run.onChange: these values would end the run of Job {old.told()['job']}" in message
    assert "--set run.onChange=restart" in message
    assert render({"run": {"onChange": "refuse"}}, chart=chart).told() == old.told()
    assert render({"run": {"id": "2"}}, chart=chart)


def test_a_run_that_has_ended_may_be_followed_by_another(chart_that_knows, render):
    chart = chart_that_knows(with_condition(render().job("chief"), COMPLETE))
    assert render({"run": {"onChange": "refuse", "id": "2"}}, chart=chart)


# --- claims ---------------------------------------------------------------------------------------


def claim(name: str, release: str = "my", **spec: Any) -> Any:
    return {
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": f"my-tf-cluster-{name}",
            "annotations": {"meta.helm.sh/release-name": release} | spec.pop("annotations", {}),
        },
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "standard"} | spec,
    }


KEPT = {"helm.sh/resource-policy": "keep"}

LOSING = [
    {"volumes": {"checkpoints": {"enabled": False}}},
    {"volumes": {"checkpoints": {"existingClaim": "other"}}},
    {"volumes": {"checkpoints": {"nfs": {"server": "s", "path": "/d"}}}},
    {**OWN, "volumes": {"checkpoints": {"roles": []}}},
    {"mode": "session"},
]


@pytest.mark.parametrize("values", LOSING, ids=lambda it: json.dumps(it)[:60])
def test_a_claim_is_not_removed_by_an_upgrade_that_has_no_use_for_it(
    chart_that_knows, refuse, values
):
    message = refuse(values, chart=chart_that_knows(claim("checkpoints")))
    assert "volumes.checkpoints: these values would make Helm remove the claim" in message
    assert "my-tf-cluster-checkpoints" in message
    assert "volumes.checkpoints.keep=true" in message


@pytest.mark.parametrize("values", LOSING, ids=lambda it: json.dumps(it)[:60])
@pytest.mark.parametrize(
    "known",
    [
        claim("checkpoints", annotations=KEPT),
        claim("checkpoints", release="another"),
        claim("data"),
    ],
    ids=["is kept", "of another release", "none"],
)
def test_a_claim_that_stays_is_in_nobodys_way(chart_that_knows, render, values, known):
    assert render(values, chart=chart_that_knows(known)).tasks()


def test_a_claim_keeps_what_it_was_made_for(chart_that_knows, render, refuse):
    chart = chart_that_knows(claim("logs"))
    (made,) = [
        each
        for each in render(chart=chart).of("PersistentVolumeClaim")
        if each["metadata"]["name"] == "my-tf-cluster-logs"
    ]
    assert made["spec"]["accessModes"] == ["ReadWriteOnce"]
    for volume, what in (
        ({"accessModes": ["ReadWriteMany"]}, "accessModes: the claim my-tf-cluster-logs exists"),
        ({"storageClass": "fast"}, 'storageClass: the claim my-tf-cluster-logs exists with "stan'),
        ({"storageClass": "-"}, 'storageClass: the claim my-tf-cluster-logs exists with "standar'),
    ):
        message = refuse({"volumes": {"logs": volume}}, chart=chart)
        assert "1 thing to mend" in message
        assert f"volumes.logs.{what}" in message
        assert "existingClaim" in message
    for volume in ({"accessModes": ["ReadWriteOnce"]}, {"storageClass": "standard"}):
        assert render({"volumes": {"logs": volume}}, chart=chart)


def test_a_claim_without_a_class_may_go_on_without_one(chart_that_knows, render):
    chart = chart_that_knows(claim("logs", storageClassName=""))
    assert render({"volumes": {"logs": {"storageClass": "-"}}}, chart=chart)


def test_a_claim_of_one_node_cannot_be_shared_later(chart_that_knows, refuse):
    chart = chart_that_knows(claim("checkpoints"))
    message = refuse({"evaluator": {"replicas": 1}}, chart=chart)
    assert "volumes.checkpoints: 2 pods would mount the claim my-tf-cluster-checkpoints" in message
    assert "exists with ReadWriteOnce" in message


TEAM = {"existingClaim": "team"}
DATA = {"volumes": {"data": {"enabled": True, **TEAM}}}
CODE = {"code": {"source": "claim", "claim": {"name": "team"}}, "command": ["/train"]}
SHARING = [
    ({"evaluator": {"replicas": 1}, "volumes": {"checkpoints": TEAM}}, "volumes.checkpoints", 2),
    ({"evaluator": {"replicas": 1}, "volumes": {"logs": TEAM}}, "volumes.logs", 2),
    ({**RING, "volumes": {"models": TEAM}}, "volumes.models", 2),
    ({"waiter": {"method": "marker"}, "volumes": {"checkpoints": TEAM}}, "volumes.checkpoints", 4),
    (DATA, "volumes.data", 3),
    (CODE, "code.claim.name", 4),
]


def team(*modes: str, got: tuple[str, ...] = ()) -> Any:
    """The team's claim, with what it asks for and what the volume behind it can do."""
    made = claim("x", accessModes=list(modes))
    made["metadata"]["name"] = "team"
    return {**made, "status": {"accessModes": list(got)}} if got else made


@pytest.mark.parametrize("mode", ["ReadWriteOnce", "ReadWriteOncePod"])
@pytest.mark.parametrize("sharing", SHARING, ids=lambda it: f"{it[1]} {it[2]}")
def test_a_claim_of_one_node_is_not_given_to_several_pods(
    chart_that_knows, render, refuse, sharing, mode
):
    values, path, pods = sharing
    message = refuse(values, chart=chart_that_knows(team(mode)))
    assert "1 thing to mend" in message
    assert f"{path}: {pods} pods would mount the claim team, which exists with {mode}" in message
    assert ("pods of several nodes need ReadOnlyMany or" in message) is (values in (DATA, CODE))
    assert "name another claim" in message
    # Who cannot look does not know.
    assert render(values)


@pytest.mark.parametrize("sharing", SHARING, ids=lambda it: f"{it[1]} {it[2]}")
@pytest.mark.parametrize(
    "known",
    [
        team("ReadWriteOnce", "ReadWriteMany"),
        team("ReadWriteOnce", got=("ReadWriteOnce", "ReadWriteMany")),
        team("ReadOnlyMany"),
    ],
    ids=["asked for", "got besides", "read"],
)
def test_a_claim_of_several_nodes_is(chart_that_knows, render, refuse, sharing, known):
    values, path, pods = sharing
    chart = chart_that_knows(known)
    if known == team("ReadOnlyMany") and values not in (DATA, CODE):
        assert f"{path}: {pods} pods would" in refuse(values, chart=chart)
    else:
        assert render(values, chart=chart)


@pytest.mark.parametrize(
    "values",
    [
        {"volumes": {"checkpoints": TEAM, "models": TEAM}},
        {"volumes": {"data": {"enabled": True, "roles": ["chief"], **TEAM}}},
        {**CODE, "strategy": "mirrored"},
    ],
    ids=["of the chief", "data", "code"],
)
@pytest.mark.parametrize("mode", ["ReadWriteOnce", "ReadWriteOncePod"])
def test_one_pod_may_have_a_claim_of_any_mode(chart_that_knows, render, values, mode):
    assert render(values, chart=chart_that_knows(team(mode)))


# --- servers --------------------------------------------------------------------------------------


def test_servers_that_somebody_else_has_scaled_are_not_scaled_back(
    chart_that_knows, render, refuse
):
    session = {"mode": "session"}
    workers = render(session).workload("worker")
    workers["spec"]["replicas"] = 7
    workers["metadata"]["managedFields"] = [
        {"manager": "helm", "operation": "Apply", "fieldsV1": {"f:spec": {}}},
        {
            "manager": "kubectl",
            "operation": "Update",
            "subresource": "scale",
            "fieldsV1": {"f:spec": {"f:replicas": {}}},
        },
    ]
    chart = chart_that_knows(workers)
    assert "worker.replicas" in refuse(session, chart=chart)
    assert render({**session, "worker": {"replicas": 7}}, chart=chart)
