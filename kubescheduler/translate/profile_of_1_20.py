"""The profile that release 1.20 makes of a policy or provider, and the shares of its scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import msgspec

from clusterstate.errors import ConfigError
from kubescheduler.config.policy.policy_1_20 import policy_faults_1_20
from kubescheduler.config.policy.policy_1_20_plugins import policy_profile_1_20
from kubescheduler.config.policy.policy_model import Policy
from kubescheduler.extender.config import ExtenderConfig
from kubescheduler.framework.contract.profile import DEFAULT_SCHEDULER_NAME, Point, Profile
from kubescheduler.framework.plugins.pod_topology_spread import PodTopologySpreadArgs
from kubescheduler.framework.plugins.requested_to_capacity_ratio import RequestedToCapacityRatioArgs
from kubescheduler.framework.plugins.service_affinity import ServiceAffinityArgs
from kubescheduler.releases import v1_20
from kubescheduler.releases.release import Release
from kubescheduler.translate.emphasis import SPREAD, UNWEIGHED, extender_parts, policy_emphasis
from kubescheduler.translate.policy_source import Source
from kubescheduler.translate.scoring_strategy import role_of
from kubescheduler.translate.spreading import GATE, LIST, SYSTEM
from kubescheduler.translate.translation_model import Emphasis, Role, WeightedScore

ROLES: dict[str, Role] = {
    "NodeResourcesMostAllocated": Role.PACKS,
    "NodeResourcesLeastAllocated": Role.SPREADS,
    "NodeResourcesBalancedAllocation": Role.SPREADS,
    "SelectorSpread": Role.SPREADS,
}
"""Score plugin → what it does, whatever its args."""


def profile_1_20(source: Source, policy: Policy, record: Release) -> Profile:
    """As 1.20 makes it of ``policy``, the source's own or what it is mended to; a provider as ``record`` has it.

    The weight of a flag counts where the policy has none. Raises ConfigError for a policy that 1.20 does not take.
    """
    gates = v1_20.GATES.resolve({GATE: not source.selector_spread})
    flag = source.hard_weight if source.hard_origin else None
    if source.provider is not None:
        form = record.framework_rules.component
        profile = record.framework_rules.policy_rules.profile(
            source.provider, gates, providers=form.providers, plugins=form.plugins, hard_weight=flag, hint=True
        )
        return _without_system(profile) if source.selector_spread else profile
    if flag is not None and not policy.hard_pod_affinity_symmetric_weight:
        policy = attrs.evolve(policy, hard_pod_affinity_symmetric_weight=flag)
    if problems := [fault.problem for fault in policy_faults_1_20(policy)]:
        raise ConfigError(f"{source.name}: release 1.20 does not take this: {problem}" for problem in problems)
    return policy_profile_1_20(policy, DEFAULT_SCHEDULER_NAME, gates, v1_20.PLUGINS)[0]


def _without_system(profile: Profile) -> Profile:
    """The args that PodTopologySpread has without the feature gate, spelled out."""
    spread = (SPREAD, PodTopologySpreadArgs(defaulting_type=LIST))
    return msgspec.structs.replace(profile, plugin_config=(*profile.plugin_config, spread))


# --- emphasis ------------------------------------------------------------------------------


def emphasis_before(source: Source) -> Emphasis:
    """Of what the source's release runs: the plugins of 1.20, the priorities of the others."""
    if source.record.legacy is None:
        return profile_emphasis(profile_1_20(source, source.policy, source.record), source.policy.extenders)
    return policy_emphasis(source.priorities, source.policy.extenders)


def profile_emphasis(profile: Profile, extenders: Sequence[ExtenderConfig]) -> Emphasis:
    """Of a profile's Score plugins, and the extenders that score."""
    args = dict(profile.plugin_config)
    scores = (plugin for plugin in profile.plugins.get(Point.SCORE, ()) if plugin.name not in UNWEIGHED)
    parts = [WeightedScore(plugin.name, plugin.weight, *_role(plugin.name, args.get(plugin.name))) for plugin in scores]
    return Emphasis((*parts, *extender_parts(extenders)))


def _role(name: str, args: Any) -> tuple[Role, str]:
    if name == SPREAD:
        listed = isinstance(args, PodTopologySpreadArgs) and args.defaulting_type == LIST
        return (Role.OTHER, LIST) if listed else (Role.SPREADS, SYSTEM)
    if isinstance(args, RequestedToCapacityRatioArgs):
        return role_of(args.shape), ""
    if isinstance(args, ServiceAffinityArgs):
        return (Role.SPREADS if args.anti_affinity_labels_preference else Role.OTHER), ""
    return ROLES.get(name, Role.OTHER), ""
