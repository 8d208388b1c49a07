"""What flags say of a release that decides by plugins: its completed configuration, and the engine that makes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from algorithmprovider import DEFAULT_PROVIDER
from algorithmprovider.custom_code import exception_text, raised_at
from clusterstate.cache import ClusterCache
from clusterstate.errors import ConfigError
from kubescheduler.config.component import component_config_from, default_config, read_component_config
from kubescheduler.config.config_text import configuration_in, read_configuration
from kubescheduler.config.policy.policy_1_20_source import refuse_policy_beside
from kubescheduler.engine.framework_engine import framework_engine
from kubescheduler.framework.contract.misnamed_methods import misnamed_methods, nearest_methods
from kubescheduler.framework.contract.plugin import points_of
from kubescheduler.framework.plugins.inter_pod_affinity import InterPodAffinityArgs
from kubescheduler.framework.running.framework_services import FrameworkHandle, Services

if TYPE_CHECKING:
    from kubescheduler.engine.engine_flags import EngineFlags
    from kubescheduler.engine.framework_engine import FrameworkEngine
    from kubescheduler.framework.contract.points import Point
    from kubescheduler.framework.contract.profile import SchedulerConfig
    from kubescheduler.framework.profiles.default_plugins import PluginPoints
    from kubescheduler.framework.profiles.plugin_registration import PluginOption
    from kubescheduler.releases.release import PolicyRules

Notice = Callable[[str], None]
"""Is called with what a reader would not expect."""

INSTEAD = "release {} has none; give it a KubeSchedulerConfiguration with --config (kubescheduler migrate makes one)"


def engine_of_profiles(flags: EngineFlags, notice: Notice) -> FrameworkEngine:
    """The engine of the completed configuration. Raises ConfigError with every problem."""
    config = component_config_of(flags, notice)
    for note in config.notes:
        notice(note)
    for name in unused_plugins(flags, config):
        notice(f"plugin {name} is known, but no profile enables it; enable it with --config")
    return framework_engine(config, flags, prefix_of(flags))


def component_config_of(flags: EngineFlags, notice: Notice) -> SchedulerConfig:
    """The completed configuration that a release runs by. Raises ConfigError with every problem."""
    policies = flags.record.framework_rules.policies
    return _config(flags) if policies is None else _config_of_source(flags, policies, notice)


def plugin_points(flags: EngineFlags) -> PluginPoints:
    """Where every plugin there is takes part. Raises ConfigError with every one of the user's that does nowhere."""
    services = Services(flags.release, ClusterCache(flags.release_view()))
    points: dict[str, Collection[Point]] = {**flags.record.framework_rules.points_by_plugin}
    problems: list[str] = []
    for option in flags.plugins:
        try:
            points[option.name] = _own_points(option, services)
        except ConfigError as error:
            problems += [f"plugin {option.name}: {problem}" for problem in error.problems]
    if problems:
        raise ConfigError(problems)
    return points


def unused_plugins(flags: EngineFlags, config: SchedulerConfig) -> list[str]:
    """The user's plugins that no profile enables."""
    entries = (e for p in config.profiles for entries in (*p.plugins.values(), p.multi_point) for e in entries)
    enabled = {entry.name for entry in entries}
    return [option.name for option in flags.plugins if option.name not in enabled]


def _own_points(option: PluginOption, services: Services) -> Collection[Point]:
    """A class says it by its methods; what a function makes has to be looked at. Raises ConfigError."""
    made: Any = inspect.unwrap(option.factory)
    points = points_of(made)
    if not isinstance(made, type) and not points:
        try:
            made = option.factory(None, FrameworkHandle(services, ""))
        except Exception as error:  # whatever a stranger's code raises
            text = f"{raised_at(error, option.factory)}{exception_text(error)}"
            fault = f"its factory cannot do without args ({text}); give it an attribute points"
            raise ConfigError(fault) from error
        points = points_of(made)
    made = made if isinstance(made, type) else type(made)
    if not points and (slips := misnamed_methods(made) or nearest_methods(made)):
        raise ConfigError(slips)
    if not points:
        raise ConfigError(
            "what it makes takes part in no extension point; give a class with methods such as filter or score "
            "(functions that register predicates and priorities are for releases 1.4 and 1.16)"
        )
    return points


def _config_of_source(flags: EngineFlags, policies: PolicyRules, notice: Notice) -> SchedulerConfig:
    """Of a release that reads policies and providers too."""
    source = policies.source(
        provider=flags.provider,
        policy_file=flags.policy_file,
        policy_configmap=flags.policy_configmap,
        use_legacy_policy_config=flags.use_legacy_policy_config,
    )
    gates, weight = flags.gates, flags.hard_pod_affinity_symmetric_weight
    if weight is not None and (error := policies.hard_weight_error(weight)):
        raise ConfigError(error)
    policy = source.read_policy() if flags.policy is None else flags.policy
    if policy is not None:
        if flags.config_file is not None:
            refuse_policy_beside(read_configuration(Path(flags.config_file))[0])
        place = source.policy_configmap or source.policy_file or "policy"
        try:
            return _called(flags, policies.check(policy, gates, notice=notice, strict=flags.strict), notice)
        except ConfigError as error:
            raise ConfigError(f"{place}: {problem}" for problem in error.problems) from error
    provider = source.provider or DEFAULT_PROVIDER
    if flags.config_file is not None or flags.component is not None:
        if weight is not None:
            notice("--hard-pod-affinity-symmetric-weight has no effect beside --config")
        return _called(flags, _component_config(flags, provider), notice)
    policies.profile(provider, gates, hint=True)
    config = default_config(flags.record.framework_rules.component, gates, provider, points=plugin_points(flags))
    return _called(flags, _with_hard_weight(config, weight), notice)


def _called(flags: EngineFlags, config: SchedulerConfig, notice: Notice) -> SchedulerConfig:
    """With the flag's name for its profile; a component configuration names its profiles itself."""
    if flags.scheduler_name is None:
        return config
    if flags.config_file is not None or flags.component is not None:
        notice("--scheduler-name has no effect beside --config")
        return config
    profiles = (msgspec.structs.replace(profile, scheduler_name=flags.scheduler_name) for profile in config.profiles)
    return msgspec.structs.replace(config, profiles=tuple(profiles))


def _with_hard_weight(config: SchedulerConfig, weight: int | None) -> SchedulerConfig:
    if weight is None:
        return config
    name, args = "InterPodAffinity", InterPodAffinityArgs(weight)
    profiles = [
        msgspec.structs.replace(p, plugin_config=(*(c for c in p.plugin_config if c[0] != name), (name, args)))
        for p in config.profiles
    ]
    return msgspec.structs.replace(config, profiles=tuple(profiles))


def _config(flags: EngineFlags) -> SchedulerConfig:
    """Of a release that reads nothing but component configurations."""
    given: Mapping[str, Any] = {
        "--algorithm-provider": flags.provider,
        "--policy-config-file": flags.policy_file or flags.policy,
        "--policy-configmap": flags.policy_configmap,
        "--hard-pod-affinity-symmetric-weight": flags.hard_pod_affinity_symmetric_weight,
        "--use-legacy-policy-config": flags.use_legacy_policy_config or None,
        "--scheduler-name": flags.scheduler_name,
    }
    instead = INSTEAD.format(flags.release)
    problems = [f"unknown flag: {flag}: {instead}" for flag, value in given.items() if value is not None]
    if problems:
        raise ConfigError(problems)
    if flags.config_file is None and flags.component is None:
        return default_config(flags.record.framework_rules.component, flags.gates, points=plugin_points(flags))
    return _component_config(flags)


def _component_config(flags: EngineFlags, provider: str = DEFAULT_PROVIDER) -> SchedulerConfig:
    """The configuration of the file, or of the document that stands in its place."""
    form, gates, points = flags.record.framework_rules.component, flags.gates, plugin_points(flags)
    if flags.component is None:
        assert flags.config_file is not None
        return read_component_config(
            Path(flags.config_file), form, provider=provider, points=points, feature_gates=gates, strict=flags.strict
        )
    document, source = configuration_in(flags.component, "config")
    return component_config_from(
        document,
        form,
        provider=provider,
        all_problems=True,
        source=source,
        points=points,
        feature_gates=gates,
    )


def prefix_of(flags: EngineFlags) -> str:
    """What the release puts before the texts of what it cannot make."""
    policies = flags.record.framework_rules.policies
    if policies is None:
        return ""
    if flags.policy_file or flags.policy_configmap or flags.policy is not None:
        return policies.from_policy
    return policies.from_provider(flags.provider or DEFAULT_PROVIDER)
