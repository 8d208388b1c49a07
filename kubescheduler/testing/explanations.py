"""Why a pod did not go where somebody expected it, read off the decision; and a comparison in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kubescheduler.comparison.cause_sentences import signed
from kubescheduler.comparison.comparison import Comparison
from kubescheduler.comparison.headline import headline
from kubescheduler.comparison.outcomes import MEANINGS, Cause, HostChange, Outcome, PodComparison
from kubescheduler.comparison.refusals import refusals
from kubescheduler.core.decision import Decision

MOST_PRIORITIES = 4
"""Of one decision, in a text."""
MOST_CHANGES = 10
"""That a text explains; of the others it names the causes."""
MOST_NAMES = 3
"""Of pods that go elsewhere alike."""
EXTENDERS = "extenders"


# --- one decision ----------------------------------------------------------------------------


def why_not(decision: Decision, expected: str | None) -> list[str]:
    """Lines on why the pod is not on the expected node (None: not without a node)."""
    if expected is None:
        return [f"it fits on {len(decision.fits())} of {decision.nodes_total} nodes"]
    if expected not in decision.names:
        return [f"there is no node {expected} in the cluster", *_message(decision)]
    row = decision.names.index(expected)
    if row not in decision.feasible:
        reasons = refusals(decision, row, expected)
        said = "; ".join(f"{check}: {', '.join(texts)}" for check, texts in reasons.items())
        return [f"{expected} is refused: {said}", *_message(decision)]
    if decision.host is None:
        return _message(decision)
    return list(_outscored(decision, expected, decision.host))


def _message(decision: Decision) -> list[str]:
    return [*([decision.message.rstrip()] if decision.message else []), *(f"! {note}" for note in decision.notes)]


def _outscored(decision: Decision, expected: str, host: str) -> Iterator[str]:
    totals = decision.total()
    ahead = totals.get(host, 0) - totals.get(expected, 0)
    if not ahead:
        yield f"both have a total of {totals.get(host, 0)}; among equal nodes the first by name is taken"
        return
    yield f"{host} has a total of {totals[host]}, {expected} {totals[expected]}:"
    terms = sorted(_terms(decision, expected, host, ahead), key=lambda term: -abs(term[0]))
    for gain, text in terms[:MOST_PRIORITIES]:
        yield f"  {gain:+d}  {text}"
    if rest := sum(gain for gain, _ in terms[MOST_PRIORITIES:]):
        yield f"  {rest:+d}  others"


def _terms(decision: Decision, expected: str, host: str, ahead: int) -> Iterator[tuple[int, str]]:
    """(what it adds to the host's lead, text) of each priority by which the nodes differ."""
    for name in decision.scores:
        scores, weight = decision.score(name), decision.weights.get(name, 1)
        gain = (scores[host] - scores[expected]) * weight
        ahead -= gain
        if gain:
            yield gain, f"{name}: {scores[host]} against {scores[expected]}, weight {weight}"
    if ahead:
        yield ahead, EXTENDERS


# --- a comparison ----------------------------------------------------------------------------


def difference_text(comparison: Comparison, titles: Sequence[str], tolerated: frozenset[Cause]) -> str:
    """Which pods differ for a cause that is not tolerated, and why. titles: of the old and the new scheduler."""
    shown = [pod for pod in comparison.differing if pod.cause not in tolerated]
    lines = [headline(comparison)]
    lines += [f"  {side}: {title}" for side, title in zip(("old", "new"), titles, strict=True)]
    lines += [f"  {note}" for note in comparison.notes]
    alike: dict[tuple[str, ...], list[str]] = {}
    for pod in shown:
        alike.setdefault(tuple(_pod(pod)), []).append(pod.pod.removeprefix("/"))
    for (change, *why), names in list(alike.items())[:MOST_CHANGES]:
        lines += ["", f"{_listed(names)}: {change}", *why]
    lines += ["", *_causes(pod.cause for pod in shown)]
    if rest := sum(map(len, list(alike.values())[MOST_CHANGES:])):
        lines.append(f"{rest} of them {'is' if rest == 1 else 'are'} not explained here")
    if others := len(comparison.differing) - len(shown):
        lines.append(f"{others} of them {'differs' if others == 1 else 'differ'} for causes that are tolerated")
    if comparison.errors:
        lines.append("an error cannot be tolerated: nothing was compared")
    else:
        causes = sorted({str(cause) for cause in (*tolerated, *(pod.cause for pod in shown))})
        lines.append(f"to accept this: tolerate=[{', '.join(map(repr, causes))}]")
    return "\n".join(lines)


def _listed(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def _causes(causes: Iterable[Cause]) -> Iterator[str]:
    counts: dict[Cause, int] = {}
    for cause in causes:
        counts[cause] = counts.get(cause, 0) + 1
    for cause, count in sorted(counts.items(), key=lambda item: -item[1]):
        yield f"{count} {cause}: {MEANINGS[cause]}"


def _pod(pod: PodComparison) -> Iterator[str]:
    """Without its name: pods that are alike read alike."""
    old, new = pod.outcomes
    [change] = pod.changes
    yield f"{_host(old)} -> {_host(new)} ({change.cause})"
    if change.text:
        yield f"  {change.text}"
    yield from (f"  {line}" for line in _table(change))
    for outcome in (old, new):
        if outcome.host is None and outcome.message:
            yield f"  {outcome.message.rstrip()}"


def _host(outcome: Outcome) -> str:
    return "no node" if outcome.host is None else outcome.host


def _table(change: HostChange) -> Iterator[str]:
    """What each priority adds to the new node's lead over the old one."""
    if not change.contributions:
        return
    rows = [(part.name, _signed(part.old), _signed(part.new)) for part in change.contributions if part.old or part.new]
    rows.append(("new node minus old node", _signed(change.old_difference), _signed(change.new_difference)))
    names = max(len(row[0]) for row in rows)
    widths = [max(len(title), *(len(row[at]) for row in rows)) for at, title in ((1, "old"), (2, "new"))]
    for name, old, new in [("", "old", "new"), *rows]:
        yield f"{name:<{names}}   {old:>{widths[0]}}   {new:>{widths[1]}}"


def _signed(points: int | None) -> str:
    return signed(points) if points != 0 else "0"
