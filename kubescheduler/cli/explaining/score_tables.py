"""The scores of the nodes that fit, beside one another as far as the screen is wide."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from kubescheduler.cli.explaining.explaining import by_total
from kubescheduler.cli.tables import table
from kubescheduler.cli.terminal.screen import UNBROKEN, Screen, Toned

if TYPE_CHECKING:
    from kubescheduler.core.decision import Decision

UNSCORED = "-"
NOTHING = "0"
RAW = "In brackets: the plugin's own score, before it was normalised."
UNSCORED_SCORES = "The scores that it would have, which the release does not compute:"

BLOCKS = 3
"""So many blocks of nodes beside one another are read as one table; of more nodes each has lines of its own."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+|[^A-Za-z0-9]+")
_HEADER_WIDTH = 12

Scores = Mapping[str, Mapping[str, str]]
"""Rule and weight, as ``ImageLocality*1`` → node → its score."""


def scores(decision: Decision, screen: Screen, top: int | None) -> str:
    """The scores of the ``top`` best nodes, or of all; empty where no node fits."""
    if not len(decision.feasible):
        return ""
    if not len(decision.totals):
        alone = f"{decision.host} is the only node that fits, so nothing was scored."
        scored = decision.thorough()
        if not len(scored.totals):
            return screen.filled(alone)
        return f"{screen.filled(f'{alone} {UNSCORED_SCORES}')}\n\n{_score_table(scored, screen, top)}"
    return _score_table(decision, screen, top)


def _score_table(decision: Decision, screen: Screen, top: int | None) -> str:
    found = _columns(decision)
    order = by_total(decision)
    telling = {name: by_node for name, by_node in found.items() if set(by_node.values()) != {NOTHING}}
    silent = [name for name in found if name not in telling]
    parts = [_laid_out(decision, telling, order[:top], screen)]
    if any("(" in score for by_node in telling.values() for score in by_node.values()):
        parts.append(screen.filled(RAW))
    if silent:
        parts.append(screen.filled(f"0 on every node: {', '.join(silent)}"))
    if len(rest := order[len(order[:top]) :]):
        parts.append(screen.filled(_further(decision, rest)))
    return "\n".join(parts)


def _columns(decision: Decision) -> Scores:
    found: dict[str, Mapping[str, str]] = {}
    for name in decision.scores:
        found[f"{name}*{decision.weights[name]}"] = _with_raw(decision, name)
    for trace in decision.extenders:
        if trace.scores is not None:
            found[f"{trace.name}*{trace.weight}"] = {host: str(score) for host, score in trace.scores}
    return found


def _with_raw(decision: Decision, name: str) -> dict[str, str]:
    """Node → score, with the raw one behind it where normalising changed it."""
    normalised = decision.score(name)
    raws = decision.raw(name)
    return {node: str(s) if s == raws.get(node, s) else f"{s} ({raws[node]})" for node, s in normalised.items()}


def _further(decision: Decision, rest: Sequence[str]) -> str:
    """What there is of the nodes that are not shown."""
    total = decision.total()
    if len(rest) == 1:
        return f"1 more node fits, with a total of {total[rest[0]]}."
    return f"{len(rest)} more nodes fit, with totals of {total[rest[-1]]} to {total[rest[0]]}."


# --- layouts -------------------------------------------------------------------------------


def _laid_out(decision: Decision, found: Scores, order: Sequence[str], screen: Screen) -> str:
    """A line for each node; if that is too wide, one for each rule; if that is too, some for each node."""
    total = decision.total()
    highest = max(total.values())
    rows = [
        (
            node,
            *(by_node.get(node, UNSCORED) for by_node in found.values()),
            str(total[node]),
            _mark(chosen=node == decision.host, tied=total[node] == highest),
        )
        for node in order
    ]
    stacked = list(_stacked(("NODE", *found, "TOTAL", "")))
    if screen.fits(table([*stacked, *rows])):
        return table([*stacked, *rows], screen, heads=len(stacked))
    for blocks in range(1, BLOCKS + 1):
        turned = list(_turned(("NODE", *found, "TOTAL", ""), rows, -(-len(rows) // blocks)))
        if all(screen.fits(table(block)) for block in turned):
            return "\n\n".join(table(block, screen) for block in turned)
    return table([("NODE", "TOTAL", "", "SCORES"), *_listed(found, rows)], screen, gives_way=3)


def _turned(head: Sequence[str], rows: Sequence[Sequence[str]], size: int) -> Iterator[list[tuple[str, ...]]]:
    """A line for each rule, in blocks of ``size`` nodes."""
    for at in range(0, len(rows), size):
        yield list(zip(head, *rows[at : at + size], strict=True))


def _listed(found: Scores, rows: Sequence[Sequence[str]]) -> Iterator[tuple[str, ...]]:
    """The scores of each node as a sentence."""
    for node, *given, total, mark in rows:
        pairs = (f"{name} {score}".replace(" ", UNBROKEN) for name, score in zip(found, given, strict=True))
        yield node, total, mark, ", ".join(pairs)


def _mark(*, chosen: bool, tied: bool) -> str:
    if chosen:
        return Toned("chosen", "good")
    return Toned("tied", "even") if tied else ""


def _stacked(header: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Long names in several lines, broken between their words, so that the columns stay narrow."""
    yield from zip_longest(*map(_lines, header), fillvalue="")


def _lines(name: str) -> list[str]:
    name, star, weight = name.partition("*")
    if "/" in name:
        return [name, star + weight]
    lines = [""]
    for word in _WORD.findall(name):
        if lines[-1] and len(lines[-1] + word) > _HEADER_WIDTH:
            lines.append("")
        lines[-1] += word
    return [*lines, star + weight] if star else lines
