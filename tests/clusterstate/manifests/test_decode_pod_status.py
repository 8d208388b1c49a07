"""What decoding keeps of the fields and statuses that later releases read."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clusterstate.errors import DecodeError
from clusterstate.manifests.decode import Decoder, decode_object
from clusterstate.manifests.documents import Item
from clusterstate.objects import (
    Container,
    FrozenMap,
    Grant,
    ImageVolume,
    Pod,
    PodCondition,
    PodGrants,
    PodResourceClaim,
    ResourceClaimStatus,
)

REQUESTS = {"cpu": "100m", "memory": "1Ki"}
AMOUNTS = FrozenMap({"cpu": 100, "memory": 1_024_000})


def manifest(status: Any = None, **spec: Any) -> dict[str, Any]:
    spec.setdefault("containers", [{"name": "c"}])
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec, "status": status or {}}


def decoded(given: dict[str, Any]) -> Pod:
    """The same from a dictionary and from JSON, twice."""
    one = decode_object(given)
    decoder = Decoder()
    item = Item("f", msgspec.Raw(msgspec.json.encode(given)), kind="Pod")
    assert one == decoder.decode_item(item) == decoder.decode_item(item)
    assert isinstance(one, Pod)
    return one


def test_conditions_keep_type_status_and_reason() -> None:
    """In their order; replicas share them."""
    conditions = [
        {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler", "message": "m"},
        {"type": "Ready", "lastProbeTime": None, "reason": None},
    ]
    pod = decoded(manifest({"conditions": conditions}))
    assert pod.conditions == (
        PodCondition("DisruptionTarget", "True", "PreemptionByScheduler"),
        PodCondition("Ready"),
    )


GRANTS = {
    "nothing": ({}, None),
    "statuses-without-resources": ({"containerStatuses": [{"name": "c", "allocatedResources": REQUESTS}]}, None),
    "null": ({"containerStatuses": [{"name": "c", "resources": None}], "resources": None}, None),
    "container": (
        {
            "containerStatuses": [
                {"name": "c", "resources": {"requests": REQUESTS, "limits": {"cpu": "1"}}},
                {"name": "d", "ready": True},
            ]
        },
        PodGrants(FrozenMap({"c": Grant(AMOUNTS)})),
    ),
    "empty-resources": (
        {"initContainerStatuses": [{"name": "s", "resources": {}, "allocatedResources": REQUESTS}]},
        PodGrants(FrozenMap({"s": Grant(allocated=AMOUNTS)})),
    ),
    "pod": (
        {"resources": {"requests": REQUESTS}, "allocatedResources": {"cpu": "100m", "memory": "1024"}},
        PodGrants(FrozenMap(), Grant(AMOUNTS, AMOUNTS)),
    ),
    "allocated-alone-is-nothing": ({"allocatedResources": REQUESTS}, None),
}


@pytest.mark.parametrize(("status", "grants"), GRANTS.values(), ids=GRANTS)
def test_what_was_granted(status: dict[str, Any], grants: PodGrants | None) -> None:
    """Of containers whose status has resources, and of the pod as a whole."""
    assert decoded(manifest(status)).grants == grants


FAULTS = {
    "grant": ({"containerStatuses": [{"name": "c", "resources": {"requests": {"cpu": "many"}}}]}, "many"),
    "grant-of-the-pod": ({"resources": {"requests": {"cpu": True}}}, "status.resources.requests.cpu"),
    "condition": ({"conditions": [{"type": 1}]}, "status.conditions[0].type"),
    "claims": ({"resourceClaimStatuses": [{"name": []}]}, "status.resourceClaimStatuses[0].name"),
}


@pytest.mark.parametrize(("status", "told"), FAULTS.values(), ids=FAULTS)
def test_faults_in_a_status_are_told(status: dict[str, Any], told: str) -> None:
    """From a dictionary and from JSON."""
    given = manifest(status)
    with pytest.raises(DecodeError, match="p: status") as caught:
        decode_object(given)
    with pytest.raises(DecodeError) as again:
        Decoder().decode_item(Item("", msgspec.Raw(msgspec.json.encode(given)), kind="Pod"))
    assert caught.value.problems == again.value.problems
    assert told in caught.value.problems[0]


def test_fields_that_only_1_36_reads() -> None:
    """User namespaces, restart rules, image volumes, groups and resource claims."""
    spec = decoded(
        manifest(
            containers=[{"name": "c", "restartPolicyRules": [{"action": "RestartAllContainers"}, {}]}],
            hostUsers=False,
            volumes=[{"name": "v", "image": {"reference": "data:1"}}],
            schedulingGroup={"podGroupName": "g"},
            resourceClaims=[{"name": "a", "resourceClaimName": "x"}, {"name": "b", "resourceClaimTemplateName": "t"}],
        )
    ).spec
    assert spec.containers == (Container("c", restart_rule_actions=("RestartAllContainers", "")),)
    assert spec.host_users is False
    assert spec.volumes == (ImageVolume("data:1"),)
    assert spec.scheduling_group == "g"
    assert spec.resource_claims == (PodResourceClaim("a", "x"), PodResourceClaim("b", None, "t"))


def test_claims_made_from_templates() -> None:
    """By the name of the entry; none may be needed."""
    pod = decoded(manifest({"resourceClaimStatuses": [{"name": "a", "resourceClaimName": "p-a"}, {"name": "b"}]}))
    assert pod.resource_claim_statuses == (ResourceClaimStatus("a", "p-a"), ResourceClaimStatus("b"))


def test_a_bound_pod_keeps_its_status() -> None:
    """Nothing but the node changes."""
    pod = decoded(manifest({"conditions": [{"type": "Ready"}], "resourceClaimStatuses": [{"name": "b"}]}))
    bound = pod.on("n")
    assert (bound.node_name, bound.on("")) == ("n", pod)
