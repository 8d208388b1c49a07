"""What a user says of one scheduler, the engine that makes, the caches of clusters that it works on, and a pod on its
node for the next decision to see."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

from clusterstate.cache import ClusterCache
from clusterstate.errors import ClusterStateError, ConfigError, DecodeError, SchedulingError
from clusterstate.objects import ClusterObject, Pod
from kubescheduler.core.equal_runs import asks_for_a_node
from kubescheduler.engine.engine_flags import EngineFlags, Notice
from kubescheduler.releases.lookup import release_named
from kubescheduler.sources.cluster_input import uid_problems

if TYPE_CHECKING:
    from clusterstate.podinfo import ReleaseView
    from kubescheduler.core.attempt import GenericScheduler
    from kubescheduler.engine.framework_engine import FrameworkEngine, ProfiledScheduler
    from kubescheduler.engine.legacy_engine import LegacyEngine
    from kubescheduler.framework.contract.profile import SchedulerConfig
    from kubescheduler.framework.plugins.plugin_record import PluginPoints


Engine: TypeAlias = "FrameworkEngine | LegacyEngine"
"""A configured release, to be put over any cluster."""

PodScheduler: TypeAlias = "GenericScheduler | ProfiledScheduler"
"""What decides, whatever the release."""

Made = TypeVar("Made", "FrameworkEngine", "LegacyEngine")


def no_notice(_: str) -> None:
    """Nobody reads the notices."""


class EngineSpec(EngineFlags, frozen=True):
    """What flags say of one scheduler, and the engine that makes."""

    def engine(self, notice: Notice) -> Engine:
        """Raises ConfigError with every problem and its path. ``notice`` hears what has no effect."""
        if self.record.framework is not None:
            return self.framework_engine(notice)
        from kubescheduler.engine.legacy_engine import engine_of_algorithm

        return self._noted(lambda: engine_of_algorithm(self, notice), notice)

    def framework_engine(self, notice: Notice) -> FrameworkEngine:
        """The engine of a release that decides by plugins; raises as ``engine``, and ConfigError for any other."""
        from kubescheduler.engine.framework_engine import engine_of_profiles

        return self._noted(lambda: engine_of_profiles(self, notice), notice)

    def _noted(self, make: Callable[[], Made], notice: Notice) -> Made:
        """An engine, with the notes on feature gates before its own and that on extenders after them."""
        for note in self.record.gates.notes(self.gates):
            notice(note)
        engine = make()
        if note := self.extender_note(engine):
            notice(note)
        return engine

    def extender_note(self, engine: Engine) -> str:
        """What a reader of any answer has to know of the engine's extenders; empty if they are asked as configured."""
        return self.extender_access.note(list(dict.fromkeys(one.config.name for one in engine.extenders)))

    def component_config(self, notice: Notice) -> SchedulerConfig:
        """The completed configuration that a framework release runs by. Raises ConfigError with every problem."""
        from kubescheduler.engine.framework_engine import component_config_of

        return component_config_of(self, notice)

    def written_config(self, notice: Notice) -> str:
        """The completed configuration as YAML, as ``--write-config-to`` writes it; whether it can be used is checked.

        Raises ConfigError with every problem, and for a release that has no component configuration.
        """
        if self.record.framework is not None:
            from kubescheduler.config.load_config import write_component_config

            self.engine(notice)
            return write_component_config(self.component_config(no_notice), self.record.framework_rules.component)
        if self.record.legacy_rules.read_component is None:
            raise ConfigError(f"--write-config-to: release {self.release} has no component configuration")
        from kubescheduler.config.v1alpha1 import write_v1alpha1
        from kubescheduler.engine.v1alpha1_engine import component_of_flags, read_component

        config = read_component(self)
        if config is None:
            self.engine(notice)
            return write_v1alpha1(component_of_flags(self))
        for note in config.notes:
            notice(note)
        return write_v1alpha1(config)

    def points(self) -> PluginPoints:
        """Where every plugin there is takes part. Raises ConfigError with every one of the user's that does nowhere."""
        from kubescheduler.engine.framework_engine import plugin_points

        return plugin_points(self)


def engine_for(flags: EngineFlags) -> Engine:
    """An engine by the provider, policy or component configuration of the flags, which name no files.

    Raises ConfigError with the text at which the release gives up.
    """
    if flags.record.framework is not None:
        from kubescheduler.engine.framework_engine import framework_engine_for

        return framework_engine_for(flags)
    from kubescheduler.engine.legacy_engine import legacy_engine_for

    return legacy_engine_for(flags)


def cache_for(engine: Engine, objects: Iterable[ClusterObject]) -> ClusterCache:
    """A fresh cache of objects, as the engine's release sees them under its feature gates: the one way to make one.

    Raises DecodeError that names every pod that the release cannot tell from another.
    """
    return filled_cache(objects, engine.view)


def filled_cache(objects: Iterable[ClusterObject], view: ReleaseView) -> ClusterCache:
    """A fresh cache of objects as a release sees them. Raises DecodeError as ``cache_for`` does."""
    every = list(objects)
    try:
        return ClusterCache.of(every, view)
    except ClusterStateError:
        running = (obj for obj in every if isinstance(obj, Pod) and obj.node_name)
        if problems := [*uid_problems(running, option="--no-defaulting (in Python defaulting=False)")]:
            raise DecodeError(problems) from None
        raise


Change = tuple[Any, Any]
"""(an object before, None: it was not there; the object now)."""


def place(scheduler: PodScheduler, pod: Pod, node_name: str) -> Sequence[Change]:
    """Has a pending pod run on the node that was chosen for it: assumed in the scheduler's cache, and its claims bound
    and its devices ready at once, as the scheduler, controllers, provisioners and drivers would do by and by.

    What changed besides the pod. Raises ClusterStateError as ``ClusterCache.assume_pod``.
    """
    cache = scheduler.cache
    changes: Sequence[Change] = ()
    if cache.objects.device_classes or not asks_for_a_node(pod):  # classes: of extended resources
        changes = [(cache.objects.current(obj), obj) for obj in _bound_with(scheduler, pod, node_name)]
    cache.assume_pod(pod, node_name)
    make(cache, changes)
    return changes


def take_back(cache: ClusterCache, pod: Pod, changes: Sequence[Change]) -> None:
    """Undoes what ``place`` did last."""
    cache.forget_pod(pod)
    undo(cache, changes)


def undo(cache: ClusterCache, changes: Sequence[Change]) -> None:
    """The objects are as they were before these changes."""
    make(cache, [(after, before) for before, after in reversed(changes)])


def make(cache: ClusterCache, changes: Iterable[Change]) -> None:
    """Makes these changes; what is None afterwards goes."""
    for before, after in changes:
        if after is None:
            cache.remove(before)
        else:
            cache.add(after)


def _bound_with(scheduler: PodScheduler, pod: Pod, node_name: str) -> Iterable[ClusterObject]:
    try:
        return list(_claims_bound_with(scheduler, pod, node_name))
    except SchedulingError:  # only a configuration without the check of claims places a pod whose claims are not there
        return ()


def _claims_bound_with(scheduler: PodScheduler, pod: Pod, node_name: str) -> Iterable[ClusterObject]:
    record = release_named(scheduler.algorithm.release)
    if record.framework is None:
        from kubescheduler.framework.contract.handle import Services

        gates = scheduler.algorithm.feature_gates
        services = Services(record.name, scheduler.cache, feature_gates=gates)
        return record.legacy_rules.loop().steps(services).bound_with(pod, node_name)
    from kubescheduler.framework.contract.profile import Point
    from kubescheduler.framework.plugins.dynamic_resources import DynamicResources
    from kubescheduler.framework.plugins.volume_binding import VolumeBinding

    frame = cast("ProfiledScheduler", scheduler).profiles.of(pod)
    if frame is None:
        return ()
    binding = (one for one in frame.at(Point.RESERVE) if isinstance(one, VolumeBinding | DynamicResources))
    return (obj for plugin in binding for obj in plugin.bound_with(pod, node_name))
