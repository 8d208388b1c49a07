"""From what the user gives to something that decides: one way for all releases."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from kubescheduler.core.generic_scheduler import GenericScheduler
from kubescheduler.engine.engine_contract import check_view
from kubescheduler.engine.legacy_algorithm import algorithm_for

if TYPE_CHECKING:
    from clusterstate.cache import ClusterCache
    from clusterstate.release_view import ReleaseView
    from kubescheduler.core.algorithm import Algorithm, Extender
    from kubescheduler.core.selection import TieBreak
    from kubescheduler.engine.engine_contract import Engine, PodScheduler
    from kubescheduler.engine.engine_flags import EngineFlags


class LegacyEngine(msgspec.Struct, frozen=True, eq=False):
    """Predicates and priorities."""

    algorithm: Algorithm
    view: ReleaseView
    """How the release sees objects under its feature gates."""

    @property
    def release(self) -> str:
        """The release whose rules it has."""
        return self.algorithm.release

    @property
    def extenders(self) -> tuple[Extender, ...]:
        """The extenders of the policy."""
        return self.algorithm.extenders

    @property
    def document(self) -> Mapping[str, Any]:
        """No component configuration."""
        return {}

    def upstream_tie(self, rng: random.Random) -> TieBreak:
        """The release's own choice among equal totals."""
        return self.algorithm.behaviour.upstream_tie(rng)

    def scheduler(self, cache: ClusterCache, tie_break: TieBreak | None = None) -> PodScheduler:
        """A scheduler over a cluster. Raises ConfigError for a cache of another release's view."""
        check_view(cache, self)
        return GenericScheduler(self.algorithm, cache, tie_break)


def engine_for(
    flags: EngineFlags,
    provider: str | None,
    policy: Mapping[str, Any] | None,
    component: Mapping[str, Any] | None,
) -> Engine:
    """An engine by a provider's name, a policy document or a component configuration; by default the provider.

    Raises ConfigError with the text at which the release gives up.
    """
    if flags.record.framework is not None:
        from kubescheduler.engine.framework_engine import framework_engine_for

        return framework_engine_for(flags, provider, policy, component)
    if component is not None:
        from kubescheduler.engine.v1alpha1_engine import algorithm_of_component

        return LegacyEngine(algorithm_of_component(flags, component), flags.release_view())
    return LegacyEngine(algorithm_for(flags, provider, policy), flags.release_view())
