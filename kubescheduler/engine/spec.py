"""What a user says of one scheduler, on a command line or in one line of text, and the engine that makes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import attrs

from algorithmprovider import DEFAULT_PROVIDER, VIEWS, release_view
from algorithmprovider.registry import nearest
from clusterstate.cache import ClusterCache
from clusterstate.errors import ConfigError
from clusterstate.release_view import ReleaseView
from clusterstate.topology.pod_affinity_1_4 import FAILURE_DOMAINS
from kubescheduler.config.component import component_config_from, default_config, read_component_config
from kubescheduler.config.config_text import parse_document, read_text
from kubescheduler.config.gates import parse_gates
from kubescheduler.config.policy.policy_1_20 import checked_policy_config_1_20
from kubescheduler.config.policy.policy_1_20_source import (
    algorithm_source_1_20,
    from_provider_1_20,
    hard_weight_error_1_20,
    profile_for_provider_1_20,
    refuse_policy_beside,
)
from kubescheduler.engine.engines import ALL_NODES, Engine, LegacyEngine, framework_engine
from kubescheduler.engine.legacy_algorithm import AlgorithmOptions, algorithm_from_document, algorithm_from_files
from kubescheduler.framework.contract.plugin import points_of
from kubescheduler.framework.contract.points import Point
from kubescheduler.framework.contract.profile import SchedulerConfig
from kubescheduler.framework.plugins.inter_pod_affinity import InterPodAffinityArgs
from kubescheduler.framework.profiles.default_plugins import POINTS_BY_PLUGIN_1_20, POINTS_BY_PLUGIN_1_36, PluginPoints
from kubescheduler.framework.profiles.plugin_registration import PluginOption
from kubescheduler.framework.running.framework_services import FrameworkHandle, Services

Notice = Callable[[str], None]
"""Told what a reader would not expect."""

POINTS: dict[str, PluginPoints] = {"1.20": POINTS_BY_PLUGIN_1_20, "1.36": POINTS_BY_PLUGIN_1_36}

INSTEAD = "release 1.36 has none; give it a KubeSchedulerConfiguration with --config (kubescheduler migrate makes one)"

KEYS: dict[str, str] = {
    "release": "release",
    "provider": "provider",
    "policy": "policy_file",
    "policy-configmap": "policy_configmap",
    "config": "config_file",
    "feature-gates": "feature_gates",
    "hard-pod-affinity-symmetric-weight": "hard_pod_affinity_symmetric_weight",
    "percentage-of-nodes-to-score": "percentage_of_nodes_to_score",
}
"""What can be said in one line → field."""


@attrs.frozen
class EngineSpec:
    """See the options of the command line. Files are paths; ``config_file`` is a KubeSchedulerConfiguration.

    hard_pod_affinity_symmetric_weight: None: the release's default. plugins: of one's own (framework releases).
    policy, component: documents that stand in place of a policy's and a configuration's file.
    """

    release: str = "1.16"
    provider: str | None = None
    policy_file: str | None = None
    policy_configmap: str | None = None
    config_file: str | None = None
    feature_gates: str = ""
    hard_pod_affinity_symmetric_weight: int | None = None
    failure_domains: tuple[str, ...] = FAILURE_DOMAINS
    percentage_of_nodes_to_score: int = ALL_NODES
    use_legacy_policy_config: bool = False
    max_pd_volumes: int | None = None
    plugins: tuple[PluginOption, ...] = ()
    policy: Mapping[str, Any] | None = None
    component: Mapping[str, Any] | None = None

    @classmethod
    def parse(cls, text: str) -> EngineSpec:
        """From ``release=1.16,policy=policy.json``.

        Several feature gates are parted by ``;``. Raises ConfigError with every fault.
        """
        given: dict[str, Any] = {}
        problems: list[str] = []
        for part in filter(None, (piece.strip() for piece in text.split(","))):
            key, equals, value = part.partition("=")
            if not equals:
                problems.append(f"{part}: write it as key=value; keys are {', '.join(KEYS)}")
            elif key not in KEYS:
                problems.append(f"{key}: there is no such key{nearest(key, KEYS) or '; keys are ' + ', '.join(KEYS)}")
            else:
                given[KEYS[key]] = value
        for field in ("hard_pod_affinity_symmetric_weight", "percentage_of_nodes_to_score"):
            if field in given:
                try:
                    given[field] = int(given[field])
                except ValueError:
                    problems.append(f"{field.replace('_', '-')}: expected a whole number, found {given[field]!r}")
        if given.get("release", "1.16") not in VIEWS:
            known = ", ".join(VIEWS)
            problems.append(
                f"release {given['release']} is not known; known are {known}{nearest(given['release'], VIEWS)}"
            )
        if problems:
            raise ConfigError(f"{text}: {problem}" for problem in problems)
        given["feature_gates"] = given.get("feature_gates", "").replace(";", ",")
        return cls(**given)

    @property
    def options(self) -> AlgorithmOptions:
        """Raises ConfigError for gates that the release does not know."""
        weight = self.hard_pod_affinity_symmetric_weight
        return AlgorithmOptions(
            release=self.release,
            feature_gates=parse_gates(self.release, self.feature_gates),
            hard_pod_affinity_symmetric_weight=1 if weight is None else weight,
            percentage_of_nodes_to_score=self.percentage_of_nodes_to_score,
            max_pd_volumes=self.max_pd_volumes,
            failure_domains=self.failure_domains,
        )

    def release_view(self) -> ReleaseView:
        """How the release sees objects."""
        return release_view(self.release, self.options.feature_gates)

    def engine(self, notice: Notice) -> Engine:
        """Raises ConfigError with every problem and its path."""
        return ENGINES[self.release](self, notice)

    def component_config(self, notice: Notice) -> SchedulerConfig:
        """The completed configuration that a framework release runs by. Raises ConfigError with every problem."""
        return CONFIGS[self.release](self, notice)

    def points(self) -> PluginPoints:
        """Where every plugin there is takes part. Raises ConfigError with every one of the user's that does nowhere."""
        services = Services(self.release, ClusterCache(self.release_view()))
        points, problems = dict(POINTS[self.release]), []
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
    points: Collection[Point] = getattr(option.factory, "points", None) or ()
    if isinstance(option.factory, type):
        points = points_of(option.factory)
    elif not points:
        try:
            points = points_of(option.factory(None, FrameworkHandle(services, "")))
        except Exception as error:  # whatever a stranger's code raises
            fault = f"its factory cannot do without args ({type(error).__name__}: {error}); give it an attribute points"
            raise ConfigError(fault) from error
    if not points:
        raise ConfigError(
            "what it makes takes part in no extension point; give a class with methods such as filter or score "
            "(functions that register predicates and priorities are for releases 1.4 and 1.16)"
        )
    return points


# --- legacy releases -----------------------------------------------------------------------------


def _legacy_engine(spec: EngineSpec, notice: Notice) -> Engine:
    if spec.config_file is not None or spec.component is not None:
        raise ConfigError(
            f"--config: release {spec.release} has no profiles; give it an --algorithm-provider or a "
            "--policy-config-file, or choose --release 1.20 or 1.36"
        )
    policy_file, policy_configmap = spec.policy_file, spec.policy_configmap
    if spec.use_legacy_policy_config:
        if spec.release == "1.4":
            raise ConfigError("unknown flag: --use-legacy-policy-config: release 1.4 has none; leave it out")
        source = algorithm_source_1_20(policy_file=policy_file, use_legacy_policy_config=True)  # 1.16 does the same
        policy_file, policy_configmap = source.policy_file, None
    if spec.policy is not None:
        algorithm = algorithm_from_document(spec.options, spec.policy, "policy", notice)
    else:
        algorithm = algorithm_from_files(spec.options, spec.provider, policy_file, policy_configmap, notice)
    return LegacyEngine(algorithm, spec.release_view())


# --- 1.20 ----------------------------------------------------------------------------------------


def _config_1_20(spec: EngineSpec, notice: Notice) -> SchedulerConfig:
    source = algorithm_source_1_20(
        provider=spec.provider,
        policy_file=spec.policy_file,
        policy_configmap=spec.policy_configmap,
        use_legacy_policy_config=spec.use_legacy_policy_config,
    )
    gates, weight = spec.options.feature_gates, spec.hard_pod_affinity_symmetric_weight
    if weight is not None and (error := hard_weight_error_1_20(weight)):
        raise ConfigError(error)
    policy = source.read_policy() if spec.policy is None else spec.policy
    if policy is not None:
        if spec.config_file is not None:
            refuse_policy_beside(parse_document(read_text(Path(spec.config_file)), spec.config_file))
        place = source.policy_configmap or source.policy_file or "policy"
        try:
            return checked_policy_config_1_20(policy, gates, notice=notice)
        except ConfigError as error:
            raise ConfigError(f"{place}: {problem}" for problem in error.problems) from error
    provider = source.provider or DEFAULT_PROVIDER
    if spec.config_file is not None or spec.component is not None:
        if weight is not None:
            notice("--hard-pod-affinity-symmetric-weight has no effect beside --config")
        return _component_config(spec, provider)
    profile_for_provider_1_20(provider, gates, hint=True)
    return _with_hard_weight(default_config("1.20", gates, provider, points=spec.points()), weight)


def _with_hard_weight(config: SchedulerConfig, weight: int | None) -> SchedulerConfig:
    if weight is None:
        return config
    name, args = "InterPodAffinity", InterPodAffinityArgs(weight)
    profiles = [
        attrs.evolve(p, plugin_config=(*(c for c in p.plugin_config if c[0] != name), (name, args)))
        for p in config.profiles
    ]
    return attrs.evolve(config, profiles=tuple(profiles))


# --- 1.36 ----------------------------------------------------------------------------------------


def _config_1_36(spec: EngineSpec, notice: Notice) -> SchedulerConfig:  # noqa: ARG001
    flags: Mapping[str, Any] = {
        "--algorithm-provider": spec.provider,
        "--policy-config-file": spec.policy_file or spec.policy,
        "--policy-configmap": spec.policy_configmap,
        "--hard-pod-affinity-symmetric-weight": spec.hard_pod_affinity_symmetric_weight,
        "--use-legacy-policy-config": spec.use_legacy_policy_config or None,
    }
    problems = [f"unknown flag: {flag}: {INSTEAD}" for flag, value in flags.items() if value is not None]
    if problems:
        raise ConfigError(problems)
    gates = spec.options.feature_gates
    if spec.config_file is None and spec.component is None:
        return default_config("1.36", gates, points=spec.points())
    return _component_config(spec)


def _component_config(spec: EngineSpec, provider: str = DEFAULT_PROVIDER) -> SchedulerConfig:
    """The configuration of the file, or of the document that stands in its place."""
    gates, points = spec.options.feature_gates, spec.points()
    if spec.component is None:
        assert spec.config_file is not None
        return read_component_config(
            Path(spec.config_file), spec.release, provider=provider, points=points, feature_gates=gates
        )
    return component_config_from(
        spec.component,
        spec.release,
        provider=provider,
        all_problems=True,
        source="config",
        points=points,
        feature_gates=gates,
    )


def _framework_engine(spec: EngineSpec, notice: Notice) -> Engine:
    config = spec.component_config(notice)
    for note in config.notes:
        notice(note)
    for name in spec.unused(config):
        notice(f"plugin {name} is known, but no profile enables it; enable it with --config")
    return framework_engine(config, spec.options, _prefix(spec), spec.plugins)


def _prefix(spec: EngineSpec) -> str:
    """What the release puts before the texts of what it cannot make."""
    if spec.release != "1.20":
        return ""
    if spec.policy_file or spec.policy_configmap or spec.policy is not None:
        return "couldn't create scheduler from policy: "
    return from_provider_1_20(spec.provider or "DefaultProvider")


CONFIGS: dict[str, Callable[[EngineSpec, Notice], SchedulerConfig]] = {"1.20": _config_1_20, "1.36": _config_1_36}
"""Release → its completed configuration."""

ENGINES: dict[str, Callable[[EngineSpec, Notice], Engine]] = {
    "1.4": _legacy_engine,
    "1.16": _legacy_engine,
    "1.20": _framework_engine,
    "1.36": _framework_engine,
}
"""Release → what makes its engine."""


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
