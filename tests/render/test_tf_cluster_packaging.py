"""The chart installs from a checkout and from a package; no new version changes a pod."""

import os
import tarfile
from pathlib import Path

import pytest
import yaml

from trainyard.charts import Chart, cases

CHART = Path(__file__).resolve().parents[2] / "charts" / "tf-cluster"
CASES = sorted((CHART / "ci").glob("*-values.yaml"))


def test_the_library_chart_is_a_relative_link_into_the_checkout():
    link = CHART / "charts" / "common"
    assert link.is_symlink()
    assert not os.path.isabs(os.readlink(link))  # noqa: PTH117, PTH115
    assert link.resolve() == CHART.parent / "common"


def test_a_package_holds_the_library_and_makes_the_same_objects(tmp_path, helm, template):
    result = helm("package", str(CHART), "--destination", str(tmp_path))
    assert result.returncode == 0, result.stderr
    (package,) = tmp_path.glob("*.tgz")
    with tarfile.open(package) as archive:
        files = archive.getnames()
    assert "tf-cluster/charts/common/Chart.yaml" in files
    assert "tf-cluster/charts/common/templates/_names.tpl" in files
    assert "tf-cluster/samples/mnist/train.py" in files
    assert not [name for name in files if "/ci/" in name or "__pycache__" in name]
    assert template(None, chart=package).stdout == template(None).stdout


def test_the_checkout_needs_no_dependency_build(helm, template):
    assert template(None).returncode == 0
    listed = helm("dependency", "list", str(CHART)).stdout
    assert "unpacked" in listed
    assert "missing" not in listed


def test_two_renders_are_equal(helm):
    first = helm("template", "my", str(CHART), "--set", "worker.replicas=3")
    second = helm("template", "my", str(CHART), "--set", "worker.replicas=3")
    assert first.stdout == second.stdout


def test_a_number_of_the_command_line_is_the_same_number(template):
    """Helm reads 2 as an integer from --set and as a float from values.yaml."""
    refused = template(None, "--set", "runPolicy.exitCodes.retryable={2}")
    assert "runPolicy.exitCodes: 2 cannot be both" in refused.stderr


def test_a_new_version_changes_labels_of_objects_and_no_pod_and_no_selector(copy_of_chart, render):
    old = render()
    about = copy_of_chart / "Chart.yaml"
    meta = yaml.safe_load(about.read_text())
    meta |= {"version": "0.2.0+build.7", "appVersion": "9.9.9"}
    about.write_text(yaml.safe_dump(meta))
    new = render(chart=copy_of_chart)
    label = "app.kubernetes.io/version"
    assert {each["metadata"]["labels"].get(label) for each in new if each["kind"] != "Pod"} == {
        "9.9.9"
    }
    for one, other in zip(old, new, strict=True):
        if one["kind"] != "Pod":
            one["metadata"].pop("labels")
            other["metadata"].pop("labels")
        assert one == other


@pytest.mark.parametrize(
    "version", ["0.1.0+digest.1", "1.2.3-" + "a" * 80, "0.1.0-a" + "-" * 60 + "b"]
)
def test_any_version_makes_valid_labels(copy_of_chart, render, version):
    about = copy_of_chart / "Chart.yaml"
    meta = yaml.safe_load(about.read_text()) | {"version": version, "appVersion": version}
    about.write_text(yaml.safe_dump(meta))
    seen = 0
    for each in render(chart=copy_of_chart):
        for value in each["metadata"]["labels"].values():
            assert len(value) <= 63
            assert value == "" or (value[0].isalnum() and value[-1].isalnum()), value
            assert all(char.isalnum() or char in "-_." for char in value), value
            seen += 1
    assert seen > 50


@pytest.mark.parametrize(
    ("version", "fits"),
    [("1.29.0", True), ("1.29.1-gke.100", True), ("v1.34.6-eks-abc", True), ("1.28.9", False)],
)
def test_kubernetes_versions(version, fits, helm):
    result = helm("template", "my", str(CHART), "--kube-version", version)
    assert (result.returncode == 0) is fits
    if not fits:
        assert "1.29.0" in result.stderr


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.name)
def test_every_case_says_what_a_person_wants(path):
    first = path.read_text().splitlines()[0]
    assert first.startswith("# ")
    assert first.endswith((".", "?")) or ":" in first


@pytest.fixture
def notes(helm):
    def run(*arguments):
        result = helm("install", "my", str(CHART), "--dry-run=client", "-n", "lab", *arguments)
        assert result.returncode == 0, result.stderr
        return result.stdout.split("\nNOTES:\n")[1]

    return run


def test_the_notes_tell_the_next_commands_of_this_release(notes, render):
    text = notes("--set", "worker.replicas=1")
    chief = render({"worker": {"replicas": 1}}, namespace="lab").job("chief")["metadata"]["name"]
    assert "1 chief, 1 worker, 1 parameter server." in text
    assert f"kubectl logs -n lab job/{chief} -f" in text
    assert f"kubectl wait -n lab job/{chief} --for=condition=Complete" in text
    assert "helm test -n lab my" in text
    assert "--set worker.replicas=2" in text
    assert "/mnt/models/mnist/<version> in the claim my-tf-cluster-models." in text
    assert "These claims stay: my-tf-cluster-models." in text


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.name)
def test_the_notes_fit_every_case(path, rendering):
    text = rendering(value_files=(path,)).notes
    assert "<no value>" not in text
    assert "%!" not in text


def test_every_file_of_values_is_a_case_with_a_name_of_its_own():
    """A situation may be called as a case is."""
    found = {case.name: case.value_files[0] for case in cases(Chart.open(CHART))[1:]}
    situations = (CHART.parents[1] / "values").glob("*/tf-cluster.yaml")
    assert found == {path.name.removesuffix("-values.yaml"): path for path in CASES} | {
        f"values/{path.parent.name}": path for path in situations
    }
    assert {"session", "values/session"} <= found.keys()


def test_the_notes_name_the_claims_that_not_every_class_can_make(notes):
    ask = "a StorageClass with ReadWriteMany is needed by the claim"
    assert ask not in notes()
    assert ask not in notes("--set", "mode=session")
    ring = notes("--set", "strategy=multiWorkerMirrored", "--set", "volumes.logs.existingClaim=l")
    assert f"{ask}s my-tf-cluster-checkpoints, my-tf-cluster-models." in ring
    one = ("--set", "evaluator.replicas=1", "--set", "volumes.logs.enabled=false")
    assert f"{ask} my-tf-cluster-checkpoints." in notes(*one)
    assert ask not in notes(
        *one, "--set", "volumes.checkpoints.nfs.server=s,volumes.checkpoints.nfs.path=/d"
    )


def test_the_notes_name_the_folder_of_the_model(notes):
    text = notes("--set", "volumes.models.subPath=team/run-1")
    assert "in the claim my-tf-cluster-models, in its folder team/run-1." in text


def test_the_notes_say_when_nothing_stays(notes):
    text = notes("--values", str(CHART / "ci" / "nothing-kept-values.yaml"))
    assert "No claim stays" in text
    assert "These claims stay" not in text
    assert "goes with the pod" in text


BEGINS = "the training starts from the beginning: volumes.checkpoints.enabled is false"


@pytest.mark.parametrize("more", [[], ["strategy=multiWorkerMirrored"]], ids=["chief", "ring"])
def test_the_notes_promise_to_resume_where_checkpoints_are_kept_and_nowhere_else(notes, more):
    options = [each for setting in more for each in ("--set", setting)]
    kept = notes(*options)
    assert kept.count("resumes from the newest checkpoint.") == 2
    assert "from the beginning" not in kept
    lost = notes(*options, "--set", "volumes.checkpoints.enabled=false")
    assert lost.count("starts from the beginning: volumes.checkpoints.enabled is false.") == 2
    assert BEGINS in lost
    assert "newest checkpoint" not in lost
    shared = 'volumes.checkpoints.hostPath={"path": "/ck", "shared": true}'
    disk = notes(*options, "--set-json", shared)
    assert "from the beginning" not in disk


@pytest.mark.parametrize(
    ("strategy", "some"),
    [("parameterServer", True), ("multiWorkerMirrored", False), ("mirrored", False)],
)
def test_the_notes_speak_of_parameter_servers_where_there_are_some(notes, strategy, some):
    text = notes("--set", f"strategy={strategy}")
    assert ("ps.replicas" in text) is some
    assert "Change anything else of the pods (image, arguments, resources …)" in text


@pytest.mark.parametrize("kept", [True, False])
def test_the_notes_clean_up_after_this_chart_alone(notes, kept):
    """In an umbrella chart the instance is shared with charts whose claims are not ours."""
    text = notes("--set", f"volumes.models.keep={str(kept).lower()}")
    kinds = "pods,pvc" if kept else "pods"
    labels = "app.kubernetes.io/instance=my,app.kubernetes.io/name=tf-cluster"
    assert text.rstrip().endswith(f"kubectl delete {kinds} -n lab -l {labels}")


@pytest.mark.parametrize(
    ("policy", "strategy", "words"),
    [
        ("Running", "parameterServer", "go to Completed:"),
        ("All", "parameterServer", "go to Completed (those of worker, ps are removed):"),
        (
            "None",
            "parameterServer",
            "go to Completed (those of worker, ps stay until helm uninstall):",
        ),
        ("All", "mirrored", "go to Completed:"),
    ],
)
def test_the_notes_say_what_becomes_of_the_pods(notes, policy, strategy, words):
    text = notes("--set", f"runPolicy.cleanPodPolicy={policy}", "--set", f"strategy={strategy}")
    assert f"when the chief has ended, {words}" in text
