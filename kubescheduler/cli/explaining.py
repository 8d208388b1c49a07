"""What is to be explained of decisions, and the options that say so."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import click

if TYPE_CHECKING:
    from kubescheduler.core.decision import Decision


FEW = 10
"""So many scored nodes are all explained in documents; of more only the chosen one and the best other."""


class Explaining(NamedTuple):
    """Which nodes are explained, and how far."""

    top: int | None = None
    """How many nodes that fit and how many that do not; None: all in tables, ``FEW`` or two in documents."""
    nodes: tuple[str, ...] = ()
    """The nodes that are explained in full, and no others; empty: all in tables."""

    def best_nodes(self, decision: Decision) -> list[str]:
        """The nodes whose scores are explained in documents, the best first."""
        order = by_total(decision)
        if self.nodes:
            return [node for node in order if node in self.nodes]
        if self.top is not None:
            return order[: self.top]
        return order if len(order) <= FEW else order[:2]

    def refused_nodes(self, decision: Decision) -> list[str]:
        """The nodes whose refusals are explained, by name."""
        refused = decision.refused_nodes()
        if self.nodes:
            return [node for node in refused if node in self.nodes]
        return refused[: self.top]

    def work_out(self, decision: Decision) -> None:
        """Asks for all the evidence now, before the cluster changes. Raises InputError for a node that is not there."""
        self._check(decision)
        for node in self.refused_nodes(decision):
            decision.why(node)
        scored = decision.thorough()
        for node in self.best_nodes(scored):
            scored.score_evidence(node)

    def _check(self, decision: Decision) -> None:
        known = {name for name in decision.names if name}
        unknown = [node for node in self.nodes if node not in known]
        if unknown:
            from clusterstate.errors import InputError, nearest

            raise InputError(
                f"--node {node}: the cluster has no node of this name{nearest(node, sorted(known))}" for node in unknown
            )


def by_total(decision: Decision) -> list[str]:
    """The scored nodes, the chosen one first, then by total."""
    total = decision.total()
    return sorted(total, key=lambda node: (node != decision.host, -total[node], node.encode()))


def explain_options(command: Callable[..., int]) -> Callable[..., int]:
    """Gives a command --explain, --top and --node, as one argument ``explaining``; None: nothing is explained."""
    import functools

    @functools.wraps(command)
    def called(*, explain: bool, top: int | None, node: tuple[str, ...], **given: Any) -> int:
        wanted = explain or top is not None or bool(node)
        return command(explaining=Explaining(top, node) if wanted else None, **given)

    decorated: Callable[..., int] = called
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated


_OPTIONS = (
    click.option(
        "--explain", is_flag=True, help="Show the checks and scores of every node; in json and yaml, evidence."
    ),
    click.option(
        "--top",
        type=click.IntRange(min=1),
        metavar="NUMBER",
        help="--explain for so many nodes, the best of those that fit and the first by name of those that do not.",
    ),
    click.option(
        "--node",
        multiple=True,
        metavar="NAME",
        help="--explain for this node alone, with all that its scores or refusals are made of.  [repeatable]",
    ),
)
