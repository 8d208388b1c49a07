"""What a rule reads of a pod besides its spec: pods that agree in that are one to the rule, whatever their labels are.

A rule names one of these functions. Namespace, spec, the node that a manifest names, and being deleted are compared in
any case.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

from clusterstate.objects import TopologySpreadConstraint
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot

PodKey = Callable[[PodInfo, Snapshot], Hashable]
"""Equal for pods that the rule cannot tell apart, as services, controllers and terms of pod affinity are now."""


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
    keys = {key for constraint in constraints for key in constraint_labels(constraint)}
    return tuple((key, value) for key, value in pod.labels.items() if key in keys)


def constraint_labels(constraint: TopologySpreadConstraint) -> Iterable[str]:
    """The keys of the labels that a constraint reads in the pod that has it."""
    yield from constraint.match_label_keys
    selector = constraint.label_selector
    if selector is not None:
        yield from selector.match_labels
        for requirement in selector.match_expressions:
            yield requirement.key
