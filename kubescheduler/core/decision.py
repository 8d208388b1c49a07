"""The one output of a scheduling attempt; everything that is shown, compared or bound is read off it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import attrs
import numpy as np

from clusterstate.growable import IntArray, Mask
from clusterstate.objects import Pod
from predicates.types import NodeError, Verdict

Scores = IntArray | int
"""One priority's score of every feasible node, in the order of ``Decision.feasible``; an int stands for all."""


def fit_error_1_16(decision: Decision) -> str:
    """Upstream: 1.16 FitError. ``0/5 nodes are available: 3 Insufficient cpu, 2 …``, items sorted as texts."""
    counts = Counter(reason for reasons in decision.reasons().values() for reason in reasons)
    items = sorted((f"{count} {reason}" for reason, count in counts.items()), key=str.encode)
    return f"0/{decision.nodes_total} nodes are available: {', '.join(items)}."


def fit_error_1_4(decision: Decision) -> str:
    """Upstream: 1.4 FitError, one line a node."""
    lines = [f"pod ({decision.pod.metadata.name}) failed to fit in any node\n"]
    lines += [f"fit failure on node ({name}): {', '.join(found)}\n" for name, found in decision.reasons().items()]
    return "".join(lines)


@attrs.frozen(eq=False)
class ExtenderTrace:
    """What one extender answered; None where no such call was made or it failed.

    failed: node → message; unresolvable: likewise, of nodes that taking pods away cannot mend. scores: (host, raw
    score) as answered. errors: the texts of failed calls.
    """

    name: str
    weight: int = 0
    failed: Mapping[str, str] | None = None
    unresolvable: Mapping[str, str] | None = None
    scores: tuple[tuple[str, int], ...] | None = None
    filter_error: str | None = None
    prioritize_error: str | None = None


@attrs.frozen(eq=False)
class Victims:
    """The pods that would leave one node, violating budgets first, and how many of them violate one."""

    pods: tuple[Pod, ...]
    violations: int


@attrs.frozen(eq=False)
class Preemption:
    """What preemption would do.

    candidates: node → victims, of every node where the pod would fit. chosen: the nodes that the release's rules
    may pick, sorted. cleared: the pods whose nomination is taken back. keeps_nomination: nothing is said of the node
    that the pod itself is nominated to.
    """

    candidates: Mapping[str, Victims] = attrs.field(factory=dict)
    chosen: Sequence[str] = ()
    cleared: tuple[Pod, ...] = ()
    keeps_nomination: bool = False


@attrs.frozen(eq=False)
class Decision:
    """Where one pod goes, and why.

    names: row → node name. listed: (N,) bool, the nodes that were looked at, of ``nodes_total``.
    verdicts: (predicate, verdict on all N rows, on its own), in the order they run. idle: the same of those
    that are selected but never run, if it was asked for.
    with_nominated: row → the reasons for which the pod does not fit beside pods nominated there.
    feasible: (n,) int64, the rows that fit, in list order. totals: (n,) int64, weighted sums.
    scores, weights: by priority, before weights. host: the chosen node, None if there is none.
    error: the text of an error that gave the attempt up; None if nodes simply did not fit.
    preemption: what taking pods away would do; None when it was not asked for or not needed.
    known: (N,) bool, the nodes there are, when the release leaves some of them out of every list.
    fit_error: the release's text for a pod that no node fits.
    """

    pod: Pod
    release: str
    names: tuple[str, ...]
    listed: Mask
    nodes_total: int
    verdicts: tuple[tuple[str, Verdict], ...] = ()
    idle: tuple[tuple[str, Verdict], ...] = ()
    with_nominated: Mapping[int, tuple[tuple[str, tuple[str, ...]], ...]] = attrs.field(factory=dict)
    every_reason: bool = False
    feasible: IntArray = attrs.field(factory=lambda: np.zeros(0, np.int64))
    totals: IntArray = attrs.field(factory=lambda: np.zeros(0, np.int64))
    scores: Mapping[str, Scores] = attrs.field(factory=dict)
    weights: Mapping[str, int] = attrs.field(factory=dict)
    extenders: tuple[ExtenderTrace, ...] = ()
    host: str | None = None
    error: str | None = None
    preemption: Preemption | None = None
    known: Mask | None = None
    fit_error: Callable[[Decision], str] = fit_error_1_16

    @property
    def scheduled(self) -> bool:
        return self.host is not None

    @property
    def message(self) -> str:
        """The release's own words for why there is no host; empty when there is one."""
        if self.host is not None:
            return ""
        return self.error if self.error is not None else self.fit_message()

    def fit_message(self) -> str:
        """The release's text for a pod that no node fits."""
        return self.fit_error(self)

    def fits(self) -> list[str]:
        """The nodes that fit, sorted by name."""
        return sorted(self.names[row] for row in self.feasible.tolist())

    def best(self) -> list[str]:
        """The nodes with the highest total, sorted by name."""
        if not len(self.totals):
            return []
        return sorted(self.names[row] for row in self.feasible[self.totals == self.totals.max()].tolist())

    def total(self) -> dict[str, int]:
        """Node → weighted sum; empty when nothing was scored, as when just one node fits."""
        if not len(self.totals):
            return {}
        return {self.names[row]: total for row, total in zip(self.feasible.tolist(), self.totals.tolist(), strict=True)}

    def score(self, priority: str) -> dict[str, int]:
        """Node → one priority's score before its weight."""
        scores = self.scores[priority]
        values = [scores] * len(self.feasible) if isinstance(scores, int) else scores.tolist()
        return {self.names[row]: value for row, value in zip(self.feasible.tolist(), values, strict=True)}

    def reasons(self) -> dict[str, list[str]]:
        """Node that was refused → the reasons as the release reports them, in its order."""
        out: dict[str, list[str]] = {}
        for row, found in self._failures():
            out.setdefault(self.names[row], []).extend(found)
        for trace in self.extenders:
            for name, message in (trace.failed or {}).items():
                out.setdefault(name, []).append(message)
        return out

    def refused_for(self, reasons: Collection[str]) -> Mask:
        """(N,) bool: the nodes of which a predicate reported one of ``reasons``; extenders do not count."""
        out = np.zeros(len(self.listed), np.bool_)
        left = self.listed.copy()
        for row, found in self.with_nominated.items():
            out[row] = any(reason in reasons for _, texts in found for reason in texts)
            left[row] = False
        for _, verdict in self.verdicts:
            failed = np.zeros(len(left), np.bool_)
            for reason, mask in verdict.items():
                failed |= mask
                if reason in reasons:
                    out |= mask & left
            if not self.every_reason:
                left &= ~failed
        return out

    def codes(self) -> dict[str, str]:
        """Node that was refused → the code of its status; empty for releases without statuses."""
        return {}

    def raw(self, plugin: str) -> dict[str, int]:  # noqa: ARG002
        """Node → one plugin's score before it was normalised; empty for releases without."""
        return {}

    def checks(self) -> dict[str, dict[str, list[str]]]:
        """Node → predicate → its reasons, each predicate on its own; an error as ``error: text``."""
        out: dict[str, dict[str, list[str]]] = {}
        for name, verdict in (*self.verdicts, *self.idle):
            for row, reasons in _by_row(verdict, self.listed if self.known is None else self.known):
                texts = [f"error: {r.about(self.pod.key)}" if isinstance(r, NodeError) else r for r in reasons]
                out.setdefault(self.names[row], {})[name] = texts
        return out

    def _failures(self) -> Iterator[tuple[int, tuple[str, ...]]]:
        for row, found in self.with_nominated.items():
            yield row, tuple(reason for _, reasons in found for reason in reasons)
        left = self.listed.copy()
        left[list(self.with_nominated)] = False
        for _, verdict in self.verdicts:
            for row, reasons in _by_row(verdict, left):
                if not self.every_reason:
                    left[row] = False
                yield row, reasons


def _by_row(verdict: Verdict, rows: Mask) -> list[tuple[int, tuple[str, ...]]]:
    """(row, its reasons) of the failing ones among ``rows``."""
    found: dict[int, list[str]] = {}
    for reason, mask in verdict.items():
        for row in np.flatnonzero(mask & rows).tolist():
            found.setdefault(row, []).append(reason)
    return [(row, tuple(reasons)) for row, reasons in sorted(found.items())]
