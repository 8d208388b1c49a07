"""What a rule reads of a pod besides its spec: pods that agree in that are one to the rule, whatever their labels are.

A rule names one of these functions. Namespace, spec, the node that a manifest names, and being deleted are compared in
any case.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

from clusterstate.objects import TopologySpreadConstraint
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.pod_owners import selected_keys
from clusterstate.snapshot import Snapshot

PodKey = Callable[[PodInfo, Snapshot], Hashable]
"""Equal for pods that the rule cannot tell apart, as services, controllers and terms of pod affinity are now. All but
``whole_pod`` read no more of a pod than ``as_read`` has."""


CONTROLLERS_READ = frozenset({"ReplicationController", "ReplicaSet", "StatefulSet"})
"""The kinds of controllers that a rule may look for: nodes can avoid their pods, and default selectors are theirs."""

StorageKey = Callable[[PodInfo, Snapshot], object]
"""Equal while claims and volumes that the rule reads for the pod are; see ``storage_traits``."""


def whole_pod(pod: PodInfo, _: Snapshot) -> Hashable:
    """Everything: only pods of one class are alike."""
    return pod


def spec_alone(_: PodInfo, __: Snapshot) -> Hashable:
    """Nothing but the spec."""
    return None


def affinity_labels(pod: PodInfo, snapshot: Snapshot) -> Hashable:
    """The labels that terms of pod affinity ask for, those of running pods and the pod's own."""
    keys = snapshot.term_keys
    if not pod.term_keys <= keys:
        keys |= pod.term_keys
    return pod.as_picked(keys).labels if keys else None


def spread_labels(pod: PodInfo, _: Snapshot) -> Hashable:
    """The labels that the pod's own spread constraints ask for."""
    constraints = pod.spec.topology_spread_constraints
    if not constraints:
        return None
    keys = _constraint_keys(pod)
    return tuple((key, value) for key, value in pod.labels.items() if key in keys)


def _constraint_keys(pod: PodInfo) -> frozenset[str]:
    constraints = pod.spec.topology_spread_constraints
    return frozenset(key for constraint in constraints for key in constraint_labels(constraint))


def label_keys_read(pod: PodInfo, snapshot: Snapshot) -> frozenset[str]:
    """The keys of all labels that rules read of pods with this spec in this namespace, as services, controllers and
    terms of pod affinity are now: those of ``affinity_labels``, ``spread_labels`` and selectors."""
    return snapshot.term_keys | pod.term_keys | _constraint_keys(pod) | selected_keys(pod, snapshot)


def as_read(pod: PodInfo, keys: frozenset[str]) -> tuple[Hashable, ...]:
    """Everything that rules read of a pod besides its spec. keys: of the labels that they read."""
    labels, controller = pod.labels, pod.controller
    if controller is not None and controller[0] not in CONTROLLERS_READ:
        controller = None
    read = () if keys.isdisjoint(labels) else tuple([label for label in labels.items() if label[0] in keys])
    return controller, bool(labels), read


def constraint_labels(constraint: TopologySpreadConstraint) -> Iterable[str]:
    """The keys of the labels that a constraint reads in the pod that has it."""
    yield from constraint.match_label_keys
    selector = constraint.label_selector
    if selector is not None:
        yield from selector.match_labels
        for requirement in selector.match_expressions:
            yield requirement.key
