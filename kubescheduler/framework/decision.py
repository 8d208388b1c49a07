"""The decision of a framework release: statuses with codes, raw scores, what PreFilter and PostFilter said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import attrs
import numpy as np

from clusterstate.growable import Mask
from kubescheduler.core.decision import Decision, Scores
from kubescheduler.framework.status import Code, Status


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
    elif listed := items(decision.reasons().values()):
        text += f" {listed}."
    return f"{text} {decision.post_filter_message}" if decision.post_filter_message else text


@attrs.frozen(eq=False)
class FrameworkDecision(Decision):
    """See Decision.

    judged: (N,) bool, the nodes that Filter plugins were run on; None: all that are listed. absent: the status of the
    others, such as a PreFilter rejection. unresolvable: check → (N,) bool, the failing rows that taking pods away
    cannot mend. nominated_codes: row → the code of a node refused beside the pods nominated there.
    refused: node → the status that extenders gave it, replacing what others said, or, ``appends``, added to it.
    raws: by plugin, raw scores of ``feasible``. plugin, code: of the status that gave the attempt up, or of the
    PreFilter rejection.
    """

    judged: Mask | None = None
    absent: Status | None = None
    unresolvable: Mapping[str, Mask] = attrs.field(factory=dict)
    nominated_codes: Mapping[int, Code] = attrs.field(factory=dict)
    refused: Mapping[str, Status] = attrs.field(factory=dict)
    raws: Mapping[str, Scores] = attrs.field(factory=dict)
    pre_filter_message: str = ""
    post_filter_message: str = ""

    def raw(self, plugin: str) -> dict[str, int]:
        """Node → one plugin's score before it was normalised."""
        scores = self.raws[plugin]
        values = [scores] * len(self.feasible) if isinstance(scores, int) else scores.tolist()
        return {self.names[row]: value for row, value in zip(self.feasible.tolist(), values, strict=True)}

    def statuses(self) -> dict[str, Status]:
        """Node that was refused → its status."""
        out: dict[str, Status] = {}
        judged = self.listed if self.judged is None else self.listed & self.judged
        if self.absent is not None:
            for row in np.flatnonzero(self.listed & ~judged).tolist():
                out[self.names[row]] = self.absent
        for row, reasons, code in self._coded(judged):
            before = out.get(self.names[row], Status())
            out[self.names[row]] = Status(max(code, before.code), (*before.reasons, *reasons))
        out.update(self.refused)
        return out

    def reasons(self) -> dict[str, list[str]]:
        """Node that was refused → its reasons."""
        return {name: list(status.all_reasons) for name, status in self.statuses().items()}

    def codes(self) -> dict[str, str]:
        """Node that was refused → the code of its status, by name."""
        return {name: status.code.name for name, status in self.statuses().items()}

    def _coded(self, judged: Mask) -> Iterable[tuple[int, tuple[str, ...], Code]]:
        """(row, reasons, code) of what Filter plugins refused; several a row if all were run."""
        for row, found in self.with_nominated.items():
            reasons = tuple(reason for _, reasons in found for reason in reasons)
            yield row, reasons, self.nominated_codes.get(row, Code.Unschedulable)
        left = judged.copy()
        left[list(self.with_nominated)] = False
        for name, verdict in self.verdicts:
            beyond = self.unresolvable.get(name)
            found_here: dict[int, list[str]] = {}
            for reason, mask in verdict.items():
                for row in np.flatnonzero(mask & left).tolist():
                    found_here.setdefault(row, []).append(reason)
            for row, texts in found_here.items():
                if not self.every_reason:
                    left[row] = False
                hopeless = beyond is not None and bool(beyond[row])
                yield row, tuple(texts), Code.UnschedulableAndUnresolvable if hopeless else Code.Unschedulable

    def rejections(self) -> tuple[Mask, Mask]:
        """((N,) bool nodes with a rejecting status, (N,) bool those of them that taking pods away cannot mend)."""
        judged = self.listed if self.judged is None else self.listed & self.judged
        rejected, hopeless = np.zeros(len(judged), np.bool_), np.zeros(len(judged), np.bool_)
        if self.absent is not None:
            rejected |= self.listed & ~judged
            if self.absent.code is Code.UnschedulableAndUnresolvable:
                hopeless |= rejected
        left = judged.copy()
        left[list(self.with_nominated)] = False
        for name, verdict in self.verdicts:
            failed = np.zeros(len(left), np.bool_)
            for mask in verdict.values():
                failed |= mask
            beyond = self.unresolvable.get(name)
            if beyond is not None:
                hopeless |= beyond & left
            rejected |= failed & left
            if not self.every_reason:
                left &= ~failed
        for row in self.with_nominated:
            rejected[row] = True
            hopeless[row] = self.nominated_codes.get(row) is Code.UnschedulableAndUnresolvable
        if self.refused:
            row_of = {name: row for row, name in enumerate(self.names)}
            for name, status in self.refused.items():
                if name in row_of:
                    rejected[row_of[name]] = True
                    hopeless[row_of[name]] = status.code is Code.UnschedulableAndUnresolvable
        return rejected, hopeless
