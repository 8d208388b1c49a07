"""What is said of one decision in a word or a line, and of pods that nobody knows the right node of.

That is so where an error ended their attempts, or an extender did not answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click
import msgspec

from kubescheduler.cli.output import NONE
from kubescheduler.core.decision import Decision, failures, gave_up
from kubescheduler.sources.sanitize import shown

if TYPE_CHECKING:
    from kubescheduler.planning.rehearsal import Moved


def message_line(decision: Decision) -> str:
    """The message in one line, and what preemption would do if that was asked for."""
    message = "; ".join(decision.message.split("\n")).rstrip("; ")
    return " ".join(part for part in (message, would_evict(decision)) if part)


def would_evict(decision: Decision) -> str:
    """The victims on the node that the release would pick, the first by name if it may pick several."""
    preemption = decision.preemption
    if preemption is None:
        return ""
    if not preemption.chosen:
        return "" if decision.post_filter_message else "Preemption would not help."
    node = preemption.chosen[0]
    victims = ", ".join(pod.key for pod in preemption.candidates[node].pods)
    return f"Would evict {victims} from {node}." if victims else f"Would wait for {node}, evicting nothing."


def fits(decision: Decision) -> str:
    """``3/5``: nodes that fit, of those there are; ``<none>`` where an error kept that from being found out."""
    return NONE if gave_up(decision) else f"{len(decision.feasible)}/{decision.nodes_total}"


def best(decision: Decision) -> list[str]:
    """The only node that fits is the best, though it is not scored."""
    return decision.best() or ([decision.host] if decision.host else [])


NAMED = 3
"""Pods that a message names."""
SHOWN = 5
"""Texts of errors that are shown; further ones are counted."""

EXIT_ERROR = 2


def given_up(failed: Iterable[tuple[str, str]]) -> int:
    """Says on standard error what ended the attempts of which pods, each text once; the exit status.

    failed: (namespace/name of the pod, text of the error).
    """
    pods: dict[str, list[str]] = {}
    for pod, text in failed:
        pods.setdefault(text, []).append(pod)
    for text, names in list(pods.items())[:SHOWN]:
        named = ", ".join(dict.fromkeys(names[:NAMED]))
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        click.echo(f"error: no decision on {shown(named)}{more}: {shown(text)}", err=True)
    if len(pods) > SHOWN:
        click.echo(f"error: {len(pods) - SHOWN} more errors ended attempts", err=True)
    return EXIT_ERROR


def displaced_status(nowhere: Iterable[Moved], *, fine: bool) -> int:
    """The exit status where pods had to leave their nodes; errors that ended attempts are told.

    nowhere: the pods that fit nowhere. fine: whether the answer is yes.
    """
    errors = [
        (moved.now.key, moved.message)
        for moved in nowhere
        if moved.now is not None and moved.record is not None and moved.record.gave_up
    ]
    if errors:
        return given_up(errors)
    return 0 if fine else 1


class PassedOverExtenders(msgspec.Struct, eq=False):
    """The extenders that did not answer and that the release went on without."""

    _pods: dict[str, set[str]] = msgspec.field(default_factory=dict)

    def note(self, decision: Decision) -> None:
        """Notes what a decision lacks; nothing of one that an error ended."""
        if decision.error is None:
            for text in failures(decision):
                self._pods.setdefault(text, set()).add(decision.pod.key)

    def remarks(self) -> list[str]:
        """A sentence for each error, with the number of pods that were decided without the extender."""
        counts = {text: len(pods) for text, pods in self._pods.items()}
        return [f"{text} ({count} {'pod' if count == 1 else 'pods'})" for text, count in counts.items()]
