"""A comparison for CI: a suite per new column, a case per pod.

The group of a case is the pod's namespace and workload: ``default.Deployment/web``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from kubescheduler.comparison.cause_sentences import by_priority
from kubescheduler.comparison.comparison import Comparison
from kubescheduler.comparison.outcomes import MEANINGS, Cause, HostChange, PodComparison
from kubescheduler.report.ci_results import CiCase, Standing, Suite


def comparison_suites(comparison: Comparison, tolerated: Collection[Cause] = ()) -> Iterator[Suite]:
    """What differs is a failure, what could not be compared an error.

    tolerated: causes that pass; the case then says what it tolerates.
    """
    for at, name in enumerate(comparison.names[1:]):
        cases = [_case(comparison, pod, at, tolerated) for pod in comparison.pods]
        yield Suite(f"{comparison.names[0]} and {name}", cases, comparison.notes)


def _case(comparison: Comparison, pod: PodComparison, at: int, tolerated: Collection[Cause]) -> CiCase:
    change = pod.changes[at]
    namespace, _, name = pod.pod.rpartition("/")
    group = f"{namespace or 'default'}.{pod.workload}"
    if change.cause is Cause.SAME:
        drawn = change.moves is not None and change.moves.moved > 0
        return CiCase(group, name, text=_text(comparison, pod, at) if drawn else "")
    text = _text(comparison, pod, at)
    old, new = pod.outcomes[0].host, pod.outcomes[at + 1].host
    message = f"{old or 'no node'} before, {new or 'no node'} now: {change.cause}"
    if change.cause is Cause.ERROR:  # nobody can tolerate it: nothing was compared
        return CiCase(group, name, Standing.ERROR, change.cause, message, text)
    if change.cause in tolerated:
        return CiCase(group, name, Standing.PASSED, change.cause, f"{message}, tolerated", text)
    return CiCase(group, name, Standing.FAILED, change.cause, message, text)


def _text(comparison: Comparison, pod: PodComparison, at: int) -> str:
    change = pod.changes[at]
    names = comparison.names[0], comparison.names[at + 1]
    share = "" if change.moves is None else f"goes elsewhere in {change.moves} runs with upstream's ties"
    lines = [f"{change.cause}: {MEANINGS[change.cause]}", change.text, share, *_parts(change)]
    for name, outcome in zip(names, (pod.outcomes[0], pod.outcomes[at + 1]), strict=True):
        lines.append(f"{name}: {outcome.host or outcome.message}")
    return "\n".join(filter(None, lines))


def _parts(change: HostChange) -> Iterator[str]:
    for part in change.contributions:
        if part.old or part.new:
            yield f"  {by_priority(part)}"
