"""What a configuration does not say, filled in; the profiles are still as they were written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from clusterstate.errors import ConfigError
from kubescheduler.config.component.config_schema import WrittenProfile
from kubescheduler.framework.contract.profile import (
    DEFAULT_SCHEDULER_NAME,
    ClientConnection,
    LeaderElection,
    Profile,
    SchedulerConfig,
)
from kubescheduler.framework.plugins.node_resources_fit import NodeResourcesFitArgs
from kubescheduler.framework.plugins.plugin_record import args_keys

if TYPE_CHECKING:
    from kubescheduler.config.component.component_format import ComponentFormat, DocumentRules
    from kubescheduler.config.component.config_schema import Written
    from kubescheduler.extender.config import ExtenderConfig
    from kubescheduler.framework.args.document_schema import Struct
    from kubescheduler.framework.contract.profile import PluginSet


DEFAULT_ADDRESS = "0.0.0.0:10251"
DEFAULT_PORT = "10251"
ANY_HOST = "0.0.0.0"


def complete(written: Written, form: ComponentFormat) -> SchedulerConfig:
    """The configuration with its defaults; ``Profile.sets`` holds what the profiles say, nothing is merged yet."""
    profiling = True if written.enable_profiling is None else written.enable_profiling
    contention = written.enable_contention_profiling
    return SchedulerConfig(
        release=form.release,
        profiles=_profiles(written.profiles),
        extenders=written.extenders,
        percentage_of_nodes_to_score=written.percentage_of_nodes_to_score or 0,
        pod_initial_backoff_seconds=_or(written.pod_initial_backoff_seconds, 1),
        pod_max_backoff_seconds=_or(written.pod_max_backoff_seconds, 10),
        parallelism=_or(written.parallelism, 16),
        disable_preemption=written.disable_preemption,
        bind_timeout_seconds=_or(written.bind_timeout_seconds, 600),
        leader_election=LeaderElection(**{"resource_lock": form.locks[0], **said_values(written.leader_election)}),
        client_connection=ClientConnection(**said_values(written.client_connection)),
        enable_profiling=profiling,
        enable_contention_profiling=profiling if contention is None else contention,
        healthz_bind_address=bind_address(written.healthz_bind_address),
        metrics_bind_address=bind_address(written.metrics_bind_address),
        delay_cache_until_active=written.delay_cache_until_active,
    )


def _or(value: int | None, default: int) -> int:
    return default if value is None else value


def said_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that are no zero values; whether to elect a leader counts when it is false, too."""
    return {name: value for name, value in values.items() if value or isinstance(value, bool)}


def _profiles(written: tuple[WrittenProfile, ...]) -> tuple[Profile, ...]:
    """A single profile without a name gets the default one."""
    profiles = written or (WrittenProfile(),)
    unnamed = DEFAULT_SCHEDULER_NAME if len(profiles) == 1 else ""
    return tuple(
        Profile(
            scheduler_name=unnamed if profile.scheduler_name is None else profile.scheduler_name,
            sets=dict(profile.plugins or {}),
            plugin_config=tuple((entry.name, entry.args) for entry in profile.plugin_config),
            percentage_of_nodes_to_score=profile.percentage_of_nodes_to_score,
        )
        for profile in profiles
    )


def with_default_args(profile: Profile, names: list[str], keys: Mapping[str, Struct]) -> Profile:
    """The profile with args also for those of the named plugins that have none but could."""
    given = {name for name, _ in profile.plugin_config}
    added = ((name, keys[name].build()) for name in names if name in keys and name not in given)
    return msgspec.structs.replace(profile, plugin_config=(*profile.plugin_config, *added))


def with_merged_sets(
    rules: DocumentRules,
    config: SchedulerConfig,
    merged: Callable[[Mapping[str, PluginSet]], dict[str, PluginSet]],
) -> SchedulerConfig:
    """The profiles with their sets merged, and with args for every plugin that can have some. merged: of the sets."""
    keys = args_keys(rules.form.plugins, rules.gates)

    def merge(profile: Profile) -> Profile:
        sets = merged(profile.sets)
        names = sorted({plugin.name for plugins in sets.values() for plugin in plugins.enabled})
        return with_default_args(msgspec.structs.replace(profile, sets=sets), names, keys)

    return msgspec.structs.replace(config, profiles=tuple(map(merge, config.profiles)))


def expanded_profiles(config: SchedulerConfig, expand: Callable[[Profile], Profile]) -> SchedulerConfig:
    """The extenders in order, and the profiles with their plugins; what the extenders have ignored stands in place of
    what NodeResourcesFit was to ignore. Raises ConfigError as the release does when it builds extenders."""
    extenders = ordered(config.extenders)
    ignored = ignored_resources(extenders)
    profiles = tuple(with_ignored_1_36(expand(profile), ignored) for profile in config.profiles)
    return msgspec.structs.replace(config, profiles=profiles, extenders=extenders)


def running_all_filters(config: SchedulerConfig) -> SchedulerConfig:
    """Every filter runs on every node, also where one has failed."""
    every = tuple(msgspec.structs.replace(profile, run_all_filters=True) for profile in config.profiles)
    return msgspec.structs.replace(config, profiles=every)


# --- addresses, release 1.20 -----------------------------------------------------------------


def bind_address(text: str | None) -> str:
    """Where to listen: a port alone is on every address, an address alone on port 10251, else the default."""
    if text is None:
        return DEFAULT_ADDRESS
    parts = split_host_port(text)
    if parts is not None:
        return _joined(parts[0] or ANY_HOST, parts[1])
    return _joined(text, DEFAULT_PORT) if is_address(text) else DEFAULT_ADDRESS


def _joined(host: str, port: str) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def split_host_port(text: str) -> tuple[str, str] | None:
    """``host:port`` or ``[host]:port`` in two, None for anything else."""
    host, colon, port = text.rpartition(":")
    if not colon:
        return None
    if host.startswith("["):
        host = host.removeprefix("[")
        if not host.endswith("]"):
            return None
        host = host.removesuffix("]")
    elif ":" in host:
        return None
    return None if set("[]") & set(host + port) else (host, port)


def is_address(text: str) -> bool:
    """Whether this is an IP address."""
    import ipaddress

    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text


FIT = "NodeResourcesFit"


def ordered(extenders: Sequence[ExtenderConfig]) -> tuple[ExtenderConfig, ...]:
    """Ignorable extenders behind the others, else in the order they are configured."""
    return tuple(sorted(extenders, key=lambda extender: extender.ignorable))


def ignored_resources(extenders: Sequence[ExtenderConfig]) -> tuple[str, ...]:
    """The resources that the extenders look after and the scheduler does not."""
    return tuple(
        resource.name
        for extender in extenders
        for resource in extender.managed_resources
        if resource.ignored_by_scheduler
    )


def with_ignored_1_20(profile: Profile, ignored: tuple[str, ...]) -> Profile:
    """The profile with args for NodeResourcesFit; if it has some already, the framework refuses the second ones."""
    if not ignored:
        return profile
    entry: tuple[str, Any] = (FIT, NodeResourcesFitArgs(ignored_resources=ignored))
    return msgspec.structs.replace(profile, plugin_config=(*profile.plugin_config, entry))


def with_ignored_1_36(profile: Profile, ignored: tuple[str, ...]) -> Profile:
    """The profile whose args of NodeResourcesFit ignore exactly these. Raises ConfigError when it has none."""
    if not ignored:
        return profile
    at = next((at for at, (name, _) in enumerate(profile.plugin_config) if name == FIT), None)
    if at is None:
        raise ConfigError("couldn't build extenders: can't find NodeResourcesFitArgs in plugin config")
    entries = list(profile.plugin_config)
    entries[at] = (FIT, msgspec.structs.replace(entries[at][1], ignored_resources=ignored))
    return msgspec.structs.replace(profile, plugin_config=tuple(entries))
