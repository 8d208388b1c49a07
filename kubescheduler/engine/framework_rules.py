"""What makes a release that decides by plugins in profiles: the parts of its record."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from clusterstate.errors import ConfigError
from kubescheduler.framework.profiles.in_tree_plugins import points_by_plugin

if TYPE_CHECKING:
    from clusterstate.cache import ClusterCache
    from kubescheduler.config.component.component_format import ComponentFormat
    from kubescheduler.config.policy.policy_1_20_names import DefaultLists
    from kubescheduler.config.policy.policy_1_20_source import AlgorithmSource
    from kubescheduler.core.selection import TieBreak
    from kubescheduler.cycle.cycle_rules import ReleaseCycles
    from kubescheduler.cycle.pod_queue import PodQueue
    from kubescheduler.extender.wire import WireFormat
    from kubescheduler.framework.contract.points import Point
    from kubescheduler.framework.contract.profile import Profile, SchedulerConfig
    from kubescheduler.framework.deciding.deciding_rules import FrameworkDecisionRules
    from kubescheduler.framework.plugins.plugin_record import InTreePlugin
    from kubescheduler.framework.profiles.profile_map import ProfileRules, Profiles
    from kubescheduler.queue.entry import Backoff
    from kubescheduler.queue.priority_queue_1_16 import Clock


class MakeQueue(Protocol):
    """Makes the queue of a scheduler; ``clock`` counts seconds since its start."""

    def __call__(self, clock: Clock, cache: ClusterCache, profiles: Profiles, backoff: Backoff) -> PodQueue: ...


class ReadPolicy(Protocol):
    """See policy_config_1_20."""

    def __call__(self, document: Mapping[str, Any], feature_gates: Mapping[str, bool]) -> SchedulerConfig: ...


class CheckPolicy(Protocol):
    """See checked_policy_config_1_20."""

    def __call__(
        self,
        document: Mapping[str, Any],
        feature_gates: Mapping[str, bool],
        *,
        notice: Callable[[str], None],
        strict: bool = False,
    ) -> SchedulerConfig: ...


class SelectSource(Protocol):
    """See algorithm_source_1_20."""

    def __call__(
        self,
        *,
        provider: str | None,
        policy_file: str | None,
        policy_configmap: str | None,
        use_legacy_policy_config: bool,
    ) -> AlgorithmSource: ...


class ProviderProfile(Protocol):
    """See profile_for_provider_1_20."""

    def __call__(
        self, name: str, feature_gates: Mapping[str, bool], *, hard_weight: int | None = None, hint: bool
    ) -> Profile: ...


class PolicyRules(msgspec.Struct, frozen=True, eq=False):
    """How a release with plugins still reads policies and names of providers."""

    providers: Collection[str]
    """The names of its providers."""
    source: SelectSource
    """What the flags select: a policy or a provider."""
    read: ReadPolicy
    """The configuration for a policy; raises where the release gives up."""
    check: CheckPolicy
    """The same for a person: raises with every problem and its path."""
    profile: ProviderProfile
    """The profile of a provider; raises for an unknown name."""
    hard_weight_error: Callable[[int], str | None]
    """The text for a ``--hard-pod-affinity-symmetric-weight`` out of range."""
    from_provider: Callable[[str], str]
    """What stands before the texts of what cannot be made from the provider of that name."""
    from_policy: str
    """What stands before the texts of what cannot be made from a policy."""
    defaults: DefaultLists
    """What is selected where a policy has no list, and by providers."""


class FrameworkRules(msgspec.Struct, frozen=True, eq=False):
    """One release's plugins, and what runs them."""

    plugins: Mapping[str, InTreePlugin]
    """Name → record of every plugin that comes with the scheduler."""
    points: tuple[Point, ...]
    """The extension points, in the order they run."""
    profiles: ProfileRules
    """How the frameworks of the profiles are made, and react to what plugins answer."""
    deciding: FrameworkDecisionRules
    """How a decision is made, apart from plugins."""
    cycle: Callable[[], ReleaseCycles]
    """What happens between choosing a node and binding to it."""
    queue: MakeQueue
    """Where pods wait to be tried."""
    upstream_tie: Callable[[random.Random], TieBreak]
    """The release's own choice among equal totals."""
    wire: WireFormat
    """How extenders are called."""
    component: ComponentFormat
    """How component configurations are read, checked and written."""
    policies: PolicyRules | None = None
    """How it reads policies and names of providers; None when only a component configuration says what decides."""

    @property
    def policy_rules(self) -> PolicyRules:
        """Raises ConfigError for a release that reads no policies."""
        if self.policies is None:
            raise ConfigError(f"release {self.component.release} reads no policies and knows no providers")
        return self.policies

    @property
    def points_by_plugin(self) -> dict[str, frozenset[Point]]:
        """Name → the extension points in which the plugin takes part."""
        return points_by_plugin(self.plugins)
