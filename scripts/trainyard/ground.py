"""The ground that demonstrations and live tests stand on: a cluster with an image on it."""

import threading
import time
from collections.abc import Callable

from trainyard.cluster.base import Cluster
from trainyard.console import Stages, say
from trainyard.images import Builder, Image, provide
from trainyard.kube import Values


class Beside:
    """Something that is done in a thread of its own, and the seconds it took."""

    def __init__(self, work: Callable[[], object]) -> None:
        self.seconds = 0.0
        self._work = work
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        start = time.monotonic()
        try:
            self._work()
        except BaseException as error:  # It is raised again where the work is waited for.
            self._error = error
        self.seconds = time.monotonic() - start

    def wait(self) -> None:
        """Wait for its end; raises what it raised."""
        self._thread.join()
        if self._error:
            raise self._error


def lay(cluster: Cluster, image: Image, stages: Stages) -> Values:
    """Bring ``cluster`` up and ``image`` onto it, and give the chart values that name the image.

    The image is built beside the cluster's tools, where it is not on the cluster already.
    """
    if not cluster.takes_images:
        cluster.up(stages)
        say("This cluster's nodes are out of reach, so that the charts' public image is used.")
        return {}
    if cluster.status().running and cluster.has_image(image.reference):
        cluster.up(stages)
        return image.values
    building = Beside(lambda: Builder().build(image))
    cluster.up(stages)
    with stages.stage("image", f"The image {image.name} is built, beside the above"):
        building.wait()
    stages.record("image", building.seconds)
    with stages.stage("load", f"The image {image.name} is on the cluster"):
        return provide(cluster, image)
