"""Release 1.20: plugins in profiles, made of policies and providers too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterstate.view_records import view_1_20
from kubescheduler.config.component.format_1_20 import FORMAT_1_20
from kubescheduler.config.gates import GATES_1_20
from kubescheduler.config.policy.policy_1_20 import checked_policy_config_1_20, policy_config_1_20
from kubescheduler.config.policy.policy_1_20_names import DEFAULT_LISTS_1_20
from kubescheduler.config.policy.policy_1_20_source import (
    FROM_POLICY_1_20,
    algorithm_source_1_20,
    from_provider_1_20,
    hard_weight_error_1_20,
    profile_for_provider_1_20,
)
from kubescheduler.core.legacy_behaviour import reservoir_tie
from kubescheduler.engine.accepted_values import accepted_1_20
from kubescheduler.engine.daemon_controllers import DAEMONS_1_20
from kubescheduler.engine.framework_rules import FrameworkRules, PolicyRules
from kubescheduler.engine.release_queues import queue_1_20
from kubescheduler.engine.release_record import Release
from kubescheduler.extender.wire import WIRE_1_20
from kubescheduler.framework.contract.points import POINTS_1_20
from kubescheduler.framework.deciding.deciding_rules import DECIDING_1_20
from kubescheduler.framework.profiles.default_plugins import PROVIDERS_1_20
from kubescheduler.framework.profiles.in_tree_plugins import PLUGINS_1_20
from kubescheduler.framework.profiles.profile_map import PROFILES_1_20
from kubescheduler.sources.cluster_input import FILLING_1_16

if TYPE_CHECKING:
    from kubescheduler.cycle.cycle_rules import ReleaseCycles

POLICIES_1_20 = PolicyRules(
    providers=PROVIDERS_1_20,
    source=algorithm_source_1_20,
    read=policy_config_1_20,
    check=checked_policy_config_1_20,
    profile=profile_for_provider_1_20,
    hard_weight_error=hard_weight_error_1_20,
    from_provider=from_provider_1_20,
    from_policy=FROM_POLICY_1_20,
    defaults=DEFAULT_LISTS_1_20,
)


def cycle_1_20() -> ReleaseCycles:
    """What happens between choosing a node and binding to it."""
    from kubescheduler.cycle.cycle_rules import CYCLE_1_20

    return CYCLE_1_20


FRAMEWORK_1_20 = FrameworkRules(
    plugins=PLUGINS_1_20,
    points=POINTS_1_20,
    profiles=PROFILES_1_20,
    deciding=DECIDING_1_20,
    cycle=cycle_1_20,
    queue=queue_1_20,
    upstream_tie=reservoir_tie,
    wire=WIRE_1_20,
    component=FORMAT_1_20,
    policies=POLICIES_1_20,
)

RELEASE = Release(
    name="1.20",
    gates=GATES_1_20,
    view=view_1_20,
    filling=FILLING_1_16,
    daemons=DAEMONS_1_20,
    accepted=accepted_1_20,
    top_score=100,
    framework=FRAMEWORK_1_20,
)
