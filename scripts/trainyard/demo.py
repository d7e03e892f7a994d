"""The main job, from nothing: train a real model on a real cluster, and prove it."""

import json
import time
from collections.abc import Iterator

from rich.progress import BarColumn, TaskProgressColumn, TextColumn
from rich.progress import Progress as ProgressBar

from trainyard import diagnosis, ground, images, paths
from trainyard.cluster.base import Cluster
from trainyard.cluster.choice import choose
from trainyard.console import Stages, console, say
from trainyard.errors import TrainyardError
from trainyard.kube import Helm, Kubectl, Values, pod_summary
from trainyard.training import INSTANCE, NOISE, Progress, Release, ended_at

NAMESPACE = "trainyard-demo"
RELEASE = "mnist"
MIN_ACCURACY = 0.93
FREED_TIMEOUT_S = 60
CHART = paths.CHARTS / "tf-cluster"


def run_demo() -> dict[str, object]:
    """Run the demonstration and give its summary, as it is written to ``.trainyard/demo.json``.

    Keys: ``accuracy`` on the held-out digits (0 to 1), ``steps``, ``stages`` (name to
    seconds), ``total_s``, ``pods`` (name to phase), ``model_path``, ``freed_s`` (chief's end
    to the last pod's end).
    """
    stages = Stages()
    cluster = choose()
    values = ground.lay(cluster, images.TENSORFLOW, stages)
    kubectl = Kubectl(cluster.kubeconfig(), NAMESPACE)
    try:
        summary = _train(kubectl, stages, values)
    except TrainyardError as error:
        raise TrainyardError(error.message, f"{error.remedy}\n{_state(cluster)}".strip()) from error
    paths.WORK.mkdir(exist_ok=True)
    (paths.WORK / "demo.json").write_text(json.dumps(summary, indent=1) + "\n")
    _show(summary)
    return summary


def _state(cluster: Cluster) -> str:
    """Say where the state of a failed demonstration was written, or why it was not."""
    try:
        folder = diagnosis.write(cluster.kubeconfig(), NAMESPACE, "demo")
    except TrainyardError as error:
        return f"Its state could not be read: {error.message}"
    return f"State and logs: {folder}"


def _train(kubectl: Kubectl, stages: Stages, values: Values) -> dict[str, object]:
    helm = Helm(kubectl.kubeconfig, NAMESPACE)
    release = Release(kubectl, RELEASE)
    with stages.stage("install", f"helm install {RELEASE} charts/tf-cluster"):
        kubectl.apply(_namespace())
        helm.uninstall(RELEASE)
        # Trained models outlive their release, and so does the pod of `helm test` that mounts
        # them; here all is to be done anew.
        kubectl.run("delete", "pods,pvc", f"--selector={INSTANCE}={RELEASE}")
        helm.install(RELEASE, CHART, values)
    start = time.monotonic()
    steps = _show_progress(release)
    stages.record("train", time.monotonic() - start)
    if (end := release.wait_for_end(timeout=60)) != "Complete":
        log = "\n".join(kubectl.logs(p["metadata"]["name"]) for p in release.pods("chief")[-1:])
        raise TrainyardError(f"The training ended {end}. The chief's last words:\n{log[-2000:]}")
    with stages.stage("free", "Every pod has ended"):
        release.wait_until_freed(timeout=FREED_TIMEOUT_S)
    with stages.stage("verify", "The exported model predicts the held-out digits"):
        proof = _verify(helm)
    pods = release.pods()
    chief_end = max(ended_at(pod) for pod in release.pods("chief"))
    return {
        "accuracy": proof["accuracy"],
        "steps": steps,
        **stages.report(),
        "pods": pod_summary(pods),
        "model_path": proof["model_path"],
        "freed_s": (max(ended_at(pod) for pod in pods) - chief_end).total_seconds(),
    }


def _namespace() -> str:
    """Give the demonstration's namespace: Pod Security at its strictest."""
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    metadata = {"name": NAMESPACE, "labels": labels}
    return json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})


def _show_progress(release: Release) -> int:
    """Show the chief's progress until it ends; give the last step."""
    steps = 0
    if not console.is_terminal:
        for line in _told(release):
            steps = seen.step if (seen := Progress.read(line)) else steps
            say(f"          {line}")
        return steps
    with ProgressBar(
        TextColumn("Training"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.description}"),
        console=console,
        transient=True,
    ) as bar:
        task = bar.add_task("waiting for the cluster", total=None)
        for line in _told(release):
            seen = Progress.read(line)
            if not seen:
                bar.console.print(f"          {line}", markup=False)
                continue
            steps = seen.step
            bar.update(
                task,
                completed=seen.step,
                total=seen.of,
                description=f"step {seen.step}/{seen.of}  loss {seen.loss:.3f}  "
                f"accuracy {seen.accuracy:.3f}  {seen.examples_per_s:.0f} digits/s",
            )
    return steps


def _told(release: Release) -> Iterator[str]:
    """Give the chief's log lines but those of the libraries below it."""
    return (line for line in release.follow() if not NOISE.match(line))


def _verify(helm: Helm) -> dict[str, object]:
    """Let ``helm test`` judge the exported model; give what it printed about it."""
    done = helm.run("test", RELEASE, "--logs", "--timeout=4m", check=False)
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            proof: dict[str, object] = json.loads(line)
            break
    else:
        raise TrainyardError(f"helm test proved no model:\n{done.stdout}{done.stderr}")
    accuracy = float(str(proof["accuracy"]))
    if done.returncode != 0 or accuracy < MIN_ACCURACY:
        raise TrainyardError(
            f"The model predicts {accuracy:.1%} of the held-out digits; {MIN_ACCURACY:.0%} is the "
            f"least.\n{done.stderr}"
        )
    return proof


def _show(summary: dict[str, object]) -> None:
    pods = summary["pods"]
    assert isinstance(pods, dict)
    say("")
    say(f"Accuracy on the held-out digits  {float(str(summary['accuracy'])):.1%}")
    say(f"Steps                            {summary['steps']}")
    say(f"Pods                             {len(pods)}, every one of them ended")
    say(f"Freed after the chief's end      {summary['freed_s']} s")
    say(f"Model                            {summary['model_path']}, on the volume of its claim")
    say(f"Whole time                       {summary['total_s']} s (.trainyard/demo.json)")
