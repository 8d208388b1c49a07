"""CheckVolumeBinding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.objects import (
    ClaimReference,
    LabelSelector,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    Requirement,
)
from clusterstate.snapshot import Snapshot
from predicates.types import PredicateArgs
from predicates.volume_binding import BIND_CONFLICT, NODE_CONFLICT, VOLUME_BINDING, check_volume_binding
from tests.support.build import Cluster, labels, make_node
from tests.support.storage import (
    BOUND,
    CLASS_ANNOTATION,
    IMMEDIATE,
    by_text,
    claiming,
    make_claim,
    make_class,
    make_volume,
    on_nodes,
)

SELECTED = "volume.kubernetes.io/selected-node"
NODES = [make_node(n, {"host": n}) for n in "abc"]
LOCAL = make_class("local", "kubernetes.io/no-provisioner")
OURS = ClaimReference("default", "c", "uid-c")


def free(name: str, *hosts: str, storage: int = 10, **fields: Any) -> PersistentVolume:
    """An available volume of class ``local`` on these hosts; without hosts it can be used anywhere."""
    fields = {"storage_class_name": "local", "phase": "Available", "access_modes": ("RWO", "RWX")} | fields
    return make_volume(name, storage=storage, node_affinity=on_nodes(*hosts) if hosts else None, **fields)


def wanting(name: str = "c", storage: int = 5, **fields: Any) -> PersistentVolumeClaim:
    """An unbound claim of class ``local``."""
    return make_claim(name, storage=storage, access_modes=("RWO",), **{"storage_class": "local", **fields})


def failing(pod: Pod, *others: Any, rows: list[int] | None = None) -> dict[str, list[str]]:
    cluster = Cluster(NODES, [], others)
    snapshot: Snapshot = cluster.snapshot if rows is None else cluster.snapshot.take(np.array(rows, np.int64))
    return by_text(snapshot, check_volume_binding(cluster.info(pod), snapshot))


def unbindable(*others: Any, claims: tuple[str, ...] = ("c",)) -> str:
    """The nodes without volumes for the claims."""
    found = failing(claiming(*claims), LOCAL, *others)
    assert found.keys() <= {BIND_CONFLICT}
    return "".join(found.get(BIND_CONFLICT, []))


# --- bound claims and errors ---------------------------------------------------------------


def bound(name: str, *hosts: str) -> list[Any]:
    return [make_claim(name, f"pv-{name}", annotations=BOUND), free(f"pv-{name}", *hosts, phase="Bound")]


BOUND_CLAIMS: dict[str, Any] = {
    "anywhere": (["any"], {}),
    "local": (["on-a"], {NODE_CONFLICT: ["b", "c"]}),
    "both-have-to-match": (["on-a", "on-ab"], {NODE_CONFLICT: ["b", "c"]}),
    "apart": (["on-a", "on-b"], {NODE_CONFLICT: ["a", "b", "c"]}),
    "both-reasons": (["on-a", "c"], {NODE_CONFLICT: ["b", "c"], BIND_CONFLICT: ["a", "b", "c"]}),
    "volume-gone": (["lost"], {'error: could not find v1.PersistentVolume "gone"': ["a", "b", "c"]}),
    "an-error-only-where-no-mismatch-came-first": (
        ["on-ab", "lost", "c"],
        {NODE_CONFLICT: ["c"], BIND_CONFLICT: ["c"], 'error: could not find v1.PersistentVolume "gone"': ["a", "b"]},
    ),
}


@pytest.mark.parametrize(("claims", "expected"), BOUND_CLAIMS.values(), ids=BOUND_CLAIMS)
def test_bound_claims(claims: list[str], expected: dict[str, list[str]]) -> None:
    """The node affinity of each bound volume holds."""
    others = [*bound("any"), *bound("on-a", "a"), *bound("on-b", "b"), *bound("on-ab", "a", "b"), wanting(), LOCAL]
    lost = make_claim("lost", "gone", annotations=BOUND)
    assert failing(claiming(*claims), *others, lost) == expected


IMMEDIATE_TEXT = "pod has unbound immediate PersistentVolumeClaims"
BAD_SELECTOR_TEXT = "error creating internal label selector for claim"
BAD_OPERATOR_TEXT = '"Bad" is not a valid pod selector operator'


ERRORS: dict[str, Any] = {
    "immediate": (["now"], IMMEDIATE_TEXT),
    "prebound-but-not-completed": (["prebound"], IMMEDIATE_TEXT),
    "before-bound-claims": (["lost", "now"], IMMEDIATE_TEXT),
    "class-without-mode": (["odd", "now"], 'VolumeBindingMode not set for StorageClass "odd"'),
    "claim-missing": (
        ["now", "none"],
        'error getting PVC "default/none": could not find v1.PersistentVolumeClaim "default/none"',
    ),
    "invalid-selector": (["selector"], f"{BAD_SELECTOR_TEXT}: default/selector: {BAD_OPERATOR_TEXT}"),
}


@pytest.mark.parametrize(("claims", "text"), ERRORS.values(), ids=ERRORS)
def test_errors(claims: list[str], text: str) -> None:
    """They are met on every node."""
    others = [
        make_claim("now", storage_class="now"),
        make_class("now", mode=IMMEDIATE),
        wanting("prebound", volume="v"),
        make_claim("lost", "gone", annotations=BOUND),
        make_claim("odd", storage_class="odd"),
        make_class("odd", mode=None),
        wanting("selector", selector=LabelSelector(match_expressions=(Requirement("k", "Bad"),))),
        LOCAL,
    ]
    assert failing(claiming(*claims), *others) == {f"error: {text}": ["a", "b", "c"]}


def test_an_invalid_selector_is_an_error_where_it_is_reached() -> None:
    """Another claim that has chosen its node spares the others the error; a bound mismatch does not."""
    bad = wanting("bad", selector=LabelSelector(match_expressions=(Requirement("k", "Bad"),)))
    elsewhere = wanting("elsewhere", annotations={SELECTED: "a"})
    text = f"{BAD_SELECTOR_TEXT}: default/bad: {BAD_OPERATOR_TEXT}"
    found = failing(claiming("on-b", "bad", "elsewhere"), LOCAL, bad, elsewhere, *bound("on-b", "b"))
    assert found == {NODE_CONFLICT: ["c"], BIND_CONFLICT: ["b", "c"], f"error: {text}": ["a"]}


# --- claims to bind ------------------------------------------------------------------------


CLAIM_VOLUME: dict[str, Any] = {
    "local": (free("v", "a"), "bc"),
    "anywhere": (free("v"), ""),
    "just-large-enough": (free("v", storage=5), ""),
    "too-small": (free("v", storage=4), "abc"),
    "not-available": (free("v", phase="Bound"), "abc"),
    "being-deleted": (free("v", deleting=True), "abc"),
    "another-class": (free("v", storage_class_name="other"), "abc"),
    "another-class-by-annotation": (free("v", annotations={CLASS_ANNOTATION: "other"}), "abc"),
    "class-by-annotation-alone-is-not-found": (
        free("v", storage_class_name="", annotations={CLASS_ANNOTATION: "local"}),
        "abc",
    ),
    "other-access-modes": (free("v", access_modes=("ROX",)), "abc"),
    "default-mode": (free("v", volume_mode="Filesystem"), ""),
    "another-mode": (free("v", volume_mode="Block"), "abc"),
    "reserved-for-another": (free("v", claim_ref=ClaimReference("default", "x")), "abc"),
    "reserved": (free("v", claim_ref=OURS, phase="Bound", access_modes=()), ""),
    "reserved-without-uid": (free("v", claim_ref=ClaimReference("default", "c"), phase=""), ""),
    "reserved-for-an-older": (free("v", claim_ref=ClaimReference("default", "c", "old")), "abc"),
    "reserved-but-too-small": (free("v", claim_ref=OURS, storage=4), "abc"),
}


@pytest.mark.parametrize(("volume", "nowhere"), CLAIM_VOLUME.values(), ids=CLAIM_VOLUME)
def test_one_claim_one_volume(volume: PersistentVolume, nowhere: str) -> None:
    """What a volume must be like to be chosen for a claim."""
    assert unbindable(wanting(), volume) == nowhere


@pytest.mark.parametrize(
    ("selector", "nowhere"),
    [
        pytest.param(LabelSelector(labels({"disk": "ssd"})), "", id="match"),
        pytest.param(LabelSelector(labels({"disk": "hdd"})), "abc", id="no-match"),
        pytest.param(LabelSelector(), "", id="empty"),
    ],
)
def test_selectors_of_claims(selector: LabelSelector, nowhere: str) -> None:
    """The volume's labels match, except where it is reserved for the claim."""
    volume = free("v", label={"disk": "ssd"})
    assert unbindable(wanting(selector=selector), volume) == nowhere
    assert unbindable(wanting(selector=selector), free("v", claim_ref=OURS)) == ""


def test_a_claim_that_is_used_twice_needs_two_volumes() -> None:
    """Each mount is matched on its own, and the reserved volume is used up by the first."""
    assert unbindable(wanting(), free("v"), claims=("c", "c")) == "abc"
    assert unbindable(wanting(), free("v"), free("w", "b", claim_ref=OURS), claims=("c", "c")) == "ac"


# --- provisioning --------------------------------------------------------------------------

TOPOLOGY = ((Requirement("host", "In", ("a", "b")),),)


PROVISIONING: dict[str, Any] = {
    "anywhere": (make_class("local", "p.io"), ""),
    "no-provisioner": (make_class("local", ""), "abc"),
    "not-supported": (make_class("local", "kubernetes.io/no-provisioner"), "abc"),
    "topology": (make_class("local", "p.io", allowed_topologies=TOPOLOGY), "c"),
    "an-empty-term-matches-nothing": (make_class("local", "p.io", allowed_topologies=((),)), "abc"),
    "one-term-is-enough": (make_class("local", "p.io", allowed_topologies=((), *TOPOLOGY)), "c"),
    "an-invalid-term-is-skipped": (
        make_class("local", "p.io", allowed_topologies=((Requirement("host", "In", ()),),)),
        "abc",
    ),
}


@pytest.mark.parametrize(("storage_class", "nowhere"), PROVISIONING.values(), ids=PROVISIONING)
def test_provisioning(storage_class: Any, nowhere: str) -> None:
    """What no volume matches must be provisionable for the node; a volume that matches is enough."""
    assert unbindable(storage_class, wanting()) == nowhere
    assert unbindable(storage_class, wanting(), free("v", "c")) == nowhere.replace("c", "")


@pytest.mark.parametrize(
    ("annotations", "storage_class", "nowhere"),
    [
        pytest.param({"b": "a"}, make_class("local", "p.io"), "bc", id="selected"),
        pytest.param({"b": "a"}, LOCAL, "abc", id="selected-but-not-provisionable"),
        pytest.param({"b": "a", "c": "b"}, make_class("local", "p.io"), "abc", id="selected-apart"),
        pytest.param({"b": ""}, make_class("local", "p.io"), "abc", id="empty"),
        pytest.param({"b": "gone"}, make_class("local", "p.io"), "abc", id="unknown-node"),
    ],
)
def test_a_claim_that_has_chosen_its_node(annotations: dict[str, str], storage_class: Any, nowhere: str) -> None:
    """Other nodes are out at once, and on its own no volume is looked for."""
    claims = [
        wanting(name, annotations={SELECTED: annotations[name]} if name in annotations else {}) for name in ("b", "c")
    ]
    assert unbindable(storage_class, *claims, free("v"), claims=("b", "c")) == nowhere


# --- laws ----------------------------------------------------------------------------------

VOLUMES = st.lists(
    st.tuples(
        st.sets(st.sampled_from("abc")),
        st.integers(1, 4),
        st.sampled_from([None, None, None, ClaimReference("default", "c0"), ClaimReference("default", "c1")]),
    ),
    max_size=6,
)
REQUESTS = st.lists(st.integers(1, 4), min_size=1, max_size=3)


def slowly(host: str, requests: list[int], volumes: list[PersistentVolume]) -> bool:
    """Whether one node has volumes for the claims c0, c1 …, one volume at a time."""
    taken: set[str] = set()
    for claim, request in sorted(enumerate(requests), key=lambda entry: entry[1]):
        best: PersistentVolume | None = None
        for volume in volumes:
            here = volume.node_affinity is None or host in volume.node_affinity[0].match_expressions[0].values
            if volume.metadata.name in taken or volume.storage < request:
                continue
            if volume.claim_ref is not None:
                if volume.claim_ref.name == f"c{claim}":
                    best = volume if here else None
                    break
            elif here and (best is None or volume.storage < best.storage):
                best = volume
        if best is None:
            return False
        taken.add(best.metadata.name)
    return True


@given(REQUESTS, VOLUMES, st.lists(st.integers(0, 2), unique=True))
def test_it_agrees_with_matching_node_by_node(requests: list[int], drawn: Any, rows: list[int]) -> None:
    """All nodes at once give what each gives alone, and a subset of rows gives the same."""
    volumes = [
        free(f"v{i}", *sorted(hosts), storage=storage, claim_ref=reference)
        for i, (hosts, storage, reference) in enumerate(drawn)
    ]
    claims = [wanting(f"c{i}", request) for i, request in enumerate(requests)]
    pod = claiming(*(claim.metadata.name for claim in claims))
    expected = [host for host in "abc" if not slowly(host, requests, volumes)]
    assert failing(pod, LOCAL, *claims, *volumes).get(BIND_CONFLICT, []) == expected
    some = failing(pod, LOCAL, *claims, *volumes, rows=rows).get(BIND_CONFLICT, [])
    assert some == ["abc"[row] for row in rows if "abc"[row] in expected]


GATES: dict[str, Any] = {
    "BlockVolume": ("BlockVolume", free("v", "a", volume_mode="Block")),
    "StorageObjectInUseProtection": ("StorageObjectInUseProtection", free("v", "a", deleting=True)),
}


@pytest.mark.parametrize(("gate", "volume"), GATES.values(), ids=GATES)
def test_gates(gate: str, volume: PersistentVolume) -> None:
    """A volume of another mode, or one that is being deleted, is as good as any with the gate off."""
    cluster = Cluster(NODES, [], [LOCAL, wanting(), volume])
    pod = cluster.info(claiming("c"))
    found = [
        by_text(cluster.snapshot, VOLUME_BINDING["CheckVolumeBinding"](args).check(pod, cluster.snapshot))
        for args in (PredicateArgs(), PredicateArgs(feature_gates={gate: False}))
    ]
    assert ["a" in one.get(BIND_CONFLICT, []) for one in found] == [True, False]
