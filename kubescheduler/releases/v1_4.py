"""Release 1.4: predicates and priorities as they first were."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from clusterstate.manifests.annotations_1_4 import name_key, node_1_4, pod_key_1_4, unlisted_1_4
from clusterstate.manifests.api_checks import CHECKS_1_4
from clusterstate.manifests.defaulting import default_manifest_1_4, named_manifest_1_4
from clusterstate.manifests.fields import Accepted
from clusterstate.node_order import zone_key
from clusterstate.podinfo import ReleaseView
from clusterstate.selectors.affinity_1_4 import affinity_uses_1_4
from clusterstate.usage import account_1_4, tracked_1_4
from kubescheduler.config.gates import ALL_ALPHA, ReleaseGates
from kubescheduler.config.policy_1_16 import (
    FATAL,
    failure_domains_error,
    hard_weight_error,
    no_total_error,
    parse_policy_1_4,
    policy_faults_1_4,
    read_policy_file_1_4,
)
from kubescheduler.core.algorithm import (
    LegacyBehaviour,
    every_error_1_4,
    scheduler_of_1_4,
    score_error_1_4,
    unexpected_1_4,
)
from kubescheduler.core.filter_results import fit_error_1_4
from kubescheduler.core.selection import RoundRobinTie
from kubescheduler.extender.answers import AnsweredRows1_4, only_value
from kubescheduler.extender.wire import (
    WireFormat,
    any_status,
    capitalised_preemption,
    format_without_operands,
    lower_case_arguments,
    not_in_map,
    pod_internal,
    url_with_lost_version,
)
from kubescheduler.releases.daemon_controllers import DaemonController, as_written, named_node, runs_on_1_4
from kubescheduler.releases.release import LegacyLoop, LegacyRules, Release
from kubescheduler.sources.cluster_input import Filling

if TYPE_CHECKING:
    from algorithmprovider.registry import Algorithms
    from clusterstate.objects import Pod
    from kubescheduler.queue.queue_policy import QueuePolicy


# What an API server refuses of what a manifest may have in the newest API. Fields are another matter: a server drops
# those that it does not know, so they are read whatever the release is.
EQUALITY = ("Exists", "Equal")
SHARED = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany")
CLAIM, VOLUME = ("PersistentVolumeClaimSpec", "accessModes"), ("PersistentVolumeSpec", "accessModes")
TOLERATION = ("Toleration", "operator")

BEFORE_SINGLE_POD = {
    TOLERATION: (EQUALITY, "comparing values came with 1.35"),
    CLAIM: (SHARED, "ReadWriteOncePod came with 1.22"),
    VOLUME: (SHARED, "ReadWriteOncePod came with 1.22"),
}
WITHOUT_SCTP = (("TCP", "UDP"), "SCTP came with 1.12")


def accepted(_: Mapping[str, bool]) -> Accepted:
    """Neither SCTP nor volumes for single pods, and tolerations that compare nothing."""
    ports = {("ContainerPort", "protocol"): WITHOUT_SCTP, ("ServicePort", "protocol"): WITHOUT_SCTP}
    return Accepted({**BEFORE_SINGLE_POD, **ports}, CHECKS_1_4)


def from_provider(_: str) -> str:
    """What stands before the texts of what cannot be made from a provider."""
    return FATAL


def algorithms() -> Algorithms:
    """Its predicates, priorities and providers."""
    from algorithmprovider.algorithms import ALGORITHMS_1_4

    return ALGORITHMS_1_4


def queue_order(objects: Iterable[Any]) -> list[Pod]:
    """The pending pods in the order in which a queue gives them out."""
    from kubescheduler.queue import entry

    return entry.arrival_order(objects)


def queue() -> QueuePolicy:
    """How pods wait to be tried."""
    from kubescheduler.queue import queue_policy
    from kubescheduler.queue.fifo import BackoffsOfFIFO

    return queue_policy.QueuePolicy(
        backoffs=BackoffsOfFIFO,
        is_over=queue_policy.is_past,
        found_over=queue_policy.own_timer,
        lies_for=math.inf,
        retry_period=int,
        present=("", "", ""),
        arrival="",
        resources={},
        node_actions=queue_policy.one_update,
        pod_actions=queue_policy.one_update,
        counts=queue_policy.no_event_counts,
        helps=queue_policy.all_or_near,
        label=queue_policy.label_of_change,
        rests_in_backoff=True,
    )


def loop() -> LegacyLoop:
    """The queue, the cycles and what is done at their points."""
    from kubescheduler.cycle import cycle_rules, failures
    from kubescheduler.cycle.cycle_rules import NoPlugins
    from kubescheduler.queue.fifo import FIFO
    from kubescheduler.releases.release import LegacyLoop

    cycle = cycle_rules.ReleaseCycles(
        assume_fault=cycle_rules.assume_fault_1_4,
        tries_deleted=True,
        passes_over=cycle_rules.always_tried,
        make_room=cycle_rules.no_room,
        make_room_later=cycle_rules.leave_room_to_plugins,
        undecided=failures.undecided_legacy,
        chosen=failures.chosen_1_4,
        pre_flight=cycle_rules.no_pre_flight,
        extenders_bind=cycle_rules.extenders_bind_1_20,
        assigned_note=cycle_rules.assigned_note_1_4,
        event_note=str,
        condition=failures.condition_1_4,
        nominated=failures.nominated_1_36,
        in_memory=cycle_rules.own_nomination,
        fate=cycle_rules.fate_1_20,
        expires=30.0,
        expires_from_assume=True,
        failed_binding_is_event=False,
        activate_key=None,
    )
    return LegacyLoop(queue=FIFO, policy=queue(), cycle=cycle, steps=NoPlugins)


WIRE = WireFormat(
    sends_names=False,
    url=url_with_lost_version,
    pod=pod_internal,
    arguments=lower_case_arguments,
    preemption=capitalised_preemption,
    status_fault=any_status,
    document=only_value,
    refusal=format_without_operands,
    unknown_node=not_in_map,
    needs_end=True,
)

LEGACY = LegacyRules(
    algorithms=algorithms,
    read_file=read_policy_file_1_4,
    parse=parse_policy_1_4,
    faults=policy_faults_1_4,
    hard_weight_error=partial(hard_weight_error, least=0),
    total_weight_error=no_total_error,
    failure_domains_error=failure_domains_error,
    from_provider=from_provider,
    from_policy=FATAL,
    unknown_predicate='Invalid predicate name "{}" specified - no corresponding function found',
    unknown_priority="Invalid priority name {} specified - no corresponding function found",
    read_component=None,
    absent_means_default=False,
    config_maps=False,
    legacy_policy_flag=False,
    samples=False,
    every_check=True,
    gated_predicates=frozenset(),
    gated_priorities=frozenset(),
    behaviour=LegacyBehaviour(
        waits=None,
        filter_error=unexpected_1_4,
        filter_errors=every_error_1_4,
        score_error=score_error_1_4,
        fit_error=fit_error_1_4,
        upstream_tie=RoundRobinTie,
        scores_single=True,
        nominates=False,
        preempts=False,
        scheduler_of=scheduler_of_1_4,
        places=AnsweredRows1_4,
    ),
    read_at_start=frozenset(),
    loop=loop,
)

VIEW = ReleaseView(
    accounting=account_1_4,
    tracked=tracked_1_4,
    pod_key=pod_key_1_4,
    node=node_1_4,
    affinity_uses=affinity_uses_1_4,
    identity=name_key,
    zone_key=zone_key,
    unlisted=unlisted_1_4,
)


def view(_: Mapping[str, bool]) -> ReleaseView:
    """How it reads objects; it has no feature gates that matter."""
    return VIEW


RELEASE = Release(
    name="1.4",
    version="1.4",
    gates=ReleaseGates({}, ALL_ALPHA),
    view=view,
    # 1.4 knows no priorities and gives pods no tolerations.
    filling=Filling(lambda _: named_manifest_1_4, named_manifest_1_4),
    daemons=DaemonController(runs_on_1_4, as_written, named_node, places=True),
    accepted=accepted,
    top_score=10,
    wire=WIRE,
    queue_order=queue_order,
    reads={"affinity": "", "initContainers": "", "tolerations": ""},  # beside the annotations that it has for them
    decoding=default_manifest_1_4,
    process_defaults={"leaderElection": {"resourceLock": "endpoints"}},
    legacy=LEGACY,
)
