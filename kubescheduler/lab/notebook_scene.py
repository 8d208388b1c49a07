"""``ks.scene``: a scene in a notebook, shown by the lab's own page without a server."""

from __future__ import annotations

import html
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kubescheduler.api.cluster import Cluster
from kubescheduler.api.engine_choice import described
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.verbs import VERBS

HEIGHT = 640
"""Of the frame in a notebook, in pixels."""

FRAME = (
    '<iframe sandbox="allow-scripts" title="{title}" srcdoc="{page}" width="100%" height="{height}" style="border:0">'
)


class NotebookScene(Scene):
    """A scene that a notebook shows as the lab's page does: cluster, evidence, and sides beside one another.

    What is shown is a replay: it holds answers, and changes nothing.
    """

    def replay(self) -> str:
        """The page with its answers, one HTML file."""
        text: str = VERBS["export"](self, {"as": "replay"})["text"]
        return text

    def save(self, path: str | Path) -> None:
        """Writes the replay into a file that opens without a server."""
        Path(path).write_text(self.replay(), encoding="utf-8")

    def _repr_html_(self) -> str:
        """A frame that can neither reach the notebook nor the network."""
        title = html.escape(self.state.title or "kubescheduler lab")
        return f"{FRAME.format(title=title, page=html.escape(self.replay()), height=HEIGHT)}</iframe>"


def scene(cluster: Cluster, *, pod: Any = None, sides: Iterable[Any] = ({},), title: str = "") -> NotebookScene:
    """A scene of a cluster for a notebook: show it as the last value of a cell, or ``save`` it as one HTML file.

    pod: the pod that is asked about, as for ``Scheduler.decide``, by default the first that waits. sides: up to four
    schedulers, each text such as ``"release=1.36,config=sched.yaml"`` or a dict of a Scheduler's arguments and
    ``release``; what names no release is of the cluster's. Raises InputError with every fault.

    >>> from kubescheduler import Cluster, pod, scene
    >>> found = scene(Cluster(release="1.36").node("a", cpu=4), pod=pod("web", cpu=1))
    >>> found.decision("a").host
    'a'
    """
    specs = [described(side, cluster.release) for side in sides]
    named = isinstance(pod, str) and "\n" not in pod and cluster.find_pod(pod) is not None
    pods = [] if pod is None or named else [pod]
    found = NotebookScene.opened(cluster, pods=pods, sides=specs, title=title)
    if pod is not None and not pods:
        VERBS["edit"](found, {"edit": {"do": "ask", "pod": pod}})
    return found
