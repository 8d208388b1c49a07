"""The profiles of a scheduler: one framework for each schedulerName.

First how a framework is made of a profile: plugins are made by their factories, and checked.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from algorithmprovider.custom_code import RAISED, called, exception_text, raised_at
from clusterstate.errors import ConfigError, InputError, KubeSchedulerError
from clusterstate.objects import Pod
from kubecel.api_names import go_quote
from kubescheduler.core.status import Status
from kubescheduler.framework.contract.custom_plugins import check_plugin, custom_less, is_custom
from kubescheduler.framework.contract.handle import Handle, Services
from kubescheduler.framework.contract.plugin import Plugin, PluginFactory, points_of
from kubescheduler.framework.contract.profile import ALL, DEFAULT_SCHEDULER_NAME, Enabled, PluginSet, Point, Profile
from kubescheduler.framework.contract.runs import Watch
from kubescheduler.framework.framework_runtime import REACTIONS_1_20, REACTIONS_1_36, Framework, RunnerReactions
from kubescheduler.framework.plugins.queue_and_bind import PrioritySort
from priorities.types import MAX_NODE_SCORE

if TYPE_CHECKING:
    from kubescheduler.queue.entry import Order, QueueEntry, Rank


MAX_TOTAL_SCORE = (1 << 63) - 1

OVERFLOW = "total score of Score plugins could overflow"

WEIGHING_ORDER_1_20 = (
    Point.PRE_FILTER,
    Point.FILTER,
    Point.POST_FILTER,
    Point.RESERVE,
    Point.PRE_SCORE,
    Point.SCORE,
    Point.PRE_BIND,
    Point.BIND,
    Point.POST_BIND,
    Point.PERMIT,
    Point.QUEUE_SORT,
)
"""A weight in a later list replaces that of an earlier one."""


class Weights(msgspec.Struct, frozen=True):
    """Plugin name → weight, of Score and of PlacementScore plugins."""

    score: Mapping[str, int]
    placement: Mapping[str, int] = msgspec.field(default_factory=dict)


def weights_1_20(profile: Profile, points: Mapping[str, Collection[Point]]) -> Weights:
    """One weight a plugin, whatever it does; the last list that names it counts. points: plugin → where it takes part.

    Upstream: 1.20 pluginsNeeded.
    """
    named = {entry.name: entry.weight for point in WEIGHING_ORDER_1_20 for entry in profile.plugins.get(point, ())}
    weights = {name: named.get(name, 0) or 1 for name in points}
    _check_sum(weights.values(), OVERFLOW)
    return Weights(weights)


def weights_1_36(profile: Profile, points: Mapping[str, Collection[Point]]) -> Weights:
    """The point's own list goes before multiPoint. points: plugin → where it takes part.

    Upstream: 1.36 getScoreWeights.
    """
    score = _first_weights(profile, Point.SCORE, points)
    _check_sum(score.values(), f"score plugins: {OVERFLOW}")
    placement = _first_weights(profile, Point.PLACEMENT_SCORE, points)
    _check_sum(placement.values(), f"placement score plugins: {OVERFLOW}")
    return Weights(score, placement)


def _first_weights(profile: Profile, point: Point, points: Mapping[str, Collection[Point]]) -> dict[str, int]:
    entries: tuple[Enabled, ...] = (*profile.plugins.get(point, ()), *profile.multi_point)
    weights: dict[str, int] = {}
    for entry in entries:
        if point in points.get(entry.name, ()):
            weights.setdefault(entry.name, entry.weight or 1)
    return weights


def _check_sum(weights: Iterable[int], text: str) -> None:
    if sum(weights) * MAX_NODE_SCORE > MAX_TOTAL_SCORE:
        raise ConfigError(text)


def check_required_1_20(_: Profile, plugins: Mapping[Point, tuple[Plugin, ...]]) -> None:
    """Exactly one queue sort, at least one bind."""
    sorts = len(plugins.get(Point.QUEUE_SORT, ()))
    if sorts == 0:
        raise ConfigError("no queue sort plugin is enabled")
    if sorts > 1:
        raise ConfigError("only one queue sort plugin can be enabled")
    if not plugins.get(Point.BIND):
        raise ConfigError("at least one bind plugin is needed")


def check_required_1_36(profile: Profile, plugins: Mapping[Point, tuple[Plugin, ...]]) -> None:
    """Exactly one queue sort, at least one bind, at most one that makes placements."""
    name = go_quote(profile.scheduler_name)
    sorts = len(plugins.get(Point.QUEUE_SORT, ()))
    if sorts != 1:
        text = f"only one queue sort plugin required for profile with scheduler name {name}, but got {sorts}"
        raise ConfigError(text)
    if not plugins.get(Point.BIND):
        raise ConfigError(f"at least one bind plugin is needed for profile with scheduler name {name}")
    if len(plugins.get(Point.PLACEMENT_GENERATE, ())) > 1:
        text = f"at most one placement generate plugin is allowed for profile with scheduler name {name}"
        raise ConfigError(text)


class FrameworkConstruction(msgspec.Struct, frozen=True, eq=False):
    """One release's way to make a framework."""

    order: tuple[Point, ...]
    """In which order the points are filled; the first fault found is reported."""
    weights: Callable[[Profile, Mapping[str, Collection[Point]]], Weights]
    """The weights of the plugins that score, of where each plugin takes part."""
    check_required: Callable[[Profile, Mapping[Point, tuple[Plugin, ...]]], None]
    """Raises ConfigError when a point lacks a plugin, or has too many."""
    reactions: RunnerReactions
    """How the framework reacts to what plugins answer."""


CONSTRUCTION_1_20 = FrameworkConstruction(WEIGHING_ORDER_1_20, weights_1_20, check_required_1_20, REACTIONS_1_20)

CONSTRUCTION_1_23 = FrameworkConstruction(WEIGHING_ORDER_1_20, weights_1_36, check_required_1_20, REACTIONS_1_20)

CONSTRUCTION_1_36 = FrameworkConstruction(
    (*WEIGHING_ORDER_1_20[:-1], Point.PRE_ENQUEUE, Point.QUEUE_SORT, Point.PLACEMENT_GENERATE, Point.PLACEMENT_SCORE),
    weights_1_36,
    check_required_1_36,
    REACTIONS_1_36,
)


def build_framework(
    profile: Profile,
    registry: Mapping[str, PluginFactory],
    construction: FrameworkConstruction,
    services: Services,
) -> Framework:
    """The framework of a profile; only plugins that it enables are made.

    Raises ConfigError with the release's text for the first fault, as the release does.
    """
    args = _args(profile)
    handle = Handle(services, profile.scheduler_name)
    instances = {
        name: _made(name, registry[name], args.get(name), handle) for name in sorted(_needed(profile) & registry.keys())
    }
    points = {name: points_of(plugin) for name, plugin in instances.items()}
    weights = construction.weights(profile, points)
    _check_named(profile, construction.order, instances, points)
    _check_multi_point(profile, construction.order, instances)
    plugins = {point: _filled(profile, point, instances) for point in construction.order}
    _check_weighted(plugins.get(Point.SCORE, ()), weights.score, "score plugin")
    _check_weighted(plugins.get(Point.PLACEMENT_SCORE, ()), weights.placement, "placement score plugin")
    construction.check_required(profile, plugins)
    framework = Framework(
        release=services.release,
        profile=profile,
        plugins=plugins,
        score_weights=weights.score,
        placement_weights=weights.placement,
        instances=instances,
        handle=handle,
        reactions=construction.reactions,
        watch=Watch(services.observer, profile.scheduler_name, services.time.now),
        waiting=services.waiting,
        time=services.time,
    )
    handle.attach(framework)
    return framework


def _needed(profile: Profile) -> set[str]:
    lists = [*profile.plugins.values(), profile.multi_point]
    return {entry.name for entries in lists for entry in entries}


def _args(profile: Profile) -> dict[str, Any]:
    args: dict[str, Any] = {}
    for name, given in profile.plugin_config:
        if name in args:
            raise ConfigError(f"repeated config for plugin {name}")
        args[name] = given
    return args


def _made(name: str, factory: PluginFactory, args: Any, handle: Handle) -> Plugin:
    """A plugin. Whatever its factory raises, a stranger's too, is a fault of the configuration."""
    try:
        plugin: Plugin = called(factory, args, handle)
        check_plugin(plugin)
        return plugin
    except InputError as error:
        raise _initializing(name, error.problems) from error
    except KubeSchedulerError as error:
        raise _initializing(name, (str(error),)) from error
    except RAISED as error:
        text = f"{raised_at(error, factory)}{exception_text(error)}"
        raise _initializing(name, (text,)) from error


def _initializing(name: str, problems: Sequence[str]) -> ConfigError:
    text = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
    return ConfigError(f"initializing plugin {go_quote(name)}: {text}")


def _check_named(
    profile: Profile,
    order: Iterable[Point],
    instances: Mapping[str, Plugin],
    points: Mapping[str, Collection[Point]],
) -> None:
    """What the points name themselves. points: plugin → where it takes part."""
    for point in order:
        own = profile.plugins.get(point, ())
        if profile.sets:
            own = profile.sets.get(point.value, PluginSet()).enabled
        for at, entry in enumerate(own):
            if entry.name not in instances:
                raise ConfigError(f"{point.kind} {go_quote(entry.name)} does not exist")
            if point not in points[entry.name]:
                raise ConfigError(f"plugin {go_quote(entry.name)} does not extend {point.kind} plugin")
            if any(entry.name == before.name for before in own[:at]):
                raise _registered_twice(entry, point)


def _check_multi_point(profile: Profile, order: Iterable[Point], instances: Mapping[str, Plugin]) -> None:
    """What multiPoint adds to the points that do not disable all of it."""
    for point in order:
        if ALL in profile.sets.get(point.value, PluginSet()).disabled:
            continue
        for entry in profile.multi_point:
            if entry.name not in instances:
                raise ConfigError(f"{point.kind} {go_quote(entry.name)} does not exist")
        seen: set[str] = set()
        for entry in profile.plugins.get(point, ()):
            if entry.name in seen:
                raise _registered_twice(entry, point)
            seen.add(entry.name)


def _registered_twice(entry: Enabled, point: Point) -> ConfigError:
    return ConfigError(f"plugin {go_quote(entry.name)} already registered as {go_quote(point.kind)}")


def _filled(profile: Profile, point: Point, instances: Mapping[str, Plugin]) -> tuple[Plugin, ...]:
    """The plugins of a point, in order."""
    return tuple(instances[entry.name] for entry in profile.plugins.get(point, ()))


def _check_weighted(plugins: tuple[Plugin, ...], weights: Mapping[str, int], what: str) -> None:
    """A plugin may call itself otherwise than it is enabled."""
    for plugin in plugins:
        if not weights.get(plugin.name):
            raise ConfigError(f"{what} {go_quote(plugin.name)} is not configured with weight")


Build = Callable[[Profile], Framework]


class Profiles(dict[str, Framework]):
    """schedulerName → framework, in the configuration's order. All of them sort the queue alike."""

    def of(self, pod: Pod) -> Framework | None:
        """The framework that a pod asks for; None: another scheduler's pod."""
        return self.get(pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME)

    def pre_enqueue(self, pod: Pod, first: str = "") -> Status | None:
        """Whether a pod may be tried at all, see Framework."""
        framework = self.of(pod)
        return None if framework is None else framework.run_pre_enqueue(pod, first)

    @property
    def less(self) -> Callable[[Any, Any], bool]:
        """Whether one queued pod is tried before another; both have ``pod`` and ``timestamp``."""
        sort: Any = next(iter(self.values())).at(Point.QUEUE_SORT)[0]
        if is_custom(sort):
            return partial(custom_less, sort)
        less: Callable[[Any, Any], bool] = sort.less
        return less


def _names_plugins(profile: Profile) -> bool:
    """Also one that disables all."""
    return bool(profile.plugins or profile.sets)


class ProfileChecks(msgspec.Struct):
    """What is checked of a profile beside those before it."""

    seen: set[str] = msgspec.field(default_factory=set)
    queue_sort: tuple[str, Any] | None = None

    def name(self, profile: Profile) -> None:
        """The schedulerName has to be there and unique."""
        name = go_quote(profile.scheduler_name)
        if not profile.scheduler_name:
            raise ConfigError("scheduler name is needed")
        if not _names_plugins(profile):
            raise ConfigError(f"plugins required for profile with scheduler name {name}")
        if profile.scheduler_name in self.seen:
            raise ConfigError(f"duplicate profile with scheduler name {name}")
        self.seen.add(profile.scheduler_name)

    def has_queue_sort(self, profile: Profile) -> None:
        """A profile has to have a QueueSort plugin."""
        if not profile.plugins.get(Point.QUEUE_SORT):
            name = go_quote(profile.scheduler_name)
            raise ConfigError(f"one queue sort plugin required for profile with scheduler name {name}")

    def same_queue_sort(self, profile: Profile) -> None:
        """All profiles have to have the same QueueSort plugin with the same args."""
        sort = profile.plugins[Point.QUEUE_SORT][0].name
        args = next((args for plugin, args in profile.plugin_config if plugin == sort), None)
        if self.queue_sort is None:
            self.queue_sort = sort, args
        name, (first, first_args) = go_quote(profile.scheduler_name), self.queue_sort
        if sort != first:
            text = f"different queue sort plugins for profile {name}: {go_quote(sort)}, first: {go_quote(first)}"
            raise ConfigError(text)
        if args != first_args:
            raise ConfigError(f"different queue sort plugin args for profile {name}")


def profile_1_20(profile: Profile, checks: ProfileChecks, build: Build) -> Framework:
    """The profile is checked, then its framework is made."""
    checks.name(profile)
    checks.has_queue_sort(profile)
    checks.same_queue_sort(profile)
    return build(profile)


def profile_1_36(profile: Profile, checks: ProfileChecks, build: Build) -> Framework:
    """The framework is made first, which sees to it that there is one queue sort."""
    framework = build(profile) if _names_plugins(profile) else None
    checks.name(profile)
    checks.same_queue_sort(profile)
    assert framework is not None
    return framework


class ProfileRules(msgspec.Struct, frozen=True, eq=False):
    """One release's way to make the frameworks of all profiles."""

    construction: FrameworkConstruction
    """How the framework of one profile is made."""
    join: Callable[[Profile, ProfileChecks, Build], Framework]
    """How a profile joins those before it: its framework, after the checks, or before some of them."""


PROFILES_1_20 = ProfileRules(CONSTRUCTION_1_20, profile_1_20)
PROFILES_1_23 = ProfileRules(CONSTRUCTION_1_23, profile_1_20)
PROFILES_1_36 = ProfileRules(CONSTRUCTION_1_36, profile_1_36)


def build_profiles(
    profiles: Sequence[Profile],
    registry: Mapping[str, PluginFactory],
    rules: ProfileRules,
    services: Services,
) -> Profiles:
    """A framework for every profile. Raises ConfigError with the release's text for the first fault."""

    def build(profile: Profile) -> Framework:
        try:
            return build_framework(profile, registry, rules.construction, services)
        except ConfigError as error:
            text = f"creating profile for scheduler name {profile.scheduler_name}: {error}"
            raise ConfigError(text) from error

    checks = ProfileChecks()
    frameworks = {profile.scheduler_name: rules.join(profile, checks, build) for profile in profiles}
    if not frameworks:
        raise ConfigError("at least one profile is required")
    return Profiles(frameworks)


def order_of(profiles: Profiles) -> Order:
    """How the profiles' queue sort orders pods."""
    less = profiles.less
    if isinstance(getattr(less, "__self__", None), PrioritySort):
        from kubescheduler.queue.entry import by_priority

        return by_priority
    key = functools.cmp_to_key(lambda one, other: -1 if less(one, other) else int(less(other, one)))

    def order(entry: QueueEntry) -> Rank:
        return (key(entry),)

    return order
