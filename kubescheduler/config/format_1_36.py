"""How configurations of v1 are read, checked and written since release 1.36."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from operator import le
from typing import TYPE_CHECKING, Any

import msgspec

from kubecel.api_names import format_duration, go_quote, worded_1_36
from kubescheduler.config.component_format import (
    ComponentFormat,
    DocumentRules,
    config_errors,
    expanded_profiles,
    lease_errors,
    lock_names,
    percentage_errors,
    running_all_filters,
    split_host_port,
    with_merged_sets,
)
from kubescheduler.config.config_schema import MULTI_POINT, Written
from kubescheduler.config.format_1_20 import election_errors_1_20, set_literal
from kubescheduler.config.policy_model import extender_errors
from kubescheduler.framework.contract.profile import (
    ALL,
    Enabled,
    LeaderElection,
    PluginSet,
    Point,
    Profile,
    SchedulerConfig,
)
from kubescheduler.framework.document_schema import INVALID, FieldError, duplicate, invalid, required
from kubescheduler.framework.plugins.plugin_record import InTree, PluginPoints, enabled_everywhere

if TYPE_CHECKING:
    from kubescheduler.config.go_decoding import Fault


def merge_1_36(rules: DocumentRules, config: SchedulerConfig) -> SchedulerConfig:
    """Merges the sets and fills in args: what the release then validates."""
    everywhere = enabled_everywhere(rules.form.multi_point, rules.form.plugins, rules.gates)
    return with_merged_sets(rules, config, lambda sets: merged_sets({MULTI_POINT: everywhere}, sets))


def finish_1_36(rules: DocumentRules, config: SchedulerConfig) -> SchedulerConfig:
    """Expands multiPoint: the plugins that take the place of one of it run first. Raises ConfigError as the release
    does when it builds extenders."""
    return expanded_config(rules, config, overriding_first)


def finish_1_24(rules: DocumentRules, config: SchedulerConfig) -> SchedulerConfig:
    """The same; every filter runs on every node, also where one has failed. Raises ConfigError likewise."""
    return running_all_filters(finish_1_36(rules, config))


Order = Callable[[Point, PluginSet, Iterable["Enabled"], "PluginPoints"], tuple["Enabled", ...]]
"""Of (point, its own set, multiPoint, where plugins take part): the plugins that run there."""


def expanded_config(rules: DocumentRules, config: SchedulerConfig, order: Order) -> SchedulerConfig:
    """The profiles with their plugins at every point."""

    def expand(profile: Profile) -> Profile:
        everywhere = profile.sets.get(MULTI_POINT, PluginSet()).enabled
        plugins = expanded(profile.sets, rules.points, rules.form.points, order)
        return msgspec.structs.replace(profile, plugins=plugins, multi_point=everywhere)

    return expanded_profiles(config, expand)


def merged_sets(defaults: Mapping[str, Sequence[Enabled]], sets: Mapping[str, PluginSet]) -> dict[str, PluginSet]:
    """``merged`` of every member of ``plugins`` that has defaults or is given."""
    members = (*(point.value for point in Point), MULTI_POINT)
    given = [member for member in members if member in sets or member in defaults]
    return {member: merged(defaults.get(member, ()), sets.get(member, PluginSet())) for member in given}


def merged(defaults: Sequence[Enabled], custom: PluginSet) -> PluginSet:
    """The defaults without disabled ones, those that are enabled again in their old place, then the others enabled."""
    replacing = {plugin.name: at for at, plugin in enumerate(custom.enabled)}
    enabled: list[Enabled] = []
    placed: set[int] = set()
    if ALL not in custom.disabled:
        for default in defaults:
            if default.name in custom.disabled:
                continue
            at = replacing.get(default.name)
            if at is None:
                enabled.append(default)
            else:
                enabled.append(custom.enabled[at])
                placed.add(at)
    added = (plugin for at, plugin in enumerate(custom.enabled) if at not in placed)
    return PluginSet((*enabled, *added), custom.disabled)


def expanded(
    sets: Mapping[str, PluginSet], points: PluginPoints, at: Iterable[Point], order: Order
) -> dict[Point, tuple[Enabled, ...]]:
    """Point → the plugins that run there, for the points that have any.

    A plugin that is twice in multiPoint is there twice, which the framework refuses.
    """
    everywhere = sets.get(MULTI_POINT, PluginSet()).enabled
    lists = {point: order(point, sets.get(point.value, PluginSet()), everywhere, points) for point in at}
    return {point: plugins for point, plugins in lists.items() if plugins}


def overriding_first(
    point: Point, own: PluginSet, everywhere: Iterable[Enabled], points: PluginPoints
) -> tuple[Enabled, ...]:
    """First those that take the place of one of multiPoint, then the rest of multiPoint, then the others."""
    if ALL in own.disabled:
        return own.enabled
    here = [plugin for plugin in everywhere if point in points.get(plugin.name, ()) and plugin.name not in own.disabled]
    own_names = {plugin.name for plugin in own.enabled}
    overriding = {plugin.name for plugin in here if plugin.name in own_names}
    return (
        *(plugin for plugin in own.enabled if plugin.name in overriding),
        *(plugin for plugin in here if plugin.name not in own_names),
        *(plugin for plugin in own.enabled if plugin.name not in overriding),
    )


# --- validation, after merging ----------------------------------------------------------------


def errors_1_25(form: ComponentFormat, written: Written, config: SchedulerConfig, version: str) -> list[FieldError]:
    """What validation finds. Upstream: 1.25 ``ValidateKubeSchedulerConfiguration``."""
    found = (*election_errors_1_20(config.leader_election), *_lock_errors(config.leader_election, form.locks))
    return _errors(form, written, config, version, found, set_literal)


def errors_1_26(form: ComponentFormat, written: Written, config: SchedulerConfig, version: str) -> list[FieldError]:
    """The same; a lease as long as its deadline is refused. Upstream: 1.26 ``ValidateKubeSchedulerConfiguration``."""
    election = config.leader_election
    found = (*election_errors_1_20(election, le), *_lock_errors(election, form.locks))
    return _errors(form, written, config, version, found, set_literal)


def errors_1_34(form: ComponentFormat, written: Written, config: SchedulerConfig, version: str) -> list[FieldError]:
    """What validation finds. Upstream: 1.34 and later ``ValidateKubeSchedulerConfiguration``."""
    return _errors(form, written, config, version, election_errors_1_34(config.leader_election, form.locks), _set_json)


def _errors(
    form: ComponentFormat,
    written: Written,
    config: SchedulerConfig,
    version: str,
    election: Iterable[FieldError],
    shown: Callable[[PluginSet], str],
) -> list[FieldError]:
    return config_errors(
        config,
        election,
        lambda profile: _profile_errors(form, profile, version),
        (*queue_sort_errors(form, config.profiles, shown), *address_errors(written)),
        extender_errors(config.extenders, worded_1_36, lambda _: "is an invalid extended resource name"),
    )


def election_errors_1_34(election: LeaderElection, locks: tuple[str, ...]) -> Iterator[FieldError]:
    """What is refused in a leader election that is on. locks: what it may lock on; that is looked at if it is one."""
    if not election.leader_elect:
        return
    yield from lease_errors(election, _shown, le, "must be greater than `RenewDeadline`")
    for name, value in lock_names(election).items():
        if not value:
            yield required(f"leaderElection.{name}")
    yield from _lock_errors(election, locks)


def _lock_errors(election: LeaderElection, locks: tuple[str, ...]) -> Iterator[FieldError]:
    if election.leader_elect and len(locks) == 1 and election.resource_lock not in locks:
        text = f'resourceLock value must be "{locks[0]}"'
        yield invalid("leaderElection.resourceLock", election.resource_lock, text)


def _shown(nanoseconds: int) -> str:
    return go_quote(format_duration(nanoseconds))


GONE_IN_V1 = frozenset({"AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"})
"""Plugins that v1 refuses by name at every point, from 1.31 on."""


def _profile_errors(form: ComponentFormat, profile: Profile, version: str) -> Iterator[FieldError]:
    yield from percentage_errors(profile.percentage_of_nodes_to_score)
    shown = go_quote(version)
    gone = f"was invalid in version {shown} (KubeSchedulerConfiguration is version {shown})"
    yield from plugin_errors(profile, form.plugins, form.refused.get(version, frozenset()), gone)


def plugin_errors(profile: Profile, known: InTree, refused: Collection[str], gone: str) -> Iterator[FieldError]:
    """What is wrong with a profile's plugins and their args. refused: names for which ``gone`` is the text."""
    for member, plugins in profile.sets.items():
        if member != MULTI_POINT:
            for at, plugin in enumerate(plugins.enabled):
                if plugin.name in refused:
                    yield invalid(f"plugins.{member}.enabled[{at}]", plugin.name, gone)
    seen: set[str] = set()
    for at, (name, args) in enumerate(profile.plugin_config):
        path = f"pluginConfig[{at}]"
        if name in seen:
            yield duplicate(path, name)
        seen.add(name)
        if name in refused:
            yield invalid(path, name, gone)
        else:
            yield from (error.under(f"{path}.args") for error in _args_errors(known, name, args))


def _args_errors(plugins: InTree, name: str, args: Any) -> Iterator[FieldError]:
    kind = plugins[name].args if name in plugins else None
    if kind is None or not kind.checked_with_config:
        return
    if isinstance(args, kind.record):
        yield from kind.errors(args)
    else:
        yield FieldError("", "has to match plugin args", INVALID, _json(args))


def _json(value: Any) -> str:
    return msgspec.json.encode(value if isinstance(value, Mapping) else None).decode()


def queue_sort_errors(
    form: ComponentFormat, profiles: Sequence[Profile], shown: Callable[[PluginSet], str]
) -> Iterator[FieldError]:
    """Profiles that sort the queue otherwise than the first. shown: a set as the release shows it."""
    if not profiles:
        return
    first, first_args = _queue_sort(profiles[0]), None
    if len(first.enabled) > 1:
        text = "only one queue sort plugin can be enabled"
        yield invalid("profiles[0].plugins.queueSort.Enabled", len(first.enabled), text)
    name = first.enabled[0].name if first.enabled else None
    for plugin, args in profiles[0].plugin_config:
        first_args = args if plugin == name else first_args
    for at, profile in enumerate(profiles[1:], start=1):
        found = _queue_sort(profile)
        text, args_text = form.same_queue_sort
        if found != first:
            yield FieldError(f"profiles[{at}].plugins.queueSort", text, INVALID, shown(found))
        for plugin, args in profile.plugin_config:
            if plugin == name and args != first_args:
                yield FieldError(f"profiles[{at}].pluginConfig.args", args_text, INVALID, _json(args))


def _queue_sort(profile: Profile) -> PluginSet:
    return profile.sets.get(Point.QUEUE_SORT.value, PluginSet())


def _set_json(plugins: PluginSet) -> str:
    enabled = [{"Name": plugin.name, "Weight": plugin.weight} for plugin in plugins.enabled] or None
    disabled = [{"Name": name, "Weight": 0} for name in plugins.disabled] or None
    return msgspec.json.encode({"Enabled": enabled, "Disabled": disabled}).decode()


# --- versions that the release no longer has --------------------------------------------------


IN_TREE_LIMITS = "NodeVolumeLimits counts these volumes now: leave it out"

GONE = {
    "AzureDiskLimits": IN_TREE_LIMITS,
    "CinderLimits": IN_TREE_LIMITS,
    "EBSLimits": IN_TREE_LIMITS,
    "GCEPDLimits": IN_TREE_LIMITS,
    "NodeLabel": "use args.addedAffinity of NodeAffinity",
    "NodePreferAvoidPods": "taint the nodes with effect PreferNoSchedule",
    "NodeResourcesLeastAllocated": "use args.scoringStrategy of NodeResourcesFit, type LeastAllocated",
    "NodeResourcesMostAllocated": "use args.scoringStrategy of NodeResourcesFit, type MostAllocated",
    "RequestedToCapacityRatio": "use args.scoringStrategy of NodeResourcesFit, type RequestedToCapacityRatio",
    "SelectorSpread": "PodTopologySpread with defaultingType System spreads like it",
    "ServiceAffinity": "use InterPodAffinity",
}
"""Plugin that release 1.36 no longer has → what to do instead."""


def address_errors(written: Written) -> Iterator[FieldError]:
    """Addresses that v1beta2 still has, and that must say nothing. Upstream: 1.23 and later."""
    addresses = {
        "healthzBindAddress": written.healthz_bind_address,
        "metricsBindAddress": written.metrics_bind_address,
    }
    for path, address in addresses.items():
        if address and (split_host_port(address) or ("", ""))[1] != "0":
            yield invalid(path, address, "must be empty or with an explicit 0 port")


# --- texts and writing ------------------------------------------------------------------------


def fault_text_1_36(fault: Fault) -> str:
    """Go's own text for a value of the wrong type."""
    return fault.go_text


def written_sets_1_36(form: ComponentFormat, profile: Profile) -> dict[str, PluginSet]:
    """The lists as they are, with all defaults disabled that there would be besides."""
    lists = {point.value: PluginSet(tuple(profile.plugins.get(point, ()))) for point in form.points}
    return {**lists, MULTI_POINT: PluginSet((), (ALL,))}


def written_args_1_36(profile: Profile, _: Sequence[Any]) -> Iterable[tuple[str, Any]]:
    """As they are."""
    return profile.plugin_config
