"""Pods that leave their nodes: what becomes of each, and which may be evicted now.

First who makes a pod anew, under which name, and what of it is left behind. Then PodDisruptionBudgets: how many pods
may go, as the disruption controller counts, and which evictions the API server refuses; the rules are those of releases
1.27 to 1.36. Upstream: pkg/controller/disruption, pkg/registry/core/pod/storage.
"""

from __future__ import annotations

import enum
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from hashlib import sha1

import attrs
import msgspec

from clusterstate.cache import TERMINATED
from clusterstate.cluster_objects import ClusterObjects
from clusterstate.manifests.defaulting import derived_uid
from clusterstate.objects import Labels, Pod, PodDisruptionBudget
from clusterstate.selectors.matching import Matcher, SelectorError, compile_label_selector
from clusterstate.selectors.pod_owners import MIRROR
from kubescheduler.core.results import counted
from kubescheduler.simulation.workload import as_new, renamed

NAMED = 3
"""Names in a sentence; of more the first, and how many there are besides."""


def named(names: Sequence[str], most: int = NAMED) -> str:
    """``a, b, c and 2 more``."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


SUFFIX = "bcdfghjklmnpqrstvwxz2456789"
"""What generated names end with, five of these. Upstream: apimachinery's rand.SafeEncodeString."""
LONGEST_BASE = 58
"""Characters of a generated name before them."""

_GENERATED = re.compile(f"(.+-)[{SUFFIX}]{{5}}")


class Fate(enum.Enum):
    """What becomes of a pod whose node goes. The values are said of it: "it is of a DaemonSet"."""

    DAEMON = "of a DaemonSet"
    """Its controller makes one for every node; elsewhere it is not made anew."""
    STATIC = "static"
    """The kubelet of its node runs it; the API server only mirrors it."""
    FINISHED = "finished"
    """It needs no node any more."""
    LEAVING = "being deleted"
    """It leaves anyway, and its controller has made another one already."""
    REMADE = "made anew by its controller"
    BARE = "of no controller"
    """Nobody makes it anew: it is lost."""


def fate_of(pod: Pod) -> Fate:
    """What becomes of a pod whose node goes."""
    owner = pod.metadata.controller
    if MIRROR in pod.metadata.annotations or (owner is not None and owner.kind == "Node"):
        return Fate.STATIC
    if pod.phase in TERMINATED:
        return Fate.FINISHED
    if owner is None:
        return Fate.BARE
    if owner.kind == "DaemonSet":
        return Fate.DAEMON
    leaving = pod.metadata.deletion_timestamp is not None
    return Fate.LEAVING if leaving and not keeps_name(pod) else Fate.REMADE


def keeps_name(pod: Pod) -> bool:
    """Whether the pod comes back under its name, once the one before it has ended: a StatefulSet's does."""
    owner = pod.metadata.controller
    return owner is not None and owner.kind == "StatefulSet"


def successor(pod: Pod, taken: Container[str]) -> Pod:
    """The pod that the controller of ``pod`` makes in its place: pending, with a name of its own and a new uid.

    taken: ``namespace/name`` of the pods that there are. The same pod always gets the same name, where it is free.
    """
    fresh = as_new(pod)
    fresh = msgspec.structs.replace(fresh, metadata=msgspec.structs.replace(fresh.metadata, creation_timestamp=None))
    name = pod.metadata.name if keeps_name(pod) else _free_name(pod, taken)
    uid = derived_uid("Pod", pod.metadata.namespace, f"{name} after {pod.metadata.uid}")
    return _with_uid(renamed(fresh, name), uid)


def _free_name(pod: Pod, taken: Container[str]) -> str:
    """As the API server generates names, but not by chance."""
    owner, attempt = pod.metadata.controller, 0
    generated = _GENERATED.fullmatch(pod.metadata.name)
    base = generated[1] if generated else f"{pod.metadata.name if owner is None else owner.name}-"
    while True:
        digest = sha1(f"{pod.metadata.uid}/{pod.metadata.name}/{attempt}".encode(), usedforsecurity=False).digest()
        name = base[:LONGEST_BASE] + "".join(SUFFIX[byte % len(SUFFIX)] for byte in digest[:5])
        if f"{pod.metadata.namespace}/{name}" not in taken:
            return name
        attempt += 1


def _with_uid(pod: Pod, uid: str) -> Pod:
    manifest = pod.manifest
    if manifest is not None:
        said = {key: value for key, value in manifest["metadata"].items() if key != "creationTimestamp"}
        manifest = {**manifest, "metadata": {**said, "uid": uid}}
    metadata = msgspec.structs.replace(pod.metadata, uid=uid)
    return msgspec.structs.replace(pod, metadata=metadata, manifest=manifest)


ALWAYS_ALLOW = "AlwaysAllow"
UNSCALED = ("DaemonSet", "Job", "CronJob", "Node")
"""Kinds of controllers that have no scale, so that nobody knows how many pods are expected."""
WITHOUT_BUDGET = ("Succeeded", "Failed", "Pending")
"""Phases of pods that are evicted whatever budgets say."""

MOST_REPLICAS = 100
"""More replicas are not proposed, so that a budget opens."""

SEVERAL = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
NO_CONTROLLERS = "found no controllers"
UNMANAGED = "its pods have no controller, and maxUnavailable and percentages count only pods of controllers"
NEITHER = "it says neither minAvailable nor maxUnavailable"
VIOLATES = "Cannot evict pod as it would violate the pod's disruption budget."


class Health(msgspec.Struct, frozen=True):
    """What the disruption controller writes into a budget's status."""

    expected: int
    """expectedPods."""
    desired: int
    """desiredHealthy."""
    healthy: int
    """currentHealthy."""
    fault: str = ""
    """Why nothing is allowed whatever the numbers are: the controller could not count."""

    @property
    def allowed(self) -> int:
        """disruptionsAllowed."""
        if self.fault or self.expected <= 0:
            return 0
        return max(0, self.healthy - self.desired)


class EvictionRefusal(msgspec.Struct, frozen=True):
    """An eviction that the API server does not allow."""

    code: int
    """429: not now; 500: never, as long as the budgets are what they are."""
    message: str
    cause: str = ""
    budgets: tuple[str, ...] = ()
    """``namespace/name`` of the budgets that refuse."""

    def __str__(self) -> str:
        return f"{self.message} {self.cause}".rstrip()


def is_healthy(pod: Pod) -> bool:
    """Whether the pod is ready. One whose status says nothing of it is, if it is on a node and not Pending."""
    ready = next((each.status for each in pod.conditions if each.type == "Ready"), None)
    if ready is not None:
        return ready == "True"
    return bool(pod.node_name) and pod.phase in ("", "Running")


def is_counted(pod: Pod) -> bool:
    """Whether the pod is one of those that currentHealthy counts."""
    return is_healthy(pod) and pod.metadata.deletion_timestamp is None


def says_nothing(pod: Pod) -> bool:
    """Whether a pod is taken to be healthy as its status does not say."""
    return is_healthy(pod) and not any(each.type == "Ready" for each in pod.conditions)


# --- one budget -------------------------------------------------------------------------------


Owner = tuple[str, str]
"""(kind, name) of a controller."""


class Scales:
    """How many pods controllers are to have."""

    def __init__(self, objects: ClusterObjects) -> None:
        self._objects = objects
        self._of_deployments = Counter[tuple[str, str]]()
        for replica_set in objects.replica_sets.values():
            owner = replica_set.metadata.controller
            if owner is not None and owner.kind == "Deployment":
                self._of_deployments[replica_set.metadata.namespace, owner.name] += replica_set.replicas

    def expected(self, namespace: str, owners: Mapping[Owner, int]) -> tuple[int, str, list[str]]:
        """(pods that controllers are to have, why nobody knows, controllers that are not in the cluster).

        owners: the controllers of pods, and how many pods of each there are; pods without one expect nobody. Of a
        controller that is not in the cluster the pods that are count. Upstream: getExpectedScale.
        """
        scales: dict[Owner, int] = {}
        missing: dict[str, int] = {}
        for (kind, name), count in owners.items():
            if kind in UNSCALED:
                return 0, f"{NO_CONTROLLERS} for the pods of {kind}/{name}", []
            found = self._scale(namespace, kind, name)
            if found is None:
                missing[f"{kind}/{name}"] = count
            else:
                scales[found[0]] = found[1]
        return sum(scales.values()) + sum(missing.values()), "", list(missing)

    def _scale(self, namespace: str, kind: str, name: str) -> tuple[Owner, int] | None:
        """(the controller that has the scale, its replicas); a Deployment's are those of all its ReplicaSets."""
        objects, key = self._objects, (namespace, name)
        if kind == "ReplicaSet" and (replica_set := objects.replica_sets.get(key)) is not None:
            above = replica_set.metadata.controller
            if above is not None and above.kind == "Deployment":
                return ("Deployment", above.name), self._of_deployments[namespace, above.name]
            return (kind, name), replica_set.replicas
        if kind == "StatefulSet" and (stateful_set := objects.stateful_sets.get(key)) is not None:
            return (kind, name), stateful_set.replicas
        if kind == "ReplicationController" and (found := objects.replication_controllers.get(key)) is not None:
            return (kind, name), found.replicas
        return None


def _desired(budget: PodDisruptionBudget, expected: int) -> int:
    """How many have to stay healthy of so many that are expected. Raises ValueError."""
    if budget.max_unavailable is not None:
        return max(0, expected - _scaled(budget.max_unavailable, expected))
    return _scaled(budget.min_available or 0, expected)


def _scaled(value: int | str, total: int) -> int:
    """A share of a total is rounded up. Raises ValueError. Upstream: GetScaledValueFromIntOrPercent."""
    if isinstance(value, int):
        return value
    digits = value.removesuffix("%")
    if digits == value or not (digits.isascii() and digits.isdecimal()):
        raise ValueError(f'invalid value for IntOrString: invalid type: string is not a percentage: "{value}"')
    return -(-int(digits) * total // 100)


# --- all budgets of a cluster -----------------------------------------------------------------


@attrs.define(eq=False)
class _Kept:
    """A budget, and the pods that it selects."""

    budget: PodDisruptionBudget
    matcher: Matcher
    pods: dict[str, Pod] = attrs.field(factory=dict)
    """``namespace/name`` → the pod as it is now."""
    healthy: set[str] = attrs.field(factory=set)
    """Those of them that currentHealthy counts."""
    owners: Counter[Owner] = attrs.field(factory=Counter)
    """Their controllers, and how many pods each has."""
    health: Health | None = None
    """None: something has changed since it was counted."""

    @property
    def key(self) -> str:
        return f"{self.budget.metadata.namespace}/{self.budget.metadata.name}"

    def put(self, pod: Pod) -> None:
        """There is a pod, new or changed."""
        if pod.key not in self.pods and (owner := pod.metadata.controller) is not None:
            self.owners[owner.kind, owner.name] += 1
        self.pods[pod.key] = pod
        (self.healthy.add if is_counted(pod) else self.healthy.discard)(pod.key)
        self.health = None

    def take(self, pod: Pod) -> None:
        """A pod is gone."""
        self.healthy.discard(pod.key)
        self.health = None
        if self.pods.pop(pod.key, None) is not None and (owner := pod.metadata.controller) is not None:
            self.owners[owner.kind, owner.name] -= 1
            self.owners += Counter()

    def counted(self, scales: Scales) -> tuple[Health, list[str]]:
        """(what the controller counts, controllers that are not in the cluster).

        Upstream: getExpectedPodCount, countHealthyPods.
        """
        budget, healthy = self.budget, len(self.healthy)
        if budget.max_unavailable is None and not isinstance(budget.min_available, str):
            least = budget.min_available
            return Health(0, 0, healthy, NEITHER) if least is None else Health(len(self.pods), int(least), healthy), []
        expected, fault, missing = scales.expected(budget.metadata.namespace, self.owners)
        if self.pods and not self.owners:
            fault = UNMANAGED
        try:
            desired = _desired(budget, expected)
        except ValueError as error:
            return Health(expected, 0, healthy, fault or str(error)), missing
        return Health(expected, desired, healthy, fault), missing


class Budgets:
    """The budgets of a cluster whose pods come and go; evictions take of them until they are counted anew."""

    def __init__(self, objects: ClusterObjects, pods: Iterable[Pod]) -> None:
        """pods: all there are, pending and finished ones too."""
        self._scales = Scales(objects)
        self._kept: dict[str, _Kept] = {}
        self._of_label: dict[tuple[str, tuple[str, str] | None], list[_Kept]] = {}
        self._known: dict[tuple[str, Labels], tuple[_Kept, ...]] = {}
        self._notes: dict[str, None] = {}
        self._stale: dict[str, None] = {}
        for budget in objects.pod_disruption_budgets.values():
            try:
                kept = _Kept(budget, compile_label_selector(budget.selector))
            except SelectorError:
                continue  # it selects no pod
            self._kept[kept.key] = kept
            self._stale[kept.key] = None
            wanted = () if budget.selector is None else budget.selector.match_labels.items()
            self._of_label.setdefault((budget.metadata.namespace, next(iter(wanted), None)), []).append(kept)
        silent = 0
        for pod in pods:
            self.came(pod)
            silent += says_nothing(pod) and bool(self._of(pod))
        if silent:
            self._notes[f"{counted(silent, 'pod')} under budgets that have no condition Ready are counted as ready"] = (
                None
            )
        for key, kept in self._kept.items():
            self._compare(key, kept)

    def _compare(self, key: str, kept: _Kept) -> None:
        """Notes a status that says something else than what is counted."""
        said, found = kept.budget.disruptions_allowed, self.health(key)
        if said != found.allowed and said:
            self._notes[f"budget {key}: its status allows {said}, counted anew it allows {found.allowed}"] = None

    @property
    def notes(self) -> list[str]:
        """What a reader of the numbers has to know."""
        return list(self._notes)

    def __iter__(self) -> Iterator[str]:
        """``namespace/name`` of each budget."""
        return iter(self._kept)

    def came(self, pod: Pod) -> None:
        """There is one more pod, or one has changed: it has come to a node."""
        for kept in self._of(pod):
            kept.put(pod)
            self._stale[kept.key] = None

    def went(self, pod: Pod) -> None:
        """A pod is gone."""
        for kept in self._of(pod):
            kept.take(pod)
            self._stale[kept.key] = None

    def over(self, pod: Pod) -> list[str]:
        """``namespace/name`` of the budgets that select the pod."""
        return [kept.key for kept in self._of(pod)]

    def budget(self, key: str) -> PodDisruptionBudget:
        """The budget of that ``namespace/name``."""
        return self._kept[key].budget

    def pods_of(self, key: str) -> list[Pod]:
        """The pods that a budget selects, as they are now."""
        return list(self._kept[key].pods.values())

    def health(self, key: str) -> Health:
        """What the controller counts for a budget now."""
        kept = self._kept[key]
        if kept.health is None:
            kept.health, missing = kept.counted(self._scales)
            for name in missing:
                self._notes[f"budget {key}: {name} is not in the cluster; its pods that are there are counted"] = None
        return kept.health

    def at_best(self, key: str) -> int:
        """How many disruptions a budget would allow if every pod were there and healthy that has not finished."""
        budget, health = self.budget(key), self.health(key)
        could = sum(pod.phase not in ("Succeeded", "Failed") for pod in self.pods_of(key))
        if budget.max_unavailable is not None or isinstance(budget.min_available, str):
            could = max(could, health.expected)
        return msgspec.structs.replace(health, healthy=could).allowed

    def opening(self, key: str) -> str:
        """The smallest change by which a budget that allows nothing even at best would allow one disruption."""
        budget, health, pods = self.budget(key), self.health(key), len(self.pods_of(key))
        if health.fault == NEITHER and self._kept[key].owners:
            return "maxUnavailable: 1"
        if health.fault:
            counts_pods = health.fault in (NEITHER, UNMANAGED) or health.fault.startswith(NO_CONTROLLERS)
            return f"minAvailable: {max(0, pods - 1)}" if counts_pods else "a whole number, or a percentage"
        for more in range(1, MOST_REPLICAS + 1):
            if pods + more > _desired(budget, health.expected + more):
                return f"{counted(more, 'more replica')} of its pods"
        if budget.max_unavailable is not None:
            return "maxUnavailable: 1"
        return f"minAvailable: {max(0, pods - 1)}"

    def refusal(self, pod: Pod) -> EvictionRefusal | None:
        """Why the API server refuses to evict the pod now; None: it would. Upstream: EvictionREST.Create."""
        if pod.phase in WITHOUT_BUDGET or pod.metadata.deletion_timestamp is not None:
            return None
        over = self._of(pod)
        if not over:
            return None
        if len(over) > 1:
            return EvictionRefusal(500, SEVERAL, budgets=tuple(kept.key for kept in over))
        [kept] = over
        found = self.health(kept.key)
        if found.allowed or self._costs_nothing(pod, kept, found):
            return None
        needs = f"needs {found.desired} healthy pods and has {found.healthy} currently"
        cause = f"The disruption budget {kept.budget.metadata.name} {needs}"
        return EvictionRefusal(429, VIOLATES, cause, (kept.key,))

    def evict(self, pod: Pod) -> EvictionRefusal | None:
        """Takes the eviction off the pod's budget, if it is allowed; else why it is not."""
        refusal = self.refusal(pod)
        if refusal is None:
            for kept in self._of(pod):
                kept.healthy.discard(pod.key)
                kept.health = None
                self._stale[kept.key] = None
        return refusal

    def below(self) -> dict[str, Health]:
        """The budgets that have fewer healthy pods than they need."""
        found = {key: self.health(key) for key in self._kept}
        return {key: health for key, health in found.items() if health.healthy < health.desired}

    def statuses(self) -> list[PodDisruptionBudget]:
        """The budgets that changed since this was last asked, with what they allow now and no pod on its way out."""
        stale, self._stale = self._stale, {}
        return [
            msgspec.structs.replace(
                self._kept[key].budget, disruptions_allowed=self.health(key).allowed, disrupted_pods=()
            )
            for key in stale
        ]

    @staticmethod
    def _costs_nothing(pod: Pod, kept: _Kept, found: Health) -> bool:
        """A pod that is not ready takes nothing of a budget that allows it, or whose other pods are enough."""
        if is_healthy(pod):
            return False
        return kept.budget.unhealthy_pod_eviction_policy == ALWAYS_ALLOW or found.healthy >= found.desired > 0

    def _of(self, pod: Pod) -> tuple[_Kept, ...]:
        namespace, labels = pod.metadata.namespace, pod.metadata.labels
        known = self._known.get((namespace, labels))
        if known is None:
            keys = [(namespace, None), *((namespace, label) for label in labels.items())]
            candidates = (kept for key in keys for kept in self._of_label.get(key, ()))
            known = self._known[namespace, labels] = tuple(kept for kept in candidates if kept.matcher(labels))
        return known


def counted_budgets(objects: ClusterObjects, pods: Iterable[Pod]) -> dict[str, PodDisruptionBudget]:
    """``namespace/name`` → the budget with what its controller allows, of each that somebody has written without a
    status."""
    budgets = Budgets(objects, pods)
    found = zip(budgets, budgets.statuses(), strict=True)
    return {key: msgspec.structs.replace(one, is_counted=True) for key, one in found if not one.is_counted}
