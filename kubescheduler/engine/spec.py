"""What a user says of one scheduler, on a command line or in one line of text, and the engine that makes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import attrs

from algorithmprovider import DEFAULT_PROVIDER
from algorithmprovider.custom_code import exception_text, raised_at
from algorithmprovider.registry import nearest
from clusterstate.cache import ClusterCache
from clusterstate.errors import ConfigError
from clusterstate.release_names import DEFAULT_RELEASE
from kubescheduler.config.component import (
    component_config_from,
    default_config,
    read_component_config,
    write_component_config,
)
from kubescheduler.config.config_text import parse_first_document, read_text
from kubescheduler.config.policy.policy_1_20_source import algorithm_source_1_20, refuse_policy_beside
from kubescheduler.config.v1alpha1.v1alpha1_writing import write_v1alpha1
from kubescheduler.core.algorithm import Algorithm
from kubescheduler.engine.engine_contract import Engine
from kubescheduler.engine.engine_flags import ALL_NODES, EngineFlags
from kubescheduler.engine.engines import LegacyEngine
from kubescheduler.engine.framework_engine import FrameworkEngine, framework_engine
from kubescheduler.engine.framework_rules import PolicyRules
from kubescheduler.engine.legacy_algorithm import algorithm_from_document, algorithm_from_files
from kubescheduler.engine.releases import release_named
from kubescheduler.engine.v1alpha1_engine import component_of_flags, configured, flags_of, read_component
from kubescheduler.framework.contract.misnamed_methods import misnamed_methods, nearest_methods
from kubescheduler.framework.contract.plugin import points_of
from kubescheduler.framework.contract.points import Point
from kubescheduler.framework.contract.profile import SchedulerConfig
from kubescheduler.framework.plugins.inter_pod_affinity import InterPodAffinityArgs
from kubescheduler.framework.profiles.default_plugins import PluginPoints
from kubescheduler.framework.profiles.plugin_registration import PluginOption
from kubescheduler.framework.running.framework_services import FrameworkHandle, Services

Notice = Callable[[str], None]
"""Is called with what a reader would not expect."""

Made = TypeVar("Made", bound=Engine)


def no_notice(_: str) -> None:
    """Nobody reads the notices."""


INSTEAD = "release {} has none; give it a KubeSchedulerConfiguration with --config (kubescheduler migrate makes one)"

KEYS: dict[str, str] = {
    "release": "release",
    "provider": "provider",
    "policy": "policy_file",
    "policy-configmap": "policy_configmap",
    "config": "config_file",
    "feature-gates": "feature_gates",
    "hard-pod-affinity-symmetric-weight": "hard_pod_affinity_symmetric_weight",
    "percentage-of-nodes-to-score": "percentage_of_nodes_to_score",
    "scheduler-name": "scheduler_name",
    "extenders": "extenders",
}
"""What can be said in one line → field."""


@attrs.frozen
class EngineSpec(EngineFlags):
    """What flags say of one scheduler, and the engine that makes."""

    @classmethod
    def parse(cls, text: str) -> EngineSpec:
        """From ``release=1.16,policy=policy.json``.

        Several feature gates are separated by ``;``. Raises ConfigError with every fault.
        """
        given: dict[str, Any] = {}
        problems: list[str] = []
        for part in filter(None, (piece.strip() for piece in text.split(","))):
            key, equals, value = part.partition("=")
            if not equals:
                problems.append(f"{part}: write it as key=value; keys are {', '.join(KEYS)}")
            elif key not in KEYS:
                problems.append(f"{key}: there is no such key{nearest(key, KEYS) or '; keys are ' + ', '.join(KEYS)}")
            elif not value.strip() and key != "feature-gates":
                problems.append(f"{key}: it has no value; leave the key out for the default")
            else:
                given[KEYS[key]] = value
        for field in ("hard_pod_affinity_symmetric_weight", "percentage_of_nodes_to_score"):
            if field in given:
                try:
                    given[field] = int(given[field])
                except ValueError:
                    problems.append(f"{field.replace('_', '-')}: expected a whole number, found {given[field]!r}")
        try:
            release_named(given.get("release", DEFAULT_RELEASE))
        except ConfigError as error:
            problems += error.problems
        if problems:
            raise ConfigError(f"{text}: {problem}" for problem in problems)
        given["feature_gates"] = given.get("feature_gates", "").replace(";", ",")
        return cls(**given)

    def engine(self, notice: Notice) -> Engine:
        """Raises ConfigError with every problem and its path. ``notice`` hears what has no effect."""
        if self.record.framework is not None:
            return self.framework_engine(notice)
        return self._noted(lambda: _legacy_engine(self, notice), notice)

    def framework_engine(self, notice: Notice) -> FrameworkEngine:
        """The engine of a release that decides by plugins; raises as ``engine``, and ConfigError for any other."""
        return self._noted(lambda: _framework_engine(self, notice), notice)

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
        policies = self.record.framework_rules.policies
        return _config(self) if policies is None else _config_of_source(self, policies, notice)

    def written_config(self, notice: Notice) -> str:
        """The completed configuration as YAML, as ``--write-config-to`` writes it; whether it can be used is checked.

        Raises ConfigError with every problem, and for a release that has no component configuration.
        """
        if self.record.framework is not None:
            self.engine(notice)
            return write_component_config(self.component_config(no_notice), self.record.framework_rules.component)
        if self.record.legacy_rules.read_component is None:
            raise ConfigError(f"--write-config-to: release {self.release} has no component configuration")
        config = read_component(self)
        if config is None:
            self.engine(notice)
            return write_v1alpha1(component_of_flags(self))
        for note in config.notes:
            notice(note)
        return write_v1alpha1(config)

    def points(self) -> PluginPoints:
        """Where every plugin there is takes part. Raises ConfigError with every one of the user's that does nowhere."""
        services = Services(self.release, ClusterCache(self.release_view()))
        points: dict[str, Collection[Point]] = {**self.record.framework_rules.points_by_plugin}
        problems: list[str] = []
        for option in self.plugins:
            try:
                points[option.name] = _own_points(option, services)
            except ConfigError as error:
                problems += [f"plugin {option.name}: {problem}" for problem in error.problems]
        if problems:
            raise ConfigError(problems)
        return points

    def unused(self, config: SchedulerConfig) -> list[str]:
        """The user's plugins that no profile enables."""
        entries = (e for p in config.profiles for entries in (*p.plugins.values(), p.multi_point) for e in entries)
        enabled = {entry.name for entry in entries}
        return [option.name for option in self.plugins if option.name not in enabled]


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


# --- releases with predicates and priorities -----------------------------------------------------


def _legacy_engine(spec: EngineSpec, notice: Notice) -> Engine:
    config = read_component(spec)
    if config is not None:
        spec = flags_of(spec, config, notice)
    if spec.percentage_of_nodes_to_score != ALL_NODES and not spec.record.legacy_rules.samples:
        notice(f"--percentage-of-nodes-to-score has no effect: release {spec.release} always looks at every node")
    algorithm = _legacy_algorithm(spec, notice)
    return LegacyEngine(algorithm if config is None else configured(algorithm, config), spec.release_view())


def _legacy_algorithm(spec: EngineSpec, notice: Notice) -> Algorithm:
    policy_file, policy_configmap = spec.policy_file, spec.policy_configmap
    if spec.use_legacy_policy_config:
        if not spec.record.legacy_rules.legacy_policy_flag:
            raise ConfigError(
                f"unknown flag: --use-legacy-policy-config: release {spec.release} has none; leave it out"
            )
        source = algorithm_source_1_20(policy_file=policy_file, use_legacy_policy_config=True)  # 1.16 does the same
        policy_file, policy_configmap = source.policy_file, None
    if spec.policy is not None:
        return algorithm_from_document(spec, spec.policy, "policy", notice)
    return algorithm_from_files(spec, spec.provider, policy_file, policy_configmap, notice)


# --- releases with plugins ------------------------------------------------------------------------


def _config_of_source(spec: EngineSpec, policies: PolicyRules, notice: Notice) -> SchedulerConfig:
    """Of a release that reads policies and providers too."""
    source = policies.source(
        provider=spec.provider,
        policy_file=spec.policy_file,
        policy_configmap=spec.policy_configmap,
        use_legacy_policy_config=spec.use_legacy_policy_config,
    )
    gates, weight = spec.gates, spec.hard_pod_affinity_symmetric_weight
    if weight is not None and (error := policies.hard_weight_error(weight)):
        raise ConfigError(error)
    policy = source.read_policy() if spec.policy is None else spec.policy
    if policy is not None:
        if spec.config_file is not None:
            refuse_policy_beside(parse_first_document(read_text(Path(spec.config_file)), spec.config_file))
        place = source.policy_configmap or source.policy_file or "policy"
        try:
            return _called(spec, policies.check(policy, gates, notice=notice, strict=spec.strict), notice)
        except ConfigError as error:
            raise ConfigError(f"{place}: {problem}" for problem in error.problems) from error
    provider = source.provider or DEFAULT_PROVIDER
    if spec.config_file is not None or spec.component is not None:
        if weight is not None:
            notice("--hard-pod-affinity-symmetric-weight has no effect beside --config")
        return _called(spec, _component_config(spec, provider), notice)
    policies.profile(provider, gates, hint=True)
    config = default_config(spec.record.framework_rules.component, gates, provider, points=spec.points())
    return _called(spec, _with_hard_weight(config, weight), notice)


def _called(spec: EngineSpec, config: SchedulerConfig, notice: Notice) -> SchedulerConfig:
    """With the flag's name for its profile; a component configuration names its profiles itself."""
    if spec.scheduler_name is None:
        return config
    if spec.config_file is not None or spec.component is not None:
        notice("--scheduler-name has no effect beside --config")
        return config
    profiles = (attrs.evolve(profile, scheduler_name=spec.scheduler_name) for profile in config.profiles)
    return attrs.evolve(config, profiles=tuple(profiles))


def _with_hard_weight(config: SchedulerConfig, weight: int | None) -> SchedulerConfig:
    if weight is None:
        return config
    name, args = "InterPodAffinity", InterPodAffinityArgs(weight)
    profiles = [
        attrs.evolve(p, plugin_config=(*(c for c in p.plugin_config if c[0] != name), (name, args)))
        for p in config.profiles
    ]
    return attrs.evolve(config, profiles=tuple(profiles))


def _config(spec: EngineSpec) -> SchedulerConfig:
    """Of a release that reads nothing but component configurations."""
    flags: Mapping[str, Any] = {
        "--algorithm-provider": spec.provider,
        "--policy-config-file": spec.policy_file or spec.policy,
        "--policy-configmap": spec.policy_configmap,
        "--hard-pod-affinity-symmetric-weight": spec.hard_pod_affinity_symmetric_weight,
        "--use-legacy-policy-config": spec.use_legacy_policy_config or None,
        "--scheduler-name": spec.scheduler_name,
    }
    instead = INSTEAD.format(spec.release)
    problems = [f"unknown flag: {flag}: {instead}" for flag, value in flags.items() if value is not None]
    if problems:
        raise ConfigError(problems)
    if spec.config_file is None and spec.component is None:
        return default_config(spec.record.framework_rules.component, spec.gates, points=spec.points())
    return _component_config(spec)


def _component_config(spec: EngineSpec, provider: str = DEFAULT_PROVIDER) -> SchedulerConfig:
    """The configuration of the file, or of the document that stands in its place."""
    form, gates, points = spec.record.framework_rules.component, spec.gates, spec.points()
    if spec.component is None:
        assert spec.config_file is not None
        return read_component_config(
            Path(spec.config_file), form, provider=provider, points=points, feature_gates=gates, strict=spec.strict
        )
    return component_config_from(
        spec.component,
        form,
        provider=provider,
        all_problems=True,
        source="config",
        points=points,
        feature_gates=gates,
    )


def _framework_engine(spec: EngineSpec, notice: Notice) -> FrameworkEngine:
    config = spec.component_config(notice)
    for note in config.notes:
        notice(note)
    for name in spec.unused(config):
        notice(f"plugin {name} is known, but no profile enables it; enable it with --config")
    return framework_engine(config, spec, prefix_of(spec))


def prefix_of(spec: EngineSpec) -> str:
    """What the release puts before the texts of what it cannot make."""
    policies = spec.record.framework_rules.policies
    if policies is None:
        return ""
    if spec.policy_file or spec.policy_configmap or spec.policy is not None:
        return policies.from_policy
    return policies.from_provider(spec.provider or DEFAULT_PROVIDER)


def specs(texts: Iterable[str]) -> list[EngineSpec]:
    """Several in one go. Raises ConfigError with the faults of all."""
    out: list[EngineSpec] = []
    problems: list[str] = []
    for text in texts:
        try:
            out.append(EngineSpec.parse(text))
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(problems)
    return out
