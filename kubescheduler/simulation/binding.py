"""Binding: by the extender that wants to do it, else at once."""

from __future__ import annotations

from collections.abc import Iterable

from clusterstate.errors import SchedulingError
from clusterstate.objects import Pod
from kubescheduler.core.algorithm import Extender
from kubescheduler.engine.engines import Scheduler
from kubescheduler.engine.releases import release_named
from kubescheduler.framework.cycle.failures import Stage
from kubescheduler.framework.running.framework_services import Services


def binder_of(pod: Pod, extenders: Iterable[Extender]) -> Extender | None:
    """The first extender with a bindVerb that is interested in the pod. Upstream: 1.16 GetBinder."""
    for extender in extenders:
        if extender.config.bind_verb and extender.is_interested(pod):
            return extender
    return None


def bind(pod: Pod, node_name: str, extenders: Iterable[Extender]) -> None:
    """Has the pod bound. Raises ExtenderError when an extender refuses to."""
    binder = binder_of(pod, extenders)
    if binder is not None:
        binder.bind(pod, node_name)


def rejected_binding(pod: Pod, node_name: str, scheduler: Scheduler) -> str | None:
    """Has the pod bound as the scheduler's release does it; the release's text when an extender refuses to."""
    if not scheduler.algorithm.extenders:
        return None
    rejected = _legacy if release_named(scheduler.algorithm.release).framework is None else _framework
    return rejected(pod, node_name, scheduler)


def _legacy(pod: Pod, node_name: str, scheduler: Scheduler) -> str | None:
    try:
        bind(pod, node_name, scheduler.algorithm.extenders)
    except SchedulingError as error:
        return f"Binding rejected: {error}"
    return None


def _framework(pod: Pod, node_name: str, scheduler: Scheduler) -> str | None:
    release, extenders = scheduler.algorithm.release, scheduler.algorithm.extenders
    rules = release_named(release).framework_rules.cycle
    _, status = rules.extenders_bind(Services(release, scheduler.cache, extenders=extenders), pod, node_name)
    return None if status is None else rules.chosen(Stage.BIND, pod, node_name, status).message
