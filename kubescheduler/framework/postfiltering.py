"""PostFilter: what the plugins do about a pod that fits nowhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import attrs

from kubescheduler.core.decision import Preemption
from kubescheduler.framework.decision import FrameworkDecision
from kubescheduler.framework.preemption import Search
from kubescheduler.framework.state import CycleState
from kubescheduler.framework.status import Code, Status, code_of


class Statuses(Mapping[str, Status]):
    """Node that was refused → its status; put together when somebody looks."""

    def __init__(self, decision: FrameworkDecision) -> None:
        self._decision = decision

    @cached_property
    def _all(self) -> dict[str, Status]:
        return self._decision.statuses()

    def __getitem__(self, name: str) -> Status:
        return self._all[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)


@attrs.frozen(eq=False)
class PostFiltered:
    """preemption: what DefaultPreemption found, None when it was not run. nominated: the node that the pod is to wait
    for. message: the reasons that are told, as the release does. error: a plugin failed."""

    preemption: Preemption | None = None
    nominated: str | None = None
    message: str = ""
    error: str | None = None


def run_post_filters_1_20(plugins: Sequence[Any], search: Search, cycle: CycleState) -> PostFiltered:
    """Until one succeeds or fails; nothing is told. Upstream: 1.20 RunPostFilterPlugins."""
    preemption: Preemption | None = None
    for plugin in plugins:
        found, nominated, status = _answer(plugin, search, cycle)
        preemption = found or preemption
        if code_of(status) is Code.Success:
            return PostFiltered(preemption, nominated)
        if status is not None and status.code not in (Code.Unschedulable, Code.UnschedulableAndUnresolvable):
            return PostFiltered(preemption, error=status.message)
    return PostFiltered(preemption)


def run_post_filters_1_36(plugins: Sequence[Any], search: Search, cycle: CycleState) -> PostFiltered:
    """Until one succeeds, fails or cannot help; all reasons are told. Upstream: 1.36 RunPostFilterPlugins."""
    preemption: Preemption | None = None
    reasons: list[str] = []
    nominated: str | None = None
    for plugin in plugins:
        found, name, status = _answer(plugin, search, cycle)
        preemption, nominated = found or preemption, name or nominated
        if status is None or status.code is Code.Success:
            return PostFiltered(preemption, nominated)
        if status.code is Code.UnschedulableAndUnresolvable:
            return PostFiltered(preemption, nominated, status.message)
        if status.code is not Code.Unschedulable:
            return PostFiltered(preemption, nominated, status.message, error=status.message)
        reasons += status.all_reasons
    return PostFiltered(preemption, nominated, ", ".join(reasons))


def _answer(plugin: Any, search: Search, cycle: CycleState) -> tuple[Preemption | None, str | None, Status | None]:
    """(what DefaultPreemption found, the nominated node, the status) of one plugin."""
    preempt: Callable[[Search], tuple[Preemption, Status]] | None = getattr(plugin, "search", None)
    if preempt is not None:
        found, status = preempt(search)
        return found, found.chosen[0] if found.chosen else None, status
    nominated, status = plugin.post_filter(cycle, search.pod, Statuses(search.decision))
    return None, nominated, status


RUN_POST_FILTERS: dict[str, Callable[[Sequence[Any], Search, CycleState], PostFiltered]] = {
    "1.20": run_post_filters_1_20,
    "1.36": run_post_filters_1_36,
}
"""Release → how it runs PostFilter plugins."""
