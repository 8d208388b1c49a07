"""The steps of a release's attempt, and what became of each in one decision."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from kubescheduler.core.decision import Decision
from kubescheduler.core.status import Code
from kubescheduler.engine.engine_contract import PodScheduler

PASSED, STOPPED, SKIPPED, NONE = "passed", "stopped", "skipped", "none"
"""What became of a step: it let the pod on, it ended the attempt, it had nothing to do, it was not come to."""


class AttemptStep(msgspec.Struct, frozen=True):
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
    return [msgspec.structs.asdict(step) for step in every]


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


def _legacy(found: Decision) -> Iterator[AttemptStep]:
    failed = found.error_at
    if not found.tried:
        yield AttemptStep("predicates", "Predicates", STOPPED, found.message)
    elif failed == "filter":
        yield AttemptStep("predicates", "Predicates", STOPPED, found.error or "")
    else:
        yield AttemptStep("predicates", "Predicates", _passing(found), _counted(found))
    yield _scoring(found, failed, "priorities", "Priorities")
    yield _select(found)
    if found.preemption is not None or failed == "postFilter":
        yield _preempting(found, "preemption", "Preemption")
    yield _bind(found)


def _scoring(found: Decision, failed: str, step: str, title: str) -> AttemptStep:
    if failed == "score":
        return AttemptStep(step, title, STOPPED, found.error or "")
    if found.host is None:
        return AttemptStep(step, title, NONE, "")
    if not len(found.totals):
        return AttemptStep(step, title, SKIPPED, "one node fits; the release takes it unscored")
    return AttemptStep(step, title, PASSED, f"{len(found.totals)} nodes scored by {len(found.scores)} rules")


def _select(found: Decision) -> AttemptStep:
    if found.host is None:
        return AttemptStep("select", "Select", NONE, "")
    best = int((found.totals == found.totals.max()).sum()) if len(found.totals) else 1
    text = f"{found.host}, one of {best} nodes with the highest total" if best > 1 else found.host
    return AttemptStep("select", "Select", PASSED, text)


def _preempting(found: Decision, step: str, title: str) -> AttemptStep:
    if found.error_at == "postFilter":
        return AttemptStep(step, title, STOPPED, found.error or "")
    if found.preemption is not None and found.preemption.chosen:
        node = found.nominated or found.preemption.chosen[0]
        victims = found.preemption.candidates.get(node)
        gone = 0 if victims is None else len(victims.pods)
        return AttemptStep(step, title, PASSED, f"evicting {gone} pod{'s' * (gone != 1)} makes room on {node}")
    return AttemptStep(
        step, title, STOPPED, found.post_filter_message or "evicting pods of lower priority makes room nowhere"
    )


def _bind(found: Decision) -> AttemptStep:
    if found.host is None:
        return AttemptStep("bind", "Bind", NONE, "")
    return AttemptStep("bind", "Bind", PASSED, f"the pod is bound to {found.host}")


# --- releases with plugins -----------------------------------------------------------------------


def _framework(found: Decision, scheduler: PodScheduler) -> Iterator[AttemptStep]:
    foreign = scheduler.foreign(found.pod)
    points = scheduler.points(found.pod)
    failed = found.error_at
    yield _gates(found, foreign, points.get("preEnqueue", ()))
    yield AttemptStep("queue", "Queue", STOPPED if foreign else PASSED if found.tried else NONE, foreign)
    yield _pre_filter(found, failed)
    yield _filter(found, failed)
    yield _post_filter(found)
    scoring = _scoring(found, failed, "score", "Score")
    yield AttemptStep("preScore", "PreScore", PASSED if scoring.state == STOPPED else scoring.state, "")
    yield scoring
    yield AttemptStep("normalise", "Normalise", NONE if scoring.state == STOPPED else scoring.state, "")
    yield _select(found)
    for step, title in (("reserve", "Reserve"), ("permit", "Permit")):
        plugins = points.get(step, ())
        state = NONE if found.host is None else PASSED if plugins else SKIPPED
        yield AttemptStep(step, title, state, ", ".join(plugins))
    yield _bind(found)


def _gates(found: Decision, foreign: str, plugins: tuple[str, ...]) -> AttemptStep:
    if found.tried or foreign:
        return AttemptStep(
            "gates", "PreEnqueue", NONE if foreign else PASSED if plugins else SKIPPED, ", ".join(plugins)
        )
    return AttemptStep("gates", "PreEnqueue", STOPPED, found.message)


def _pre_filter(found: Decision, failed: str) -> AttemptStep:
    if not found.tried:
        return AttemptStep("preFilter", "PreFilter", NONE, "")
    if failed == "preFilter":
        return AttemptStep("preFilter", "PreFilter", STOPPED, found.error or "")
    if found.pre_filter_rejection is not None:
        return AttemptStep("preFilter", "PreFilter", STOPPED, found.pre_filter_message)
    if found.absent is not None:
        names, left = ", ".join(found.pre_filter_plugins), int(found.looked_at.sum())
        return AttemptStep(
            "preFilter", "PreFilter", PASSED, f"{names} leaves {left} node{'s' * (left != 1)} to look at"
        )
    return AttemptStep("preFilter", "PreFilter", PASSED, "")


def _filter(found: Decision, failed: str) -> AttemptStep:
    if not found.tried or failed == "preFilter" or found.pre_filter_rejection is not None:
        return AttemptStep("filter", "Filter", NONE, "")
    if failed == "filter":
        return AttemptStep("filter", "Filter", STOPPED, found.error or "")
    if found.from_kept_ranking:
        return AttemptStep("filter", "Filter", PASSED, f"{found.host} was checked alone, as the next of a kept ranking")
    return AttemptStep("filter", "Filter", _passing(found), _counted(found))


def _post_filter(found: Decision) -> AttemptStep:
    if found.host is not None or found.error_at in ("preFilter", "filter", "score") or not found.tried:
        return AttemptStep("postFilter", "PostFilter", SKIPPED if found.host is not None else NONE, "")
    if found.preemption is None and found.error_at != "postFilter":
        return AttemptStep("postFilter", "PostFilter", SKIPPED, found.post_filter_message)
    return _preempting(found, "postFilter", "PostFilter")
