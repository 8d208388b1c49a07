"""What admission plugins of an API server make of new pods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.errors import DecodeError
from clusterstate.manifests.admission import admission_1_13, admission_1_16, admit_pod, global_default_of
from clusterstate.manifests.decode import Decoder
from clusterstate.manifests.defaulting import default_manifest
from clusterstate.manifests.kinds import encode_object
from clusterstate.objects import AdmissionObject, ObjectMeta, PriorityClass
from kubescheduler import Cluster
from tests.clusterstate.manifests.test_defaulting import META, pod, unchanged
from tests.support.strategies import EVERY_KIND

CLASSES: dict[str, int | PriorityClass] = {"high": PriorityClass(ObjectMeta("high"), 1000), "low": 5}
DEFAULT = PriorityClass(ObjectMeta("usual"), 7, global_default=True, preemption_policy="Never")

NOT_READY = {
    "key": "node.kubernetes.io/not-ready",
    "operator": "Exists",
    "effect": "NoExecute",
    "tolerationSeconds": 300,
}
UNREACHABLE = {**NOT_READY, "key": "node.kubernetes.io/unreachable"}


@pytest.mark.parametrize(
    ("spec", "default", "expected"),
    [
        ({"priorityClassName": "high"}, None, {"priority": 1000, "priorityClassName": "high"}),
        ({"priorityClassName": "low"}, DEFAULT, {"priority": 5, "priorityClassName": "low"}),
        (
            {"priorityClassName": "system-node-critical"},
            None,
            {"priority": 2_000_001_000, "priorityClassName": "system-node-critical"},
        ),
        (
            {"priorityClassName": "system-cluster-critical"},
            None,
            {"priority": 2_000_000_000, "priorityClassName": "system-cluster-critical"},
        ),
        ({}, None, {"priority": 0}),
        ({}, DEFAULT, {"priority": 7, "priorityClassName": "usual", "preemptionPolicy": "Never"}),
        ({"priority": 3, "priorityClassName": "gone"}, DEFAULT, {"priority": 3, "priorityClassName": "gone"}),
    ],
    ids=["class", "number", "node-critical", "cluster-critical", "none", "global default", "already admitted"],
)
def test_priority(spec: Any, default: PriorityClass | None, expected: Any) -> None:
    """The priority of the named class, of the global default, or 0."""
    found = unchanged(lambda manifest: admit_pod(manifest, CLASSES, default), pod(**spec))
    assert {key: value for key, value in found["spec"].items() if key.startswith("pr")} == expected


@pytest.mark.parametrize(
    ("name", "hint"), [("hihg", "did you mean high?"), ("xyz", "add the class to the cluster, or set spec.priority")]
)
def test_unknown_priority_class(name: str, hint: str) -> None:
    """A class that does not exist is a fault with its path."""
    with pytest.raises(DecodeError) as caught:
        admit_pod(pod(priorityClassName=name), CLASSES)
    assert caught.value.problems == (f'spec.priorityClassName: there is no PriorityClass "{name}"; {hint}',)


def test_global_default() -> None:
    """The lowest of several global defaults counts."""
    higher = PriorityClass(ObjectMeta("higher"), 9, global_default=True)
    assert global_default_of([higher, DEFAULT, PriorityClass(ObjectMeta("x"), 1)]) is DEFAULT
    assert global_default_of([PriorityClass(ObjectMeta("x"), 1)]) is None


@pytest.mark.parametrize(
    ("tolerations", "added"),
    [
        (None, [NOT_READY, UNREACHABLE]),
        ([{"key": "x", "operator": "Exists"}], [NOT_READY, UNREACHABLE]),
        ([{"operator": "Exists"}], []),
        ([{"operator": "Exists", "effect": "NoExecute"}], []),
        ([{"operator": "Exists", "effect": "NoSchedule"}], [NOT_READY, UNREACHABLE]),
        ([{"key": "node.kubernetes.io/not-ready"}], [UNREACHABLE]),
        ([{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute", "tolerationSeconds": 1}], [NOT_READY]),
        ([{"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}], [NOT_READY, UNREACHABLE]),
    ],
)
def test_tolerations(tolerations: Any, added: Any) -> None:
    """The two tolerations are added unless the pod has such ones."""
    found = unchanged(lambda manifest: admit_pod(manifest, {}), pod(tolerations=tolerations))
    assert found["spec"].get("tolerations") == (tolerations or []) + added


def test_admission_leaves_others_alone() -> None:
    """Other kinds and admitted pods come back as they are."""
    for manifest in (
        {"kind": "Node", "metadata": META},
        {"kind": "Pod", "metadata": META},
        pod(priority=0, tolerations=[NOT_READY, UNREACHABLE]),
        pod(priority=0, tolerations=5),
        pod(priorityClassName=5, tolerations=[{"operator": "Exists"}]),
    ):
        assert admit_pod(manifest, CLASSES, DEFAULT) is manifest


@given(data=st.data())
def test_admission_twice_is_once(data: st.DataObject) -> None:
    """An admitted pod comes back as it is."""
    manifest = encode_object(data.draw(EVERY_KIND["Pod"]))
    manifest["spec"]["priorityClassName"] = data.draw(st.sampled_from([None, "", "high", "low"]))
    once = unchanged(lambda m: admit_pod(m, CLASSES, DEFAULT), manifest)
    assert admit_pod(once, CLASSES, DEFAULT) is once


# --- LimitRanger and RuntimeClass ----------------------------------------------------------------


def admitting(kind: str, **said: Any) -> AdmissionObject:
    """An object that admission plugins read, as an API server stores it."""
    found = Decoder(prepare=default_manifest).decode_object({"kind": kind, "metadata": {"name": "given"}, **said})
    assert isinstance(found, AdmissionObject)
    return found


def bounded(**item: Any) -> AdmissionObject:
    """A limit range with one item, by default of containers."""
    return admitting("LimitRange", spec={"limits": [{"type": "Container", **item}]})


def fresh(*containers: Any, namespace: str = "default", **spec: Any) -> dict[str, Any]:
    """A pod that nobody stored, whose containers have these resources."""
    named = [{"name": f"c{index}", "resources": resources} for index, resources in enumerate(containers)]
    return {"kind": "Pod", "metadata": {"name": "p", "namespace": namespace}, "spec": {"containers": named, **spec}}


def resources(manifest: Mapping[str, Any], key: str = "containers") -> Any:
    return manifest["spec"][key][0].get("resources")


GIVEN: dict[str, tuple[dict[str, Any], Any, Any]] = {
    "default limit": (
        {"default": {"cpu": "500m", "memory": "1Gi"}},
        None,
        {"limits": {"cpu": "500m", "memory": "1Gi"}, "requests": {"cpu": "500m", "memory": "1Gi"}},
    ),
    "default request": ({"defaultRequest": {"cpu": "200m"}}, {}, {"requests": {"cpu": "200m"}}),
    "both": (
        {"default": {"cpu": "1"}, "defaultRequest": {"cpu": "200m"}},
        {},
        {"limits": {"cpu": "1"}, "requests": {"cpu": "200m"}},
    ),
    "max is the default": ({"max": {"cpu": "2"}}, {}, {"limits": {"cpu": "2"}, "requests": {"cpu": "2"}}),
    "min is the request": ({"min": {"cpu": "10m"}}, {}, {"requests": {"cpu": "10m"}}),
    "its own request": (
        {"default": {"cpu": "1"}},
        {"requests": {"cpu": "100m"}},
        {"limits": {"cpu": "1"}, "requests": {"cpu": "100m"}},
    ),
    "its own limit, which is its request": (
        {"default": {"cpu": "2"}, "defaultRequest": {"cpu": "200m"}},
        {"limits": {"cpu": "1"}},
        {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}},
    ),
    "another type": (
        {"type": "Pod", "max": {"cpu": "2"}},
        {"limits": {"cpu": 1}},
        {"limits": {"cpu": 1}, "requests": {"cpu": 1}},
    ),
}
"""Case → the item, what a container says, what it has then."""


@pytest.mark.parametrize("key", ["containers", "initContainers"])
@pytest.mark.parametrize(("item", "said", "expected"), GIVEN.values(), ids=GIVEN)
def test_amounts_of_a_limit_range(item: dict[str, Any], said: Any, expected: Any, key: str) -> None:
    """Upstream: 1.36 LimitRanger, after SetDefaults_LimitRangeItem."""
    manifest = fresh()
    manifest["spec"][key] = [{"name": "c", "resources": said}]
    assert resources(unchanged(admission_1_13([bounded(**item)]), manifest), key) == expected


def test_a_pod_that_limits_the_whole_asks_for_what_its_containers_got() -> None:
    """Upstream: 1.36 defaultPodRequests, when the pod that LimitRanger changed is read."""
    manifest = fresh({"limits": {"memory": "128Mi"}}, resources={"limits": {"memory": "128Mi"}})
    admitted = admission_1_16([bounded(defaultRequest={"cpu": "10m"})])(manifest)
    assert admitted["spec"]["resources"]["requests"] == {"memory": "128Mi", "cpu": "10m"}


BEYOND: dict[str, tuple[dict[str, Any], Any, str]] = {
    "below": (
        {"min": {"memory": "1Gi"}},
        {"requests": {"memory": "512Mi"}},
        "spec.containers[0].resources: minimum memory usage per Container is 1Gi, but request is 512Mi",
    ),
    "limit below": (
        {"min": {"cpu": 2}},
        {"requests": {"cpu": 2}, "limits": {"cpu": 1}},
        "spec.containers[0].resources: minimum cpu usage per Container is 2, but limit is 1",
    ),
    "above": (
        {"max": {"cpu": "1"}},
        {"limits": {"cpu": "1500m"}},
        "spec.containers[0].resources: maximum cpu usage per Container is 1, but limit is 1500m",
    ),
    "request above": (
        {"max": {"cpu": "1"}},
        {"requests": {"cpu": 2}},
        "spec.containers[0].resources: maximum cpu usage per Container is 1, but request is 2",
    ),
    "above in powers of ten": (
        {"max": {"memory": "1500M"}},
        {"limits": {"memory": "2Gi"}},
        "spec.containers[0].resources: maximum memory usage per Container is 1500M, but limit is 2Gi",
    ),
    "ratio": (
        {"maxLimitRequestRatio": {"cpu": 2}},
        {"requests": {"cpu": 1}, "limits": {"cpu": 3}},
        "spec.containers[0].resources: cpu max limit to request ratio per Container is 2, but provided ratio is "
        "3.000000",
    ),
    "ratio of nothing": (
        {"maxLimitRequestRatio": {"cpu": 2}},
        {},
        "spec.containers[0].resources: cpu max limit to request ratio per Container is 2, but no request is specified "
        "or request is 0",
    ),
    "ratio without a limit": (
        {"maxLimitRequestRatio": {"cpu": 2}},
        {"requests": {"cpu": 1}},
        "spec.containers[0].resources: cpu max limit to request ratio per Container is 2, but no limit is specified or "
        "limit is 0",
    ),
    "the pod": (
        {"type": "Pod", "max": {"cpu": "1"}},
        {"limits": {"cpu": "600m"}},
        "spec: maximum cpu usage per Pod is 1, but limit is 1200m",
    ),
    "the pod without": (
        {"type": "Pod", "max": {"cpu": "1"}},
        {},
        "spec: maximum cpu usage per Pod is 1.  No limit is specified",
    ),
    "the pod without a request": (
        {"type": "Pod", "min": {"cpu": "1"}},
        {},
        "spec: minimum cpu usage per Pod is 1.  No request is specified",
    ),
}
"""Case → the item, what each of two containers says, the first fault."""


@pytest.mark.parametrize(("item", "said", "fault"), BEYOND.values(), ids=BEYOND)
def test_what_is_beyond_a_limit_range(item: dict[str, Any], said: Any, fault: str) -> None:
    """It is refused in upstream's words, each container with its path."""
    with pytest.raises(DecodeError) as caught:
        admission_1_13([bounded(**item)])(fresh(said, said))
    assert caught.value.problems[0] == fault
    assert len(caught.value.problems) == (1 if item.get("type") == "Pod" else 2)


CLASS = {
    "overhead": {"podFixed": {"cpu": "250m", "memory": "120Mi"}},
    "scheduling": {"nodeSelector": {"runtime": "gvisor"}, "tolerations": [{"key": "sandbox", "operator": "Exists"}]},
}


def test_a_runtime_class() -> None:
    """A new pod that names it has its overhead, node selector and tolerations, from 1.16 on."""
    there = [admitting("RuntimeClass", **CLASS)]
    manifest = fresh({}, runtimeClassName="given", nodeSelector={"disk": "ssd"}, tolerations=[{"operator": "Exists"}])
    spec = unchanged(admission_1_16(there), manifest)["spec"]
    assert spec["overhead"] == {"cpu": "250m", "memory": "120Mi"}
    assert spec["nodeSelector"] == {"disk": "ssd", "runtime": "gvisor"}
    assert spec["tolerations"] == [{"operator": "Exists"}, {"key": "sandbox", "operator": "Exists"}]
    assert "overhead" not in admission_1_13(there)(manifest)["spec"]
    assert admission_1_16(there)(fresh({}))["spec"].keys() == admission_1_13(there)(fresh({}))["spec"].keys()


CONFLICTS: dict[str, tuple[dict[str, Any], str]] = {
    "no such class": (
        {"runtimeClassName": "givne"},
        'spec.runtimeClassName: there is no RuntimeClass "givne"; did you mean given?',
    ),
    "nothing like it": (
        {"runtimeClassName": "kata"},
        'spec.runtimeClassName: there is no RuntimeClass "kata"; add the class to the cluster, or remove it from '
        "the pod",
    ),
    "overhead": (
        {"runtimeClassName": "given", "overhead": {"cpu": "1"}},
        "spec.overhead: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
    ),
    "overhead of a class without": (
        {"runtimeClassName": "bare", "overhead": {"cpu": "1"}},
        "spec.overhead: Pod Overhead set without corresponding RuntimeClass defined Overhead",
    ),
    "selector": (
        {"runtimeClassName": "given", "nodeSelector": {"runtime": "runc"}},
        "spec.nodeSelector: conflict: runtimeClass.scheduling.nodeSelector[runtime] = gvisor; "
        "pod.spec.nodeSelector[runtime] = runc",
    ),
}


@pytest.mark.parametrize(("spec", "fault"), CONFLICTS.values(), ids=CONFLICTS)
def test_a_runtime_class_that_a_pod_cannot_have(spec: dict[str, Any], fault: str) -> None:
    """Upstream: 1.36 RuntimeClass, before LimitRanger."""
    bare = admitting("RuntimeClass", metadata={"name": "bare"})
    there = [admitting("RuntimeClass", **CLASS), bare, bounded(max={"cpu": 1})]
    with pytest.raises(DecodeError) as caught:
        admission_1_16(there)(fresh({"limits": {"cpu": 5}}, **spec))
    assert caught.value.problems == (fault,)


@pytest.mark.parametrize(
    "old", [{"metadata": META}, {"spec": {"nodeName": "n", "containers": []}}], ids=["stored", "placed"]
)
def test_pods_that_were_admitted_before(old: dict[str, Any]) -> None:
    """They are as they are: a class that is gone, or a range that came later, is nothing to them."""
    there = [admitting("RuntimeClass", **CLASS), bounded(default={"cpu": 1}, max={"cpu": 1})]
    manifest = {**fresh({"limits": {"cpu": 5}}, runtimeClassName="gone"), **old}
    assert admission_1_16(there)(manifest) == admission_1_16([])({**manifest, **old})


def test_each_pod_has_the_amounts_of_its_own_namespace() -> None:
    """Also where pods with the same spec are read one after the other."""
    admit = admission_1_16([bounded(default={"cpu": 1}), admitting("RuntimeClass", **CLASS)])
    decoder = Decoder(prepare=admit)
    stored = fresh({}, runtimeClassName="given")
    stored["metadata"]["uid"] = "u"
    pods = [stored, *(fresh({}, namespace=name, runtimeClassName="given") for name in ("default", "other", "default"))]
    specs = [decoder.decode_object(manifest).spec for manifest in pods]
    assert [dict(spec.containers[0].requests) for spec in specs] == [{}, {"cpu": 1000}, {}, {"cpu": 1000}]
    assert [dict(spec.node_selector) for spec in specs] == [{}, *([{"runtime": "gvisor"}] * 3)]


def test_a_server_judges_the_pod_that_was_admitted() -> None:
    """A request above the limit that a range gives is refused, as is one above a limit of its own."""
    bounds = {
        "kind": "LimitRange",
        "metadata": {"name": "l"},
        "spec": {"limits": [{"type": "Container", "default": {"cpu": "500m"}}]},
    }
    with pytest.raises(DecodeError) as caught:
        Cluster(bounds, release="1.36").pods_from(fresh({"requests": {"cpu": 2}}))
    place = "Pod default/p: spec.containers[0].resources.requests"
    assert caught.value.problems == (f'{place}: Invalid value: "2": must be less than or equal to cpu limit of 500m',)
