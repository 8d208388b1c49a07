"""What a refusal was made of itself decides the verdict, for every check of every release."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithmprovider.algorithms import FIT_PREDICATES, FIT_PREDICATES_1_4
from clusterstate.objects import Affinity, ClaimReference, LabelSelector, Pod, PodAffinity, PodAffinityTerm
from clusterstate.volumes.claim_matching import RULES_1_16
from kubescheduler.releases import v1_4, v1_36
from predicates.disks import CLAIM_IN_USE
from predicates.dynamic_resources import CANNOT_ALLOCATE, DEFAULTS, NOT_AVAILABLE, explain_devices
from predicates.interpod import explain_affinity_1_4
from predicates.node_identity import label_presence_factory, label_presence_factory_1_4
from predicates.refusal_evidence import (
    AnyOf,
    Conflict,
    InUse,
    LimitReached,
    LimitsReached,
    Need,
    NotSelected,
    Refusal,
    Shortage,
    Uneven,
    Unmet,
)
from predicates.service_affinity import service_affinity_factory, service_affinity_factory_1_4
from predicates.types import FitPredicate, PredicateArgs
from predicates.volume_binding import BIND_CONFLICT, NODE_CONFLICT, VOLUME_BINDING_1_36, explain_binding
from tests.support.build import Cluster, labels, make_node, make_pod
from tests.support.devices import READING, allocated, binding, exactly, gpu, make_slice, pod_with
from tests.support.devices import make_claim as device_claim
from tests.support.devices import make_class as device_class
from tests.support.references.formulas import hold_to_evidence
from tests.support.rich_worlds import DrawnCluster, in_tree, incoming, worlds
from tests.support.storage import BOUND, claiming, make_claim, make_class, make_volume, on_nodes

LEGACY: dict[str, dict[str, FitPredicate]] = {
    "1.4": {
        **{name: factory(PredicateArgs()) for name, factory in FIT_PREDICATES_1_4.items()},
        "Labels": label_presence_factory_1_4("Labels", ("zone",), True)(PredicateArgs()),
        "Services": service_affinity_factory_1_4("Services", ("zone", "disk"))(PredicateArgs()),
    },
    "1.16": {
        **{name: factory(PredicateArgs()) for name, factory in FIT_PREDICATES.items()},
        "Labels": label_presence_factory("Labels", ("zone",), False)(PredicateArgs()),
        "Services": service_affinity_factory("Services", ("zone", "disk"))(PredicateArgs()),
    },
}


def plugins_with_checks(release: str) -> dict[str, FitPredicate]:
    checks = {name: getattr(plugin, "check", None) for name, plugin in in_tree(release).items()}
    return {name: check for name, check in checks.items() if check is not None}


CHECKS = {**LEGACY, **{release: plugins_with_checks(release) for release in ("1.20", "1.36")}}


@pytest.mark.parametrize("release", CHECKS)
def test_every_check_has_evidence(release: str) -> None:
    """Every registered predicate and every in-tree Filter can say what a refusal was made of, and where it is told."""
    assert len(CHECKS[release]) > 10
    for name, check in CHECKS[release].items():
        assert check.evidence is not None, name
        assert check.evidence.page.startswith("docs/reference/")


@pytest.mark.parametrize("release", CHECKS)
@given(world=worlds(), pods=st.lists(incoming, min_size=1, max_size=6))
def test_law_evidence_decides_the_verdict(release: str, world: DrawnCluster, pods: list[Pod]) -> None:
    """On every node of a random cluster: what refuses has evidence that refuses, and what passes has none."""
    cache = world.cache(release)
    snapshot = cache.snapshot()
    for info, check in product(map(cache.info, pods), CHECKS[release].values()):
        hold_to_evidence(check, info, snapshot)


# --- the facts -----------------------------------------------------------------------------

MET, MISSED = Need("a", "a", True), Need("disk=ssd", "hdd", False)


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        (Shortage("cpu", 5000, 1000, 4000), "asks 5, 3 of 4 free"),
        (Shortage("memory", 1 << 30, 0, 1 << 29), "asks 1Gi, 512Mi of 512Mi free"),
        (Shortage("pods", 1, 4, 4), "asks 1, 0 of 4 free"),
        (LimitReached("ebs", 39, 40, 39), "ebs: 40 with this pod, at most 39"),
        (LimitsReached((LimitReached("x", 1, 2, None), LimitReached("y", 1, 2, 1))), "y: 2 with this pod, at most 1"),
        (Unmet((MET, MISSED)), "wants disk=ssd, found hdd"),
        (NotSelected((MISSED,), None), "wants disk=ssd, found hdd"),
        (NotSelected((), ((MISSED,), (MET, MISSED))), "wants disk=ssd, found hdd or wants disk=ssd, found hdd"),
        (NotSelected((), ((),)), "no term picks a node"),
        (NotSelected((), None, unreadable=True), "the pod's affinity cannot be read"),
        (Conflict((InUse("host port TCP 80", "held", ("a/b",)),)), "wants host port TCP 80, held by a/b"),
        (Uneven("zone", "a", 3, 1, 1, 1), "zone=a has 3, with this pod 4; the emptiest has 1, and maxSkew is 1"),
        (Uneven("zone", None, 0, 1, 0, 1), "the node has no zone"),
        (AnyOf((Unmet((MET,)), Unmet((MISSED,)))), "wants disk=ssd, found hdd"),
    ],
    ids=str,
)
def test_facts_that_refuse(facts: Refusal, text: str) -> None:
    """They say so in one line, and are plain data."""
    assert facts.refuses
    assert facts.text == text
    assert facts.facts()


@pytest.mark.parametrize(
    "facts",
    [
        Shortage("cpu", 1, 3999, 4000),
        Shortage("gpu", 1, 0, 0, provided_by_class=True),
        LimitReached("ebs", 38, 39, 39),
        LimitReached("ebs", 38, 99, 39, applies=False),
        LimitsReached((LimitReached("x", 3, 3, 1),)),
        Unmet((MISSED,), applies=False),
        NotSelected((MET,), ((MISSED,), (MET,))),
        Conflict((InUse("host port TCP 80", "held", ()),)),
        Uneven("zone", "a", 1, 1, 1, 1),
        Uneven("zone", None, 0, 1, 0, 1, tells_missing=False),
        AnyOf(()),
    ],
    ids=str,
)
def test_facts_that_refuse_nothing(facts: Refusal) -> None:
    """The node may still be refused for something else."""
    assert not facts.refuses


GIB = 1 << 30
NODE = make_node("a", {"host": "a", "zone": "z"})
ROW = np.array([0])


def text_of(cluster: Cluster, pod: Any, reason: str, explain: Any) -> str:
    found = explain(cluster.info(pod), cluster.snapshot.take(ROW), reason)
    assert found.refuses
    return str(found.text)


EXPLAIN_1_16 = partial(explain_binding, RULES_1_16)


@pytest.mark.parametrize(
    "explain", [EXPLAIN_1_16, VOLUME_BINDING_1_36.explain], ids=["CheckVolumeBinding", "VolumeBinding"]
)
def test_unbound_claims(explain: Any) -> None:
    """What the claim asks for, every volume of its class, and whether one can be made."""
    claim = make_claim("c", storage_class="local", storage=2 * GIB * 1000, access_modes=("ReadWriteOnce",))
    volumes = [
        make_volume("small", storage_class_name="local", storage=GIB * 1000),
        make_volume("far", storage_class_name="local", storage=4 * GIB * 1000, node_affinity=on_nodes("b")),
        make_volume(
            "held",
            storage_class_name="local",
            storage=4 * GIB * 1000,
            claim_ref=ClaimReference("default", "other", "uid-other"),
        ),
    ]
    objects = [claim, make_class("local", "kubernetes.io/no-provisioner"), *volumes]
    assert text_of(Cluster([NODE], [], objects), claiming("c"), BIND_CONFLICT, explain) == (
        "wants a volume for claim c (2Gi of class local, ReadWriteOnce), "
        "found none of small (1Gi), far (4Gi at host=b), "
        "held (4Gi for default/other); none can be made; wants volumes for all claims together, found too few"
    )


def test_a_bound_claim() -> None:
    """The volume and where it is."""
    objects = [make_claim("c", "v", annotations=BOUND), make_volume("v", node_affinity=on_nodes("b", "c"))]
    assert text_of(Cluster([NODE], [], objects), claiming("c"), NODE_CONFLICT, EXPLAIN_1_16) == (
        "wants the node of volume v of claim c (host in (b, c)), found another node"
    )


def test_a_claim_for_one_pod() -> None:
    """The pods on the node that use it."""
    claim = make_claim("c", "v", annotations=BOUND, access_modes=("ReadWriteOncePod",))
    cluster = Cluster([NODE], [claiming("c", name="user", node="a")], [claim, make_volume("v")], view=v1_36.VIEW)
    check = CHECKS["1.36"]["VolumeRestrictions"]
    hold_to_evidence(check, cluster.info(claiming("c")), cluster.snapshot)
    assert text_of(cluster, claiming("c"), CLAIM_IN_USE, check.evidence.explain) == (
        "wants claim c for one pod only, used by default/user"
    )


def explain(pod: Any, snapshot: Any, reason: str) -> Any:
    return explain_devices(DEFAULTS, pod, snapshot, reason)


def test_devices() -> None:
    """What is asked for, and every device of the node with the claim that holds it."""
    held = device_claim("mine", allocation=allocated("a", "g"))
    objects = [device_class(), make_slice("a", gpu("g"), gpu("h")), held, device_claim("c", exactly("r", 2))]
    wants = "wants devices for claim default/c (r: 2 of gpu), found too few of "
    found = "gpu.example.com/a/g (held by default/mine), gpu.example.com/a/h"
    assert text_of(Cluster([NODE], [], objects, view=READING), pod_with("c"), CANNOT_ALLOCATE, explain) == (
        f"{wants}{found}; wants devices for all of them, found too few of {found}"
    )


def test_a_pool_that_is_not_whole() -> None:
    """It gives no devices, and is named with what is missing."""
    whole = make_slice("a", gpu("g"), slice_count=3, generation=2)
    other = make_slice("a", gpu("h"), slice_count=3, generation=2)
    old = make_slice("a", gpu("old"), slice_count=1, generation=1)
    objects = [device_class(), whole, other, old, device_claim("c", exactly("r"))]
    found = text_of(Cluster([NODE], [], objects, view=READING), pod_with("c"), CANNOT_ALLOCATE, explain)
    assert found.count("(pool gpu.example.com/a gives none: 1 of the 3 slices of generation 2 missing)") == 2


ELSEWHERE = device_claim("c", allocation=allocated("b", "g", node_selector=on_nodes("b")))


@pytest.mark.parametrize(
    ("claim", "found"),
    [(ELSEWHERE, "another node"), (binding(ELSEWHERE, since="2020-01-01T00:00:00Z"), "that they do not get ready")],
    ids=["elsewhere", "not ready"],
)
def test_what_a_claim_holds(claim: Any, found: str) -> None:
    """The devices, where they are, and what is wrong with them."""
    cluster = Cluster([NODE], [], [device_class(), claim], view=READING)
    assert text_of(cluster, pod_with("c"), NOT_AVAILABLE, explain) == (
        f"wants what claim default/c holds (gpu.example.com/b/g at host=b), found {found}"
    )


def test_affinity_of_1_4() -> None:
    """The term, the node's domain, and the pods of it there."""
    term = PodAffinityTerm("zone", LabelSelector(labels({"app": "db"})))
    apart = make_pod("p", affinity=Affinity(pod_anti_affinity=PodAffinity(required=(term,))))
    cluster = Cluster([NODE], [make_pod("old", {"app": "db"}, node="a")], view=v1_4.VIEW)
    found = explain_affinity_1_4(cluster.info(apart), cluster.snapshot.take(ROW), ())
    assert found.text == "wants no pod of its anti-affinity (app=db in default) in zone=z, found default/old"
