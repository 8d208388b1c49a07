"""The configurations that queries of the evaluate protocol name, and what is to be said of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

import msgspec

from kubescheduler.releases.lookup import release_named

if TYPE_CHECKING:
    from clusterstate.cache import ClusterCache
    from kubescheduler.engine.engine_contract import Engine, PodScheduler
    from kubescheduler.engine.engine_flags import EngineFlags
    from kubescheduler.engine.framework_engine import FrameworkEngine


class Asked(msgspec.Struct, frozen=True, eq=False):
    """One configuration that queries name."""

    engine: Engine
    scheduler: PodScheduler
    notes: tuple[str, ...] = ()
    """What of it has no effect."""


def scheduler_on(engine: Engine, cache: ClusterCache, today: Callable[[], float]) -> PodScheduler:
    """A scheduler over a cluster for which it is ``today``, in seconds since the epoch; legacy ones ask no clock."""
    if release_named(engine.release).framework is None:
        return engine.scheduler(cache)
    profiled = cast("FrameworkEngine", engine)
    return profiled.over(msgspec.structs.replace(profiled.services(cache), today=today))


def notes_on_configuration(
    engine: Engine,
    flags: EngineFlags,
    provider: str | None,  # noqa: ARG001
    policy: Mapping[str, Any] | None,
    component: Mapping[str, Any] | None,
) -> tuple[str, ...]:
    """What of the configuration that an engine was made of has no effect, or another than one may think."""
    if flags.record.framework is not None:
        profiled = cast("FrameworkEngine", engine)
        policies, found = profiled.rules.policies, list(profiled.config.notes)
        if policies is not None and policy is not None:
            policies.check(policy, flags.gates, notice=found.append)
        return tuple(found)
    if policy is not None:
        return flags.record.legacy_rules.parse(policy, strict=False).notes
    if component is None:
        return ()
    from kubescheduler.engine.v1alpha1_engine import component_notes

    return component_notes(flags, component)
