"""Which workloads have pods that fit nowhere, and what would help them, as metrics."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

import kubescheduler as ks
from clusterstate.cache import ClusterCache
from clusterstate.objects import ClusterObject, ObjectMeta, OwnerReference, Pod, PodSpec
from kubescheduler.engine.spec import EngineSpec, cache_for, no_notice
from kubescheduler.live.metrics.metrics_registry import exposition
from kubescheduler.live.metrics.process_metrics import ProcessMetrics
from kubescheduler.live.metrics.unschedulable_workloads import (
    EVERY,
    HINT,
    HINT_AT,
    KEPT,
    LONGEST,
    NAMED,
    PODS,
    SEARCHED,
    SINCE,
    KnownHint,
    RestingLoop,
    UnschedulableWorkloads,
    Workload,
    WorkloadHints,
)
from kubescheduler.live.observers import ShortHint, UnschedulablePod
from tests.kubescheduler.live.metrics.test_process_metrics import PROFILE, Scrape, settled, work
from tests.support.apiserver import FrontServer
from tests.support.live.live_cluster import EPOCH, StoodClock, running, settings


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
    pods = [stuck(f"p{at}", f"w{at:04}", at, "Fit") for at in range(NAMED + 50)]
    pods += [stuck("again", f"w{NAMED + 49:04}", 7, "Fit")]
    found = exported(pods)
    assert len(found.series(SINCE)) == NAMED + 1
    assert found.value(PODS, namespace="", workload="(others)", plugin="Fit", profile="mine") == 50
    assert (
        found.value(PODS, namespace="shop", workload=f"StatefulSet/w{NAMED + 49:04}", plugin="Fit", profile="mine") == 2
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


FOUND = ShortHint("request", "ask for 1 cpu instead of 2")
WEB = ("shop", "Deployment/web")
START = EPOCH.timestamp()


def pod(uid: str) -> Pod:
    return Pod(ObjectMeta(uid, "shop", uid), PodSpec())


class Loop:
    """A loop with one node, which a test has busy; searches are made at once."""

    def __init__(self) -> None:
        self.clock = StoodClock()
        self.engine = EngineSpec(release="1.36").engine(no_notice)
        self.cache: ClusterCache = cache_for(self.engine, ks.Cluster(release="1.36").node("a", cpu=1).objects)
        self.busy = 0
        """Looks for which it has something to do."""
        self.searched: list[tuple[list[str], list[str]]] = []
        """Of each search (nodes, pods)."""
        self.troubles: list[str] = []
        self.looks: list[int] = []
        self.fails = False
        self.hints = WorkloadHints(
            self._search,
            RestingLoop(self.cache, lambda work: work(), self._idle),
            self.clock,
            lambda doing, error: self.troubles.append(f"{doing}: {error}"),
            lambda work: work(),
        )

    def _idle(self) -> bool:
        self.clock.moment += 1
        self.busy -= 1
        self.looks.append(self.busy)
        return self.busy < 0

    def _search(
        self, objects: Sequence[ClusterObject], pods: Sequence[Pod], pause: Callable[[], None]
    ) -> list[ShortHint | None]:
        if self.fails:
            raise ValueError("no")
        self.searched.append(([each.metadata.name for each in objects], [each.metadata.name for each in pods]))
        self.cache.add_node(next(node for node in self.cache.columns.nodes if node is not None))
        pause()
        return [FOUND] * len(pods)


def test_a_hint_is_of_the_moment_of_the_copy() -> None:
    """What is searched is the cluster between two attempts; the time that is told is that of the copy."""
    loop = Loop()
    assert loop.hints.of({}) == {}
    assert loop.hints.of({WEB: pod("w")}) == {}
    assert loop.searched == [(["a"], ["w"])]
    assert loop.hints.of({WEB: pod("w")}) == {WEB: KnownHint("w", FOUND, START + 1)}


def test_a_search_begins_seldom() -> None:
    """Not before a while after the end of the one before it, however often somebody asks."""
    loop = Loop()
    for _ in range(3):
        loop.hints.of({WEB: pod("w")})
    assert len(loop.searched) == 1
    loop.clock.moment += EVERY
    loop.hints.of({WEB: pod("w")})
    assert len(loop.searched) == 2


def test_a_scheduler_that_works_is_waited_for() -> None:
    """Before the copy and before each decision; without any rest it is given up."""
    loop = Loop()
    loop.busy = 2
    loop.hints.of({WEB: pod("w")})
    assert loop.looks == [1, 0, -1, -2]
    loop.busy = int(LONGEST) + 5
    loop.clock.moment += EVERY
    loop.hints.of({WEB: pod("w")})
    assert (len(loop.searched), loop.troubles) == (1, [])


def test_hints_go() -> None:
    """With the workload, with the pod that it was found for, and with time; of another pod it is not told."""
    loop = Loop()
    loop.hints.of({WEB: pod("w")})
    assert loop.hints.of({}) == {}
    assert loop.hints.of({WEB: pod("another")}) == {}
    assert loop.hints.of({WEB: pod("w")}) != {}
    loop.busy, loop.clock.moment = 10**6, loop.clock.moment + KEPT
    assert loop.hints.of({WEB: pod("w")}) == {}


def test_what_is_raised_is_said_and_tried_again_later() -> None:
    """A scrape has an answer all the same."""
    loop = Loop()
    loop.fails = True
    assert loop.hints.of({WEB: pod("w")}) == {}
    assert loop.troubles == ["searching for hints: no"]
    loop.fails = False
    loop.clock.moment += EVERY
    loop.hints.of({WEB: pod("w")})
    assert loop.hints.of({WEB: pod("w")}) != {}


def test_searches_are_bounded() -> None:
    """A search is for the first few."""
    loop = Loop()
    loop.hints.of({("shop", f"Pod/{at}"): pod(str(at)) for at in range(SEARCHED + 5)})
    assert loop.searched == [(["a"], [str(at) for at in range(SEARCHED)])]


def test_labels() -> None:
    """One series a workload with its oldest pod's hint, and the moment."""
    asked: list[Any] = []

    def hints(pods: Any) -> dict[Any, KnownHint]:
        asked.append({name: one.metadata.name for name, one in pods.items()})
        return {name: KnownHint(one.metadata.uid, FOUND, 7.0) for name, one in pods.items()}

    stuck = [UnschedulablePod(pod(name), frozenset({"Fit"}), since) for name, since in (("x", 9), ("y", 5))]
    registry = CollectorRegistry()
    registry.register(UnschedulableWorkloads(lambda: stuck, hints))
    found = Scrape(exposition(registry))
    assert asked == [{("shop", "Pod/x"): "x", ("shop", "Pod/y"): "y"}]
    labels = {"namespace": "shop", "workload": "Pod/x"}
    assert found.value(HINT, **labels, kind=FOUND.kind, hint=FOUND.text) == 1
    assert found.value(HINT_AT, **labels) == 7


@pytest.mark.parametrize("release", ["1.16", "1.36"])
def test_a_live_process_says_hints(api_server: FrontServer, release: str) -> None:
    """Once it rests; nothing of it is in the log."""
    with running(api_server, release, hinted=True) as cluster:
        work(cluster)
        found = settled(cluster, lambda found: bool(found.series(HINT)))
        lines = [line for line in cluster.log if "hints" in line]
    [labels] = found.series(HINT)
    assert (labels["workload"], labels["kind"]) == ("Pod/big", "request")
    assert labels["hint"].endswith(" cpu instead of 64")
    assert lines == []


@pytest.mark.parametrize(("words", "asked"), [((), 1), ((f"--disabled-metrics={HINT}",), 0)])
def test_who_wants_none_has_no_search(words: tuple[str, ...], asked: int) -> None:
    """The flag for metrics that are not exported."""
    given = settings("1.36", *words)
    metrics = ProcessMetrics(given.release.metrics, given.metrics, print)
    seen: list[object] = []

    def hints(pods: Mapping[Workload, Pod]) -> Mapping[Workload, KnownHint]:
        seen.append(pods)
        return {}

    metrics.unschedulable(lambda: [UnschedulablePod(pod("w"), frozenset(), 1)], hints)
    assert HINT not in metrics.text().decode()
    assert len(seen) == asked
