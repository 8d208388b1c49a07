"""Which victims a PodDisruptionBudget protects: each spends what is left of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.hypothetical.roster import Roster
from clusterstate.objects import LabelSelector, ObjectMeta, Pod, PodDisruptionBudget, Requirement
from kubescheduler.framework.deciding.preemption_search import unprotected, violating
from tests.support.build import Cluster, labels, make_node, make_pod
from tests.support.rich_worlds import budgets

WEB = LabelSelector(labels({"app": "web"}))
ANY = LabelSelector(match_expressions=(Requirement("app", "Exists"),))
BAD = LabelSelector(match_expressions=(Requirement("app", "Near", ("x",)),))


def budget(
    selector: LabelSelector | None, allowed: int, *disrupted: str, name: str = "b", namespace: str = "default"
) -> PodDisruptionBudget:
    return PodDisruptionBudget(ObjectMeta(name, namespace), selector, allowed, disrupted)


def pod(name: str, app: str | None = "web", priority: int = 0, node: str = "n0", **fields: Any) -> Pod:
    return make_pod(name, {} if app is None else {"app": app}, priority=priority, node=node, **fields)


def protected(found: list[PodDisruptionBudget], pods: list[Pod], *spared: str, rule: Any = violating) -> set[str]:
    """The names of the pods that violate a budget if all but ``spared`` leave."""
    cluster = Cluster([make_node("n0"), make_node("n1")], pods, found)
    roster = Roster(cluster.columns).refresh()
    leaving = [[p.metadata.name not in spared for p in there] for there in roster.pods]
    victims = roster.codes > 0
    for row, there in enumerate(leaving):
        victims[: len(there), row] = there
    hit = rule(cluster.objects, roster, np.arange(len(roster.pods)), victims)
    return {roster.pods[row][place].metadata.name for place, row in zip(*np.nonzero(hit), strict=True)}


TRIO = [pod("high", priority=3), pod("mid", priority=2), pod("low", priority=1)]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([], set()),
        ([budget(WEB, 3)], set()),
        ([budget(WEB, 2)], {"low"}),
        ([budget(WEB, 1)], {"mid", "low"}),
        ([budget(WEB, 0)], {"high", "mid", "low"}),
        ([budget(WEB, -1)], {"high", "mid", "low"}),
        ([budget(WEB, 0, "mid")], {"high", "low"}),
        ([budget(WEB, 1, "high")], {"low"}),
        ([budget(WEB, 2), budget(ANY, 1, name="c")], {"mid", "low"}),
        ([budget(None, 0)], set()),
        ([budget(LabelSelector(), 0)], set()),
        ([budget(BAD, 0)], set()),
        ([budget(WEB, 0, namespace="other")], set()),
    ],
    ids=[
        "no budget",
        "enough",
        "the last",
        "all but the first",
        "none left",
        "less than none",
        "one is counted already",
        "that one takes nothing",
        "each budget on its own",
        "no selector",
        "empty selector",
        "invalid selector",
        "another namespace",
    ],
)
def test_the_important_pods_spend_first(found: list[PodDisruptionBudget], expected: set[str]) -> None:
    """Each takes one disruption of every budget that selects it; who finds none left violates it."""
    assert protected(found, TRIO) == expected


def test_budgets_that_are_not_read() -> None:
    """With 1.20's gate PodDisruptionBudget off nobody is protected."""
    assert protected([budget(WEB, 0)], TRIO, rule=unprotected) == set()


def test_pods_that_stay_take_nothing() -> None:
    """Only those that would leave are counted."""
    assert protected([budget(WEB, 1)], TRIO, "high", "low") == set()


def test_every_node_is_counted_for_itself() -> None:
    """Preemption happens on one of them."""
    pods = [pod("a"), pod("b", node="n1"), pod("c", node="n1", priority=1)]
    assert protected([budget(WEB, 1)], pods) == {"b"}


def test_pods_without_labels_violate_nothing() -> None:
    """Whatever the selector."""
    without = LabelSelector(match_expressions=(Requirement("app", "DoesNotExist"),))
    assert protected([budget(without, 0)], [pod("bare", None), make_pod("other", {"x": "y"}, node="n0")]) == {"other"}


def literal(found: list[PodDisruptionBudget], pods: list[Pod]) -> set[str]:
    """As the rule is written, for one node's pods from the most important one; budgets are for ``web`` or any app."""
    left, out = {b.metadata.name: b.disruptions_allowed for b in found}, set()
    for p in pods:
        for b in found:
            app = p.metadata.labels.get("app")
            selected = b.selector != LabelSelector() and (app == "web" if b.selector == WEB else app is not None)
            if selected and p.metadata.namespace == "default" and p.metadata.name not in b.disrupted_pods:
                left[b.metadata.name] -= 1
                if left[b.metadata.name] < 0:
                    out.add(p.metadata.name)
    return out


@given(
    budgets,
    st.lists(st.tuples(st.sampled_from(["web", "db", None]), st.sampled_from(["default", "other"])), max_size=6),
)
def test_law_the_written_rule(found: list[PodDisruptionBudget], given_pods: Any) -> None:
    """Sums over all places at once are what spending one after the other is."""
    pods = [pod(f"p{at}", app, priority=9 - at, namespace=namespace) for at, (app, namespace) in enumerate(given_pods)]
    assert protected(found, pods) == literal(found, pods)
