"""What live tests do to releases of tf-cluster, and what they look for."""

import time

import pytest

from trainyard.kube import Object
from trainyard.training import Progress, Release, index
from trainyard.waiting import wait_for

TRAINING_TIMEOUT_S = 420
GOES_ON_WITHIN_S = 240


def train_to(release: Release, step: int) -> None:
    """Return when the lead has printed this step, or a later one."""
    for line in release.follow():
        seen = Progress.read(line)
        if seen and seen.step >= step:
            return
    pytest.fail(f"The training ended {release.outcome()} before step {step}.")


def lead_logs(release: Release) -> list[str]:
    """Give the logs of all pods of the lead's first task, oldest first."""
    return [log(release, pod) for pod in release.first_tasks()]


def log(release: Release, pod: Object) -> str:
    return release.kubectl.logs(pod["metadata"]["name"])


def uids(release: Release, *roles: str) -> set[str]:
    return {pod["metadata"]["uid"] for role in roles for pod in release.pods(role)}


def kill(release: Release, role: str, number: int = 0) -> None:
    """Remove a running pod at once, as a lost machine would."""
    running = [pod for pod in release.pods(role) if pod["status"].get("phase") == "Running"]
    (pod,) = [pod for pod in running if index(pod) == number]
    release.kubectl.run("delete", "pod", pod["metadata"]["name"], "--grace-period=0", "--force")


def goes_on(release: Release, before: set[str]) -> float:
    """Wait until a lead that is none of ``before`` (uids) has trained on; give the seconds.

    It must have resumed from a checkpoint.
    """
    start = time.monotonic()

    def trains() -> str:
        for pod in release.first_tasks():
            if pod["metadata"]["uid"] in before or pod["status"].get("phase") == "Pending":
                continue
            text = log(release, pod)
            if any(Progress.read(line) for line in text.splitlines()):
                return text
        return ""

    text = wait_for(trains, "the training to go on", timeout=GOES_ON_WITHIN_S, every=0.5)
    assert "resumed step=" in text
    return time.monotonic() - start


def must_complete(release: Release) -> None:
    """Wait until the training is Complete and every pod of every role has ended well."""
    assert release.wait_for_end(timeout=TRAINING_TIMEOUT_S) == "Complete", lead_logs(release)[-1]
    release.wait_until_freed(timeout=60)
    roles = sorted(release.jobs())
    outcomes = {role: release.wait_for_end(role, timeout=60) for role in roles}
    assert outcomes == dict.fromkeys(roles, "Complete")


def accuracy(release: Release) -> float:
    """Give the share of held-out digits that the finished model knew."""
    lines = lead_logs(release)[-1].splitlines()
    (line,) = [line for line in lines if line.startswith("held_out accuracy=")]
    return float(line.split("accuracy=")[1].split()[0])
