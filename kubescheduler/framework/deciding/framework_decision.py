"""The decision of a framework release: statuses with codes, raw scores, what PreFilter and PostFilter said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import attrs
import numpy as np

from clusterstate.growable import IntArray, Mask
from kubescheduler.core.decision import Decision, Preemption, Scores
from kubescheduler.core.status import Code, Status


def items(statuses: Iterable[Sequence[str]]) -> str:
    """``2 Insufficient cpu, 1 …``: how often each reason was given, sorted as texts."""
    counts = Counter(reason for reasons in statuses for reason in reasons)
    return ", ".join(sorted((f"{count} {reason}" for reason, count in counts.items()), key=str.encode))


def fit_error_1_20(decision: Decision) -> str:
    """Upstream: 1.20 FitError."""
    return f"0/{decision.nodes_total} nodes are available: {items(decision.reasons().values())}."


def fit_error_1_36(decision: Decision) -> str:
    """Upstream: 1.36 FitError: a PreFilter rejection is told once, and PostFilter has the last word."""
    text = f"0/{decision.nodes_total} nodes are available:"
    if not isinstance(decision, FrameworkDecision):
        return text
    if decision.pre_filter_message:
        text += f" {decision.pre_filter_message}."
    elif listed := items(_of_all_nodes(decision)):
        text += f" {listed}."
    return f"{text} {decision.post_filter_message}" if decision.post_filter_message else text


def _of_all_nodes(decision: FrameworkDecision) -> list[Sequence[str]]:
    """The reasons of every node; one without a status counts as absent."""
    reasons: list[Sequence[str]] = list(decision.reasons().values())
    absent = () if decision.absent is None else decision.absent.all_reasons
    return reasons + [absent] * (decision.nodes_total - len(reasons))


def nominee_of(found: Preemption | None) -> str | None:
    """The node that preemption makes room on; empty: the pod is no longer nominated; None: nothing is said."""
    if found is None or found.keeps_nomination:
        return None
    return found.chosen[0] if found.chosen else ""


@attrs.frozen(eq=False)
class FrameworkDecision(Decision):
    """See Decision.

    judged: (N,) bool, the nodes that Filter plugins were run on; None: all that are listed. absent: the status of the
    others, such as a PreFilter rejection. unresolvable: check → (N,) bool, the failing rows that taking pods away
    cannot mend; pending: likewise, those that wait for an event. nominated_codes: row → the code of a node refused
    beside the pods nominated there. refused: node → the status that extenders gave it; ``appends``: it is added to
    what others said, else it replaces that. raws: by plugin, raw scores of ``feasible``. pre_filter_plugins: those that
    named nodes, sorted. nominated: the node that the pod is to wait for; empty: for none; None: nothing is said.
    """

    judged: Mask | None = None
    absent: Status | None = None
    unresolvable: Mapping[str, Mask] = attrs.field(factory=dict)
    pending: Mapping[str, Mask] = attrs.field(factory=dict)
    nominated_codes: Mapping[int, Code] = attrs.field(factory=dict)
    refused: Mapping[str, Status] = attrs.field(factory=dict)
    appends: bool = False
    raws: Mapping[str, Scores] = attrs.field(factory=dict)
    pre_filter_plugins: tuple[str, ...] = ()
    pre_filter_message: str = ""
    post_filter_message: str = ""
    nominated: str | None = attrs.field()

    @nominated.default
    def _nominated(self) -> str | None:
        return nominee_of(self.preemption)

    def raw(self, plugin: str) -> dict[str, int]:
        """Node → one plugin's score before it was normalised."""
        scores = self.raws[plugin]
        values = [scores] * len(self.feasible) if isinstance(scores, int) else scores.tolist()
        return {self.names[row]: value for row, value in zip(self.feasible.tolist(), values, strict=True)}

    def statuses(self) -> dict[str, Status]:
        """Node that was refused → its status."""
        out: dict[str, Status] = {}
        if self.absent is not None:
            for row in np.flatnonzero(self.listed & ~self.looked_at).tolist():
                out[self.names[row]] = self.absent
        for row, _, reasons, code in self.filter_failures():
            before = out.get(self.names[row], Status())
            out[self.names[row]] = Status(max(code, before.code), (*before.reasons, *reasons))
        for name, status in self.refused.items():
            if self.appends and name in out:
                out[name] = Status(out[name].code, (*out[name].reasons, *status.reasons))
            else:
                out[name] = status
        return out

    def reasons(self) -> dict[str, list[str]]:
        """Node that was refused → its reasons."""
        return {name: list(status.all_reasons) for name, status in self.statuses().items()}

    def codes(self) -> dict[str, str]:
        """Node that was refused → the code of its status, by name."""
        return {name: status.code.name for name, status in self.statuses().items()}

    @property
    def looked_at(self) -> Mask:
        """(N,) bool: Filter plugins were run there."""
        return self.listed if self.judged is None else self.listed & self.judged

    def filter_failures(self) -> Iterator[tuple[int, str, tuple[str, ...], Code]]:
        """(row, plugin, reasons, code) of what Filter plugins refused; several a row if all were run."""
        left = self.looked_at.copy()
        for row, found in self.with_nominated.items():
            if left[row]:
                for plugin, reasons in found:
                    yield row, plugin, reasons, self.nominated_codes.get(row, Code.Unschedulable)
        left[list(self.with_nominated)] = False
        for plugin, verdict in self.verdicts:
            codes = self._codes_by(plugin)
            found_here: dict[int, list[str]] = {}
            for reason, mask in verdict.items():
                for row in np.flatnonzero(mask & left).tolist():
                    found_here.setdefault(row, []).append(reason)
            for row, texts in found_here.items():
                if not self.every_reason:
                    left[row] = False
                yield row, plugin, tuple(texts), Code(int(codes[row]))

    def row_codes(self, silent: Code = Code.Success) -> IntArray:
        """(N,) the code of every row's status; ``silent`` where it has none."""
        left = self.looked_at.copy()
        out = np.zeros(len(left), np.int64)
        if self.absent is not None:
            out[self.listed & ~left] = self.absent.code
        for row in self.with_nominated:
            if left[row]:
                out[row] = self.nominated_codes.get(row, Code.Unschedulable)
        left[list(self.with_nominated)] = False
        for plugin, verdict in self.verdicts:
            failed = left & np.logical_or.reduce(list(verdict.values()) or [np.zeros_like(left)])
            out = np.where(failed, np.maximum(out, self._codes_by(plugin)), out)
            if not self.every_reason:
                left &= ~failed
        row_of = {name: row for row, name in enumerate(self.names)} if self.refused else {}
        for name, status in self.refused.items():
            if name in row_of and not (self.appends and out[row_of[name]]):
                out[row_of[name]] = status.code
        return np.where(out == 0, silent, out)

    def _codes_by(self, plugin: str) -> IntArray:
        """(N,) the code that a plugin refuses rows with."""
        out = np.full(len(self.listed), Code.Unschedulable, np.int64)
        for masks, code in ((self.unresolvable, Code.UnschedulableAndUnresolvable), (self.pending, Code.Pending)):
            if plugin in masks:
                out[masks[plugin]] = code
        return out
