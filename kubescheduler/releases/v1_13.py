"""Release 1.13: predicates and priorities, with feature gates and component configurations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from clusterstate.hypothetical import by_priority
from clusterstate.manifests.admission import admission_1_13
from clusterstate.manifests.api_checks import CHECKS_1_16
from clusterstate.manifests.defaulting import default_manifest
from clusterstate.manifests.fields import Accepted
from clusterstate.objects import Node, Pod
from clusterstate.podinfo import ReleaseView, pod_key
from clusterstate.selectors.pod_affinity import affinity_uses
from clusterstate.usage import account_1_16, tracked_1_16
from kubescheduler.config.config_text import read_policy_file
from kubescheduler.config.gates import ALL_ALPHA, ALPHA, BETA, GA, LOCKED, Gate, ReleaseGates
from kubescheduler.config.policy_1_16 import (
    POLICY_1_13,
    hard_weight_error,
    parse_policy,
    policy_faults,
    total_weight_error,
)
from kubescheduler.config.policy_model import FROM_POLICY
from kubescheduler.core.algorithm import LegacyBehaviour
from kubescheduler.core.preemption_rules import PREEMPTION_1_13
from kubescheduler.core.selection import InTurnTie, nodes_to_find_1_13
from kubescheduler.extender.answers import AnsweredRows1_16, first_value
from kubescheduler.extender.wire import capitalised_arguments, only_200, pod_as_read, url_of_verb
from kubescheduler.releases import v1_4
from kubescheduler.releases.daemon_controllers import DaemonController, bound_by_affinity, passing, tolerant
from kubescheduler.releases.gate_history import gates_elsewhere
from kubescheduler.releases.recorded_processes import flags_1_16, live_1_16
from kubescheduler.releases.release import LegacyLoop, Release
from kubescheduler.sources.cluster_input import Filling
from predicates.node_identity import pod_match_node_selector
from predicates.taints import pod_tolerates_node_taints

if TYPE_CHECKING:
    from algorithmprovider.registry import Algorithms
    from kubescheduler.config.v1alpha1 import V1Alpha1Config
    from kubescheduler.queue.queue_policy import QueuePolicy


def accepted(_: Mapping[str, bool]) -> Accepted:
    """No volumes for single pods, and tolerations that compare nothing."""
    return Accepted(v1_4.BEFORE_SINGLE_POD, CHECKS_1_16)


def from_provider(name: str) -> str:
    """What stands before the texts of what cannot be made from a provider."""
    return f'couldn\'t create scheduler using provider "{name}": '


def read_component(document: Mapping[str, Any], release: str, *, strict: bool = False) -> V1Alpha1Config:
    """See ``read_v1alpha1``."""
    from kubescheduler.config.v1alpha1 import read_v1alpha1

    return read_v1alpha1(document, release, strict=strict)


def no_domains_error(_: Iterable[str]) -> None:
    """Failure domains mean nothing here."""
    return


def algorithms() -> Algorithms:
    """Its predicates, priorities and providers: those of 1.16, where no change has come in between."""
    from algorithmprovider.algorithms import ALGORITHMS
    from predicates.csi_volumes import CSI_VOLUMES_1_13
    from predicates.taints import CONDITIONS_1_13, OUT_OF_DISK
    from predicates.volume_counts import VOLUME_COUNTS_1_13
    from predicates.volume_zone import VOLUME_ZONE_1_13
    from priorities.capacity_ratio import CAPACITY_RATIO_1_13, capacity_ratio_factory_1_13
    from priorities.selector_spread import SELECTOR_SPREAD_1_13

    to_come = ("MaxCinderVolumeCount", "EvenPodsSpread")
    predicates = {**ALGORITHMS.predicates, **VOLUME_COUNTS_1_13, **CSI_VOLUMES_1_13, **VOLUME_ZONE_1_13}
    taints = ALGORITHMS.gated["TaintNodesByCondition"]
    conditions = replace(taints.off, predicates={**taints.off.predicates, **CONDITIONS_1_13})
    gated = {**ALGORITHMS.gated, "TaintNodesByCondition": replace(taints, off=conditions)}
    return replace(
        ALGORITHMS,
        predicates={name: rule for name, rule in predicates.items() if name not in to_come},
        priorities={**ALGORITHMS.priorities, **SELECTOR_SPREAD_1_13, **CAPACITY_RATIO_1_13},
        ordering=tuple(name for name in ALGORITHMS.ordering if name not in to_come),
        unresolvable=ALGORITHMS.unresolvable | {OUT_OF_DISK},
        arguments=replace(ALGORITHMS.arguments, capacity_ratio=capacity_ratio_factory_1_13),
        gated={gate: each for gate, each in gated.items() if gate not in to_come},
    )


def queue_order(objects: Iterable[Any]) -> list[Pod]:
    """The pending pods in the order in which a queue gives them out."""
    from kubescheduler.queue import entry

    return entry.queue_order(objects)


def queue() -> QueuePolicy:
    """How pods wait to be tried."""
    from kubescheduler.queue import queue_policy

    return replace(
        v1_4.queue(),
        backoffs=queue_policy.BackoffsByKey,
        found_over=queue_policy.next_second,
        lies_for=60.0,
        retry_period=None,
        present=(
            "pod is already present in unschedulableQ",
            "pod is already present in activeQ",
            "pod is already present in backoffQ",
        ),
        resources=queue_policy.MOVING_KINDS,
        counts=queue_policy.may_let_pods_in,
        rests_in_backoff=False,
    )


@cache
def loop() -> LegacyLoop:
    """The queue, the cycles and what is done at their points."""
    from kubescheduler.cycle import cycle_rules, failures
    from kubescheduler.cycle.cycle_rules import VolumeSteps
    from kubescheduler.queue.scheduling_queue import SchedulingQueue
    from kubescheduler.releases.release import LegacyLoop

    cycle = replace(
        v1_4.loop().cycle,
        assume_fault=cycle_rules.assume_fault_1_16,
        tries_deleted=False,
        passes_over=cycle_rules.passes_over_1_20,
        make_room_later=cycle_rules.room_1_16,
        chosen=failures.chosen_1_16,
        assigned_note=cycle_rules.assigned_note,
        condition=failures.condition_with_message,
        expires_from_assume=False,
    )
    return LegacyLoop(queue=SchedulingQueue, policy=queue(), cycle=cycle, steps=VolumeSteps)


WIRE = replace(
    v1_4.WIRE,
    sends_names=True,
    url=url_of_verb,
    pod=pod_as_read,
    arguments=capitalised_arguments,
    status_fault=only_200,
    document=first_value,
    needs_end=False,
)

# Names that policies written for other feature gates than the defaults have.
GATED_PREDICATES = frozenset(
    {
        "CheckNodeCondition",
        "CheckNodeDiskPressure",
        "CheckNodeInodePressure",
        "CheckNodeMemoryPressure",
        "CheckNodePIDPressure",
        "PodToleratesNodeNoExecuteTaints",
    }
)
GATED_PRIORITIES = frozenset({"ResourceLimitsPriority"})

LEGACY = replace(
    v1_4.LEGACY,
    algorithms=algorithms,
    read_file=read_policy_file,
    parse=partial(parse_policy, keys=POLICY_1_13),
    faults=policy_faults,
    hard_weight_error=hard_weight_error,
    total_weight_error=total_weight_error,
    failure_domains_error=no_domains_error,
    from_provider=from_provider,
    from_policy=FROM_POLICY,
    unknown_predicate='invalid predicate name "{}" specified - no corresponding function found',
    unknown_priority="invalid priority name {} specified - no corresponding function found",
    read_component=read_component,
    absent_means_default=True,
    config_maps=True,
    legacy_policy_flag=True,
    samples=True,
    every_check=False,
    gated_predicates=GATED_PREDICATES,
    gated_priorities=GATED_PRIORITIES,
    behaviour=LegacyBehaviour(
        places=AnsweredRows1_16,
        upstream_tie=InTurnTie,
        wanted=nodes_to_find_1_13,
        order=by_priority,
        preemption=PREEMPTION_1_13,
    ),
    read_at_start=frozenset({"ResourceLimitsPriorityFunction", "TaintNodesByCondition"}),
    loop=loop,
)

FEATURE_GATES: dict[str, Gate] = {
    "TaintNodesByCondition": BETA,
    "AttachVolumeLimit": BETA,
    "CSINodeInfo": BETA,
    "BlockVolume": BETA,
    "StorageObjectInUseProtection": GA,
    "PodPriority": BETA,
    "VolumeScheduling": LOCKED,
    "ResourceLimitsPriorityFunction": ALPHA,
    "BalanceAttachedNodeVolumes": ALPHA,
}
IDLE = frozenset({"CSINodeInfo"})
GATES = ReleaseGates(FEATURE_GATES, ALL_ALPHA, IDLE, dict(gates_elsewhere("1.13")))


def uid_key(pod: Pod) -> str:
    """What identifies a pod."""
    return pod.metadata.uid


def as_written(node: Node) -> Node:
    """A node is what its object says, annotations apart."""
    return node


VIEW = replace(
    v1_4.VIEW,
    accounting=account_1_16,
    tracked=tracked_1_16,
    pod_key=pod_key,
    node=as_written,
    affinity_uses=affinity_uses,
    identity=uid_key,
    unlisted=None,
)


def view(_: Mapping[str, bool]) -> ReleaseView:
    """How it reads objects, whatever the feature gates."""
    return VIEW


RELEASE: Release = replace(
    v1_4.RELEASE,
    name="1.13",
    version="1.13",
    summary="volumes are bound once a node is chosen",
    gates=GATES,
    view=view,
    filling=Filling(admission_1_13, default_manifest),
    daemons=DaemonController(passing(pod_match_node_selector, pod_tolerates_node_taints), tolerant, bound_by_affinity),
    accepted=accepted,
    wire=WIRE,
    queue_order=queue_order,
    reads={"affinity": "", "initContainers": "", "tolerations": "", "priority": "PodPriority"},
    decoding=None,
    process_defaults={"enableProfiling": False, "leaderElection": {"resourceLock": "endpoints"}},
    legacy=LEGACY,
    live=live_1_16,
    flags=flags_1_16,
)
