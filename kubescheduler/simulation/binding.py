"""Binding: by the extender that wants to do it, else at once."""

from __future__ import annotations

from collections.abc import Iterable

from clusterstate.objects import Pod
from kubescheduler.core.algorithm import Extender


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
