"""Single changes that reach the goal, and those that do not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kubescheduler.hinting.proposals import Candidate, Hint, Scale
from kubescheduler.hinting.trials import Trials


def single_changes(trials: Trials, candidates: Iterable[Candidate]) -> tuple[list[Hint], list[Candidate]]:
    """The hints of single changes, and the changes that do not reach the goal alone."""
    found: list[Hint] = []
    failed: list[Candidate] = []
    for candidate in candidates:
        if isinstance(candidate, Scale):
            hint = trials.smallest(candidate)
        elif _says_nothing_new(candidate.smaller, found):
            continue
        else:
            hint = trials.tried(candidate)
        if hint is None:
            failed.append(candidate)
        else:
            found.append(hint)
    return found, failed


def _says_nothing_new(smaller: Sequence[str], found: Sequence[Hint]) -> bool:
    return any(hint.text in smaller for hint in found)
