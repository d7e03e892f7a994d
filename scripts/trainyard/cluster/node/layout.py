"""Names, addresses and folders of the node.

The node's state lies in the user's cache. Inside the node's mount namespace the same folder
is bound to ``/run/trainyard/node``, so that no path depends on where the cache lies and
socket paths stay short (``sun_path`` holds 108 bytes).
"""

import hashlib
from pathlib import Path

from trainyard import paths

NAME = "trainyard"
"""The node's name and its host name."""

NODE_ADDRESS = "10.199.0.2"
"""The node's address: on a bridge inside its own network namespace, never on the host."""

POD_NETWORK = "10.244.0.0/24"
SERVICE_NETWORK = "10.96.0.0/16"
API_SERVICE_ADDRESS = "10.96.0.1"
DNS_ADDRESS = "10.96.0.10"
API_PORT = 6443
CLUSTER_DOMAIN = "cluster.local"

INSIDE = Path("/run/trainyard")
"""The folder inside the node's mount namespace that holds all of it."""

STATE = INSIDE / "node"
TOOLS = INSIDE / "tools"
CONTAINERD_SOCKET = INSIDE / "containerd" / "containerd.sock"


def outside() -> Path:
    """Give the node's state folder as the host sees it."""
    return paths.cache() / "node"


def cgroup() -> str:
    """Give the name of the node's cgroup in each hierarchy: one for each state folder."""
    return f"trainyard-{hashlib.sha256(str(outside()).encode()).hexdigest()[:8]}"


KEPT = ("containerd",)
"""What outlives the node in its state folder: the images, so that they load only once."""
