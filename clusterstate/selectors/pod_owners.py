"""What a pod belongs to: services and controllers, and the selectors they spread it by; and what people apply.

For spreading only labels count, never owner references. Everything is looked up in an index by namespace that lives
until a service or controller changes; asking again for pods that no selector of the namespace can tell apart is one
look-up. The workload of a pod, at the end, goes by owner references, above the ReplicaSets and Jobs between.
"""

from __future__ import annotations

import enum
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import TypeVar

import msgspec

from clusterstate.changes import Reads, remember
from clusterstate.cluster_objects import ClusterObjects, Name
from clusterstate.growable import IntArray, constant_row
from clusterstate.objects import (
    ClusterObject,
    Labels,
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
from clusterstate.podinfo import Controller, PodInfo, Reach, any_of
from clusterstate.selectors.matching import Matcher, SelectorError, compile_label_selector, compile_map
from clusterstate.snapshot import Snapshot

Selector = Labels | LabelSelector
"""A selector by content, so that it can be part of a key: a plain map, or a label selector."""

MOST_REMEMBERED = 8192


class Kinds(enum.Flag):
    """Who selects pods."""

    SERVICES = enum.auto()
    REPLICATION_CONTROLLERS = enum.auto()
    REPLICA_SETS = enum.auto()
    STATEFUL_SETS = enum.auto()


ALL_KINDS = Kinds.SERVICES | Kinds.REPLICATION_CONTROLLERS | Kinds.REPLICA_SETS | Kinds.STATEFUL_SETS


def owners_of(pod: PodInfo, snapshot: Snapshot) -> Owners:
    """What the pod belongs to by its labels; the same object for pods that no selector can tell apart."""
    return _index(snapshot).of(pod)


def services_of(pod: PodInfo, snapshot: Snapshot) -> list[Service]:
    """The services whose selector matches the pod, in order of arrival. Upstream: 1.4 and 1.16 GetPodServices.

    A service without a selector has no pods, one with an empty selector all of its namespace. Labels are
    compared as they are written, valid or not.
    """
    return list(owners_of(pod, snapshot).services)


def selectors_of(pod: PodInfo, snapshot: Snapshot, kinds: Kinds = ALL_KINDS) -> tuple[Selector, ...]:
    """The distinct selectors of the pod's services and controllers of some kinds. Upstream: 1.16 getSelectors.

    Controllers are looked at only if the pod has labels, and theirs must not be empty. One invalid selector
    among a namespace's ReplicaSets (or StatefulSets) hides all of that kind.
    """
    owners = owners_of(pod, snapshot)
    selectors = owners.selectors.get(kinds)
    if selectors is None:
        parts = [part for kind, part in owners.parts.items() if kind in kinds]
        selectors = owners.selectors[kinds] = tuple(dict.fromkeys(s for part in parts for s in part))
    return selectors


def controller_selectors_of(pod: PodInfo, snapshot: Snapshot) -> tuple[Selector, ...]:
    """The distinct selectors of the pod's controllers, found by labels; an invalid one matches no pod. Release 1.20."""
    namespace = _index(snapshot).namespace(pod)
    return () if namespace is None or not pod.labels else namespace.controllers_of(pod.labels)


def matcher_of(selector: Selector) -> Matcher:
    """The test that counts a selector's pods; a map with an invalid key or value matches everything."""
    return compile_label_selector(selector) if isinstance(selector, LabelSelector) else compile_map(selector)


def count_matching(snapshot: Snapshot, namespace: str, selectors: tuple[Selector, ...]) -> IntArray:
    """(n,) int64: pods of a namespace, not being deleted, that every selector matches.

    Without selectors 0 everywhere. Raises SelectorError for an invalid label selector.
    Upstream: 1.16 countMatchingPods.
    """
    return _counted(snapshot, "matching pods", namespace, selectors, all, lambda matchers: matchers[0].marks)


def count_matching_any(snapshot: Snapshot, namespace: str, selectors: tuple[Selector, ...]) -> IntArray:
    """(n,) int64: pods of a namespace, not being deleted, that at least one selector matches.

    Raises SelectorError for an invalid label selector. Upstream: 1.4 CalculateSpreadPriority.
    """
    return _counted(snapshot, "pods of any", namespace, selectors, any, lambda found: any_of(*(m.marks for m in found)))


def _counted(
    snapshot: Snapshot,
    name: str,
    namespace: str,
    selectors: tuple[Selector, ...],
    enough: Callable[[Iterable[bool]], bool],
    reach: Callable[[Sequence[Matcher]], Reach],
) -> IntArray:
    """name: of the count. enough: which of a pod's matches make it count. reach: of which pods, by the matchers."""
    if not selectors:
        return constant_row(0, len(snapshot))
    matchers = [matcher_of(selector) for selector in selectors]

    def weight(info: PodInfo) -> int:
        if info.namespace != namespace or info.terminating:
            return 0
        return int(enough(matcher(info.labels) for matcher in matchers))

    return snapshot.counts(snapshot.tally((name, namespace, selectors), None, weight, reach(matchers))).copy()


# --- the index -----------------------------------------------------------------------------

Owner = TypeVar("Owner", Service, ReplicationController, ReplicaSet, StatefulSet)


class _Finder:
    """Finds the entries whose plain pairs are all among some labels; each is filed under one of its pairs."""

    __slots__ = ("_entries", "_filed", "_unfiled")

    def __init__(self) -> None:
        self._entries: list[tuple[Labels, Matcher | None, Service | None, Selector]] = []
        self._filed: dict[tuple[str, str], list[int]] = {}
        self._unfiled: list[int] = []

    def add(self, selector: Selector, service: Service | None = None) -> None:
        """Raises SelectorError for an invalid label selector, which is then not kept."""
        pairs = selector.match_labels if isinstance(selector, LabelSelector) else selector
        matcher = compile_label_selector(selector) if isinstance(selector, LabelSelector) else None
        place = self._unfiled if not pairs else self._filed.setdefault(next(iter(pairs.items())), [])
        place.append(len(self._entries))
        self._entries.append((pairs, matcher, service, selector))

    def find(self, labels: Labels) -> list[tuple[Service | None, Selector]]:
        """(service, selector) of the entries that match, in the order they were added."""
        numbers = list(self._unfiled)
        for pair in labels.items():
            numbers += self._filed.get(pair, ())
        out = []
        for number in sorted(numbers):
            pairs, matcher, service, selector = self._entries[number]
            if matcher(labels) if matcher else pairs.items() <= labels.items():
                out.append((service, selector))
        return out


class Owners(msgspec.Struct, frozen=True, eq=False):
    """What the pods of a namespace that have the same labels, of those that selectors read, belong to."""

    services: tuple[Service, ...]
    parts: dict[Kinds, tuple[Selector, ...]]
    selectors: dict[Kinds, tuple[Selector, ...]] = msgspec.field(default_factory=dict)


class _Namespace:
    """The services and controllers of one namespace; a finder is built when it is first asked for."""

    def __init__(self) -> None:
        self.services: list[Service] = []
        self.controllers: dict[Kinds, list[Labels | LabelSelector | None]] = {
            Kinds.REPLICATION_CONTROLLERS: [],
            Kinds.REPLICA_SETS: [],
            Kinds.STATEFUL_SETS: [],
        }
        self._finders: dict[Kinds, _Finder] = {}
        self._valid: _Finder | None = None
        self._keys: frozenset[str] | None = None

    def controllers_of(self, labels: Labels) -> tuple[Selector, ...]:
        """The valid selectors of controllers that match some labels."""
        if self._valid is None:
            self._valid = _Finder()
            for selector in chain.from_iterable(self.controllers.values()):
                if selector is not None and not _is_empty(selector):
                    with suppress(SelectorError):
                        self._valid.add(selector)
        return tuple(dict.fromkeys(selector for _, selector in self._valid.find(labels)))

    @property
    def keys(self) -> frozenset[str]:
        """The keys of the labels that selectors of the namespace read."""
        if self._keys is None:
            selectors = [service.selector for service in self.services]
            every = chain(selectors, chain.from_iterable(self.controllers.values()))
            self._keys = frozenset(key for selector in every if selector is not None for key in _keys_of(selector))
        return self._keys

    def owners(self, labels: Labels) -> Owners:
        found = self._finder(Kinds.SERVICES).find(labels)
        services = tuple(service for service, _ in found if service is not None)
        parts: dict[Kinds, tuple[Selector, ...]] = {Kinds.SERVICES: tuple(selector for _, selector in found)}
        if labels:
            for kind in self.controllers:
                parts[kind] = tuple(selector for _, selector in self._finder(kind).find(labels))
        return Owners(services, parts)

    def _finder(self, kind: Kinds) -> _Finder:
        finder = self._finders.get(kind)
        if finder is None:
            finder = self._finders[kind] = self._build(kind)
        return finder

    def _build(self, kind: Kinds) -> _Finder:
        finder = _Finder()
        if kind is Kinds.SERVICES:
            for service in self.services:
                if service.selector is not None:
                    finder.add(service.selector, service)
            return finder
        try:
            for selector in self.controllers[kind]:
                if selector is not None and not _is_empty(selector):
                    finder.add(selector)
        except SelectorError:
            return _Finder()
        return finder


def _is_empty(selector: Selector) -> bool:
    if isinstance(selector, LabelSelector):
        return not selector.match_labels and not selector.match_expressions
    return not selector


def _keys_of(selector: Selector) -> Iterable[str]:
    if isinstance(selector, LabelSelector):
        return (*selector.match_labels, *(requirement.key for requirement in selector.match_expressions))
    return selector


class _Index:
    """Every namespace's services and controllers."""

    def __init__(self, objects: ClusterObjects) -> None:
        self._namespaces: defaultdict[str, _Namespace] = defaultdict(_Namespace)
        self._memo: dict[tuple[str, bool, tuple[tuple[str, str], ...]], Owners] = {}
        self._nobody = Owners((), {})
        for service in objects.services.values():
            self._namespaces[service.metadata.namespace].services.append(service)
        self._file(Kinds.REPLICATION_CONTROLLERS, objects.replication_controllers.values(), lambda rc: rc.selector)
        self._file(Kinds.REPLICA_SETS, objects.replica_sets.values(), lambda rs: rs.selector)
        self._file(Kinds.STATEFUL_SETS, objects.stateful_sets.values(), lambda ss: ss.selector)

    def _file(
        self, kind: Kinds, owners: Iterable[Owner], selector: Callable[[Owner], Labels | LabelSelector | None]
    ) -> None:
        for owner in owners:
            self._namespaces[owner.metadata.namespace].controllers[kind].append(selector(owner))

    def namespace(self, pod: PodInfo) -> _Namespace | None:
        return self._namespaces.get(pod.namespace)

    def of(self, pod: PodInfo) -> Owners:
        namespace = self.namespace(pod)
        if namespace is None:
            return self._nobody
        keys = namespace.keys
        read = tuple([pair for pair in pod.labels.items() if pair[0] in keys])
        key = (pod.namespace, bool(pod.labels), read)
        owners = self._memo.get(key)
        if owners is None:
            owners = remember(self._memo, key, namespace.owners(pod.labels), MOST_REMEMBERED)
        return owners


def _index(snapshot: Snapshot) -> _Index:
    return snapshot.derived("services and controllers", Reads.SERVICES, lambda: _Index(snapshot.objects))


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
        return remember(memo, key, make(pod, snapshot), MOST_REMEMBERED)


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


TEMPLATE_HASH = "pod-template-hash"
"""The label that a Deployment gives the pods of a ReplicaSet; the ReplicaSet's name ends with its value."""

MINUTES, SECONDS = range(24_000_000, 48_000_000), range(1_400_000_000, 2_000_000_000)
"""What CronJobs put behind the names of their Jobs: minutes since 1970 from 1.21 on, seconds before. The numbers are
those of the years 2015 to 2061 and 2014 to 2033, which dates as 20240131 and 2024013112 are not."""

_NUMBERED = re.compile(r"(.+)-(\d{8}|\d{10})")

Controllers = Mapping[tuple[str, str], OwnerReference]
"""(namespace, name) of a ReplicaSet → its own controller."""


def workloads_of(pods: Iterable[Pod], objects: Iterable[ClusterObject]) -> list[str]:
    """Of each pod ``Kind/name`` of its workload: ``Deployment/web``; a pod that nobody controls is its own.

    Through ReplicaSets to Deployments, by the ReplicaSet in ``objects`` or by the pod's template hash, and through
    Jobs to CronJobs, by the number that ends the Job's name.
    """
    above = {
        (obj.metadata.namespace, obj.metadata.name): owner
        for obj in objects
        if isinstance(obj, ReplicaSet) and (owner := obj.metadata.controller) is not None
    }
    return [_workload(pod.metadata, above) for pod in pods]


def _workload(metadata: ObjectMeta, above: Controllers) -> str:
    owner = metadata.controller
    if owner is None or owner.kind == "Node":  # a static pod's mirror is controlled by its node
        return f"Pod/{metadata.name}"
    if owner.kind == "ReplicaSet":
        found = above.get((metadata.namespace, owner.name))
        if found is not None:
            return f"{found.kind}/{found.name}"
        suffix = f"-{metadata.labels.get(TEMPLATE_HASH, '')}"
        if len(suffix) > 1 and owner.name.endswith(suffix) and owner.name != suffix:
            return f"Deployment/{owner.name.removesuffix(suffix)}"
    if owner.kind == "Job":
        numbered = _NUMBERED.fullmatch(owner.name)
        if numbered is not None and int(numbered[2]) in (MINUTES if len(numbered[2]) == len("24000000") else SECONDS):
            return f"CronJob/{numbered[1]}"
    return f"{owner.kind}/{owner.name}"


MIRROR = "kubernetes.io/config.mirror"
"""The annotation by which an API server knows a static pod."""
SOURCE = "kubernetes.io/config.source"
"""The annotation of where a kubelet has a pod from."""
DAEMON = "cluster-autoscaler.kubernetes.io/daemonset-pod"
"""The annotation by which cluster-autoscaler takes other pods for those of a DaemonSet."""
OWNERS = frozenset({"DaemonSet", "Node"})
"""Kinds of controllers whose pods belong to one node."""


def is_daemon_pod(pod: Pod) -> bool:
    """Whether a node has the pod whatever a scheduler does, so that it does not count as used by it.

    Upstream: cluster-autoscaler's IsDaemonSetPod, IsMirrorPod and IsStaticPod.
    """
    annotations = pod.metadata.annotations
    if MIRROR in annotations or annotations.get(SOURCE, "api") != "api" or annotations.get(DAEMON) == "true":
        return True
    owner = pod.metadata.controller
    return owner is not None and owner.kind in OWNERS
