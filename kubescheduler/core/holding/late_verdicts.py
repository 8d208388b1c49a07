"""The verdicts of one decision, put together when somebody asks for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from clusterstate.growable import IntArray, Mask
from kubescheduler.core.holding.usage_answers import PASSES, RowVerdict
from predicates.types import Verdict

Moves = Sequence[tuple[IntArray, IntArray]]
"""((k,) rows, (k,) the codes of their amounts) of each time that rows have changed, one after the other."""
Named = tuple[str, Verdict, Mask | None]
"""(check, its verdict on all rows, which of the refused ones taking pods away cannot mend)."""
Refusals = Mapping[int, Sequence[RowVerdict]]
"""Code of the amounts on rows that are refused → what each check says that follows from amounts."""


class LateVerdicts:
    """What checks said of all rows: what they had said before, and of rows that changed what follows from amounts."""

    __slots__ = ("_before", "_by_amounts", "_found", "_moves", "_refusals", "_until")

    def __init__(self, before: Sequence[Named], by_amounts: Sequence[int], refusals: Refusals, moves: Moves) -> None:
        """by_amounts: which of the checks follow from amounts, in the order of ``refusals``. moves: those until now;
        later ones may be appended."""
        self._before = before
        self._by_amounts = by_amounts
        self._refusals = refusals
        self._moves = moves
        self._until = len(moves)
        self._found: Sequence[Named] | None = None

    @property
    def verdicts(self) -> tuple[tuple[str, Verdict], ...]:
        """See Decision."""
        return tuple([(name, verdict) for name, verdict, _ in self.named()])

    @property
    def unresolvable(self) -> dict[str, Mask]:
        """See Decision."""
        return {name: beyond for name, _, beyond in self.named() if beyond is not None}

    def named(self) -> Sequence[Named]:
        """All of it."""
        if self._found is None:
            self._found = self._put_together()
        return self._found

    def _put_together(self) -> list[Named]:
        code_of: dict[int, int] = {}
        for rows, codes in self._moves[: self._until]:
            code_of.update(zip(rows.tolist(), codes.tolist(), strict=True))
        at = np.array(list(code_of), np.int64)
        passes = (PASSES,) * len(self._by_amounts)
        said = [self._refusals.get(code, passes) for code in code_of.values()]
        found = list(self._before)
        for number, check in enumerate(self._by_amounts):
            found[check] = _changed(found[check], at, [of_row[number] for of_row in said])
        return found


def _changed(before: Named, at: IntArray, said: Sequence[RowVerdict]) -> Named:
    """The same with what is said of some rows now."""
    name, verdict, beyond = before
    changed: Verdict = {}
    for reason, mask in verdict.items():
        changed[reason] = mask.copy()
        changed[reason][at] = [reason in reasons for reasons, _ in said]
    hopeless = np.array([no for _, no in said], np.bool_)
    if beyond is not None or hopeless.any():
        size = len(next(iter(verdict.values())))
        beyond = np.zeros(size, np.bool_) if beyond is None else beyond.copy()
        beyond[at] = hopeless
    return name, changed, beyond if beyond is not None and beyond.any() else None
