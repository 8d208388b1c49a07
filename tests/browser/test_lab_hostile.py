"""Texts of clusters on the lab's page are texts, whatever they look like."""

from __future__ import annotations

from typing import Any

import msgspec

from clusterstate.objects import FrozenMap
from kubescheduler.api.cluster import Cluster
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.verbs import VERBS
from tests.support.pages.lab_page import LabPages, settled, show_screen
from tests.support.pages.lab_server import lab_server

EVIL = "<img src=x onerror=window.hacked=1>"
SCREENS = ("Cluster", "Why", "Tune", "Hints", "Time", "Side by side", "Class")


def named(thing: Any, **changes: Any) -> Any:
    """A node or pod with other metadata: objects of the program are taken as they are, unlike manifests."""
    return msgspec.structs.replace(thing, metadata=msgspec.structs.replace(thing.metadata, **changes))


def hostile() -> Scene:
    """A scene whose names and labels are markup."""
    plain = Cluster(release="1.36").node("a", zone="north").node("b", zone="north", taints=["k=v:NoSchedule"])
    plain = plain.pod("runs", node="a").pod("asks").pod("fits-nowhere", node_selector={"disk": "none"})
    labels = FrozenMap({EVIL: EVIL, "topology.kubernetes.io/zone": EVIL})
    nodes = [named(node, name=f"{EVIL}{node.metadata.name}", labels=labels) for node in plain.nodes]
    pods = [
        named(pod, name=f"{EVIL}{pod.metadata.name}", namespace=EVIL, labels=FrozenMap({EVIL: EVIL}))
        for pod in plain.pods
    ]
    running = [msgspec.structs.replace(pod, node_name=nodes[0].metadata.name) if pod.node_name else pod for pod in pods]
    return Scene.opened(Cluster(*nodes, *running, release="1.36"), title=EVIL)


def test_markup_is_shown_as_text(lab_pages: LabPages) -> None:
    """On every screen: nothing of it becomes an element or runs, and it can be read."""
    with lab_server(VERBS, hostile) as server:
        page = lab_pages.opened(server)
        settled(page)
        for title in SCREENS:
            show_screen(page, title)
            assert page.evaluate("window.hacked") is None, title
            assert page.locator("img[src=x]").count() == 0, title
            assert page.get_by_text(EVIL).count() > 0, title
        lab_pages.close()
