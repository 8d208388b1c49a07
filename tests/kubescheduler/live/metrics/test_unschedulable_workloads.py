"""Which workloads have pods that fit nowhere, as metrics."""

from __future__ import annotations

import time
from collections.abc import Iterable

import pytest
from prometheus_client import CollectorRegistry

from clusterstate.objects import ObjectMeta, OwnerReference, Pod, PodSpec
from kubescheduler.live.metrics.metrics_registry import exposition
from kubescheduler.live.metrics.unschedulable_workloads import MOST, PODS, SINCE, UnschedulableWorkloads
from kubescheduler.live.observers import UnschedulablePod
from tests.kubescheduler.live.metrics.test_process_metrics import PROFILE, Scrape, settled, work
from tests.support.apiserver import FrontServer
from tests.support.live.live_cluster import running


def stuck(name: str, workload: str = "", since: float = 100, *plugins: str) -> UnschedulablePod:
    """A pod of a StatefulSet, or of nobody."""
    owners = (OwnerReference("StatefulSet", workload, "u", controller=True),) if workload else ()
    pod = Pod(ObjectMeta(name, "shop", owner_references=owners), PodSpec(scheduler_name="mine"))
    return UnschedulablePod(pod, frozenset(plugins), since)


def exported(pods: Iterable[UnschedulablePod]) -> Scrape:
    registry = CollectorRegistry()
    registry.register(UnschedulableWorkloads(lambda: pods))
    return Scrape(exposition(registry))


def test_pods_are_counted_by_workload_and_plugin() -> None:
    """The oldest of a workload says since when; a pod that two plugins reject counts for both."""
    found = exported([stuck("db-0", "db", 200, "Fit"), stuck("db-1", "db", 100, "Fit", "Taints"), stuck("one")])
    db = {"namespace": "shop", "workload": "StatefulSet/db"}
    assert found.value(PODS, **db, plugin="Fit", profile="mine") == 2
    assert found.value(PODS, **db, plugin="Taints", profile="mine") == 1
    assert found.value(PODS, namespace="shop", workload="Pod/one", plugin="", profile="mine") == 1
    assert found.value(SINCE, **db) == 100


def test_nothing_is_exported_while_every_pod_fits() -> None:
    """The exposition is the release's own."""
    assert exported([]).text == ""


def test_workloads_are_bounded() -> None:
    """Those with the fewest pods share a series."""
    pods = [stuck(f"p{at}", f"w{at:04}", at, "Fit") for at in range(MOST + 50)]
    pods += [stuck("again", f"w{MOST + 49:04}", 7, "Fit")]
    found = exported(pods)
    assert len(found.series(SINCE)) == MOST + 1
    assert found.value(PODS, namespace="", workload="(others)", plugin="Fit", profile="mine") == 50
    assert (
        found.value(PODS, namespace="shop", workload=f"StatefulSet/w{MOST + 49:04}", plugin="Fit", profile="mine") == 2
    )


@pytest.mark.parametrize(("release", "plugin"), [("1.16", ""), ("1.36", "NodeResourcesFit")])
def test_a_live_process_says_it(api_server: FrontServer, release: str, plugin: str) -> None:
    """By the last attempt of each pod, beside what the release exports; since when is a time of day."""
    before = time.time()
    with running(api_server, release) as cluster:
        work(cluster)
        found = settled(cluster, lambda found: bool(found.series(PODS)))
    labels = {"namespace": "default", "workload": "Pod/big"}
    assert found.value(PODS, **labels, plugin=plugin, profile=PROFILE) == 1
    since = found.value(SINCE, **labels)
    assert since is not None
    assert before - 1 <= since <= time.time() + 1
