"""What a cluster that trains makes of a node whose own programs die."""

import os
import signal

import pytest

from tests.live.components import pid_of
from tests.live.releases import lead_logs, must_complete, train_to, uids
from trainyard import paths
from trainyard.cluster.choice import choose, wanted
from trainyard.cluster.node.holder import Holder
from trainyard.waiting import wait_for

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(
        wanted() != "none" and choose().name != "node",
        reason="the chosen cluster is not the embedded node",
    ),
]


@pytest.fixture
def holder() -> Holder:
    found = Holder.load(paths.cache() / "node" / "holder.json")
    assert found
    return found


@pytest.mark.parametrize("component", ["kubelet", "containerd"])
@pytest.mark.parametrize("strategy", ["parameterServer", "multiWorkerMirrored"])
def test_training_goes_on_untouched(install, holder, component, strategy):
    lead = "chief" if strategy == "parameterServer" else "worker"
    release = install({"strategy": strategy}, lead=lead)
    train_to(release, 200)
    before = uids(release, "chief", "worker", "ps")
    old = pid_of(holder, component)
    os.kill(old, signal.SIGKILL)
    wait_for(lambda: pid_of(holder, component) not in {0, old}, f"a new {component}", timeout=30)
    must_complete(release)
    assert uids(release, "chief", "worker", "ps") == before
    assert "resumed" not in lead_logs(release)[-1]
