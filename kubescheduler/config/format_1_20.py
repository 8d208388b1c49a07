"""How release 1.20 reads, checks and writes configurations of v1beta1, beside the names of providers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import lt
from typing import Any

import msgspec

from clusterstate.errors import ConfigError, nearest
from kubecel.api_names import format_duration, go_quote
from kubescheduler.config.component_format import (
    FIT,
    ComponentFormat,
    DocumentRules,
    TooShort,
    config_errors,
    is_address,
    lease_errors,
    lock_names,
    split_host_port,
    with_default_args,
    with_ignored_1_20,
)
from kubescheduler.config.config_schema import Written, WrittenProfile
from kubescheduler.config.policy_model import extender_errors_1_20, ignored_resources, ordered
from kubescheduler.framework.contract.profile import (
    ALL,
    Enabled,
    LeaderElection,
    PluginSet,
    Point,
    Profile,
    SchedulerConfig,
)
from kubescheduler.framework.document_schema import INVALID, FieldError, invalid, literal_list, show
from kubescheduler.framework.plugins.plugin_record import DEFAULT_PROVIDER, args_errors, args_keys, provider_plugins


def finish_1_20(rules: DocumentRules, config: SchedulerConfig) -> SchedulerConfig:
    """Merges, orders the extenders and fills in args. Raises ConfigError for an unknown provider."""
    form, provider = rules.form, rules.provider
    if error := provider_error(form, provider):
        raise ConfigError(error)
    spreads = rules.gates.get(SYSTEM_SPREAD, not form.selector_spread)
    defaults = provider_plugins(form.providers[provider], form.plugins, rules.gates, selector_spread=not spreads)
    extenders = ordered(config.extenders)
    ignored = ignored_resources(extenders)
    keys = args_keys(form.plugins, rules.gates)

    if config.disable_preemption:
        defaults = {point: plugins for point, plugins in defaults.items() if point is not Point.POST_FILTER}

    def finish(profile: Profile) -> Profile:
        plugins = merged_plugins(form.points, defaults, profile.sets)
        folded = with_ignored_1_20(msgspec.structs.replace(profile, plugins=plugins, sets={}), ignored)
        names = sorted({plugin.name for enabled in plugins.values() for plugin in enabled})
        return with_default_args(folded, names, keys)

    profiles = tuple(map(finish, config.profiles))
    return msgspec.structs.replace(config, profiles=profiles, extenders=extenders, provider=provider)


def merged_plugins(
    points: Iterable[Point], defaults: Mapping[Point, Sequence[Enabled]], sets: Mapping[str, PluginSet]
) -> dict[Point, tuple[Enabled, ...]]:
    """Point → plugins, for the points that have any."""
    lists = {point: merged(defaults.get(point, ()), sets.get(point.value, PluginSet())) for point in points}
    return {point: plugins for point, plugins in lists.items() if plugins}


def merged(defaults: Sequence[Enabled], custom: PluginSet) -> tuple[Enabled, ...]:
    """The defaults that are not disabled, then what is enabled.

    A default that is enabled without being disabled is there twice, which the framework refuses.
    """
    kept = () if ALL in custom.disabled else (plugin for plugin in defaults if plugin.name not in custom.disabled)
    return (*kept, *custom.enabled)


SYSTEM_SPREAD = "DefaultPodTopologySpread"
"""The feature gate of System defaulting; off, the providers have SelectorSpread."""


def provider_error(form: ComponentFormat, provider: str) -> str | None:
    """The release's text for a provider that there is none of."""
    if provider in form.providers:
        return None
    name = go_quote(provider)
    return f"couldn't create scheduler using provider {name}: algorithm provider {name} is not registered"


def provider_problem_1_20(form: ComponentFormat, provider: str) -> str | None:
    """The release's text for an unknown provider, with the nearest one."""
    error = provider_error(form, provider)
    return None if error is None else f"{error}{nearest(provider, form.providers)}"


# --- validation, before anything is merged ----------------------------------------------------


def errors_1_20(_: ComponentFormat, __: Written, config: SchedulerConfig, ___: str) -> list[FieldError]:
    """What validation finds. Upstream: 1.20 ``ValidateKubeSchedulerConfiguration``."""
    return config_errors(
        config,
        election_errors_1_20(config.leader_election),
        lambda _: iter(()),
        (*_queue_sort_errors(config.profiles), *address_errors_1_20(config)),
        extender_errors_1_20(config.extenders),
    )


def election_errors_1_20(election: LeaderElection, too_short: TooShort = lt) -> Iterator[FieldError]:
    """What 1.20 refuses in a leader election that is on."""
    if not election.leader_elect:
        return
    text = "LeaseDuration must be greater than RenewDeadline"
    yield from lease_errors(election, format_duration, too_short, text)
    for name, value in lock_names(election).items():
        if not value:
            yield invalid(f"leaderElection.{name}", "", f"{name} is required")


def _queue_sort_errors(profiles: Sequence[Profile]) -> Iterator[FieldError]:
    member = Point.QUEUE_SORT.value
    for at, profile in enumerate(profiles):
        found = profile.sets.get(member)
        if found != profiles[0].sets.get(member):
            shown = go_quote("null") if found is None else set_literal(found)
            yield FieldError(f"profiles[{at}].plugins.queueSort", "has to match for all profiles", INVALID, shown)


def set_literal(plugins: PluginSet) -> str:
    """A set as Go's ``%#v`` shows it."""
    enabled = literal_list("config.Plugin", plugins.enabled, _plugin)
    disabled = literal_list("config.Plugin", [Enabled(name) for name in plugins.disabled], _plugin)
    return f"config.PluginSet{{Enabled:{enabled}, Disabled:{disabled}}}"


def _plugin(plugin: Enabled) -> str:
    return f"config.Plugin{{Name:{go_quote(plugin.name)}, Weight:{plugin.weight}}}"


PORTS = range(1, 65536)

_INTEGER = re.compile(r"[+-]?\d{1,18}")


def address_errors_1_20(config: SchedulerConfig) -> Iterator[FieldError]:
    """What 1.20 refuses in the addresses to listen on."""
    yield from _address_errors("healthzBindAddress", config.healthz_bind_address)
    yield from _address_errors("metricsBindAddress", config.metrics_bind_address)


def _address_errors(path: str, address: str) -> Iterator[FieldError]:
    parts = split_host_port(address)
    if parts is None:
        text = "must be a valid socket address format, (e.g. 0.0.0.0:10254 or [::]:10254)"
        yield FieldError(path, text, INVALID, show(address))
        return
    host, port = parts
    if (int(port) if _INTEGER.fullmatch(port) else 0) not in PORTS:
        yield invalid(path, address, "must be between 1 and 65535, inclusive")
    if not is_address(host):
        yield invalid(path, address, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")


# --- making the plugins -----------------------------------------------------------------------


def construction_problems_1_20(
    form: ComponentFormat, before: WrittenProfile, after: Profile, path: str
) -> Iterator[str]:
    """Args that are there twice, and plugins that cannot do with the default args."""
    yield from _repeated(before, after, path)
    yield from needed_args_1_20(form, before, after, path)


def _repeated(before: WrittenProfile, after: Profile, path: str) -> Iterator[str]:
    counts = Counter(name for name, _ in after.plugin_config)
    for name in (name for name, times in counts.items() if times > 1):
        at = [at for at, entry in enumerate(before.plugin_config) if entry.name == name]
        hint = "keep one entry"
        if len(at) == 1:
            hint = "the resources that extenders have ignoredByScheduler are another one; take this one out"
        yield f"{path}.pluginConfig[{at[-1]}]: repeated config for plugin {name}; {hint}"


def needed_args_1_20(form: ComponentFormat, before: WrittenProfile, after: Profile, path: str) -> Iterator[str]:
    """Plugins that cannot do with the default args."""
    given = {entry.name for entry in before.plugin_config}
    for name, args in after.plugin_config:
        if name not in given:
            faults = args_errors(form.plugins, name, args)
            yield from (f"{path}.pluginConfig: {name} needs args: {error}" for error in faults)


# --- writing ----------------------------------------------------------------------------------


def written_sets_1_20(form: ComponentFormat, profile: Profile) -> dict[str, PluginSet]:
    """The lists as they are, with all defaults disabled that there would be besides."""
    defaults = form.providers[DEFAULT_PROVIDER]
    return {
        point.value: PluginSet(tuple(profile.plugins.get(point, ())), (ALL,) if point in defaults else ())
        for point in form.points
    }


def written_args_1_20(profile: Profile, extenders: Sequence[Any]) -> Iterable[tuple[str, Any]]:
    """By name, without those that come with the extenders when the document is read again."""
    left_to_extenders = FIT if ignored_resources(extenders) else None
    return sorted((e for e in profile.plugin_config if e[0] != left_to_extenders), key=lambda entry: entry[0])
