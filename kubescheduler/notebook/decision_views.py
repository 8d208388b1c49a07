"""A decision in a notebook: a page of its scores and refusals, and the same as columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from clusterstate.errors import KubeSchedulerError
from clusterstate.objects import Pod
from kubescheduler.notebook.data_frames import Columns, arrow_table, data_frame
from kubescheduler.notebook.static_html import html_page, html_table, html_text

MOST_NODES = 10
"""Scored nodes on a page, the best first."""
MOST_REASONS = 10
"""Reasons that are shown with what they were made of."""
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


def decision_html(decided: Decided) -> str:
    """A small static page of a decision."""
    fitting = decided.fits()
    title = f"{decided.pod.key.removeprefix('/')}: {decided.host or 'no node'} "
    title += f"({len(fitting)}/{decided.nodes_total} nodes fit, release {decided.release})"
    return html_page(title, html_text(decided.message.rstrip()), _scores(decided), _refusals(decided))


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
