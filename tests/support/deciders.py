"""Schedulers of plugins made for a test, and extenders without a network."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from clusterstate.cache import ClusterCache
from clusterstate.changes import NOTHING
from clusterstate.errors import SchedulingError
from clusterstate.footprint import Footprint
from clusterstate.objects import Node, Pod
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from kubescheduler.core.extender_calls import FilterAnswer
from kubescheduler.core.status import Code, Status
from kubescheduler.extender.config import ExtenderConfig
from kubescheduler.framework.contract.handle import Services
from kubescheduler.framework.contract.plugin import ColumnPlugin, points_of
from kubescheduler.framework.contract.profile import Enabled, Point, Profile
from kubescheduler.framework.contract.runs import Observer
from kubescheduler.framework.deciding.profile_attempt import FrameworkScheduler
from kubescheduler.framework.framework_runtime import Framework
from kubescheduler.framework.profile_map import build_framework
from kubescheduler.releases.lookup import release_named
from predicates.types import FitPredicate, PreFiltered
from priorities.types import PriorityConfig
from tests.support.build import cache_of, make_node
from tests.support.manual_time import ManualTime
from tests.support.storage import Claimless


class Sort:
    """A queue sort by name."""

    name = "Sort"

    def less(self, first: Any, second: Any) -> bool:
        return bool(first.pod.metadata.name < second.pod.metadata.name)


class Binder:
    """Binds everything."""

    name = "Binder"

    def bind(self, state: Any, pod: Pod, node_name: str) -> Status | None:
        return None


@attrs.define
class Gang:
    """Holds the pods of a gang, until ``size`` of them have places."""

    handle: Any
    size: int
    seconds: float
    """How long the pods are held."""
    name: str = "Custom"

    def permit(self, state: Any, pod: Pod, node_name: str) -> tuple[Status | None, float]:
        waiting = self.handle.waiting_pods()
        if len(waiting) + 1 < self.size:
            return Status(Code.Wait, ("w",)), self.seconds
        for held in waiting:
            held.allow(self.name)
        return None, 0.0


def plugin(name: str, **methods: Callable[..., Any]) -> Any:
    """A plugin with these methods, called without ``self``."""
    made = type(name, (), {method: staticmethod(function) for method, function in methods.items()})()
    made.name = name
    return made


def answers(**given: Any) -> dict[str, Callable[..., Any]]:
    """Methods that always answer the same; an exception is raised."""

    def constantly(value: Any) -> Callable[..., Any]:
        def method(*_: Any) -> Any:
            if isinstance(value, Exception):
                raise value
            return value

        return method

    return {name: constantly(value) for name, value in given.items()}


def profile_of(plugins: Iterable[Any], weights: Mapping[str, int] | None = None, **fields: Any) -> Profile:
    """Every plugin at every point it takes part in, in the order given."""
    lists: dict[Point, tuple[Enabled, ...]] = {}
    for made in plugins:
        for point in Point:
            if point in points_of(made):
                weight = (weights or {}).get(made.name, 0) if point is Point.SCORE else 0
                lists[point] = (*lists.get(point, ()), Enabled(made.name, weight))
    return Profile(plugins=lists, **fields)


def registry_of(plugins: Iterable[Any]) -> dict[str, Any]:
    return {made.name: lambda args, handle, made=made: made for made in plugins}


def services_of(release: str = "1.36", nodes: Iterable[Node] = (), pods: Iterable[Pod] = (), **fields: Any) -> Services:
    """Services over a cluster in memory, with a clock that is moved by hand."""
    fields.setdefault("time", ManualTime())
    return Services(release, cache_of([*nodes, *pods]), **fields)


def frame(
    release: str,
    *plugins: Any,
    services: Services | None = None,
    weights: Mapping[str, int] | None = None,
    **fields: Any,
) -> Framework:
    """A framework of some plugins, with a queue sort and a binder."""
    with_needed = [*plugins]
    for needed, point in ((Sort(), Point.QUEUE_SORT), (Binder(), Point.BIND)):
        if not any(point in points_of(made) for made in plugins):
            with_needed.append(needed)
    return build_framework(
        profile_of(with_needed, weights, **fields),
        registry_of(with_needed),
        release_named(release).framework_rules.profiles.construction,
        services_of(release) if services is None else services,
    )


@attrs.define
class Recorder(Claimless, Observer):
    """Remembers events, patches and what an observer is told."""

    events: list[tuple[str, str, str, str, str]] = attrs.field(factory=list)
    patches: list[tuple[str, dict[str, Any]]] = attrs.field(factory=list)
    bound: list[tuple[str, str]] = attrs.field(factory=list)
    told: list[tuple[Any, ...]] = attrs.field(factory=list)
    troubles: list[str] = attrs.field(factory=list)
    error: Exception | None = None
    measures: bool = True

    def event(self, pod: Pod, type_: str, reason: str, action: str, note: str, related: Pod | None = None) -> None:
        self.events.append((pod.key, type_, reason, action, note))

    def bind(self, pod: Pod, node_name: str) -> None:
        if self.error is not None:
            raise self.error
        self.bound.append((pod.key, node_name))

    def delete_pod(self, pod: Pod) -> None: ...

    def patch_pod_status(self, pod: Pod, status: Mapping[str, Any]) -> None:
        self.patches.append((pod.key, dict(status)))

    def update_object(self, obj: Any) -> None: ...

    def point(self, *told: Any) -> None:
        self.told.append(("point", *told))

    def plugin(self, *told: Any) -> None:
        self.told.append(("plugin", *told))

    def evaluated(self, *told: Any) -> None:
        self.told.append(("evaluated", *told))

    def permit_waited(self, *told: Any) -> None:
        self.told.append(("permit_waited", *told))

    def attempt(self, *told: Any) -> None:
        self.told.append(("attempt", *told))

    def batch_attempt(self, *told: Any) -> None:
        self.told.append(("batch_attempt", *told))

    def batch_flushed(self, *told: Any) -> None:
        self.told.append(("batch_flushed", *told))

    def trouble(self, text: str) -> None:
        self.troubles.append(text)


NODES = [make_node(name, {"zone": zone}) for name, zone in (("n0", "a"), ("n1", "b"), ("n2", "a"))]


def deciding(
    release: str,
    *plugins: Any,
    cluster: Iterable[Any] = NODES,
    extenders: Sequence[Any] = (),
    weights: Mapping[str, int] | None = None,
    tie_break: Any = None,
    percentage: int = 100,
    run_all: bool = False,
) -> FrameworkScheduler:
    """A scheduler of one profile with these plugins at every point where they take part."""
    services = Services(
        release, ClusterCache.of(cluster, release_named(release).default_view), extenders=tuple(extenders)
    )
    made = frame(release, *plugins, services=services, weights=weights, run_all_filters=run_all)
    return FrameworkScheduler(
        made, services.cache, release_named(release).framework_rules.deciding, tuple(extenders), tie_break, percentage
    )


def refusing(name: str, **reasons: Any) -> ColumnPlugin:
    """A Filter over columns: node → the reason for which it is refused; ``hopeless`` among them cannot be mended."""

    def check(_: PodInfo, snapshot: Snapshot) -> Any:
        there = snapshot.names
        texts = dict.fromkeys(reasons.values())
        return {text: np.array([reasons.get(name) == text for name in there], np.bool_) for text in texts}

    rule = FitPredicate(name, check, unresolvable=lambda reason: reason == "hopeless")
    return ColumnPlugin(name, frozenset({Point.FILTER}), rule)


def pre_filtering(name: str, answer: PreFiltered, *points: Point) -> ColumnPlugin:
    """A PreFilter over columns, by default with a Filter that passes everywhere."""
    rule = FitPredicate(
        name,
        lambda pod, snapshot: {},
        Footprint(pre_reads=NOTHING),
        pre_filter=lambda pod, snapshot: answer,
        unresolvable=lambda reason: reason == "hopeless",
    )
    return ColumnPlugin(name, frozenset({Point.PRE_FILTER, *(points or (Point.FILTER,))}), rule)


def scoring(name: str, *given: int, **fields: Any) -> ColumnPlugin:
    """A Score over columns: the number of each row; 0 for rows beyond."""

    def score(_: PodInfo, snapshot: Snapshot) -> Any:
        return np.array([*given, 0], np.int64)[np.minimum(snapshot.row_numbers, len(given))]

    points = {Point.SCORE, Point.PRE_SCORE} if "pre_score" in fields else {Point.SCORE}
    return ColumnPlugin(name, frozenset(points), scoring=PriorityConfig(name, score, **fields))


# --- extenders ---------------------------------------------------------------------------------


class Answered(FilterAnswer, frozen=True):
    """An answer that says itself how it came."""

    as_objects: bool = False


@attrs.define
class FakeExtender:
    """Answers what it is told to; a text is raised. asked: the nodes that came to its filter.

    filtered: None: all nodes are left. scores: host → score. kept: of preemption's candidates, node → (uids,
    violations); None: all as they are.
    """

    filtered: Answered | str | None = None
    scores: dict[str, int] | str | None = None
    kept: dict[str, tuple[tuple[str, ...], int]] | str | None = None
    preempts: bool = False
    ignorable: bool = False
    weight: int = 1
    interested: bool = True
    asked: list[list[str]] = attrs.field(factory=list)

    @property
    def config(self) -> ExtenderConfig:
        return ExtenderConfig(
            "http://x",
            filter_verb="filter",
            prioritize_verb="" if self.scores is None else "prioritize",
            preempt_verb="preempt" if self.preempts or self.kept is not None else "",
            weight=self.weight,
            ignorable=self.ignorable,
        )

    def is_interested(self, pod: Pod) -> bool:
        return self.interested

    def filter(self, pod: Pod, nodes: Sequence[Node], known: Container[str]) -> Answered:
        names = [node.name for node in nodes]
        self.asked.append(names)
        if isinstance(self.filtered, str):
            raise SchedulingError(self.filtered)
        return Answered(tuple(names)) if self.filtered is None else self.filtered

    def prioritize(self, pod: Pod, nodes: Sequence[Node]) -> list[tuple[str, int]]:
        if isinstance(self.scores, str):
            raise SchedulingError(self.scores)
        return list((self.scores or {}).items())

    def preempt(self, pod: Pod, victims: Any) -> dict[str, tuple[tuple[str, ...], int]]:
        if isinstance(self.kept, str):
            raise SchedulingError(self.kept)
        if self.kept is not None:
            return self.kept
        return {name: (tuple(p.metadata.uid for p in pods), count) for name, (pods, count) in victims.items()}

    def bind(self, pod: Pod, node_name: str) -> None: ...
