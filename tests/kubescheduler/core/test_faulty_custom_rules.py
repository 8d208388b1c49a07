"""A custom rule that raises: the attempt fails each time it is made, and what was left half done counts for nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

import algorithmprovider as ap
import kubescheduler as ks
from algorithmprovider.registry import registered_until_the_end
from clusterstate.errors import InputError
from clusterstate.objects import Pod
from kubescheduler.core.status import Status
from kubescheduler.engine.spec import EngineSpec, PodScheduler, cache_for, no_notice
from kubescheduler.framework.plugin_loading import PluginOption
from tests.support.releases_tried import FRAMEWORKS_TRIED, LEGACY_TRIED

POLICY = {"kind": "Policy", "apiVersion": "v1"}
FAULTY = {"on": True}
"""Whether the rules raise on node b; otherwise they refuse node a."""


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    FAULTY["on"] = True
    with registered_until_the_end():
        yield


def judged(node: str) -> bool:
    """Whether a node fits. Raises where the rule is faulty."""
    if FAULTY["on"] and node == "b":
        raise AttributeError("no such field")
    return node != "a"


def by_predicate(release: str) -> EngineSpec:
    """A legacy release with a faulty predicate."""
    ap.register_fit_predicate("Faulty", lambda pod, meta, node_info: (judged(node_info.node.name), ["no"]))
    return EngineSpec(release, policy={**POLICY, "predicates": [{"name": "Faulty"}], "priorities": []})


def by_priority(release: str) -> EngineSpec:
    """A legacy release with a faulty priority."""
    ap.register_priority_function("Faulty", lambda pod, meta, node_info: 10 * judged(node_info.node.name))
    return EngineSpec(release, policy={**POLICY, "predicates": [], "priorities": [{"name": "Faulty", "weight": 1}]})


class FaultyFilter:
    """A plugin that filters."""

    name = "Faulty"

    def filter(self, state: Any, pod: Any, node_info: Any) -> Status | None:
        """Refuses what ``judged`` does."""
        return None if judged(node_info.node.name) else Status.unschedulable("no")


class FaultyScore:
    """A plugin that scores."""

    name = "Faulty"

    def score(self, state: Any, pod: Any, node_info: Any) -> int:
        """Prefers what ``judged`` does."""
        return 100 * judged(node_info.node.name)


def by_plugin(plugin: Callable[[], Any]) -> Callable[[str], EngineSpec]:
    """A framework release with a faulty plugin."""

    def spec(release: str) -> EngineSpec:
        points = [name for name in ("filter", "score") if hasattr(plugin, name)]
        enabled = {"enabled": [{"name": "Faulty"}]}
        version = "v1beta1" if release == "1.20" else "v1"
        component = {
            "apiVersion": f"kubescheduler.config.k8s.io/{version}",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [{"plugins": dict.fromkeys(points, enabled)}],
        }
        return EngineSpec(release, component=component, plugins=(PluginOption("Faulty", lambda *_: plugin()),))

    return spec


CASES = [
    *((by_predicate, release) for release in LEGACY_TRIED),
    *((by_priority, release) for release in LEGACY_TRIED),
    *((by_plugin(FaultyFilter), release) for release in FRAMEWORKS_TRIED),
    *((by_plugin(FaultyScore), release) for release in FRAMEWORKS_TRIED),
]


def outcome(scheduler: PodScheduler, pod: Pod) -> str | None:
    """The host, or what the attempt ended with."""
    try:
        decision = scheduler.decide(pod)
    except InputError as error:
        return str(error)
    return decision.host or decision.message


@pytest.mark.parametrize(("made", "release"), CASES)
def test_an_attempt_that_failed_leaves_nothing_behind(made: Callable[[str], EngineSpec], release: str) -> None:
    """The next one fails alike, and once the rule is mended it is asked about every node."""
    engine = made(release).engine(no_notice)
    cluster = ks.Cluster(release=release).node("a", cpu=4).node("b", cpu=4).node("c", cpu=1).pod("web", cpu=2)
    scheduler, (pod,) = engine.scheduler(cache_for(engine, cluster.objects)), cluster.pods
    first = outcome(scheduler, pod)
    assert "no such field" in str(first)
    assert [outcome(scheduler, pod) for _ in range(2)] == [first, first]
    FAULTY["on"] = False
    assert outcome(scheduler, pod) == "b"


def roomy(pods: int) -> bool:
    """Whether a node fits. Raises where more than two pods are on it."""
    if pods > 2:
        raise AttributeError("no such field")
    return True


def by_predicate_of_pods(release: str) -> EngineSpec:
    """A legacy release with a predicate that fails on crowded nodes."""
    ap.register_fit_predicate("Faulty", lambda pod, meta, there: (roomy(len(there.pods)), ["no"]))
    policy = {"predicates": [{"name": "Faulty"}], "priorities": [{"name": "LeastRequestedPriority", "weight": 1}]}
    return EngineSpec(release, policy={**POLICY, **policy})


def by_priority_of_pods(release: str) -> EngineSpec:
    """A legacy release with a priority that fails on crowded nodes."""
    ap.register_priority_function("Faulty", lambda pod, meta, there: 5 * roomy(len(there.pods)))
    policy = {"predicates": [{"name": "PodFitsResources"}], "priorities": [{"name": "Faulty", "weight": 1}]}
    return EngineSpec(release, policy={**POLICY, **policy})


@pytest.mark.parametrize("release", LEGACY_TRIED)
@pytest.mark.parametrize("made", [by_predicate_of_pods, by_priority_of_pods])
def test_a_rule_that_fails_amid_like_pods_fails_as_for_the_first(
    made: Callable[[str], EngineSpec], release: str
) -> None:
    """What is remembered of the pods before hides no error."""
    engine = made(release).engine(no_notice)
    cluster = ks.Cluster(release=release).node("a", cpu=4).node("b", cpu=4).pod("web", cpu="100m")
    cache, (pod,) = cache_for(engine, cluster.objects), cluster.pods
    scheduler = engine.scheduler(cache)
    for at in range(4):
        name = {"name": f"web-{at}", "uid": f"web-{at}"}
        one = msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, **name))
        found = outcome(scheduler, one)
        assert found == outcome(engine.scheduler(cache), one)
        assert ("no such field" in str(found)) == (at == 3)
        cache.assume_pod(one, "a")
