"""The profiles of a scheduler: one framework for each schedulerName."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from clusterstate.errors import ConfigError
from clusterstate.objects import Pod
from kubecel.api_names import go_quote
from kubescheduler.core.status import Status
from kubescheduler.framework.contract.custom_plugins import custom_less, is_custom
from kubescheduler.framework.contract.plugin import PluginFactory
from kubescheduler.framework.contract.profile import DEFAULT_SCHEDULER_NAME, Point, Profile
from kubescheduler.framework.plugins.queue_and_bind import PrioritySort
from kubescheduler.framework.running.build_framework import (
    CONSTRUCTION_1_20,
    CONSTRUCTION_1_23,
    CONSTRUCTION_1_36,
    FrameworkConstruction,
    ValidateArgs,
    build_framework,
    no_problems,
)
from kubescheduler.framework.running.framework_runtime import Framework
from kubescheduler.framework.running.framework_services import Services

if TYPE_CHECKING:
    from kubescheduler.queue.entry import Order, QueueEntry, Rank

Build = Callable[[Profile], Framework]


class Profiles(Mapping[str, Framework]):
    """schedulerName → framework, in the configuration's order. All of them sort the queue alike."""

    def __init__(self, frameworks: Mapping[str, Framework]) -> None:
        self._frameworks = dict(frameworks)

    def __getitem__(self, name: str) -> Framework:
        return self._frameworks[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._frameworks)

    def __len__(self) -> int:
        return len(self._frameworks)

    def of(self, pod: Pod) -> Framework | None:
        """The framework that a pod asks for; None: another scheduler's pod."""
        return self._frameworks.get(pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME)

    def pre_enqueue(self, pod: Pod, first: str = "") -> Status | None:
        """Whether a pod may be tried at all, see Framework."""
        framework = self.of(pod)
        return None if framework is None else framework.run_pre_enqueue(pod, first)

    @property
    def less(self) -> Callable[[Any, Any], bool]:
        """Whether one queued pod is tried before another; both have ``pod`` and ``timestamp``."""
        sort: Any = next(iter(self._frameworks.values())).at(Point.QUEUE_SORT)[0]
        if is_custom(sort):
            return partial(custom_less, sort)
        less: Callable[[Any, Any], bool] = sort.less
        return less


class ProfileChecks(msgspec.Struct):
    """What is checked of a profile beside those before it."""

    seen: set[str] = msgspec.field(default_factory=set)
    queue_sort: tuple[str, Any] | None = None

    def name(self, profile: Profile) -> None:
        """The schedulerName has to be there and unique."""
        name = go_quote(profile.scheduler_name)
        if not profile.scheduler_name:
            raise ConfigError("scheduler name is needed")
        if not profile.plugins:
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
    framework = build(profile) if profile.plugins else None
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
    validate_args: ValidateArgs = no_problems,
) -> Profiles:
    """A framework for every profile. Raises ConfigError with the release's text for the first fault."""

    def build(profile: Profile) -> Framework:
        try:
            return build_framework(profile, registry, rules.construction, services, validate_args)
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
