"""The default selector of a pod."""

from __future__ import annotations

from typing import Any

import pytest

from clusterstate.objects import (
    LabelSelector,
    ObjectMeta,
    OwnerReference,
    Pod,
    ReplicaSet,
    ReplicationController,
    Requirement,
    Service,
    StatefulSet,
)
from clusterstate.selectors.pod_owners import default_selector_1_20, default_selector_1_36
from kubescheduler.releases import v1_20, v1_36
from tests.support.build import Cluster, labels, make_pod

META = ObjectMeta("web", "default")
LABELS = {"app": "web", "tier": "front", "rev": "1"}
HAS_REV = Requirement("rev", "Exists")
BAD = LabelSelector(match_expressions=(Requirement("rev", "Near"),))


def equal(key: str, value: str) -> Requirement:
    return Requirement(key, "In", (value,))


def selector(pairs: dict[str, str] | None = None, *more: Requirement) -> LabelSelector:
    return LabelSelector(labels(pairs), more)


def pod(kind: str = "", api_version: str = "apps/v1", label: dict[str, str] | None = None, name: str = "web") -> Pod:
    owners = (OwnerReference(kind, name, "u", True, api_version),) if kind else ()
    return make_pod("p", LABELS if label is None else label, owners=owners)


def service(pairs: dict[str, str] | None, name: str = "web", namespace: str = "default") -> Service:
    return Service(ObjectMeta(name, namespace), None if pairs is None else labels(pairs))


APP, TIER = equal("app", "web"), equal("tier", "front")
SERVICE = service({"app": "web"})

BOTH = [
    pytest.param(pod(), [], None, id="nothing"),
    pytest.param(pod(), [SERVICE], [APP], id="service"),
    pytest.param(pod(), [SERVICE, service({"app": "web", "tier": "front"}, "s2")], [APP, TIER], id="merged"),
    pytest.param(pod(), [service({})], None, id="empty-service-selector"),
    pytest.param(pod(), [service(None)], None, id="no-service-selector"),
    pytest.param(pod(), [service({"app": "web"}, namespace="other")], None, id="other-namespace"),
    pytest.param(pod(), [service({"app": "db"})], None, id="does-not-match"),
]
CASES_1_20 = [
    *BOTH,
    pytest.param(pod(), [ReplicationController(META, labels({"tier": "front"}))], [TIER], id="rc"),
    pytest.param(pod(), [ReplicationController(META)], None, id="rc-empty"),
    pytest.param(pod(), [SERVICE, ReplicaSet(META, selector({"app": "web"}, HAS_REV))], [APP, HAS_REV], id="rs"),
    pytest.param(pod(), [StatefulSet(META, selector({"tier": "front"}))], [TIER], id="sts"),
    pytest.param(pod(), [StatefulSet(META, selector())], None, id="sts-empty"),
    pytest.param(pod(), [ReplicaSet(META, BAD), StatefulSet(META, selector({"app": "web"}))], [APP], id="invalid"),
    pytest.param(
        pod(label={}), [ReplicaSet(META, selector({}, Requirement("a", "DoesNotExist")))], None, id="bare-pod"
    ),
    pytest.param(pod("ReplicaSet"), [ReplicaSet(META, selector({"app": "db"}))], None, id="owner-that-does-not-match"),
]
CASES_1_36 = [
    *BOTH,
    pytest.param(pod(), [ReplicaSet(META, selector({"app": "web"}))], None, id="labels-are-not-enough"),
    pytest.param(pod("ReplicaSet"), [SERVICE, ReplicaSet(META, selector({"x": "y"}))], [APP, equal("x", "y")], id="rs"),
    pytest.param(pod("StatefulSet"), [StatefulSet(META, selector({}, HAS_REV))], [HAS_REV], id="sts"),
    pytest.param(
        pod("ReplicationController", "v1"),
        [SERVICE, ReplicationController(META, labels({"app": "db"}))],
        [equal("app", "db")],
        id="rc-overwrites",
    ),
    pytest.param(
        pod("ReplicaSet", "extensions/v1beta1"), [ReplicaSet(META, selector({"x": "y"}))], None, id="other-api"
    ),
    pytest.param(pod("ReplicaSet", name="gone"), [ReplicaSet(META, selector({"x": "y"}))], None, id="missing"),
    pytest.param(pod("Job", "batch/v1"), [ReplicaSet(META, selector({"x": "y"}))], None, id="other-kind"),
    pytest.param(pod("ReplicaSet"), [ReplicaSet(META, BAD)], None, id="invalid"),
    pytest.param(pod("ReplicaSet"), [ReplicaSet(META)], None, id="null-selector"),
]


@pytest.mark.parametrize(("given", "others", "expected"), CASES_1_20)
def test_1_20(given: Pod, others: list[Any], expected: list[Requirement] | None) -> None:
    """Everything that selects the pod by its labels counts."""
    cluster = Cluster(others=others, view=v1_20.VIEW)
    found = default_selector_1_20(cluster.info(given), cluster.snapshot)
    assert (None if found is None else list(found.requirements)) == expected


@pytest.mark.parametrize(("given", "others", "expected"), CASES_1_36)
def test_1_36(given: Pod, others: list[Any], expected: list[Requirement] | None) -> None:
    """Services count by labels, the controller by its owner reference."""
    cluster = Cluster(others=others, view=v1_36.VIEW)
    found = default_selector_1_36(cluster.info(given), cluster.snapshot)
    assert (None if found is None else list(found.requirements)) == expected


def test_it_is_worked_out_anew_when_a_service_comes() -> None:
    """What was remembered is forgotten."""
    cluster = Cluster(view=v1_20.VIEW)
    info = cluster.info(pod())
    assert default_selector_1_20(info, cluster.snapshot) is None
    cluster.columns.log.whole(cluster.objects.put(SERVICE))
    found = default_selector_1_20(info, cluster.snapshot)
    assert found is not None
    assert found is default_selector_1_20(info, cluster.snapshot)
