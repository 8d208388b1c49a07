"""Defaults."""

from __future__ import annotations

import copy
import uuid
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.manifests.defaulting import (
    default_manifest,
    derived_uid,
)
from clusterstate.manifests.kinds import PREFERRED, REQUIRED, encode_object
from tests.support.strategies import EVERY_KIND

Manifest = Mapping[str, Any]

META = {"name": "a", "namespace": "default", "uid": "u"}


def pod(**spec: Any) -> dict[str, Any]:
    return {"kind": "Pod", "metadata": META, "spec": {"schedulerName": "default-scheduler", **spec}}


def unchanged(function: Callable[[Manifest], Manifest], manifest: Manifest) -> Manifest:
    """The result, after checking that the input stays as it was."""
    before = copy.deepcopy(manifest)
    result = function(manifest)
    assert manifest == before
    return result


@pytest.mark.parametrize("key", ["containers", "initContainers"])
@pytest.mark.parametrize(
    ("resources", "requests"),
    [
        ({"limits": {"cpu": "1"}}, {"cpu": "1"}),
        ({"limits": {"cpu": "1", "memory": "2"}, "requests": {"cpu": "3"}}, {"cpu": "3", "memory": "2"}),
        ({"limits": {}, "requests": {"cpu": "3"}}, {"cpu": "3"}),
        ({"limits": {"cpu": "1"}, "requests": None}, {"cpu": "1"}),
        ({"limits": {"cpu": "1", "memory": "1GB"}}, {"cpu": "1"}),
    ],
    ids=["none", "some", "no limits", "null", "no amount"],
)
def test_requests_from_limits(key: str, resources: Any, requests: Any) -> None:
    """A resource with a limit and no request gets its limit as request."""
    found = unchanged(default_manifest, pod(**{key: [{"resources": resources}]}))
    assert found["spec"][key][0]["resources"]["requests"] == requests


@pytest.mark.parametrize(
    ("network", "port", "expected"),
    [
        (True, {"containerPort": 80}, {"containerPort": 80, "hostPort": 80, "protocol": "TCP"}),
        (True, {"containerPort": 80, "hostPort": 81}, {"containerPort": 80, "hostPort": 81, "protocol": "TCP"}),
        (False, {"containerPort": 80, "protocol": "UDP"}, {"containerPort": 80, "protocol": "UDP"}),
        (None, {"containerPort": 80, "protocol": ""}, {"containerPort": 80, "protocol": "TCP"}),
    ],
)
def test_ports(network: bool | None, port: Any, expected: Any) -> None:
    """hostNetwork turns container ports into host ports; the protocol is TCP."""
    found = unchanged(default_manifest, pod(hostNetwork=network, containers=[{"ports": [port]}]))
    assert found["spec"]["containers"][0]["ports"] == [expected]


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        (
            {"kind": "Node", "metadata": META, "status": {"capacity": {"cpu": 1}}},
            {"kind": "Node", "metadata": META, "status": {"capacity": {"cpu": 1}, "allocatable": {"cpu": 1}}},
        ),
        (
            {"kind": "PersistentVolume", "metadata": META, "spec": {"rbd": {"image": "i"}}},
            {
                "kind": "PersistentVolume",
                "metadata": META,
                "spec": {"rbd": {"image": "i", "pool": "rbd"}},
                "status": {"phase": "Available"},
            },
        ),
        (pod(volumes=[{"rbd": {"pool": ""}}, {"x": 1}]), pod(volumes=[{"rbd": {"pool": "rbd"}}, {"x": 1}])),
        (
            {"kind": "StorageClass", "metadata": META},
            {"kind": "StorageClass", "metadata": META, "volumeBindingMode": "Immediate"},
        ),
        ({"kind": "Pod", "metadata": META, "spec": {}}, pod()),
        (
            {
                "kind": "ReplicationController",
                "metadata": META,
                "spec": {"template": {"metadata": {"labels": {"a": "b"}}}},
            },
            {
                "kind": "ReplicationController",
                "metadata": META,
                "spec": {"template": {"metadata": {"labels": {"a": "b"}}}, "selector": {"a": "b"}},
            },
        ),
    ],
    ids=["allocatable", "volume pool", "pod pool", "binding mode", "scheduler name", "controller selector"],
)
def test_defaults(manifest: Manifest, expected: Manifest) -> None:
    """Each default of its kind."""
    assert unchanged(default_manifest, manifest) == expected


@pytest.mark.parametrize(
    "manifest",
    [
        pod(containers=[{"resources": {"limits": {"cpu": 1}, "requests": {"cpu": 0}}, "ports": [{"protocol": "TCP"}]}]),
        {"kind": "Node", "metadata": META, "status": {"capacity": {"cpu": 1}, "allocatable": {}}},
        {"kind": "Deployment", "metadata": {}},
        {"kind": "Pod", "metadata": 5, "spec": []},
        pod(containers={}, volumes=5, initContainers=[5, {"resources": [], "ports": {}}]),
        pod(containers=[{"resources": {"limits": [], "requests": 4}}]),
        {},
    ],
    ids=["pod", "node", "other kind", "wrong", "wrong inside", "wrong resources", "empty"],
)
def test_nothing_to_change(manifest: Manifest) -> None:
    """The same object comes back when nothing changes, wrong types included."""
    assert default_manifest(manifest) is manifest


def test_identity() -> None:
    """Namespaced objects get a namespace, all a uid that depends on kind, namespace and name only."""
    a = default_manifest({"kind": "Pod", "metadata": {"name": "a"}})["metadata"]
    assert a["namespace"] == "default"
    assert a == default_manifest({"kind": "Pod", "metadata": {"name": "a", "namespace": "default"}})["metadata"]
    node = default_manifest({"kind": "Node", "metadata": {"name": "a"}})["metadata"]
    assert "namespace" not in node
    assert (
        len({a["uid"], node["uid"], default_manifest({"kind": "Pod", "metadata": {"name": "b"}})["metadata"]["uid"]})
        == 3
    )


@pytest.mark.parametrize("kind", EVERY_KIND)
@given(data=st.data())
def test_defaulting_twice_is_once(kind: str, data: st.DataObject) -> None:
    """What has its defaults comes back as it is."""
    once = unchanged(default_manifest, encode_object(data.draw(EVERY_KIND[kind])))
    assert default_manifest(once) is once


def bare_pod(group: dict[str, Any], labels: dict[str, str] | None = None) -> dict[str, Any]:
    return {
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default", "labels": labels or {"app": "web", "rev": "2"}},
        "spec": {"containers": [], "affinity": {"podAntiAffinity": group}},
    }


def selectors(manifest: dict[str, Any]) -> list[Any]:
    """The match expressions of all terms, required ones first."""
    group = default_manifest(manifest)["spec"]["affinity"]["podAntiAffinity"]
    terms = [*group.get(REQUIRED, []), *(weighted["podAffinityTerm"] for weighted in group.get(PREFERRED, []))]
    return [(term.get("labelSelector") or {}).get("matchExpressions") for term in terms]


SAME_APP = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "zone"}
IN_REV = {"key": "rev", "operator": "In", "values": ["2"]}
NOT_IN_REV = {"key": "rev", "operator": "NotIn", "values": ["2"]}


LABEL_KEYS: dict[str, Any] = {
    "match": ({REQUIRED: [{**SAME_APP, "matchLabelKeys": ["rev"]}]}, [[IN_REV]]),
    "mismatch": ({REQUIRED: [{**SAME_APP, "mismatchLabelKeys": ["rev"]}]}, [[NOT_IN_REV]]),
    "preferred": ({PREFERRED: [{"weight": 1, "podAffinityTerm": {**SAME_APP, "matchLabelKeys": ["rev"]}}]}, [[IN_REV]]),
    "label-absent": ({REQUIRED: [{**SAME_APP, "matchLabelKeys": ["other"]}]}, [None]),
    "no-selector": ({REQUIRED: [{"topologyKey": "zone", "matchLabelKeys": ["rev"]}]}, [None]),
    "no-keys": ({REQUIRED: [SAME_APP]}, [None]),
}


@pytest.mark.parametrize(("group", "expected"), LABEL_KEYS.values(), ids=LABEL_KEYS)
def test_label_keys_become_requirements(group: dict[str, Any], expected: list[Any]) -> None:
    """Of the pod's own values; keys that it does not have, and terms without a selector, are left alone."""
    assert selectors(bare_pod(group)) == expected


def test_filling_twice_changes_nothing() -> None:
    """What an API server stored is taken as it is, also where the pod has other labels since."""
    once = default_manifest(bare_pod({REQUIRED: [{**SAME_APP, "matchLabelKeys": ["rev"]}]}))
    assert default_manifest(once) == once
    relabelled = {**once, "metadata": {**once["metadata"], "labels": {"app": "web", "rev": "3"}}}
    assert selectors(relabelled) == [[IN_REV]]


def asking(requests: dict[str, str] | None = None, limits: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    """A container, or a pod as a whole."""
    given = {"requests": requests, "limits": limits}
    return {"resources": {key: value for key, value in given.items() if value is not None}, **more}


HUGE = "hugepages-2Mi"
POD_LEVEL: dict[str, Any] = {
    "the limit": (asking(limits={"cpu": "9"}), [{}], {"cpu": "9"}),
    "what containers ask for": (asking(limits={"cpu": "9"}), [asking({"cpu": "1"})] * 3, {"cpu": "3"}),
    "also without a limit": (asking(limits={"cpu": "9"}), [asking({"memory": "1Ki"})], {"cpu": "9", "memory": "1Ki"}),
    "what is asked for": (asking({"cpu": "5"}, {"cpu": "9"}), [asking({"cpu": "1"})], {"cpu": "5"}),
    "limits of containers": (asking(limits={"cpu": "9"}), [asking(limits={"cpu": "4"})], {"cpu": "4"}),
    "no limit": (asking({"cpu": "5"}), [asking({"memory": "1Ki"})], {"cpu": "5"}),
    "neither": (asking({}, {}), [asking({"cpu": "1"})], {}),
    "huge pages": (asking({"cpu": "1"}), [asking(limits={HUGE: "3k"})] * 2, {"cpu": "1", HUGE: "6k"}),
    "huge pages that are asked for": (asking({HUGE: "8Mi"}), [asking(limits={HUGE: "4Mi"})], {HUGE: "8Mi"}),
    "other resources": (asking(limits={"cpu": "9", "a.b/c": "1"}), [asking({"ephemeral-storage": "1"})], {"cpu": "9"}),
}


@pytest.mark.parametrize(("whole", "containers", "requests"), POD_LEVEL.values(), ids=POD_LEVEL)
def test_requests_of_the_pod_as_a_whole(whole: Any, containers: list[Any], requests: dict[str, str]) -> None:
    """Where it has limits, cpu and memory of its containers are its requests, else the limits."""
    found = unchanged(default_manifest, pod(containers=containers, **whole))
    assert found["spec"]["resources"].get("requests", {}) == requests


def test_init_containers_count_in_requests_of_the_pod() -> None:
    """Sidecars run beside all others, other init containers before them."""
    sidecar = {**asking({"cpu": "1"}), "restartPolicy": "Always"}
    spec = {"containers": [asking({"cpu": "2"})], "initContainers": [sidecar, asking({"cpu": "5"})]}
    found = default_manifest(pod(**spec, overhead={"cpu": "7"}, **asking(limits={"cpu": "9"})))
    assert found["spec"]["resources"]["requests"] == {"cpu": "6"}


TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


@given(kind=TEXTS, namespace=st.none() | TEXTS, name=TEXTS)
def test_they_are_uuids_of_version_5(kind: str, namespace: str | None, name: str) -> None:
    """The same as Python's own."""
    expected = uuid.uuid5(uuid.NAMESPACE_URL, f"{kind}/{namespace or ''}/{name}")
    assert derived_uid(kind, namespace, name) == str(expected)


@pytest.mark.parametrize(
    ("request_", "count"),
    [
        ({"exactly": {"count": 0}}, 1),
        ({"exactly": {"count": 0, "allocationMode": "ExactCount"}}, 1),
        ({"exactly": {"count": 0, "allocationMode": "All"}}, 0),
        ({"exactly": {"count": 3}}, 3),
        ({"exactly": {"count": -1}}, -1),
    ],
)
def test_no_devices_at_all_are_one(request_: Any, count: int) -> None:
    """In claims, in templates, of alternatives, and in v1beta1, where it stands in the request itself."""
    asked = request_["exactly"]
    several = [request_, {"firstAvailable": [asked]}, asked]
    claim = unchanged(
        default_manifest, {"kind": "ResourceClaim", "metadata": META, "spec": {"devices": {"requests": several}}}
    )
    template = unchanged(default_manifest, {**claim, "kind": "ResourceClaimTemplate", "spec": {"spec": claim["spec"]}})
    for spec in (claim["spec"], template["spec"]["spec"]):
        exactly, alternatives, flat = spec["devices"]["requests"]
        found = [exactly["exactly"], alternatives["firstAvailable"][0], flat]
        assert [one["count"] for one in found] == [count] * 3
