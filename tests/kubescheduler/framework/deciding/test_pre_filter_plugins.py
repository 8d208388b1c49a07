"""What the releases make of PreFilter answers, and how a decision tells it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from clusterstate.errors import SchedulingError
from kubescheduler.core.status import Code, Status
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.plugin import PreFilterResult
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.contract.runs import PreFilterOutcome
from kubescheduler.framework.deciding.find_nodes import (
    ALL_NODES,
    Answer,
    narrow_1_20,
    narrow_1_24,
    narrow_1_36,
    outside_1_32,
)
from predicates.types import NodeError, PreFiltered
from tests.support.build import make_pod
from tests.support.deciders import answers, deciding, plugin, pre_filtering, refusing

U, V, UAU = Status.unschedulable("u"), Status.unschedulable("v"), Status.unresolvable("uau")
FAULT = Status.failure("broken")
ONE, TWO = frozenset({"n1"}), frozenset({"n1", "n2"})
RELEASES = ("1.20", "1.36")
NARROW = {"1.20": narrow_1_20, "1.36": narrow_1_36}


def narrowed(release: str, *given: Status | frozenset[str] | None) -> tuple[PreFilterOutcome, list[str], set[str]]:
    """(the outcome, the plugins A, B … that were asked, those that skipped)."""
    asked: list[str] = []

    def ask() -> Iterator[tuple[str, Answer]]:
        for name, answer in zip("ABCD", given, strict=False):
            asked.append(name)
            yield name, (None, answer) if isinstance(answer, frozenset) else (answer, None)

    cycle = CycleState()
    return NARROW[release](ask(), cycle), asked, cycle.skip_filter


def error(plugin: str, text: str) -> Status:
    return Status.failure(f'running PreFilter plugin "{plugin}": {text}').by(plugin)


@pytest.mark.parametrize(
    ("release", "given", "outcome", "asked"),
    [
        ("1.20", (None, Status()), ALL_NODES, "AB"),
        ("1.20", (None, U, UAU), PreFilterOutcome(U.by("B"), last="B"), "AB"),
        ("1.20", (UAU, U), PreFilterOutcome(UAU.by("A"), last="A"), "A"),
        ("1.20", (FAULT,), PreFilterOutcome(error("A", "broken"), last="A"), "A"),
        ("1.20", (Status(Code.Skip),), PreFilterOutcome(error("A", ""), last="A"), "A"),
        ("1.20", (Status(Code.Pending, ("later",)),), PreFilterOutcome(error("A", "later"), last="A"), "A"),
        ("1.20", (Status(Code.Wait),), PreFilterOutcome(error("A", ""), last="A"), "A"),
        ("1.36", (None, Status()), ALL_NODES, "AB"),
        (
            "1.36",
            (U, None, Status.unschedulable("v"), None),
            PreFilterOutcome(Status.unschedulable("v").by("C")),
            "ABCD",
        ),
        ("1.36", (U, UAU, FAULT), PreFilterOutcome(UAU.by("B"), last="B"), "AB"),
        ("1.36", (ONE, UAU), PreFilterOutcome(UAU.by("B"), last="B"), "AB"),
        ("1.36", (ONE, FAULT), PreFilterOutcome(error("B", "broken"), last="B"), "AB"),
        ("1.36", (Status(Code.Pending, ("later",)),), PreFilterOutcome(error("A", "later"), last="A"), "A"),
        ("1.36", (Status(Code.Wait),), PreFilterOutcome(error("A", ""), last="A"), "A"),
        ("1.36", (TWO, None, ONE), PreFilterOutcome(nodes=ONE, plugins=("A", "C")), "ABC"),
        ("1.36", (ONE, U), PreFilterOutcome(U.by("B"), ONE, ("A",)), "AB"),
        (
            "1.36",
            (frozenset(), U),
            PreFilterOutcome(Status.unresolvable("node(s) didn't satisfy plugin A"), frozenset(), ("A",), "A"),
            "A",
        ),
        (
            "1.36",
            (ONE, None, frozenset({"n2"}), U),
            PreFilterOutcome(
                Status.unresolvable("node(s) didn't satisfy plugin(s) [A C] simultaneously"),
                frozenset(),
                ("A", "C"),
                "C",
            ),
            "ABC",
        ),
    ],
)
def test_reactions(release: str, given: tuple[Any, ...], outcome: PreFilterOutcome, asked: str) -> None:
    """Who is asked, what ends it, and which names are left."""
    found, plugins, _ = narrowed(release, *given)
    assert found == outcome
    assert "".join(plugins) == asked


def test_skip_is_noted() -> None:
    """In 1.36 the plugin's Filter, AddPod and RemovePod are left out for this attempt."""
    outcome, _, skipped = narrowed("1.36", None, Status(Code.Skip), ONE)
    assert (outcome.nodes, skipped) == (ONE, {"B"})


def test_what_nodes_outside_are_told() -> None:
    """Even a single plugin is told in the plural."""
    assert outside_1_32(("A",)) == Status.unresolvable("node(s) didn't satisfy plugin(s) [A]")
    assert outside_1_32(("A", "B")).message == "node(s) didn't satisfy plugin(s) [A B]"


# --- whole decisions -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("release", "message"), [("1.20", "0/3 nodes are available: 3 no."), ("1.36", "0/3 nodes are available: no.")]
)
def test_a_rejection_is_told_of_every_node(release: str, message: str) -> None:
    """1.36 tells it once; the status is every node's in both."""
    decision = deciding(release, pre_filtering("A", PreFiltered(reasons=("no",)))).attempt(make_pod()).run()
    assert decision.message == message
    assert decision.codes() == dict.fromkeys(("n0", "n1", "n2"), "Unschedulable")


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("own", [True, False], ids=["own", "columns"])
def test_an_error_gives_the_attempt_up(release: str, own: bool) -> None:
    """The text names the plugin; no node has a status."""
    made = (
        plugin("A", **answers(pre_filter=SchedulingError("broken")))
        if own
        else pre_filtering("A", PreFiltered(reasons=(NodeError("broken"),)))
    )
    decision = deciding(release, made).attempt(make_pod()).run()
    assert decision.error == 'running PreFilter plugin "A": broken'
    assert decision.statuses() == {}


def test_node_name_sets_restrict_the_nodes() -> None:
    """Names without a node are dropped; the others cannot be mended."""
    plugins = [
        plugin("Own", **answers(pre_filter=PreFilterResult(frozenset({"n1", "n2", "ghost"})))),
        pre_filtering("Columns", PreFiltered(nodes=frozenset({"n0", "n1"}))),
    ]
    scheduler = deciding("1.36", *plugins, refusing("F", n0="f", n2="f"))
    decision = scheduler.attempt(make_pod()).run()
    outside_all = "node(s) didn't satisfy plugin(s) [Columns Own]"
    assert decision.host == "n1"
    assert decision.pre_filter_plugins == ("Columns", "Own")
    assert decision.reasons() == {"n0": [outside_all], "n2": [outside_all]}
    assert set(decision.codes().values()) == {"UnschedulableAndUnresolvable"}


def test_nodes_without_a_status_count_as_left_out() -> None:
    """The text of 1.36 is about all nodes there are."""
    plugins = [pre_filtering("A", PreFiltered(nodes=frozenset({"n1"}))), refusing("F", n1="full")]
    decision = deciding("1.36", *plugins).attempt(make_pod()).run()
    assert decision.message == "0/3 nodes are available: 1 full, 2 node(s) didn't satisfy plugin(s) [A]."


def test_skipped_plugins_are_not_run_on_nodes() -> None:
    """Whether they are rules over columns or custom plugins."""
    own = plugin("Own", **answers(pre_filter=Status(Code.Skip), filter=U))
    decision = deciding("1.36", own).attempt(make_pod()).run()
    assert decision.host == "n0"


@pytest.mark.parametrize("release", RELEASES)
def test_thorough_tells_what_every_plugin_says_on_its_own(release: str) -> None:
    """Also those that a rejection left unasked; a plugin that rejects is not run on nodes."""
    plugins = [
        pre_filtering("A", PreFiltered(reasons=("hopeless",))),
        pre_filtering("B", PreFiltered(reasons=("too",))),
        refusing("F", n1="full"),
    ]
    decision = deciding(release, *plugins).attempt(make_pod(), thorough=True).run()
    assert decision.fits() == []
    assert decision.checks() == {
        name: {"A": ["hopeless"], "B": ["too"], **({"F": ["full"]} if name == "n1" else {})}
        for name in ("n0", "n1", "n2")
    }
    assert set(decision.codes().values()) == {"UnschedulableAndUnresolvable"}


def test_post_filter_plugins_see_what_pre_filter_answered() -> None:
    """Up to the plugin that ended it; what custom plugins wrote themselves stays."""
    kept: dict[str, Any] = {}

    def pre_filter(state: CycleState, pod: Any, snapshot: Any) -> None:
        state.write("PreFilterOwn", "mine")

    def post_filter(state: CycleState, pod: Any, statuses: Any) -> tuple[str | None, Status | None]:
        kept.update({name: state.get(f"PreFilter{name}") for name in ("Own", "A", "B")})
        return None, U

    plugins = [
        plugin("Own", pre_filter=pre_filter, post_filter=post_filter),
        pre_filtering("A", PreFiltered(reasons=("hopeless",)), Point.FILTER),
        pre_filtering("B", PreFiltered()),
    ]
    deciding("1.36", *plugins).attempt(make_pod()).run(preempt=True)
    assert kept == {"Own": "mine", "A": PreFiltered(reasons=("hopeless",)), "B": None}


def test_between_1_24_and_1_29() -> None:
    """The first refusal ends it, and names that contradict each other are Unschedulable."""
    given: list[tuple[str, Answer]] = [("A", (None, ONE)), ("B", (None, frozenset({"n2"}))), ("C", (U, None))]
    text = "node(s) didn't satisfy plugin(s) [A B] simultaneously"
    assert narrow_1_24(iter(given), CycleState()).status == Status.unschedulable(text)
    left = iter([("A", (U, None)), ("B", (UAU, None))])
    assert narrow_1_24(left, CycleState()).status == U.by("A")
    assert [name for name, _ in left] == ["B"]
    assert narrow_1_24(iter([("A", (None, ONE)), ("B", (UAU, None))]), CycleState()).status == UAU.by("B")
    assert narrow_1_24(iter(given[:1]), CycleState()) == PreFilterOutcome(None, ONE, ("A",))
