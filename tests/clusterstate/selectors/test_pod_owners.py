"""Which services and controllers a pod belongs to, and the default selector they give it."""

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
from clusterstate.selectors.pod_owners import (
    ALL_KINDS,
    Kinds,
    default_selector_1_20,
    default_selector_1_36,
    matcher_of,
    owners_of,
    selectors_of,
    services_of,
)
from kubescheduler.releases import v1_20, v1_36
from tests.support.build import Cluster, labels, make_pod

WEB = {"app": "web", "tier": "front"}
BAD = LabelSelector(match_expressions=(Requirement("app", "Near", ("web",)),))


def meta(name: str, namespace: str = "default") -> ObjectMeta:
    return ObjectMeta(name, namespace)


def service(name: str, selector: dict[str, str] | None, namespace: str = "default") -> Service:
    return Service(meta(name, namespace), None if selector is None else labels(selector))


def select(**pairs: str) -> LabelSelector:
    return LabelSelector(labels(pairs))


@pytest.mark.parametrize(
    ("selector", "namespace", "pod", "expected"),
    [
        pytest.param({"app": "web"}, "default", WEB, True, id="a-part-of-the-labels"),
        pytest.param(WEB, "default", {"app": "web"}, False, id="more-than-the-labels"),
        pytest.param({"app": "db"}, "default", WEB, False, id="another-value"),
        pytest.param({}, "default", {}, True, id="empty-selector-has-every-pod"),
        pytest.param(None, "default", WEB, False, id="no-selector-has-none"),
        pytest.param({"app": "web"}, "other", WEB, False, id="another-namespace"),
        pytest.param({"app": "not valid!"}, "default", {"app": "not valid!"}, True, id="validity-is-not-asked"),
    ],
)
def test_services(selector: dict[str, str] | None, namespace: str, pod: dict[str, str], expected: bool) -> None:
    """A service has the pods of its namespace whose labels contain its selector."""
    cluster = Cluster(others=[service("s", selector, namespace)])
    found = services_of(cluster.info(make_pod(label=pod)), cluster.snapshot)
    assert [s.metadata.name for s in found] == (["s"] if expected else [])


def test_services_come_in_order_of_arrival() -> None:
    """The first service is the one that came first, whatever its selector looks like."""
    cluster = Cluster(others=[service("b", WEB), service("a", {}), service("c", {"tier": "front"})])
    found = services_of(cluster.info(make_pod(label=WEB)), cluster.snapshot)
    assert [s.metadata.name for s in found] == ["b", "a", "c"]


CONTROLLERS: dict[str, Any] = {
    "rc": (ReplicationController(meta("o"), labels({"app": "web"})), WEB, True),
    "rc-empty": (ReplicationController(meta("o"), labels()), WEB, False),
    "rs": (ReplicaSet(meta("o"), select(app="web")), WEB, True),
    "rs-empty": (ReplicaSet(meta("o"), LabelSelector()), WEB, False),
    "rs-null": (ReplicaSet(meta("o"), None), WEB, False),
    "statefulset": (StatefulSet(meta("o"), select(app="web")), WEB, True),
    "another-namespace": (StatefulSet(meta("o", "other"), select(app="web")), WEB, False),
    "pod-without-labels": (
        ReplicaSet(meta("o"), LabelSelector(match_expressions=(Requirement("gone", "DoesNotExist"),))),
        {},
        False,
    ),
    "expressions-only": (
        ReplicaSet(meta("o"), LabelSelector(match_expressions=(Requirement("gone", "DoesNotExist"),))),
        WEB,
        True,
    ),
}


@pytest.mark.parametrize(("owner", "pod", "expected"), CONTROLLERS.values(), ids=CONTROLLERS)
def test_controllers(owner: Any, pod: dict[str, str], expected: bool) -> None:
    """A controller has the labelled pods of its namespace that its non-empty selector matches."""
    cluster = Cluster(others=[owner])
    found = selectors_of(cluster.info(make_pod(label=pod)), cluster.snapshot)
    assert found == ((owner.selector,) if expected else ())


def test_one_invalid_selector_hides_its_kind() -> None:
    """An invalid ReplicaSet hides the ReplicaSets of its namespace, not the StatefulSets nor other namespaces."""
    others = [
        ReplicaSet(meta("good"), select(app="web")),
        ReplicaSet(meta("bad"), BAD),
        StatefulSet(meta("set"), select(tier="front")),
        ReplicaSet(meta("good", "other"), select(app="web")),
    ]
    cluster = Cluster(others=others)
    assert selectors_of(cluster.info(make_pod(label=WEB)), cluster.snapshot) == (select(tier="front"),)
    elsewhere = cluster.info(make_pod(label=WEB, namespace="other"))
    assert selectors_of(elsewhere, cluster.snapshot) == (select(app="web"),)


def test_kinds_and_repeats() -> None:
    """Only the kinds asked for are looked at, and equal selectors come once."""
    others = [
        service("a", {"app": "web"}),
        service("b", {"app": "web"}),
        ReplicationController(meta("rc"), labels({"tier": "front"})),
        StatefulSet(meta("set"), select(app="web")),
    ]
    cluster = Cluster(others=others)
    pod, snapshot = cluster.info(make_pod(label=WEB)), cluster.snapshot
    assert selectors_of(pod, snapshot, Kinds.SERVICES) == (labels({"app": "web"}),)
    assert selectors_of(pod, snapshot, ALL_KINDS & ~Kinds.STATEFUL_SETS) == (
        labels({"app": "web"}),
        labels({"tier": "front"}),
    )
    assert len(selectors_of(pod, snapshot)) == 3


def test_changes_are_seen() -> None:
    """A service added or removed later is seen by the next snapshot."""
    cluster = Cluster()
    pod = cluster.info(make_pod(label=WEB))
    assert services_of(pod, cluster.snapshot) == []
    added = service("s", WEB)
    cluster.columns.log.whole(cluster.objects.put(added))
    assert services_of(pod, cluster.snapshot) == [added]
    cluster.columns.log.whole(cluster.objects.take(added))
    assert services_of(pod, cluster.snapshot) == []


def test_counting_with_an_invalid_map_matches_everything() -> None:
    """A map with an invalid value selects only equal labels, but counts every pod."""
    assert matcher_of(labels({"app": "not valid!"}))(labels({"app": "web"}))
    assert not matcher_of(labels({"app": "db"}))(labels({"app": "web"}))
    assert matcher_of(select(app="web"))(labels(WEB))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        pytest.param({"app": "web", "job": "1"}, {"app": "web", "job": "2"}, True, id="a-label-that-nothing-reads"),
        pytest.param({"app": "web"}, {"app": "db"}, False, id="a-label-of-a-service"),
        pytest.param({"app": "web"}, {"app": "web", "tier": "x"}, False, id="a-label-of-an-expression"),
        pytest.param({}, {"job": "1"}, False, id="any-label-or-none"),
    ],
)
def test_pods_that_no_selector_can_tell_apart_have_the_same_owners(
    one: dict[str, str], other: dict[str, str], same: bool
) -> None:
    """They are looked up once; a pod without labels has no controllers."""
    absent = LabelSelector(match_expressions=(Requirement("tier", "DoesNotExist"),))
    cluster = Cluster(others=[service("s", {"app": "web"}), ReplicaSet(meta("r"), absent)])
    found = [owners_of(cluster.info(make_pod(label=pod)), cluster.snapshot) for pod in (one, other)]
    assert (found[0] is found[1]) == same


META = ObjectMeta("web", "default")
LABELS = {"app": "web", "tier": "front", "rev": "1"}
HAS_REV = Requirement("rev", "Exists")


def equal(key: str, value: str) -> Requirement:
    return Requirement(key, "In", (value,))


def selector(pairs: dict[str, str] | None = None, *more: Requirement) -> LabelSelector:
    return LabelSelector(labels(pairs), more)


def pod(kind: str = "", api_version: str = "apps/v1", label: dict[str, str] | None = None, name: str = "web") -> Pod:
    owners = (OwnerReference(kind, name, "u", True, api_version),) if kind else ()
    return make_pod("p", LABELS if label is None else label, owners=owners)


APP, TIER = equal("app", "web"), equal("tier", "front")
SERVICE = service("web", {"app": "web"})

BOTH = [
    pytest.param(pod(), [], None, id="nothing"),
    pytest.param(pod(), [SERVICE], [APP], id="selecting"),
    pytest.param(pod(), [SERVICE, service("s2", {"app": "web", "tier": "front"})], [APP, TIER], id="merged"),
    pytest.param(pod(), [service("web", {})], None, id="empty-service-selector"),
    pytest.param(pod(), [service("web", None)], None, id="no-service-selector"),
    pytest.param(pod(), [service("web", {"app": "web"}, "other")], None, id="other-namespace"),
    pytest.param(pod(), [service("web", {"app": "db"})], None, id="does-not-match"),
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
