"""Small plugins and frameworks for tests of the framework runtime."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import attrs

from clusterstate.objects import Node, Pod
from kubescheduler.core.status import Status
from kubescheduler.framework.contract.clocks import ManualTime
from kubescheduler.framework.contract.observer import Observer
from kubescheduler.framework.contract.plugin import points_of
from kubescheduler.framework.contract.profile import Enabled, Point, Profile
from kubescheduler.framework.running.build_framework import build_framework
from kubescheduler.framework.running.framework_runtime import Framework
from kubescheduler.framework.running.framework_services import Services
from kubescheduler.releases.lookup import release_named
from tests.support.build import cache_of
from tests.support.claimless import Claimless


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
