"""The steps of a release's attempt, and what became of each in one decision."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from kubescheduler.core.decision import Decision
from kubescheduler.core.status import Code
from kubescheduler.engine.engine_contract import PodScheduler

PASSED, STOPPED, SKIPPED, NONE = "passed", "stopped", "skipped", "none"
"""What became of a step: it let the pod on, it ended the attempt, it had nothing to do, it was not come to."""


@attrs.frozen
class Step:
    """One step."""

    id: str
    """What the page knows it by."""
    title: str
    """The release's name for it."""
    state: str
    """``passed``, ``stopped``, ``skipped`` or ``none``."""
    text: str
    """What happened, in one line."""


def steps(found: Decision, scheduler: PodScheduler) -> list[dict[str, Any]]:
    """Every step of the release in order."""
    every = _framework(found, scheduler) if found.coded else _legacy(found)
    return [attrs.asdict(step) for step in every]


# --- what a decision says of its own course ------------------------------------------------------


def passed_rows(found: Decision) -> int:
    """Nodes that no check refuses, also where an error ended the attempt afterwards."""
    if found.error is None:
        return len(found.feasible)
    codes = found.row_codes()
    return int((found.looked_at & (codes == Code.Success)).sum()) if found.verdicts else 0


def _passing(found: Decision) -> str:
    """Whether some node passes the checks; what was scored did."""
    return PASSED if passed_rows(found) or found.error_at == "score" else STOPPED


def _counted(found: Decision) -> str:
    if found.error is not None and not found.verdicts:
        return ""
    looked, fits = int(found.looked_at.sum()), passed_rows(found)
    return f"{fits} of {looked} node{'s' * (looked != 1)} fit{'s' * (fits == 1)}"


# --- releases with predicates and priorities -----------------------------------------------------


def _legacy(found: Decision) -> Iterator[Step]:
    failed = found.error_at
    if not found.tried:
        yield Step("predicates", "Predicates", STOPPED, found.message)
    elif failed == "filter":
        yield Step("predicates", "Predicates", STOPPED, found.error or "")
    else:
        yield Step("predicates", "Predicates", _passing(found), _counted(found))
    yield _scoring(found, failed, "priorities", "Priorities")
    yield _select(found)
    if found.preemption is not None or failed == "postFilter":
        yield _preempting(found, "preemption", "Preemption")
    yield _bind(found)


def _scoring(found: Decision, failed: str, step: str, title: str) -> Step:
    if failed == "score":
        return Step(step, title, STOPPED, found.error or "")
    if found.host is None:
        return Step(step, title, NONE, "")
    if not len(found.totals):
        return Step(step, title, SKIPPED, "one node fits; the release takes it unscored")
    return Step(step, title, PASSED, f"{len(found.totals)} nodes scored by {len(found.scores)} rules")


def _select(found: Decision) -> Step:
    if found.host is None:
        return Step("select", "Select", NONE, "")
    best = int((found.totals == found.totals.max()).sum()) if len(found.totals) else 1
    text = f"{found.host}, one of {best} nodes with the highest total" if best > 1 else found.host
    return Step("select", "Select", PASSED, text)


def _preempting(found: Decision, step: str, title: str) -> Step:
    if found.error_at == "postFilter":
        return Step(step, title, STOPPED, found.error or "")
    if found.preemption is not None and found.preemption.chosen:
        node = found.nominated or found.preemption.chosen[0]
        victims = found.preemption.candidates.get(node)
        gone = 0 if victims is None else len(victims.pods)
        return Step(step, title, PASSED, f"evicting {gone} pod{'s' * (gone != 1)} makes room on {node}")
    return Step(step, title, STOPPED, found.post_filter_message or "evicting pods of lower priority makes room nowhere")


def _bind(found: Decision) -> Step:
    if found.host is None:
        return Step("bind", "Bind", NONE, "")
    return Step("bind", "Bind", PASSED, f"the pod is bound to {found.host}")


# --- releases with plugins -----------------------------------------------------------------------


def _framework(found: Decision, scheduler: PodScheduler) -> Iterator[Step]:
    foreign = scheduler.foreign(found.pod)
    points = scheduler.points(found.pod)
    failed = found.error_at
    yield _gates(found, foreign, points.get("preEnqueue", ()))
    yield Step("queue", "Queue", STOPPED if foreign else PASSED if found.tried else NONE, foreign)
    yield _pre_filter(found, failed)
    yield _filter(found, failed)
    yield _post_filter(found)
    scoring = _scoring(found, failed, "score", "Score")
    yield Step("preScore", "PreScore", PASSED if scoring.state == STOPPED else scoring.state, "")
    yield scoring
    yield Step("normalise", "Normalise", NONE if scoring.state == STOPPED else scoring.state, "")
    yield _select(found)
    for step, title in (("reserve", "Reserve"), ("permit", "Permit")):
        plugins = points.get(step, ())
        state = NONE if found.host is None else PASSED if plugins else SKIPPED
        yield Step(step, title, state, ", ".join(plugins))
    yield _bind(found)


def _gates(found: Decision, foreign: str, plugins: tuple[str, ...]) -> Step:
    if found.tried or foreign:
        return Step("gates", "PreEnqueue", NONE if foreign else PASSED if plugins else SKIPPED, ", ".join(plugins))
    return Step("gates", "PreEnqueue", STOPPED, found.message)


def _pre_filter(found: Decision, failed: str) -> Step:
    if not found.tried:
        return Step("preFilter", "PreFilter", NONE, "")
    if failed == "preFilter":
        return Step("preFilter", "PreFilter", STOPPED, found.error or "")
    if found.pre_filter_rejection is not None:
        return Step("preFilter", "PreFilter", STOPPED, found.pre_filter_message)
    if found.absent is not None:
        names, left = ", ".join(found.pre_filter_plugins), int(found.looked_at.sum())
        return Step("preFilter", "PreFilter", PASSED, f"{names} leaves {left} node{'s' * (left != 1)} to look at")
    return Step("preFilter", "PreFilter", PASSED, "")


def _filter(found: Decision, failed: str) -> Step:
    if not found.tried or failed == "preFilter" or found.pre_filter_rejection is not None:
        return Step("filter", "Filter", NONE, "")
    if failed == "filter":
        return Step("filter", "Filter", STOPPED, found.error or "")
    if found.from_kept_ranking:
        return Step("filter", "Filter", PASSED, f"{found.host} was checked alone, as the next of a kept ranking")
    return Step("filter", "Filter", _passing(found), _counted(found))


def _post_filter(found: Decision) -> Step:
    if found.host is not None or found.error_at in ("preFilter", "filter", "score") or not found.tried:
        return Step("postFilter", "PostFilter", SKIPPED if found.host is not None else NONE, "")
    if found.preemption is None and found.error_at != "postFilter":
        return Step("postFilter", "PostFilter", SKIPPED, found.post_filter_message)
    return _preempting(found, "postFilter", "PostFilter")
