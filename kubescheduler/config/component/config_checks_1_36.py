"""Whether a configuration can be used, in the words and in the order of release 1.36, after merging with defaults."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from clusterstate.resource_names import worded_1_36
from kubecel.api_names import go_quote
from kubescheduler.config.component.config_checks import (
    client_errors,
    lease_errors,
    lock_names,
    number_errors,
    parallelism_errors,
    percentage_errors,
    profile_errors,
)
from kubescheduler.config.component.config_schema import V1
from kubescheduler.config.component.written_config import MULTI_POINT
from kubescheduler.config.extender_checks import extender_errors
from kubescheduler.framework.args.field_errors import INVALID, FieldError, duplicate, invalid, required
from kubescheduler.framework.contract.go_durations import format_duration
from kubescheduler.framework.contract.profile import PluginSet, Point

if TYPE_CHECKING:
    from kubescheduler.framework.contract.profile import LeaderElection, Profile, SchedulerConfig
    from kubescheduler.framework.profiles.default_plugins import InTree

GONE_IN_V1 = frozenset({"AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"})
"""Plugins that v1 refuses by name at every point."""


def validate_1_36(config: SchedulerConfig, version: str, plugins: InTree) -> list[FieldError]:
    """version: of the document; plugins: the release's. Upstream: 1.36 ``ValidateKubeSchedulerConfiguration``."""
    return [
        *client_errors(config),
        *election_errors_1_36(config.leader_election),
        *parallelism_errors(config),
        *profile_errors(config.profiles, lambda profile: _profile_errors(profile, version, plugins)),
        *_queue_sort_errors(config.profiles),
        *number_errors(config),
        *extender_errors(config.extenders, worded_1_36, lambda _: "is an invalid extended resource name"),
    ]


def election_errors_1_36(election: LeaderElection) -> Iterator[FieldError]:
    """What 1.36 refuses in a leader election that is on."""
    if not election.leader_elect:
        return
    yield from lease_errors(election, _shown, equal=False, order_text="must be greater than `RenewDeadline`")
    for name, value in lock_names(election).items():
        if not value:
            yield required(f"leaderElection.{name}")
    if election.resource_lock != "leases":
        text = 'resourceLock value must be "leases"'
        yield invalid("leaderElection.resourceLock", election.resource_lock, text)


def _shown(nanoseconds: int) -> str:
    return go_quote(format_duration(nanoseconds))


def _profile_errors(profile: Profile, version: str, known: InTree) -> Iterator[FieldError]:
    yield from percentage_errors("percentageOfNodesToScore", profile.percentage_of_nodes_to_score)
    refused = GONE_IN_V1 if version == V1 else frozenset[str]()
    gone = f"was invalid in version {go_quote(V1)} (KubeSchedulerConfiguration is version {go_quote(version)})"
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


# --- queue sort: the same for all profiles ---------------------------------------------------


def _queue_sort_errors(profiles: Sequence[Profile]) -> Iterator[FieldError]:
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
        if found != first:
            text = "must be the same for all profiles"
            yield FieldError(f"profiles[{at}].plugins.queueSort", text, INVALID, _set_json(found))
        for plugin, args in profile.plugin_config:
            if plugin == name and args != first_args:
                text = "queueSort must be the same for all profiles"
                yield FieldError(f"profiles[{at}].pluginConfig.args", text, INVALID, _json(args))


def _queue_sort(profile: Profile) -> PluginSet:
    return profile.sets.get(Point.QUEUE_SORT.value, PluginSet())


def _set_json(plugins: PluginSet) -> str:
    enabled = [{"Name": plugin.name, "Weight": plugin.weight} for plugin in plugins.enabled] or None
    disabled = [{"Name": name, "Weight": 0} for name in plugins.disabled] or None
    return msgspec.json.encode({"Enabled": enabled, "Disabled": disabled}).decode()
