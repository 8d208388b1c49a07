"""The default selector of a pod: what its services and controllers select, all at once.

Default spread constraints and SelectorSpread count by it. It is worked out once for pods with the same services and
controllers, until a service or controller changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from clusterstate.changes import Reads
from clusterstate.cluster_objects import Name
from clusterstate.objects import Labels, LabelSelector, ReplicaSet, Requirement, StatefulSet
from clusterstate.podinfo import Controller, PodInfo
from clusterstate.selectors.matching import Matcher, SelectorError, compile_label_selector
from clusterstate.selectors.pod_owners import Owners, controller_selectors_of, owners_of, services_of
from clusterstate.snapshot import Snapshot

MOST_REMEMBERED = 8192

Memo = dict[tuple[str, Owners, Controller], Matcher | None]


def default_selector_1_20(pod: PodInfo, snapshot: Snapshot) -> Matcher | None:
    """All of the selectors of the services and controllers whose selectors match the pod; None without any.

    Controllers are looked at only if the pod has labels; one with an empty or invalid selector matches no pod.
    Upstream: 1.20 DefaultSelector.
    """
    return _remembered("default selectors 1.20", pod, snapshot, _by_labels)


def default_selector_1_36(pod: PodInfo, snapshot: Snapshot) -> Matcher | None:
    """All of the selectors of the services that match the pod, and that of its controller; None without any.

    The controller is found by the owner reference's apiVersion, kind and name, and need not match the pod.
    Upstream: 1.36 DefaultSelector.
    """
    return _remembered("default selectors 1.36", pod, snapshot, _by_owner)


def _remembered(
    name: str, pod: PodInfo, snapshot: Snapshot, make: Callable[[PodInfo, Snapshot], Matcher | None]
) -> Matcher | None:
    memo: Memo = snapshot.derived(name, Reads.SERVICES, dict)
    key = (pod.namespace, owners_of(pod, snapshot), pod.controller)
    try:
        return memo[key]
    except KeyError:
        if len(memo) >= MOST_REMEMBERED:
            memo.clear()
        return memo.setdefault(key, make(pod, snapshot))


def _by_labels(pod: PodInfo, snapshot: Snapshot) -> Matcher | None:
    pairs: dict[str, str] = {}
    more: list[Requirement] = []
    for service in services_of(pod, snapshot):
        pairs.update(service.selector or {})
    for selector in controller_selectors_of(pod, snapshot):
        if isinstance(selector, LabelSelector):
            more += compile_label_selector(selector).requirements
        else:
            pairs.update(selector)
    return _matcher(pairs, more)


def _by_owner(pod: PodInfo, snapshot: Snapshot) -> Matcher | None:
    pairs: dict[str, str] = {}
    for service in services_of(pod, snapshot):
        pairs.update(service.selector or {})
    api_version, kind, name = _controller(pod)
    at: Name = (pod.namespace, name)
    more: Iterable[Requirement] = ()
    match api_version, kind:
        case "v1", "ReplicationController":
            controller = snapshot.objects.replication_controllers.get(at)
            pairs.update({} if controller is None else controller.selector)
        case "apps/v1", "ReplicaSet":
            more = _requirements(snapshot.objects.replica_sets.get(at))
        case "apps/v1", "StatefulSet":
            more = _requirements(snapshot.objects.stateful_sets.get(at))
    return _matcher(pairs, more)


def _controller(pod: PodInfo) -> tuple[str, str, str]:
    """(apiVersion, kind, name) of the owner that is the controller; empty texts without one."""
    controller: tuple[str, ...] | None = pod.controller
    if controller is None or len(controller) < 4:
        return "", "", ""
    return controller[2], controller[0], controller[3]


def _requirements(owner: ReplicaSet | StatefulSet | None) -> tuple[Requirement, ...]:
    """A selector's requirements; an invalid one, or none at all, adds nothing."""
    if owner is None:
        return ()
    try:
        return compile_label_selector(owner.selector).requirements
    except SelectorError:
        return ()


def _matcher(pairs: Labels | dict[str, str], more: Iterable[Requirement]) -> Matcher | None:
    """The matcher of plain pairs and requirements; equal ones whatever order they came in."""
    every = {Requirement(key, "In", (value,)) for key, value in pairs.items()} | set(more)
    if not every:
        return None
    return Matcher(tuple(sorted(every, key=lambda r: (r.key, r.operator, r.values))))
