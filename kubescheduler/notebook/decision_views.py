"""A decision in a notebook: a page of its scores and refusals, and the same as columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from clusterstate.errors import KubeSchedulerError
from clusterstate.objects import Pod
from kubescheduler.notebook.data_frames import Columns, arrow_table, data_frame
from kubescheduler.notebook.static_html import WIDTH, ShownTable, html_page, html_table, html_text

MOST_NODES = 10
"""Scored nodes on a page, the best first."""
MOST_REASONS = 10
"""Reasons that are shown with what they were made of."""
SHOWN_NODES, SHOWN_RULES, SHOWN_REASONS = 3, 8, 3
"""What has room in a decision's lines of text."""
MOST_NAMES = 3
"""Refused nodes that are named for one reason."""


class ShownRefusal(Protocol):
    """One reason for which a node was refused, with what it was made of."""

    @property
    def text(self) -> str:
        """The facts in one line; empty where no more than the reason is known."""


class Explanation(Protocol):
    """Why one node was refused."""

    @property
    def refusals(self) -> Sequence[ShownRefusal]:
        """Every reason of every check."""


class Decided(Protocol):
    """What of a decision is shown."""

    @property
    def pod(self) -> Pod:
        """The pod."""

    @property
    def release(self) -> str:
        """The release that decided."""

    @property
    def host(self) -> str | None:
        """The chosen node; None for none."""

    @property
    def message(self) -> str:
        """Why it fits nowhere; empty otherwise."""

    @property
    def nodes_total(self) -> int:
        """How many nodes there are."""

    @property
    def scores(self) -> Mapping[str, Any]:
        """Rule → its scores."""

    @property
    def weights(self) -> Mapping[str, int]:
        """Rule → its weight."""

    def fits(self) -> list[str]:
        """The names of the nodes that fit."""

    def total(self) -> dict[str, int]:
        """Node → its total."""

    def score(self, priority: str) -> dict[str, int]:
        """Node → what one rule gives it."""

    def why(self, node: str) -> Explanation:
        """Why one node was refused, with what each reason was made of."""
        ...

    def reasons(self) -> dict[str, list[str]]:
        """Node → why it does not fit."""


class DecisionViews:
    """What a decision offers to notebooks."""

    __slots__ = ()

    def to_dict(self: Decided) -> dict[str, Any]:
        """The decision as plain data: the pod, host, message, and by node what fits, scores, totals and reasons."""
        return {
            "pod": self.pod.key.removeprefix("/"),
            "release": self.release,
            "host": self.host,
            "message": self.message,
            "fits": self.fits(),
            "scores": {name: self.score(name) for name in self.scores},
            "weights": dict(self.weights),
            "total": self.total(),
            "reasons": self.reasons(),
        }

    def to_frame(self: Decided) -> Any:
        """A pandas DataFrame with a row for each node: whether it fits and is chosen, its total, its score by each
        priority before the weight, and the reasons of a refused one. Raises ConfigError without pandas."""
        return data_frame(decision_columns(self), "node")

    def to_arrow(self: Decided) -> Any:
        """The rows of ``to_frame`` as a pyarrow Table. Raises ConfigError without pyarrow."""
        return arrow_table(decision_columns(self))

    def _repr_html_(self: Decided) -> str:
        """A small static page: the best nodes with their scores, and why the others were refused."""
        return decision_html(self)

    def __str__(self: Decided) -> str:
        """In 15 lines: where the pod goes, the best nodes with their scores, and why the others were refused."""
        return decision_text(self)

    def __repr__(self: Decided) -> str:
        return f"<Decision {decision_title(self)}>"


def decision_columns(decided: Decided) -> Columns:
    """Column → its value of every node: those that fit by total and name, then the refused ones by name."""
    totals, reasons = decided.total(), decided.reasons()
    fitting = sorted(decided.fits(), key=lambda name: (-totals.get(name, 0), name))
    nodes = [*fitting, *sorted(set(reasons) - set(fitting))]
    scores = {priority: decided.score(priority) for priority in decided.scores}
    return {
        "node": nodes,
        "fits": [name in set(fitting) for name in nodes],
        "chosen": [name == decided.host for name in nodes],
        "total": [totals.get(name) for name in nodes],
        **{priority: [values.get(name) for name in nodes] for priority, values in scores.items()},
        "reasons": ["; ".join(reasons.get(name, ())) or None for name in nodes],
    }


def decision_title(decided: Decided) -> str:
    """``default/web: worker-1 (5/7 nodes fit, release 1.36)``."""
    fit = f"({len(decided.fits())}/{decided.nodes_total} nodes fit, release {decided.release})"
    return f"{decided.pod.key.removeprefix('/')}: {decided.host or 'no node'} {fit}"


def decision_text(decided: Decided) -> str:
    """A decision in 15 lines of text: its best nodes beside one another, with each rule's score and weight below."""
    totals = decided.total()
    order = sorted(totals, key=lambda name: (name != decided.host, -totals[name], name))[:SHOWN_NODES]
    weights = decided.weights
    scores = {f"{name} ×{weights.get(name, 1)}": decided.score(name) for name in decided.scores}
    telling = {name: by_node for name, by_node in scores.items() if any(by_node.get(node) for node in order)}
    rows: list[list[object]] = [[name, *map(by_node.get, order)] for name, by_node in telling.items()]
    more = [f"and {len(rows) - SHOWN_RULES + 1} more rules"] if len(rows) > SHOWN_RULES else []
    rows = rows[: SHOWN_RULES - 1] if more else rows
    if order:
        rows.append(["total", *map(totals.get, order)])
    if len(totals) > len(order):
        more.append(f"{len(totals) - len(order)} more nodes that fit")
    title = decision_title(decided)
    table = ShownTable(title, ["", *order], rows, "; ".join(more)) if order else ShownTable(title)
    counts = Counter("; ".join(texts) for texts in decided.reasons().values())
    refused = [(count, text) for text, count in counts.most_common()]
    few = refused if len(refused) <= SHOWN_REASONS else [*refused[: SHOWN_REASONS - 1], (None, "and other reasons")]
    lines = [f"{count or ''} {'nodes' if count != 1 else 'node'}: {text}" if count else text for count, text in few]
    return "\n".join([table.text(), *(line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…" for line in lines)])


def decision_html(decided: Decided) -> str:
    """A small static page of a decision."""
    return html_page(decision_title(decided), html_text(decided.message.rstrip()), _scores(decided), _refusals(decided))


def _scores(decided: Decided) -> str:
    totals = decided.total()
    if not totals:
        return ""
    order = sorted(totals, key=lambda name: (-totals[name], name != decided.host, name))
    shown = order[:MOST_NODES]
    if decided.host is not None and decided.host not in shown:
        shown[-1] = decided.host
    scores = {priority: decided.score(priority) for priority in decided.scores}
    header = ["node", *(f"{name} ×{decided.weights.get(name, 1)}" for name in scores), "total"]
    rows = [[name, *(values.get(name) for values in scores.values()), totals[name]] for name in shown]
    more = f"and {len(order) - len(shown)} more nodes that fit" if len(order) > len(shown) else ""
    chosen = shown.index(decided.host) if decided.host in shown else None
    return html_table(header, rows, marked=chosen) + html_text(more)


def _refusals(decided: Decided) -> str:
    reasons = decided.reasons()
    if not reasons:
        return ""
    counts = Counter("; ".join(texts) for texts in reasons.values())
    rows: list[list[object]] = []
    for text, count in counts.most_common():
        names = sorted(name for name, texts in reasons.items() if "; ".join(texts) == text)
        named = ", ".join(names[:MOST_NAMES]) + (" …" if count > MOST_NAMES else "")
        rows.append([count, text, named, _evidence(decided, names[0]) if len(rows) < MOST_REASONS else ""])
    return html_table(["nodes", "refused because", "such as", "where the first"], rows)


def _evidence(decided: Decided, node: str) -> str:
    """What the reasons on a node were made of; empty when the cluster has changed since."""
    try:
        return "; ".join(refusal.text for refusal in decided.why(node).refusals if refusal.text)
    except KubeSchedulerError:
        return ""
