"""Release 1.16: the last one with predicates and priorities only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from algorithmprovider import registry
from clusterstate.view_records import view_1_16
from kubescheduler.config.config_text import read_policy_file
from kubescheduler.config.gates import GATES_1_16
from kubescheduler.config.policy.policy_checks_1_16 import (
    FROM_POLICY,
    check_policy,
    hard_weight_error,
    policy_problems,
    total_weight_error,
)
from kubescheduler.core.legacy_behaviour import BEHAVIOUR_1_16
from kubescheduler.engine.accepted_values import accepted_1_16
from kubescheduler.engine.daemon_controllers import DAEMONS_1_16
from kubescheduler.engine.legacy_rules import LegacyRules
from kubescheduler.engine.release_record import Release
from kubescheduler.extender.answered_nodes import AnsweredRows1_16
from kubescheduler.extender.wire import WIRE_1_16
from kubescheduler.sources.cluster_input import FILLING_1_16

if TYPE_CHECKING:
    from kubescheduler.config.policy.policy_model import Policy
    from kubescheduler.config.v1alpha1.v1alpha1_config import V1Alpha1Config
    from kubescheduler.engine.fine_scores import Fine
    from kubescheduler.engine.legacy_loops import LegacyLoop


def from_provider_1_16(name: str) -> str:
    """What stands before the texts of what cannot be made from a provider."""
    return f'couldn\'t create scheduler using provider "{name}": '


def parse_policy_1_16(document: Mapping[str, Any], *, strict: bool, every_problem: bool = False) -> Policy:
    """See ``parse_policy``."""
    from kubescheduler.config.policy.policy_1_16 import parse_policy

    return parse_policy(document, strict=strict, every_problem=every_problem)


def read_component_1_16(document: Mapping[str, Any], *, strict: bool = False) -> V1Alpha1Config:
    """See ``read_v1alpha1``."""
    from kubescheduler.config.v1alpha1.v1alpha1_reading import read_v1alpha1

    return read_v1alpha1(document, strict=strict)


def fine_scores_1_16() -> Mapping[str, Fine]:
    """Priority → its formula from 0 to 100."""
    from kubescheduler.engine.fine_scores import FINE_1_16

    return FINE_1_16


def loop_1_16() -> LegacyLoop:
    """The queue, the cycles and what is done at their points."""
    from kubescheduler.engine.legacy_loops import LOOP_1_16

    return LOOP_1_16


def no_domains_error(_: Iterable[str]) -> None:
    """Failure domains mean nothing here."""
    return


GATED_PREDICATES = frozenset(
    {
        "CheckNodeCondition",
        "CheckNodeDiskPressure",
        "CheckNodeInodePressure",
        "CheckNodeMemoryPressure",
        "CheckNodePIDPressure",
        "EvenPodsSpread",
        "PodToleratesNodeNoExecuteTaints",
    }
)
GATED_PRIORITIES = frozenset({"EvenPodsSpreadPriority", "ResourceLimitsPriority"})
"""Names that policies written for other feature gates than the defaults have."""

LEGACY_1_16 = LegacyRules(
    registry=partial(registry, "1.16"),
    read_file=read_policy_file,
    parse=parse_policy_1_16,
    check=check_policy,
    problems=policy_problems,
    hard_weight_error=hard_weight_error,
    total_weight_error=total_weight_error,
    failure_domains_error=no_domains_error,
    from_provider=from_provider_1_16,
    from_policy=FROM_POLICY,
    unknown_predicate='invalid predicate name "{}" specified - no corresponding function found',
    unknown_priority="invalid priority name {} specified - no corresponding function found",
    read_component=read_component_1_16,
    absent_means_default=True,
    config_maps=True,
    legacy_policy_flag=True,
    samples=True,
    every_check=False,
    wire=WIRE_1_16,
    fine_scores=fine_scores_1_16,
    gated_predicates=GATED_PREDICATES,
    gated_priorities=GATED_PRIORITIES,
    behaviour=msgspec.structs.replace(BEHAVIOUR_1_16, places=AnsweredRows1_16),
    loop=loop_1_16,
)

RELEASE = Release(
    name="1.16",
    gates=GATES_1_16,
    view=view_1_16,
    filling=FILLING_1_16,
    daemons=DAEMONS_1_16,
    accepted=accepted_1_16,
    top_score=10,
    process_defaults={"enableProfiling": False, "leaderElection": {"resourceLock": "endpoints"}},
    legacy=LEGACY_1_16,
)
