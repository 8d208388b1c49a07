"""What the checks of a decision say of some nodes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs
import numpy as np

from clusterstate.growable import IntArray, Mask
from kubescheduler.core.decision import Decision
from kubescheduler.core.evidence import CUSTOM_PAGE, EXTENDERS_PAGE, PLUGINS_PAGE
from kubescheduler.core.status import Code
from kubescheduler.engine.engine_contract import PodScheduler
from predicates.types import NodeError


class CheckRows:
    """Refusals of the nodes of one decision, worked out for those that are asked for."""

    def __init__(self, found: Decision, thorough: Decision, scheduler: PodScheduler, *, every: bool) -> None:
        """thorough: where every check judged every node. every: its reasons are shown too."""
        self._found = found
        self._judged = thorough if every else found
        self._every = every
        self._scheduler = scheduler
        self._refuses = self._counted()

    def of(self, rows: IntArray) -> dict[int, dict[str, Any]]:
        """Row → whether the pod fits, the reasons by check, and the checks that the release reports.

        undecided: an error ended the attempt before anything was said of the node. leftOut: an extender's answer lacks
        the node, and gives no reason.
        """
        found = self._found
        fits = np.zeros(len(found.names), np.bool_)
        fits[found.feasible] = True
        reported = self._reported(rows)
        checks = only(self._judged, rows).checks() if self._every else {}
        codes = found.row_codes().tolist() if found.coded else []
        out: dict[int, dict[str, Any]] = {}
        for row in rows.tolist():
            name = found.names[row]
            said = reported.get(row, {})
            refused = {**checks.get(name, {}), **said}
            out[row] = {"fits": bool(fits[row]), "refused": refused, "reported": list(said)}
            if not said and not fits[row]:
                out[row]["undecided"] = found.error is not None
                out[row]["leftOut"] = self._left_out(row)
            if codes and row < len(codes) and not fits[row]:
                out[row]["code"] = Code(codes[row]).name
        return out

    def entries(self) -> list[dict[str, Any]]:
        """Every check in the order in which it runs, then what refuses nodes besides."""
        rules = {rule.name: rule.evidence for rule in self._scheduler.algorithm.predicates}
        points = self._scheduler.points(self._found.pod)
        names = dict.fromkeys((*points.get("filter", ()), *self._refuses))
        extenders = {trace.name for trace in self._found.extenders}
        release = self._found.release
        out = []
        for name in names:
            evidence = rules.get(name)
            page, upstream = (EXTENDERS_PAGE, "extender") if name in extenders else (CUSTOM_PAGE, "")
            if evidence is not None:
                page, upstream = evidence.page, evidence.upstream
            elif name in points.get("preFilter", ()) and name not in points.get("filter", ()):
                page, upstream = PLUGINS_PAGE, name
            out.append(
                {
                    "id": name,
                    "title": name,
                    "page": page,
                    "upstream": f"{release} {upstream}" if upstream else "",
                    "refuses": self._refuses.get(name, 0),
                }
            )
        return out

    def _reported(self, rows: IntArray) -> dict[int, dict[str, list[str]]]:
        """Row → check → the reasons that the release reports."""
        found = self._found
        out: dict[int, dict[str, list[str]]] = {}
        for row, check, reasons, _ in only(found, rows).filter_failures():
            out.setdefault(row, {})[check] = [worded(reason, found.pod.key) for reason in reasons]
        outside = found.listed & ~found.looked_at
        if found.absent is not None:
            name = absent_name(found)
            for row in rows.tolist():
                if row < len(outside) and outside[row]:
                    out.setdefault(row, {})[name] = list(found.absent.all_reasons)
        for trace in found.extenders:
            said = {**(trace.failed or {}), **(trace.unresolvable or {})}
            for row in rows.tolist():
                if found.names[row] in said:
                    out.setdefault(row, {})[trace.name] = [said[found.names[row]]]
        return out

    def _left_out(self, row: int) -> bool:
        """Whether a node about which no check and no extender says anything passed the checks."""
        found = self._found
        filtered = any(trace.failed is not None for trace in found.extenders)
        return found.error is None and filtered and row < len(found.looked_at) and bool(found.looked_at[row])

    def _counted(self) -> dict[str, int]:
        """Check → how many nodes it refuses: as the release stops, or on its own."""
        found = self._judged
        left = found.looked_at.copy()
        out: dict[str, int] = {}
        for row, beside in found.with_nominated.items():
            if left[row]:
                left[row] = False
                for check in {check for check, _ in beside}:
                    out[check] = out.get(check, 0) + 1
        for check, verdict in (*found.verdicts, *found.idle):
            failed = np.logical_or.reduce(list(verdict.values()) or [np.zeros_like(left)]) & left
            out[check] = out.get(check, 0) + int(failed.sum())
            if not (self._every or found.every_reason):
                left &= ~failed
        if found.absent is not None:
            name = absent_name(found)
            out[name] = out.get(name, 0) + int((found.listed & ~found.looked_at).sum())
        for trace in found.extenders:
            out[trace.name] = len({**(trace.failed or {}), **(trace.unresolvable or {})})
        return out


def absent_name(found: Decision) -> str:
    """The PreFilter plugins that keep nodes from being looked at."""
    plugin = "" if found.absent is None else found.absent.plugin
    return plugin or ", ".join(found.pre_filter_plugins) or "PreFilter"


def only(found: Decision, rows: Iterable[int]) -> Decision:
    """The decision as if these nodes alone had been listed, so that nothing is worked out for others."""
    mask: Mask = np.zeros(len(found.listed), np.bool_)
    mask[[row for row in rows if row < len(mask)]] = True
    known = None if found.known is None else found.known & mask
    return attrs.evolve(found, listed=found.listed & mask, known=known)


def worded(reason: str, pod: str) -> str:
    """A reason, or an error as what it is."""
    return f"error: {reason.about(pod)}" if isinstance(reason, NodeError) else reason
