"""Release 1.4: predicates and priorities as they first were."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from algorithmprovider import registry
from clusterstate.manifests.defaulting import default_manifest_1_4
from clusterstate.view_records import view_1_4
from kubescheduler.config.gates import GATES_1_4
from kubescheduler.config.policy.policy_1_4 import (
    FATAL,
    check_policy_1_4,
    failure_domains_error,
    hard_weight_error_1_4,
    no_total_error,
    parse_policy_1_4,
    policy_problems_1_4,
    read_policy_file_1_4,
)
from kubescheduler.core.legacy_behaviour import BEHAVIOUR_1_4
from kubescheduler.engine.accepted_values import accepted_1_4
from kubescheduler.engine.daemon_controllers import DAEMONS_1_4
from kubescheduler.engine.legacy_rules import LegacyRules
from kubescheduler.engine.release_record import Release
from kubescheduler.extender.answered_nodes import AnsweredRows1_4
from kubescheduler.extender.wire import WIRE_1_4
from kubescheduler.queue.pending_pods import arrival_order
from kubescheduler.sources.cluster_input import FILLING_1_4

if TYPE_CHECKING:
    from kubescheduler.engine.fine_scores import Fine
    from kubescheduler.engine.legacy_loops import LegacyLoop


def from_provider_1_4(_: str) -> str:
    """What stands before the texts of what cannot be made from a provider."""
    return FATAL


def fine_scores_1_4() -> Mapping[str, Fine]:
    """Priority → its formula from 0 to 100."""
    from kubescheduler.engine.fine_scores import FINE_1_4

    return FINE_1_4


def loop_1_4() -> LegacyLoop:
    """The queue, the cycles and what is done at their points."""
    from kubescheduler.engine.legacy_loops import LOOP_1_4

    return LOOP_1_4


LEGACY_1_4 = LegacyRules(
    registry=partial(registry, "1.4"),
    read_file=read_policy_file_1_4,
    parse=parse_policy_1_4,
    check=check_policy_1_4,
    problems=policy_problems_1_4,
    hard_weight_error=hard_weight_error_1_4,
    total_weight_error=no_total_error,
    failure_domains_error=failure_domains_error,
    from_provider=from_provider_1_4,
    from_policy=FATAL,
    unknown_predicate='Invalid predicate name "{}" specified - no corresponding function found',
    unknown_priority="Invalid priority name {} specified - no corresponding function found",
    read_component=None,
    absent_means_default=False,
    config_maps=False,
    legacy_policy_flag=False,
    samples=False,
    every_check=True,
    wire=WIRE_1_4,
    fine_scores=fine_scores_1_4,
    gated_predicates=frozenset(),
    gated_priorities=frozenset(),
    behaviour=msgspec.structs.replace(BEHAVIOUR_1_4, places=AnsweredRows1_4),
    loop=loop_1_4,
)

RELEASE = Release(
    name="1.4",
    gates=GATES_1_4,
    view=view_1_4,
    filling=FILLING_1_4,
    daemons=DAEMONS_1_4,
    accepted=accepted_1_4,
    top_score=10,
    queue_order=arrival_order,
    decoding=default_manifest_1_4,
    process_defaults={"leaderElection": {"resourceLock": "endpoints"}},
    legacy=LEGACY_1_4,
)
