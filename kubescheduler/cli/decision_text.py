"""What is said of one decision in a word or a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubescheduler.cli.tables import NONE
from kubescheduler.core.failed_attempts import gave_up

if TYPE_CHECKING:
    from kubescheduler.core.decision import Decision


def message_line(decision: Decision) -> str:
    """The message in one line, and what preemption would do if that was asked for."""
    message = "; ".join(decision.message.split("\n")).rstrip("; ")
    return " ".join(part for part in (message, would_evict(decision)) if part)


def would_evict(decision: Decision) -> str:
    """The victims on the node that the release would pick, the first by name if it may pick several."""
    found = decision.preemption
    if found is None:
        return ""
    if not found.chosen:
        return "" if decision.post_filter_message else "Preemption would not help."
    node = found.chosen[0]
    victims = ", ".join(pod.key for pod in found.candidates[node].pods)
    return f"Would evict {victims} from {node}." if victims else f"Would wait for {node}, evicting nothing."


def fits(decision: Decision) -> str:
    """``3/5``: nodes that fit, of those there are; ``<none>`` where an error kept that from being found out."""
    return NONE if gave_up(decision) else f"{len(decision.feasible)}/{decision.nodes_total}"


def best(decision: Decision) -> list[str]:
    """The only node that fits is the best, though it is not scored."""
    return decision.best() or ([decision.host] if decision.host else [])
