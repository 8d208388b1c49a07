"""What the filtering part of an attempt found: which nodes were refused, by which check, why, and with which code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

import attrs
import numpy as np

from clusterstate.growable import NO_NUMBERS, IntArray, Mask
from clusterstate.objects import FrozenMap, Pod
from kubescheduler.core.results import AT_ONCE, Turn
from kubescheduler.core.status import Code, Status
from predicates.types import NodeError, StatusError, Verdict, failing

V = TypeVar("V")


class RowValues(Mapping[int, V], Generic[V]):
    """Row → value; a dict is made when somebody looks a row up."""

    __slots__ = ("_by_row", "_distinct", "_which", "rows")

    def __init__(self, rows: IntArray, which: IntArray, distinct: Sequence[V]) -> None:
        """rows: (n,) each once. which: (n,) for each row the index of its value in ``distinct``."""
        self.rows = rows
        """(n,) int64."""
        self._which = which
        self._distinct = distinct
        self._by_row: dict[int, V] | None = None

    def _all(self) -> dict[int, V]:
        if self._by_row is None:
            distinct = self._distinct
            values = [distinct[at] for at in self._which.tolist()]
            self._by_row = dict(zip(self.rows.tolist(), values, strict=True))
        return self._by_row

    def __getitem__(self, row: int) -> V:
        return self._all()[row]

    def __iter__(self) -> Iterator[int]:
        return iter(self.rows.tolist())

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return repr(self._all())

    def mask(self, size: int) -> Mask:
        """(size,) bool: the rows."""
        out = np.zeros(size, np.bool_)
        out[self.rows] = True
        return out

    def by_value(self) -> Iterator[tuple[V, IntArray]]:
        """(a value, (n,) the rows that have it) of every value that some row has."""
        counts = np.bincount(self._which, minlength=len(self._distinct))
        for at in np.flatnonzero(counts).tolist():
            yield self._distinct[at], self.rows if counts[at] == len(self.rows) else self.rows[self._which == at]


NO_VALUES: RowValues[Any] = RowValues(NO_NUMBERS, NO_NUMBERS, ())


def row_values(values: Mapping[int, Any]) -> RowValues[Any]:
    """Any mapping from rows, in its order."""
    if isinstance(values, RowValues):
        return values
    if not values:
        return NO_VALUES
    size = len(values)
    return RowValues(np.fromiter(values, np.int64, size), np.arange(size), list(values.values()))


@attrs.frozen(eq=False, repr=False)
class FilterResults:
    """What PreFilter, Filter, extenders and PostFilter said of one pod on N nodes; legacy releases have predicates."""

    pod: Pod
    """The pod that was asked about."""
    release: str
    """Whose rules decided."""
    names: tuple[str, ...]
    """Row → node name."""
    listed: Mask
    """(N,) bool: the nodes that were looked at; fewer than all with sampling, or where a release leaves some out."""
    nodes_total: int
    """How many nodes the cluster has, as the release counts them."""
    verdicts: tuple[tuple[str, Verdict], ...] = ()
    """(check, its verdict on all N rows on its own), in the order they run."""
    idle: tuple[tuple[str, Verdict], ...] = ()
    """The same of checks that are configured but never run; only if that was asked for."""
    with_nominated: RowValues[tuple[tuple[str, tuple[str, ...]], ...]] = NO_VALUES
    """Row → (check, reasons) for which the pod does not fit with pods nominated there."""
    every_reason: bool = False
    """Whether every check's reasons are reported, not only those of the first that refuses a node."""
    known: Mask | None = None
    """(N,) bool: the nodes there are, where the release leaves some out of every list (1.4)."""
    coded: bool = False
    """Whether the release gives a refused node a status with a code (1.18 on)."""
    judged: Mask | None = None
    """(N,) bool: the nodes that Filter plugins were run on; None: all that are listed."""
    absent: Status | None = None
    """The status of listed nodes that no Filter plugin was run on, such as a PreFilter rejection."""
    unresolvable: Mapping[str, Mask] = FrozenMap()
    """Check → (N,) bool: the rows it refuses where evicting pods cannot help."""
    pending: Mapping[str, Mask] = FrozenMap()
    """Check → (N,) bool: the rows it refuses until an event comes (1.36)."""
    nominated_codes: RowValues[Code] = NO_VALUES
    """Row → the code of a node refused with the pods nominated there; Unschedulable where it has none."""
    refused: Mapping[str, Status] = FrozenMap()
    """Node → the status that extenders gave it."""
    appends: bool = False
    """Whether an extender's reasons are added to the checks' on the same node, else they replace them."""
    pre_filter_plugins: tuple[str, ...] = ()
    """The plugins that named the nodes that alone may be considered, sorted (1.36)."""
    pre_filter_rejection: Status | None = None
    """The status with which a PreFilter plugin rejected the pod, whatever the node; None when none did."""
    post_filter_message: str = ""
    """What the PostFilter plugins said, where the release reports it (1.36)."""
    _turn: Turn = attrs.field(default=AT_ONCE, repr=False)
    """What is held while more is put together from what the scheduler, perhaps another thread's by now, works on."""

    @property
    def looked_at(self) -> Mask:
        """(N,) bool: the listed nodes that Filter plugins were run on."""
        return self.listed if self.judged is None else self.listed & self.judged

    @property
    def pre_filter_message(self) -> str:
        """Why a PreFilter plugin rejected the pod whatever the node; empty when none did."""
        return "" if self.pre_filter_rejection is None else self.pre_filter_rejection.message

    def statuses(self, among: Mask | None = None) -> dict[str, Status]:
        """Node that was refused → its status; the code counts for users only where ``coded``.

        among: (N,) bool, the rows that are wanted; extenders' are given all the same.
        """
        out: dict[str, Status] = {}
        if self.absent is not None:
            for row in np.flatnonzero(self.listed & ~self.looked_at).tolist():
                out[self.names[row]] = self.absent
        for row, _, reasons, code in self.filter_failures(among):
            name = self.names[row]
            before = out.get(name)
            if before is None:
                out[name] = Status(code, reasons)
            else:
                out[name] = Status(max(code, before.code), (*before.reasons, *reasons))
        for name, status in self.refused.items():
            if self.appends and name in out:
                out[name] = Status(out[name].code, (*out[name].reasons, *status.reasons))
            else:
                out[name] = status
        return out

    def reasons(self) -> dict[str, list[str]]:
        """Node that was refused → the reasons as the release reports them, in its order."""
        return {name: list(status.all_reasons) for name, status in self.statuses().items()}

    def reasons_at(self, row: int) -> tuple[str, ...]:
        """The same of one node, without those of the others."""
        one = np.zeros(len(self.listed), np.bool_)
        one[row] = True
        status = self.statuses(one).get(self.names[row])
        return () if status is None else tuple(status.all_reasons)

    def codes(self) -> dict[str, str]:
        """Node that was refused → the name of its status's code; empty for releases without codes."""
        return {name: status.code.name for name, status in self.statuses().items()} if self.coded else {}

    def checks(self) -> dict[str, dict[str, list[str]]]:
        """Node → check → its reasons, each check on its own; an error as ``error: text``."""
        out: dict[str, dict[str, list[str]]] = {}
        for name, verdict in (*self.verdicts, *self.idle):
            for row, reasons in _by_row(verdict, self.listed if self.known is None else self.known):
                out.setdefault(self.names[row], {})[name] = [self._told(reason) for reason in reasons]
        return out

    def _told(self, reason: str) -> str:
        if not isinstance(reason, NodeError):
            return reason
        text = reason.about(self.pod.key)
        return text if isinstance(reason, StatusError) else f"error: {text}"

    def filter_failures(self, among: Mask | None = None) -> Iterator[tuple[int, str, tuple[str, ...], Code]]:
        """(row, check, reasons, code) of what checks refused; several a row if all were run.

        among: (N,) bool, the rows that are wanted; by default all.
        """
        left = self.looked_at.copy() if among is None else self.looked_at & among
        for row, by_check in self.with_nominated.items():
            if left[row]:
                for check, reasons in by_check:
                    yield row, check, reasons, self.nominated_codes.get(row, Code.Unschedulable)
        left[self.with_nominated.rows] = False
        beyond = self.unresolvable
        for check, verdict in self.verdicts:
            coded = check in beyond or check in self.pending
            codes = self._codes_by(check).tolist() if coded else None
            for row, reasons in _by_row(verdict, left):
                if not self.every_reason:
                    left[row] = False
                yield row, check, reasons, Code.Unschedulable if codes is None else Code(codes[row])

    def row_codes(self) -> IntArray:
        """(N,) the code of every row's status; Success where it has none."""
        out = np.full(len(self.listed), Code.Success, np.int64)
        for code, rows in self.rows_by_code().items():
            out[rows] = code
        return out

    def rows_by_code(self) -> dict[Code, Mask]:
        """Code → (N,) bool: the rows whose status has it; a row without a status is in none."""
        left = self.looked_at
        out: dict[Code, Mask] = {}
        if self.absent is not None:
            _add(out, self.absent.code, self.listed & ~left)
        if self.with_nominated:
            crowded = left & self.with_nominated.mask(len(left))
            left = left & ~crowded
            for code, rows in self.nominated_codes.by_value():
                there = np.zeros(len(left), np.bool_)
                there[rows] = crowded[rows]
                _add(out, code, there)
            _add(out, Code.Unschedulable, crowded)
        for check, verdict in self.verdicts:
            failed = failing(verdict)
            if failed is None:
                continue
            failed = left & failed
            _add(out, Code.Unschedulable, failed)
            for masks, code in self._beyond_unschedulable():
                if check in masks:
                    _add(out, code, failed & masks[check])
            if not self.every_reason:
                left = left & ~failed
        return self._with_extenders(_worst(out))

    def _with_extenders(self, by_code: dict[Code, Mask]) -> dict[Code, Mask]:
        """The same with what extenders refused. by_code: written to."""
        row_of = {name: row for row, name in enumerate(self.names[: len(self.listed)])} if self.refused else {}
        for name, status in self.refused.items():
            row = row_of.get(name)
            if row is None or (self.appends and any(rows[row] for rows in by_code.values())):
                continue
            for rows in by_code.values():
                rows[row] = False
            by_code.setdefault(status.code, np.zeros(len(self.listed), np.bool_))[row] = True
        return by_code

    def refused_for(self, reasons: Collection[str]) -> Mask:
        """(N,) bool: the nodes of which a check reported one of ``reasons``; extenders do not count."""
        out = np.zeros(len(self.listed), np.bool_)
        out[[row for row, _, given, _ in self.filter_failures() if not set(given).isdisjoint(reasons)]] = True
        return out

    def _beyond_unschedulable(self) -> tuple[tuple[Mapping[str, Mask], Code], ...]:
        """(check → rows, the code that it refuses them with)."""
        return (self.unresolvable, Code.UnschedulableAndUnresolvable), (self.pending, Code.Pending)

    def _codes_by(self, check: str) -> IntArray:
        """(N,) the code that a check refuses rows with."""
        out = np.full(len(self.listed), Code.Unschedulable, np.int64)
        for masks, code in self._beyond_unschedulable():
            if check in masks:
                out[masks[check]] = code
        return out


def _add(by_code: dict[Code, Mask], code: Code, rows: Mask) -> None:
    before = by_code.get(code)
    by_code[code] = rows if before is None else before | rows


def _worst(by_code: dict[Code, Mask]) -> dict[Code, Mask]:
    """Each row with its worst code alone."""
    out: dict[Code, Mask] = {}
    taken: Mask | None = None
    for code in sorted(by_code, reverse=True):
        out[code] = by_code[code] if taken is None else by_code[code] & ~taken
        taken = by_code[code] if taken is None else taken | by_code[code]
    return out


def _by_row(verdict: Verdict, rows: Mask) -> list[tuple[int, tuple[str, ...]]]:
    """(row, its reasons) of the failing ones among ``rows``, ascending."""
    texts: dict[int, list[str]] = {}
    for reason, mask in verdict.items():
        for row in (mask & rows).nonzero()[0].tolist():
            texts.setdefault(row, []).append(reason)
    return [(row, tuple(reasons)) for row, reasons in sorted(texts.items())]


def items(statuses: Iterable[Sequence[str]]) -> str:
    """``2 Insufficient cpu, 1 …``: how often each reason was given, sorted as texts."""
    counts = Counter(reason for reasons in statuses for reason in reasons)
    return ", ".join(sorted((f"{count} {reason}" for reason, count in counts.items()), key=str.encode))


def fit_error_1_4(results: FilterResults) -> str:
    """Upstream: 1.4 FitError, one line a node."""
    lines = [f"pod ({results.pod.metadata.name}) failed to fit in any node\n"]
    lines += [f"fit failure on node ({name}): {', '.join(texts)}\n" for name, texts in results.reasons().items()]
    return "".join(lines)


def fit_error_1_16(results: FilterResults) -> str:
    """Upstream: 1.16 and 1.20 FitError. ``0/5 nodes are available: 3 Insufficient cpu, 2 …``."""
    return f"0/{results.nodes_total} nodes are available: {items(results.reasons().values())}."


def fit_error_1_24(results: FilterResults) -> str:
    """Upstream: 1.24 and 1.25 FitError: the same, and PostFilter has the last word."""
    text = fit_error_1_16(results)
    return f"{text} {results.post_filter_message}" if results.post_filter_message else text


def fit_error_1_36(results: FilterResults) -> str:
    """Upstream: 1.36 FitError: a PreFilter rejection is reported once, and PostFilter has the last word."""
    text = f"0/{results.nodes_total} nodes are available:"
    if results.pre_filter_message:
        text += f" {results.pre_filter_message}."
    elif listed := items(_of_all_nodes(results)):
        text += f" {listed}."
    return f"{text} {results.post_filter_message}" if results.post_filter_message else text


def _of_all_nodes(results: FilterResults) -> list[Sequence[str]]:
    """The reasons of every node; one without a status counts as absent."""
    reasons: list[Sequence[str]] = list(results.reasons().values())
    absent = () if results.absent is None else results.absent.all_reasons
    return reasons + [absent] * (results.nodes_total - len(reasons))
