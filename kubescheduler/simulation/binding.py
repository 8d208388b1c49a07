"""Binding: by the extender that wants to do it, else at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, cast

from clusterstate.objects import Pod


class Binder(Protocol):
    """An extender that may bind; ``config.bind_verb`` is empty when it does not."""

    @property
    def config(self) -> Any: ...
    def is_interested(self, pod: Pod) -> bool: ...
    def bind(self, pod: Pod, node_name: str) -> None: ...


def binder_of(pod: Pod, extenders: Iterable[object]) -> Binder | None:
    """The first extender with a bindVerb that is interested in the pod. Upstream: 1.16 GetBinder."""
    for extender in cast("Iterable[Binder]", extenders):
        if extender.config.bind_verb and extender.is_interested(pod):
            return extender
    return None


def bind(pod: Pod, node_name: str, extenders: Iterable[object]) -> None:
    """Has the pod bound. Raises ExtenderError when an extender refuses to."""
    binder = binder_of(pod, extenders)
    if binder is not None:
        binder.bind(pod, node_name)
