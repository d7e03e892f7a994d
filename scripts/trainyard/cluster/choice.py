"""Which cluster a command works on."""

import os

from trainyard.cluster.base import Cluster
from trainyard.cluster.kind import KindCluster, engine
from trainyard.cluster.kubeconfig import KubeconfigCluster
from trainyard.cluster.node.provider import NodeCluster
from trainyard.errors import TrainyardError

VARIABLE = "TRAINYARD_CLUSTER"


def wanted() -> str:
    """Give what the user asked for, as ``choose`` reads it; empty where nothing was said."""
    return os.environ.get(VARIABLE, "").strip()


def choose() -> Cluster:
    """Give the cluster: the one asked for, else kind where an engine answers, else the node.

    Raises TrainyardError for a name that is none of these, and for ``none``.
    """
    name = wanted()
    kind, _, context = name.partition(":")
    if kind == "kubeconfig":
        return KubeconfigCluster(context)
    if name == "node":
        return NodeCluster()
    if name == "kind" or (not name and engine()):
        return KindCluster()
    if not name:
        return NodeCluster()
    raise TrainyardError(
        f"{VARIABLE}={name} names no cluster to work on.",
        "Use node, kind, or kubeconfig:CONTEXT; unset, Trainyard chooses.",
    )
