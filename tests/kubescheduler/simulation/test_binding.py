"""Binding through HTTP extenders."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest

from clusterstate.objects import Node
from kubescheduler.core.generic_scheduler import GenericScheduler
from kubescheduler.cycle.schedule_one import refused_binding
from kubescheduler.engine.engine_flags import EngineFlags
from kubescheduler.engine.framework_engine import FrameworkEngine
from kubescheduler.engine.legacy_engine import algorithm_for
from kubescheduler.engine.loop_parts import loop_parts
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.extender.client import HTTPExtender
from kubescheduler.simulation.simulation import Simulation
from kubescheduler.simulation.simulation_report import Report
from kubescheduler.simulation.workload import Arrival, Workload
from tests.support.build import cache_of, make_pod, resources
from tests.support.custom.extender_asking import POD, Asking, asking_process, node


@pytest.fixture(scope="module")
def asking() -> Iterator[Asking]:
    with asking_process() as made:
        yield made


def only_binding(asking: Asking, behaviour: str) -> HTTPExtender:
    return asking(behaviour, filter_verb="", prioritize_verb="")


def legacy_scheduler(*extenders: HTTPExtender) -> GenericScheduler:
    amounts = resources(cpu=4000, memory=8 << 30, pods=10)
    nodes: list[Node] = [msgspec.structs.replace(node(name), allocatable=amounts) for name in ("n0", "n1")]
    algorithm = msgspec.structs.replace(algorithm_for(EngineFlags(), None, None), extenders=extenders)
    return GenericScheduler(algorithm, cache_of(nodes))


def simulated(*extenders: HTTPExtender) -> Report:
    scheduler = legacy_scheduler(*extenders)
    return Simulation(scheduler, Workload((Arrival(make_pod("p")), Arrival(make_pod("q"), at=5.0)))).run()


def test_the_first_with_a_bind_verb_binds(asking: Asking) -> None:
    """Without one the pod is bound at once."""
    silent, first, second = asking("good", bind_verb=""), asking("good"), asking("shout")
    for extenders, refused in (((silent, first, second), None), ((silent,), None), ((silent, second), "no")):
        text = None if refused is None else f"Binding rejected: {refused}"
        assert refused_binding(loop_parts(legacy_scheduler(*extenders)), POD, "n0") == text


def test_pods_are_bound(asking: Asking) -> None:
    """By an extender that filters and scores as well."""
    assert [record.outcome for record in simulated(asking("good")).pods] == ["running", "running"]


def test_refused_bindings(asking: Asking) -> None:
    """The pods wait, with the extender's text, and nothing is left on the nodes."""
    report = simulated(only_binding(asking, "shout"))
    assert [record.message for record in report.pods] == ["Binding rejected: no"] * 2
    assert report.samples[-1].used[-1] == 0


@pytest.mark.parametrize(
    ("release", "ignorable", "message"),
    [
        ("1.20", False, "binding rejected: no"),
        ("1.20", True, "binding rejected: no"),
        ("1.36", False, "no"),
        ("1.36", True, ""),
    ],
)
def test_refused_bindings_of_framework_releases(asking: Asking, release: str, ignorable: bool, message: str) -> None:
    """In the release's words; 1.36 passes over an extender that may be ignored."""
    extender = asking("shout", filter_verb="", prioritize_verb="", ignorable=ignorable)
    engine = EngineSpec(release).engine(print)
    assert isinstance(engine, FrameworkEngine)
    nodes = [msgspec.structs.replace(node("n"), allocatable=resources(cpu=4000, memory=8 << 30, pods=10))]
    scheduler = msgspec.structs.replace(engine, extenders=(extender,)).scheduler(cache_of(nodes, engine.view))
    report = Simulation(scheduler, Workload((Arrival(make_pod("p")), Arrival(make_pod("q"), at=5.0)))).run()
    assert [record.message for record in report.pods] == [message] * 2
