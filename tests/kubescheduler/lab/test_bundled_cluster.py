"""The cluster that the lab brings along: every fate of a pod is in it, in every release."""

from __future__ import annotations

from typing import Any

import pytest

import kubescheduler as ks
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.lab import BUNDLED_CLUSTER, BUNDLED_RELEASE
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.verbs import VERBS
from tests.support.releases_tried import RELEASES_TRIED


def shown(release: str) -> dict[str, Any]:
    """Pod that waits → the verb ``decision``."""
    cluster = ks.Cluster.read(BUNDLED_CLUSTER, release=BUNDLED_RELEASE)
    scene = Scene.opened(cluster, sides=[EngineSpec(release)])
    assert scene.problems("a") == ()
    return {pod.metadata.name: VERBS["decision"](scene, {"pod": pod.key}) for pod in cluster.pending()}


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_pods_of_every_fate_wait(release: str) -> None:
    """One fits on many nodes, one on a single node, one ties; two fit nowhere, and preempt where the release does."""
    found = shown(release)
    assert found["web-6d5f9-wq6rb"]["fits"] >= 5
    assert (found["db-2"]["host"], found["db-2"]["fits"]) == ("worker-5", 1)
    assert found["session-0"]["ties"]["nodes"] == ["cache-1", "cache-2"]
    reasons = {reason for node in found["search-0"]["nodes"] for each in node["refused"].values() for reason in each}
    assert len(reasons) >= 4
    if release == "1.4":
        assert found["invoice-0"]["preemption"] is None
        return
    preemption = found["invoice-0"]["preemption"]
    assert [one["node"] for one in preemption["candidates"]] == ["batch-2", "batch-1"]
    assert [rule["text"] for rule in preemption["rules"] if rule["decided"]] == [
        "lowest sum of the victims' priorities"
    ]
    assert found["train-1"]["host"] is None


def test_it_is_small_enough_to_be_taken_in() -> None:
    """Twelve nodes in three zones."""
    scene = Scene.opened(ks.Cluster.read(BUNDLED_CLUSTER, release=BUNDLED_RELEASE))
    assert [zone["nodes"] for zone in VERBS["cluster"](scene, {})["zones"]] == [4, 4, 4]
