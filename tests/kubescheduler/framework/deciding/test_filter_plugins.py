"""Filter in a decision: who is run where, nominated pods, errors."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from clusterstate.errors import SchedulingError
from clusterstate.objects import Pod
from kubescheduler.core.decision import Decision
from kubescheduler.core.extender_calls import LeftByExtenders, filter_with_extenders, note_1_20, note_1_36
from kubescheduler.core.status import Code, Status
from kubescheduler.cycle.failures import pending_of, rejectors_of
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.deciding.find_nodes import answered_rows
from predicates.types import NodeError
from tests.support.build import Cluster, make_node, make_pod, resources
from tests.support.deciders import NODES, Answered, FakeExtender, answers, deciding, plugin, refusing, scoring
from tests.support.rich_worlds import in_tree

RELEASES = ("1.20", "1.36")
BOTH = pytest.mark.parametrize("release", RELEASES)
U, UAU = Status.unschedulable("u"), Status.unresolvable("uau")
PENDING = Status(Code.Pending, ("later",))


def on(name: str, status: Status | None, other: Status | None = None) -> Any:
    """A Filter of one node's answer and the others'."""
    return lambda state, pod, node_info: status if node_info.name == name else other


def seeing(seen: list[str], status: Status | None = None) -> Any:
    """A Filter that notes the nodes it is run on."""

    def look(state: Any, pod: Any, node_info: Any) -> Status | None:
        seen.append(node_info.name)
        return status

    return look


# --- rejections --------------------------------------------------------------------------------


@BOTH
def test_the_first_plugin_that_refuses_a_node_decides(release: str) -> None:
    """Later ones are not run there; rules over columns and custom plugins take turns."""
    seen: list[str] = []
    plugins = [
        refusing("A", n0="full"),
        plugin("B", filter=on("n1", U)),
        plugin("C", filter=seeing(seen)),
        refusing("D", n0="late", n1="late"),
    ]
    decision = deciding(release, *plugins).attempt(make_pod()).run()
    assert decision.reasons() == {"n0": ["full"], "n1": ["u"]}
    assert seen == ["n2"]
    assert decision.host == "n2"


@BOTH
def test_thorough_runs_every_plugin_everywhere(release: str) -> None:
    """What each says on its own is told beside what decides."""
    seen: list[str] = []
    plugins = [refusing("A", n0="full"), plugin("B", filter=seeing(seen, U)), refusing("C", n0="c")]
    decision = deciding(release, *plugins).attempt(make_pod(), thorough=True).run()
    assert seen == ["n0", "n1", "n2"]
    assert decision.checks()["n0"] == {"A": ["full"], "B": ["u"], "C": ["c"]}
    assert decision.reasons()["n0"] == ["full"]


def test_a_policy_can_run_all_plugins() -> None:
    """All reasons are reported under the worst code, those of custom plugins too."""
    plugins = [refusing("A", n0="full", n1="hopeless"), plugin("B", **answers(filter=U)), refusing("C", n2="hopeless")]
    decision = deciding("1.20", *plugins, run_all=True).attempt(make_pod()).run()
    assert decision.reasons() == {"n0": ["full", "u"], "n1": ["hopeless", "u"], "n2": ["u", "hopeless"]}
    assert decision.codes() == {
        "n0": "Unschedulable",
        "n1": "UnschedulableAndUnresolvable",
        "n2": "UnschedulableAndUnresolvable",
    }
    assert decision.row_codes().tolist() == [2, 3, 3]


@BOTH
@pytest.mark.parametrize(
    ("made", "code"),
    [
        (refusing("A", n1="full"), "Unschedulable"),
        (refusing("A", n1="hopeless"), "UnschedulableAndUnresolvable"),
        (plugin("A", filter=on("n1", U)), "Unschedulable"),
        (plugin("A", filter=on("n1", UAU)), "UnschedulableAndUnresolvable"),
    ],
    ids=["column", "hopeless column", "own", "hopeless own"],
)
def test_codes(release: str, made: Any, code: str) -> None:
    """They follow from the reason, or are the plugin's own."""
    decision = deciding(release, made).attempt(make_pod()).run()
    assert decision.codes() == {"n1": code}


def test_pending_is_a_rejection_of_its_own_in_1_36() -> None:
    """Its plugin is told apart from those that refuse for good, and preemption does not look at the node."""
    plugins = [plugin("A", filter=on("n0", PENDING, U)), plugin("B", filter=on("n2", PENDING))]
    decision = deciding("1.36", *plugins).attempt(make_pod()).run()
    assert decision.codes() == {"n0": "Pending", "n1": "Unschedulable", "n2": "Unschedulable"}
    assert rejectors_of(decision) == pending_of(decision) == {"A"}
    assert decision.row_codes().tolist() == [6, 2, 2]
    assert decision.message == "0/3 nodes are available: 1 later, 2 u."


def test_a_status_without_reasons_is_told_as_an_empty_one() -> None:
    """The node is refused all the same."""
    decision = deciding("1.36", plugin("A", filter=on("n1", Status(Code.Unschedulable)))).attempt(make_pod()).run()
    assert decision.fits() == ["n0", "n2"]
    assert decision.codes() == {"n1": "Unschedulable"}


# --- errors ------------------------------------------------------------------------------------

TEXTS = {"1.20": 'running "A" filter plugin for pod "p": {}', "1.36": 'running "A" filter plugin: {}'}


@BOTH
@pytest.mark.parametrize(
    ("made", "text"),
    [
        (refusing("A", n1=NodeError("of {pod}")), "of default/p"),
        (plugin("A", **answers(filter=SchedulingError("broken"))), "broken"),
        (plugin("A", filter=on("n2", Status.failure("broken"))), "broken"),
        (plugin("A", filter=on("n2", Status(Code.Skip, ("why",)))), "why"),
    ],
    ids=["column", "raised", "answered", "another code"],
)
def test_an_error_gives_the_attempt_up(release: str, made: Any, text: str) -> None:
    """The text names the plugin, in 1.20 the pod too."""
    decision = deciding(release, made).attempt(make_pod()).run()
    assert decision.error == TEXTS[release].format(text)
    assert decision.fits() == []
    assert decision.host is None


def test_pending_is_an_error_in_1_20() -> None:
    """The release does not know it."""
    decision = deciding("1.20", plugin("A", filter=on("n0", PENDING))).attempt(make_pod()).run()
    assert decision.error == 'running "A" filter plugin for pod "p": later'


@BOTH
def test_an_error_behind_a_rejection_is_not_met(release: str) -> None:
    """The node was refused before; of two nodes with errors the first is told."""
    scheduler = deciding(release, refusing("F", n0="full"), refusing("A", n0=NodeError("no"), n2=NodeError("two")))
    assert scheduler.attempt(make_pod()).run().error == TEXTS[release].format("two")
    scheduler = deciding(release, refusing("F", n0="full"), refusing("A", n0=NodeError("no")))
    assert scheduler.attempt(make_pod()).run().host == "n1"


def test_an_error_beyond_what_is_looked_at_is_not_met() -> None:
    """The search ends once enough nodes pass."""
    nodes = [make_node(f"n{at:03}") for at in range(200)]
    for erring, error in (("n150", None), ("n050", 'running "A" filter plugin: broken')):
        plugins = [refusing("A", **{erring: NodeError("broken")}), scoring("S", *[0] * 200)]
        assert deciding("1.36", *plugins, cluster=nodes, percentage=10).attempt(make_pod()).run().error == error


@BOTH
def test_a_filter_without_its_pre_filter_errs(release: str) -> None:
    """A profile that leaves it out can place nothing."""
    whole: Any = in_tree(release)["InterPodAffinity"]
    made = msgspec.structs.replace(whole, points=frozenset({Point.FILTER}))
    decision = deciding(release, made).attempt(make_pod()).run()
    text = TEXTS[release].format(made.filter_alone).replace('"A"', '"InterPodAffinity"')
    assert decision.error == text


# --- nominated pods ------------------------------------------------------------------------------


def cpu(name: str, amount: int, priority: int = 0, **fields: Any) -> Pod:
    return make_pod(name, requests=resources(cpu=amount), priority=priority, **fields)


def fitting(release: str, *nominated: Pod, pod: Pod, thorough: bool = False) -> Decision:
    """A decision by resources, with pods that are nominated to n0."""
    scheduler = deciding(release, in_tree(release)["NodeResourcesFit"])
    for other in nominated:
        scheduler.cache.nominate(other, "n0")
    return scheduler.attempt(pod, thorough=thorough).run()


@BOTH
@pytest.mark.parametrize(
    ("others", "refused"),
    [
        ([cpu("other", 3000, 5)], True),
        ([cpu("other", 3000, 9)], True),
        ([cpu("other", 3000, 4)], False),
        ([cpu("p", 3000, 5)], False),
        ([cpu("one", 1500, 5), cpu("two", 1500, 5)], True),
        ([cpu("one", 1500, 5), cpu("two", 1500, 4)], False),
    ],
    ids=["as important", "more important", "less important", "itself", "two together", "one of two"],
)
def test_room_is_left_for_nominated_pods(release: str, others: list[Pod], refused: bool) -> None:
    """For those that are at least as important; the pod itself is not in its own way."""
    decision = fitting(release, *others, pod=cpu("p", 2000, 5))
    assert decision.fits() == (["n1", "n2"] if refused else ["n0", "n1", "n2"])
    assert decision.codes() == ({"n0": "Unschedulable"} if refused else {})
    assert decision.reasons() == ({"n0": ["Insufficient cpu"]} if refused else {})


@BOTH
def test_both_passes_have_to_succeed(release: str) -> None:
    """A pod that fits only because of a nominated one does not fit."""
    seen: list[int] = []

    def needs_company(state: Any, pod: Any, node_info: Any) -> Status | None:
        seen.append(len(node_info.pods))
        return None if node_info.pods or node_info.name != "n0" else U

    scheduler = deciding(release, plugin("A", filter=needs_company))
    scheduler.cache.nominate(make_pod("other"), "n0")
    decision = scheduler.attempt(make_pod()).run()
    assert decision.fits() == ["n1", "n2"]
    assert seen == [0, 0, 0, 1]


@BOTH
def test_a_failing_first_pass_decides_the_status(release: str) -> None:
    """Of all plugins in their order, with its code."""
    plugins = [plugin("A", filter=lambda s, p, info: UAU if info.pods else None), refusing("B", n0="full")]
    scheduler = deciding(release, *plugins)
    scheduler.cache.nominate(make_pod("other"), "n0")
    decision = scheduler.attempt(make_pod()).run()
    assert decision.reasons() == {"n0": ["uau"]}
    assert decision.codes() == {"n0": "UnschedulableAndUnresolvable"}
    assert decision.row_codes().tolist() == [3, 0, 0]
    assert rejectors_of(decision) == frozenset({"A"})


@BOTH
@pytest.mark.parametrize("enabled", [True, False], ids=["PreFilter enabled", "Filter only"])
def test_add_pod_tells_plugins_of_nominated_pods(release: str, enabled: bool) -> None:
    """In a copy of the state; a plugin whose PreFilter is not enabled is not told."""

    def look(state: CycleState, pod: Any, node_info: Any) -> Status | None:
        return U if state.get("added") else None

    def note(state: CycleState, pod: Any, added: Any, node_info: Any) -> None:
        state.write("added", added.key)

    made = plugin("A", filter=look, add_pod=note, **(answers(pre_filter=None) if enabled else {}))
    scheduler, cycle = deciding(release, made), CycleState()
    scheduler.cache.nominate(make_pod("other"), "n0")
    decision = scheduler.attempt(make_pod(), cycle=cycle).run()
    assert decision.fits() == (["n1", "n2"] if enabled else ["n0", "n1", "n2"])
    assert cycle.get("added") is None


@BOTH
@pytest.mark.parametrize("fault", [U, SchedulingError("u")], ids=["answered", "raised"])
def test_add_pod_that_fails_gives_the_attempt_up(release: str, fault: Any) -> None:
    """Whatever its code."""
    scheduler = deciding(release, plugin("A", **answers(pre_filter=None, filter=None, add_pod=fault)))
    scheduler.cache.nominate(make_pod("other"), "n0")
    assert scheduler.attempt(make_pod()).run().error == 'running AddPod on PreFilter plugin "A": u'


@BOTH
def test_an_error_beside_nominated_pods_names_the_plugin(release: str) -> None:
    """The same text as without them."""
    scheduler = deciding(release, plugin("A", filter=lambda s, p, i: Status.failure("broken") if i.pods else None))
    scheduler.cache.nominate(make_pod("other"), "n0")
    assert scheduler.attempt(make_pod()).run().error == TEXTS[release].format("broken")


@BOTH
def test_no_error_beside_nominated_pods_where_pre_filter_refused(release: str) -> None:
    """Filter plugins are not run then; what they say of the nodes is told beside what decides."""
    broken = plugin("B", filter=lambda state, pod, info: Status.failure("broken"))
    scheduler = deciding(release, plugin("A", **answers(pre_filter=UAU, filter=None)), broken)
    scheduler.cache.nominate(make_pod("other"), "n0")
    for thorough in (False, True):
        decision = scheduler.attempt(make_pod(), thorough=thorough).run()
        assert decision.error is None
        assert decision.reasons() == {"n0": ["uau"], "n1": ["uau"], "n2": ["uau"]}


@BOTH
@pytest.mark.parametrize("place", ["ghost", "gone"])
def test_nominations_to_nodes_that_are_not_there(release: str, place: str) -> None:
    """Nobody looks there; on a node that went away pods may still be."""
    scheduler = deciding(release, in_tree(release)["NodeResourcesFit"], cluster=[*NODES, make_node("gone")])
    scheduler.cache.add_pod(make_pod("there", node="gone"))
    scheduler.cache.remove_node("gone")
    scheduler.cache.nominate(make_pod("other"), place)
    assert scheduler.attempt(make_pod()).run().fits() == ["n0", "n1", "n2"]


CLUSTER = Cluster([make_node(f"n{at}") for at in range(3)])
NOTES = {"1.20": note_1_20, "1.36": note_1_36}
UNSCHEDULABLE, UNRESOLVABLE = Status.unschedulable, Status.unresolvable


def asked(release: str, *answers: Answered | FakeExtender) -> LeftByExtenders:
    extenders: list[Any] = [FakeExtender(a) if isinstance(a, Answered) else a for a in answers]
    return filter_with_extenders(make_pod(), extenders, answered_rows(CLUSTER.snapshot), np.arange(3), NOTES[release])


@pytest.mark.parametrize(
    ("release", "answers", "refused"),
    [
        ("1.20", [Answered(("n1",), {"n0": "a"})], {"n0": UNSCHEDULABLE("a")}),
        ("1.20", [Answered(("n1", "n2"), {"n0": "a"}), Answered((), {"n0": "b"})], {"n0": UNSCHEDULABLE("a", "b")}),
        ("1.20", [Answered((), {"n0": "a"}, {"n1": "c"})], {"n0": UNSCHEDULABLE("a")}),
        ("1.36", [Answered(("n1", "n2"), {"n0": "a"}), Answered((), {"n0": "b"})], {"n0": UNSCHEDULABLE("b")}),
        (
            "1.36",
            [Answered((), {"n0": "a"}, {"n0": "c", "n1": "d"})],
            {"n0": UNRESOLVABLE("c"), "n1": UNRESOLVABLE("d")},
        ),
        ("1.36", [Answered(("n1",), {}, {"n0": "c"}), Answered((), {"n0": "b"})], {"n0": UNSCHEDULABLE("b")}),
    ],
    ids=["once", "appended", "1.20 knows one code", "replaced", "beyond help goes first", "the last word"],
)
def test_statuses(release: str, answers: list[Answered], refused: dict[str, Status]) -> None:
    """1.20 adds to what was said, 1.36 replaces it."""
    assert asked(release, *answers).refused == refused


def test_rows_come_in_the_order_of_the_answer() -> None:
    """What is left is what the next extender gets, and where nothing is left nobody is asked."""
    last = FakeExtender()
    found = asked("1.36", Answered(("n2", "n0")), Answered(("n2", "n0")), Answered(()), last)
    assert found.feasible.tolist() == []
    assert last.asked == []
    assert asked("1.36", Answered(("n2", "n0"))).feasible.tolist() == [2, 0]


def test_who_answers_with_objects_empties_the_nodes() -> None:
    """Whoever comes after, even one that is not interested or fails and can be ignored."""
    after: list[Answered | FakeExtender] = [
        Answered(("n0",)),
        FakeExtender(interested=False),
        FakeExtender("down", ignorable=True),
    ]
    assert asked("1.36", Answered(("n0",), as_objects=True), *after).emptied
    assert not asked("1.36", *after).emptied


def test_traces() -> None:
    """One for each extender, with what it said; of one that was not asked nothing."""
    found = asked(
        "1.36",
        Answered(("n0",), {"n1": "a"}, {"n2": "b"}),
        FakeExtender("down", ignorable=True, weight=3),
        FakeExtender(interested=False),
    )
    first, second, third = found.traces
    assert (first.failed, first.unresolvable, first.filter_error) == ({"n1": "a"}, {"n2": "b"}, None)
    assert (second.failed, second.filter_error, second.weight) == (None, "down", 3)
    assert (third.name, third.failed, third.filter_error) == ("http://x", None, None)


@pytest.mark.parametrize(
    ("extender", "text"),
    [(FakeExtender("down"), "down"), (FakeExtender(Answered(("ghost",))), 'nodeinfo not found for node name "ghost"')],
    ids=["fails", "an unknown node"],
)
def test_failures_give_the_attempt_up(extender: FakeExtender, text: str) -> None:
    """With the extender's text, or the release's."""
    with pytest.raises(SchedulingError, match=f"^{text}$"):
        asked("1.36", extender)


def test_codes_of_extenders() -> None:
    """Nothing an extender says is an error."""
    refused = asked("1.36", Answered((), {"n0": "a"}, {"n1": "b"})).refused
    assert {status.code for status in refused.values()} == {Code.Unschedulable, Code.UnschedulableAndUnresolvable}
