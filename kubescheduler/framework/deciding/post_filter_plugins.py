"""PostFilter: what the plugins do about a pod that fits nowhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec

from clusterstate.errors import SchedulingError
from kubescheduler.core.decision import Decision
from kubescheduler.core.decision_records import Preemption, nominee_of
from kubescheduler.core.status import REJECTED_1_20, REJECTED_1_36, Code, Status, is_success, merge
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.deciding.adapters import ask_post_filter
from kubescheduler.framework.deciding.preemption_search import ProcessCrash, Search

Nominee = str | None
"""A node's name; empty: the pod is no longer nominated; None: nothing is said."""

Answer = tuple[str, Nominee, Status | None]
"""(plugin, the node it nominates, its status; None: Success)."""

Collect = Callable[[Iterator[Answer], CycleState], tuple[Nominee, Status | None]]
"""What the answers come to; each is asked for when it is its turn."""

ALL_SKIPPED = "All PostFilter plugins are skipped"


def collect_1_20(given: Iterator[Answer], cycle: CycleState) -> tuple[Nominee, Status | None]:  # noqa: ARG001
    """Until one succeeds or fails; rejections are merged. Upstream: 1.20 RunPostFilterPlugins."""
    found: list[Status] = []
    for plugin, nominee, status in given:
        if status is None or is_success(status):
            return nominee, status
        if status.code not in REJECTED_1_20:
            return None, Status.failure(status.message).by(plugin)
        found.append(status.by(plugin))
    return None, merge(found)


def collect_1_36(given: Iterator[Answer], cycle: CycleState) -> tuple[Nominee, Status | None]:
    """Until one succeeds, fails or cannot help; all reasons are reported. Upstream: 1.36 RunPostFilterPlugins."""
    if cycle.skip_all_post_filter:
        return None, Status.unschedulable(ALL_SKIPPED)
    kept: Nominee = None
    reasons: list[str] = []
    rejector = ""
    for plugin, nominee, status in given:
        if status is None or is_success(status):
            return nominee, status
        if status.code is Code.UnschedulableAndUnresolvable:
            return nominee, status.by(plugin)
        if status.code not in REJECTED_1_36:
            return None, Status.failure(status.error_text).by(plugin)
        kept = kept if nominee is None else nominee
        reasons += status.all_reasons
        rejector = rejector or plugin
    return kept, Status(Code.Unschedulable, tuple(reasons), plugin=rejector)


class Statuses(Mapping[str, Status]):
    """Node that was refused → its status; put together when somebody looks."""

    def __init__(self, decision: Decision) -> None:
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


def searches(plugin: Any) -> bool:
    """Whether a plugin preempts over columns; a custom one with ``post_filter`` may call anything ``search``."""
    return hasattr(plugin, "search") and not hasattr(plugin, "post_filter")


class PostFiltered(msgspec.Struct, frozen=True, eq=False):
    """What all PostFilter plugins came to."""

    preemption: Preemption | None = None
    """What DefaultPreemption found, None when it was not run."""
    nominated: Nominee = None
    """The node that the pod is to wait for."""
    status: Status | None = None
    """None: Success."""

    @property
    def message(self) -> str:
        """Empty for a success."""
        return "" if self.status is None or is_success(self.status) else self.status.message


def run_post_filters(
    plugins: Sequence[Any], search: Search, cycle: CycleState, collect: Collect, *, strict: bool = False
) -> PostFiltered:
    """Asks the plugins one after the other.

    strict: raises SchedulingError when preemption fails, instead of taking it for the plugin's Error as the release
    does. Raises ProcessCrash where the release would end.
    """
    found: list[Preemption] = []

    def ask() -> Iterator[Answer]:
        for plugin in plugins:
            if not searches(plugin):
                status, nominee = ask_post_filter(plugin, cycle, search.pod, Statuses(search.decision))
                yield plugin.name, nominee, status
                continue
            try:
                made, status = plugin.search(search)
            except SchedulingError as error:
                if strict or isinstance(error, ProcessCrash):
                    raise
                yield plugin.name, None, Status.failure(str(error))
            else:
                found.append(made)
                yield plugin.name, nominee_of(made), status

    nominated, status = collect(ask(), cycle)
    return PostFiltered(found[-1] if found else None, nominated, status)
