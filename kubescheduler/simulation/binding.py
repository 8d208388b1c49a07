"""Binding: by the extender that wants to do it, else at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from clusterstate.errors import SchedulingError
from clusterstate.objects import Pod
from kubescheduler.core.algorithm import Extender
from kubescheduler.engine.engines import Scheduler
from kubescheduler.framework.cycle.cycle_rules import CYCLE_RULES
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
    return REJECTIONS[scheduler.algorithm.release](pod, node_name, scheduler)


def _legacy(pod: Pod, node_name: str, scheduler: Scheduler) -> str | None:
    try:
        bind(pod, node_name, scheduler.algorithm.extenders)
    except SchedulingError as error:
        return f"Binding rejected: {error}"
    return None


def _framework(pod: Pod, node_name: str, scheduler: Scheduler) -> str | None:
    release, extenders = scheduler.algorithm.release, scheduler.algorithm.extenders
    rules = CYCLE_RULES[release]
    _, status = rules.extenders_bind(Services(release, scheduler.cache, extenders=extenders), pod, node_name)
    return None if status is None else rules.chosen(Stage.BIND, pod, node_name, status).message


REJECTIONS: dict[str, Callable[[Pod, str, Scheduler], str | None]] = {
    "1.4": _legacy,
    "1.16": _legacy,
    "1.20": _framework,
    "1.36": _framework,
}
"""Release → how it has a pod bound."""
