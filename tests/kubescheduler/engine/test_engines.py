"""One way from what is given to something that decides, for all releases."""

from __future__ import annotations

import random
from typing import Any

import pytest

from clusterstate.cache import ClusterCache
from clusterstate.errors import ConfigError
from clusterstate.objects import Pod
from kubescheduler.engine.engine_contract import Engine, PodScheduler
from kubescheduler.engine.engine_flags import EngineFlags
from kubescheduler.engine.spec import EngineSpec, engine_for
from kubescheduler.framework.profiles.plugin_loading import with_plugin
from tests.support.build import cache_of, make_node, make_pod, resources

RELEASES = ("1.4", "1.16", "1.20", "1.36")


def scheduler_of(spec: EngineSpec, *nodes: Any) -> PodScheduler:
    return spec.engine(print).scheduler(ClusterCache.of(nodes or [make_node("n")], spec.release_view()))


def big(**fields: Any) -> Pod:
    return make_pod("big", requests=resources(cpu=9000), **fields)


@pytest.mark.parametrize("release", RELEASES)
def test_every_release_has_an_engine(release: str) -> None:
    """It decides, knows its release and the release's own tie-break."""
    engine: Engine = EngineSpec(release).engine(print)
    assert (engine.release, engine.extenders) == (release, ())
    assert engine.upstream_tie(random.Random(0)) is not None
    assert scheduler_of(EngineSpec(release)).decide(make_pod("p")).host == "n"


@pytest.mark.parametrize(
    ("release", "configuration", "text"),
    [
        ("1.4", (None, None, {}), "release 1.4 has no component configuration to decide by"),
        ("1.36", (None, {}, None), "release 1.36 reads no Policy; give it a KubeSchedulerConfiguration"),
    ],
)
def test_what_a_release_does_not_read(release: str, configuration: Any, text: str) -> None:
    """It is refused."""
    with pytest.raises(ConfigError) as raised:
        engine_for(EngineSpec(release), *configuration)
    assert raised.value.problems == (text,)


def test_engines_by_provider() -> None:
    """The default one without a name."""
    engine = engine_for(EngineFlags("1.20"), "ClusterAutoscalerProvider", None, None)
    scheduler = engine.scheduler(cache_of([make_node("n"), make_node("m")], engine.view))
    assert "NodeResourcesMostAllocated" in scheduler.decide(make_pod("p")).weights


# --- what is decided -------------------------------------------------------------------------


@pytest.mark.parametrize("release", ["1.20", "1.36"])
def test_pods_of_another_scheduler(release: str) -> None:
    """They go nowhere, with the release's words."""
    pod = make_pod("p", scheduler_name='my"own')
    scheduler = scheduler_of(EngineSpec(release))
    for decision in (scheduler.decide(pod), scheduler.decide(pod, thorough=True)):
        assert (decision.host, decision.nodes_total, decision.tried) == (None, 1, False)
        assert decision.message == 'profile not found for scheduler name "my\\"own"'


def test_pods_that_are_held_back() -> None:
    """1.36 does not try them, also when every detail is asked for; earlier releases know no gates."""
    pod = make_pod("p", scheduling_gates=("a", "b"))
    scheduler = scheduler_of(EngineSpec("1.36"))
    for decision in (scheduler.decide(pod), scheduler.decide(pod, thorough=True)):
        assert (decision.host, decision.tried) == (None, False)
        assert decision.message == "waiting for scheduling gates: [a b]"
    assert scheduler_of(EngineSpec("1.20")).decide(pod).host == "n"


@pytest.mark.parametrize("release", RELEASES)
def test_the_message_is_complete_and_preemption_is_not_asked_for(release: str) -> None:
    """1.36 ends its message in what preemption says; the decision has that only if it was asked for."""
    scheduler = scheduler_of(EngineSpec(release))
    decision = scheduler.decide(big(priority=5))
    assert decision.preemption is None
    assert ("preemption: " in decision.message) is (release == "1.36")
    asked = scheduler.decide(big(priority=5), preempt=True)
    assert asked.message == decision.message
    assert (asked.preemption is None) is (release == "1.4")


def test_own_plugins_are_told_apart() -> None:
    """A scheduler with one does not know the answer for pods that look alike."""

    class Own:
        name = "Own"

        def filter(self, state: Any, pod: Pod, node_info: Any) -> None: ...

    plain = EngineSpec("1.36")
    assert not scheduler_of(plain).has_custom_plugins
    option = with_plugin("Own", lambda args, handle: Own())
    unused = EngineSpec("1.36", plugins=(option,))
    assert not scheduler_of(unused).has_custom_plugins
