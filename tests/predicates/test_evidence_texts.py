"""Evidence of claims, devices and 1.4's affinity names every input that decided."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from clusterstate.objects import (
    Affinity,
    ClaimReference,
    LabelSelector,
    PodAffinity,
    PodAffinityTerm,
)
from kubescheduler.releases import v1_4
from predicates.dynamic_resources import CANNOT_ALLOCATE, DEFAULTS, NOT_AVAILABLE, explain_devices
from predicates.interpod_1_4 import explain_affinity_1_4
from predicates.volume_binding import BIND_CONFLICT, NODE_CONFLICT, explain_binding
from predicates.volume_binding_framework import VOLUME_BINDING_1_36
from tests.support.build import Cluster, labels, make_node, make_pod
from tests.support.device_clusters.devices import READING, allocated, binding, exactly, gpu, make_slice, pod_with
from tests.support.device_clusters.devices import make_claim as device_claim
from tests.support.device_clusters.devices import make_class as device_class
from tests.support.storage import BOUND, claiming, make_claim, make_class, make_volume, on_nodes

GIB = 1 << 30
NODE = make_node("a", {"host": "a", "zone": "z"})
ROW = np.array([0])


def text_of(cluster: Cluster, pod: Any, reason: str, explain: Any) -> str:
    found = explain(cluster.info(pod), cluster.snapshot.take(ROW), reason)
    assert found.refuses
    return str(found.text)


@pytest.mark.parametrize(
    "explain", [explain_binding, VOLUME_BINDING_1_36.explain], ids=["CheckVolumeBinding", "VolumeBinding"]
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
    assert text_of(Cluster([NODE], [], objects), claiming("c"), NODE_CONFLICT, explain_binding) == (
        "wants the node of volume v of claim c (host in (b, c)), found another node"
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


ELSEWHERE = device_claim("c", allocation=allocated("b", "g", node_selector=on_nodes("b")))


@pytest.mark.parametrize(
    ("claim", "found"),
    [
        (ELSEWHERE, "another node"),
        (binding(ELSEWHERE, since="2020-01-01T00:00:00Z"), "that they do not get ready"),
    ],
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
