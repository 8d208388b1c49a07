"""The text of each release for a pod that no node fits. Upstream: FitError."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from kubescheduler.core.filter_results import FilterResults


def items(statuses: Iterable[Sequence[str]]) -> str:
    """``2 Insufficient cpu, 1 …``: how often each reason was given, sorted as texts."""
    counts = Counter(reason for reasons in statuses for reason in reasons)
    return ", ".join(sorted((f"{count} {reason}" for reason, count in counts.items()), key=str.encode))


def fit_error_1_4(found: FilterResults) -> str:
    """Upstream: 1.4 FitError, one line a node."""
    lines = [f"pod ({found.pod.metadata.name}) failed to fit in any node\n"]
    lines += [f"fit failure on node ({name}): {', '.join(texts)}\n" for name, texts in found.reasons().items()]
    return "".join(lines)


def fit_error_1_16(found: FilterResults) -> str:
    """Upstream: 1.16 and 1.20 FitError. ``0/5 nodes are available: 3 Insufficient cpu, 2 …``."""
    return f"0/{found.nodes_total} nodes are available: {items(found.reasons().values())}."


def fit_error_1_36(found: FilterResults) -> str:
    """Upstream: 1.36 FitError: a PreFilter rejection is reported once, and PostFilter has the last word."""
    text = f"0/{found.nodes_total} nodes are available:"
    if found.pre_filter_message:
        text += f" {found.pre_filter_message}."
    elif listed := items(_of_all_nodes(found)):
        text += f" {listed}."
    return f"{text} {found.post_filter_message}" if found.post_filter_message else text


def _of_all_nodes(found: FilterResults) -> list[Sequence[str]]:
    """The reasons of every node; one without a status counts as absent."""
    reasons: list[Sequence[str]] = list(found.reasons().values())
    absent = () if found.absent is None else found.absent.all_reasons
    return reasons + [absent] * (found.nodes_total - len(reasons))
