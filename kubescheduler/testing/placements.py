"""A scheduler for tests: it decides, it runs on, what it did can be asserted on, and a failure says why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from clusterstate.errors import DecodeError, InputError, attempt
from clusterstate.objects import Pod
from kubescheduler.api.scheduler import Scheduler
from kubescheduler.comparison.causes import signed
from kubescheduler.comparison.comparison import Comparison, headline
from kubescheduler.comparison.outcomes import MEANINGS, Cause, HostChange, Outcome, PodComparison
from kubescheduler.comparison.refusals import refusals
from kubescheduler.core.decision import Decision, gave_up
from kubescheduler.engine.engine_contract import PodScheduler
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.releases.lookup import release_named
from kubescheduler.testing.given import SharedCluster, key_of, pods_of, running_among
from kubescheduler.testing.running_session import UsageErrors, judgement

if TYPE_CHECKING:
    from kubescheduler.comparison.release_steps import Timeline

MOST_PRIORITIES = 4
"""Of one decision, in a text."""
MOST_CHANGES = 10
"""That a text explains; of the others it names the causes."""
MOST_NAMES = 3
"""Of pods that go elsewhere alike."""
MOST_STEPS = 6
"""Of moves that are alike, release by release."""
WIDTH = 72
"""Of a line on steps: pytest puts 8 characters before it."""
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


def difference_text(
    comparison: Comparison, titles: Sequence[str], tolerated: frozenset[Cause], steps: Iterable[str] = ()
) -> str:
    """Which pods differ for a cause that is not tolerated, and why. titles: of the old and the new scheduler. steps:
    lines on the releases at which they move."""
    shown = [pod for pod in comparison.differing if pod.cause not in tolerated]
    lines = [headline(comparison)]
    lines += [f"  {side}: {title}" for side, title in zip(("old", "new"), titles, strict=True)]
    lines += [f"  {note}" for note in comparison.notes]
    alike: dict[tuple[str, ...], list[str]] = {}
    for pod in shown:
        alike.setdefault(tuple(_pod(pod)), []).append(pod.pod.removeprefix("/"))
    for (change, *why), names in list(alike.items())[:MOST_CHANGES]:
        lines += ["", f"{_listed(names)}: {change}", *why]
    if told := list(steps):
        lines += ["", *told]
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


def steps_text(found: Timeline) -> Iterator[str]:
    """Lines of at most ``WIDTH`` characters: at which release which pods move, and by which change; at first the oldest
    steps, of the rest only the number."""
    alike: dict[tuple[str, str | None, str | None, str, tuple[str, ...]], list[str]] = {}
    for pod in found.pods:
        for move in pod.moves:
            key = (move.release, move.old, move.new, "" if move.changes else str(move.cause), move.changes)
            alike.setdefault(key, []).append(pod.pod.removeprefix("/"))
    steps = sorted(alike.items(), key=lambda step: found.releases.index(step[0][0]))
    yield f"release by release from {found.releases[0]} to {found.releases[-1]}:"
    for (release, old, new, cause, names), pods in steps[:MOST_STEPS]:
        yield from _wrapped(f"{release}: {_listed(pods)}: {shown(old)} -> {shown(new)}", 2)
        texts = {change.name: change.text for change in release_named(release).changes}
        for name in names[:MOST_NAMES]:
            yield from _wrapped(f"{name}: {texts[name]}", 4)
        if cause:
            yield from _wrapped(f"no change alone: {cause}", 4)
    if len(steps) > MOST_STEPS:
        yield f"  and {len(steps) - MOST_STEPS} more"
    if still := [pod.pod.removeprefix("/") for pod in found.pods if not pod.moves]:
        yield from _wrapped(f"{_listed(still)}: at no step", 2)
    for note in found.notes[:MOST_NAMES]:
        yield from _wrapped(f"! {note}", 2)


def _wrapped(text: str, indent: int) -> list[str]:
    """What follows in the next lines is indented more."""
    first = " " * indent
    return wrap(text, WIDTH, initial_indent=first, subsequent_indent=f"{first}  ", break_on_hyphens=False)


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


class UndecidedError(InputError):
    """An error ended the attempt of a pod."""


class Placements(dict[str, str | None]):
    """Pod (``namespace/name``) → node, None for a pod without one; in the order in which they were placed.

    decisions: pod → the decision behind it.
    """

    def __init__(self, decisions: Mapping[str, Decision]) -> None:
        super().__init__({key: decision.host for key, decision in decisions.items()})
        self.decisions = dict(decisions)

    def differences(self, expected: Mapping[Any, Any]) -> list[str]:
        """What differs from the expected hosts, explained by the decisions; several lines a pod."""
        lines = []
        for key, host in expected.items():
            if key not in self:
                lines.append(f"{key}: expected {shown(host)}, but it is not among the pods")
            elif self[key] != host:
                lines += [f"{key}: expected {shown(host)}, found {shown(self[key])}"]
                lines += [f"  {line}" for line in why_not(self.decisions[key], host)]
        lines += [f"{key}: not expected, found {shown(host)}" for key, host in self.items() if key not in expected]
        return lines


def shown(host: Any) -> str:
    """A host as messages name it."""
    return "no node" if host is None else str(host)


class Placer:
    """A scheduler with its own copy of a cluster; ``place`` changes it, ``schedule`` does not.

    spec, cluster: what it was made of. running: the scheduler itself, with its ``cache`` and ``algorithm``.
    notes: what its configuration had to say. Raises InputError with every fault of the configuration and the cluster.
    """

    def __init__(self, spec: EngineSpec, cluster: SharedCluster) -> None:
        problems: list[str] = []
        self.spec = spec
        self.cluster = cluster
        self.notes: list[str] = []
        engine = attempt(problems, spec.engine, self.notes.append)
        there = attempt(problems, cluster.cluster_for, spec.release)
        if engine is None or there is None:
            raise DecodeError(problems)
        self.running: PodScheduler = Scheduler.of_engine(engine, there).running

    def __repr__(self) -> str:
        return f"<Placer of release {self.spec.release}>"

    def schedule(
        self, pod: Any, *, thorough: bool = False, preempt: bool = False, validate: str | None = None
    ) -> Decision:
        """The decision on one pod, given as object, manifest, YAML text or file name; the cluster stays as it is.

        thorough: have every check judge every node. preempt: say which pods would have to go for one that fits nowhere.
        validate: what unknown fields of the manifest are, ``strict``, ``warn`` or ``ignore``; by default as the marker
        or the setting says it.
        Raises pytest.UsageError with every fault.
        """
        __tracebackhide__ = True
        with UsageErrors():
            pods = self._pods(pod, validate)
            if len(pods) > 1:
                raise DecodeError(
                    f"schedule takes one pod, found {', '.join(map(key_of, pods))}; use place for several"
                )
            return self.running.decide(pods[0], thorough=thorough, preempt=preempt)

    def place(self, *pods: Any, validate: str | None = None) -> Placements:
        """Decides one pod after the other; each that has a node runs there from then on.

        validate, and what is raised: as for ``schedule``; also when an error ends an attempt, as of a pod that nobody
        decided on it is not known whether it has a node.
        """
        __tracebackhide__ = True
        decisions: dict[str, Decision] = {}
        with UsageErrors():
            for pod in self._pods(pods, validate):
                decision = decisions[key_of(pod)] = self.running.decide(pod, in_sequence=True)
                if gave_up(decision):
                    raise UndecidedError(f"no decision on {key_of(pod)}: {decision.message}")
                if decision.host is not None:
                    self.running.cache.assume_pod(pod, decision.host)
        return Placements(decisions)

    def _pods(self, given: Any, validate: str | None) -> list[Pod]:
        to_place = pods_of(given, self.cluster, self.spec.release, validate=judgement(validate), gates=self.spec.gates)
        if problems := list(running_among(to_place.pods, self.running.cache.pods())):
            raise DecodeError(problems)
        for obj in to_place.objects:
            self.running.cache.add(obj)
        return to_place.pods


def explained(left: object, right: object) -> list[str] | None:
    """What ``assert left == right`` shows if one of the two is placements; None for anything else."""
    placements, expected = (left, right) if isinstance(left, Placements) else (right, left)
    if not isinstance(placements, Placements) or not isinstance(expected, Mapping):
        return None
    lines = placements.differences(expected)
    pods = len(
        {key for key in (*placements, *expected) if placements.get(key, placements) != expected.get(key, expected)}
    )
    return [f"{pods} of {len(placements)} pods are elsewhere than expected", *lines] if lines else None
