"""Engines of releases with plugins: a completed configuration of flags or documents, a scheduler for each profile."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import msgspec

from algorithmprovider import DEFAULT_PROVIDER
from algorithmprovider.custom_code import exception_text, raised_at
from clusterstate.cache import ClusterCache
from clusterstate.errors import ConfigError, SchedulingError, attempt_at, faults_at
from kubecel.api_names import go_quote
from kubescheduler.config.config_text import configuration_in, read_configuration
from kubescheduler.config.load_config import component_config_from, default_config, read_component_config
from kubescheduler.config.policy_1_20 import checked_policy_config_1_20, policy_config_1_20
from kubescheduler.config.policy_1_20_plugins import (
    PolicyRules,
    algorithm_source_1_20,
    profile_for_provider_1_20,
    refuse_policy_beside,
)
from kubescheduler.config.policy_model import FROM_POLICY
from kubescheduler.config.v1alpha1 import BESIDE_POLICY, refuse_policy_in
from kubescheduler.core.decision import FRAMEWORK_SCALE, Decision
from kubescheduler.engine.engine_flags import ALL_NODES, DEFAULTS, EngineFlags, Notice, check_view
from kubescheduler.engine.v1alpha1_engine import (
    NO_POLICY,
    lifted_component,
    names_empty_policy,
    refuse_policy_elsewhere,
    with_source_of,
)
from kubescheduler.extender.wire import NodeEncoder, format_without_operands
from kubescheduler.framework.contract.custom_plugins import misnamed_methods, nearest_methods
from kubescheduler.framework.contract.handle import Handle, Services
from kubescheduler.framework.contract.plugin import points_of
from kubescheduler.framework.contract.profile import DEFAULT_SCHEDULER_NAME, Point, SchedulerConfig
from kubescheduler.framework.deciding.opportunistic_batch import Turn, TurnNumbers
from kubescheduler.framework.deciding.profile_attempt import FrameworkScheduler
from kubescheduler.framework.plugin_loading import PluginOption, registry_with
from kubescheduler.framework.plugins.inter_pod_affinity import InterPodAffinityArgs
from kubescheduler.framework.plugins.plugin_record import PluginPoints, factories
from kubescheduler.framework.profile_map import Profiles, build_profiles

if TYPE_CHECKING:
    from clusterstate.growable import IntArray
    from clusterstate.objects import Pod
    from clusterstate.podinfo import ReleaseView
    from kubescheduler.core.algorithm import Algorithm
    from kubescheduler.core.equal_runs import PlacedRun
    from kubescheduler.core.extender_calls import Extender
    from kubescheduler.core.selection import TieBreak
    from kubescheduler.framework.contract.cycle_state import CycleState
    from kubescheduler.framework.framework_runtime import Framework
    from kubescheduler.releases.release import FrameworkRules


INSTEAD = "release {} has none; give it a KubeSchedulerConfiguration with --config (kubescheduler migrate makes one)"


GONE = (
    "provider",
    "policy_file",
    "policy_configmap",
    "hard_pod_affinity_symmetric_weight",
    "use_legacy_policy_config",
    "scheduler_name",
)
"""What cannot be said to a release that reads nothing but component configurations."""


class FrameworkEngine(msgspec.Struct, frozen=True, eq=False):
    """Plugins in profiles."""

    config: SchedulerConfig
    """The completed configuration."""
    flags: EngineFlags
    """What was said of the scheduler; its custom plugins come on top of the release's."""
    prefix: str
    """What stands before the texts of what cannot be made."""
    extenders: tuple[Extender, ...]
    """In the order they are asked."""

    @property
    def rules(self) -> FrameworkRules:
        """The release's."""
        return self.flags.record.framework_rules

    @property
    def release(self) -> str:
        """The release whose rules it has."""
        return self.config.release

    @property
    def document(self) -> Mapping[str, Any]:
        """The KubeSchedulerConfiguration that it was made of."""
        return self.config.document

    def foreign(self, pod: Pod) -> str:
        """Why the release ignores a pod of another scheduler; empty when it is this one's."""
        return _foreign(pod, [profile.scheduler_name for profile in self.config.profiles])

    def upstream_tie(self, rng: random.Random) -> TieBreak:
        """The release's own choice among equal totals."""
        return self.rules.upstream_tie(rng)

    def profiles(self, services: Services) -> Profiles:
        """The frameworks. Raises ConfigError with the text at which the release gives up."""
        registry = registry_with(factories(self.rules.plugins), self.flags.plugins)
        try:
            return build_profiles(self.config.profiles, registry, self.rules.profiles, services)
        except ConfigError as error:
            raise ConfigError(f"{self.prefix}initializing profiles: {error}") from error

    @property
    def view(self) -> ReleaseView:
        """How the release sees objects under its feature gates."""
        return self.flags.release_view()

    def services(self, cache: ClusterCache) -> Services:
        """What the plugins are given. Raises ConfigError for a cache of another release's view."""
        check_view(cache, self.view, self.release)
        return Services(
            release=self.release,
            cache=cache,
            extenders=self.extenders,
            feature_gates=self.flags.gates,
            max_pd_volumes=self.flags.max_pd_volumes,
            format_note=format_without_operands,
        )

    def scheduler(self, cache: ClusterCache, tie_break: TieBreak | None = None) -> ProfiledScheduler:
        """A scheduler over a cluster, for every profile; by default the first name wins a tie."""
        return self.over(self.services(cache), tie_break)

    def over(self, services: Services, tie_break: TieBreak | None = None) -> ProfiledScheduler:
        """A scheduler whose plugins use these services."""
        return ProfiledScheduler.of(self, self.profiles(services), services.cache, tie_break)

    def percentage(self, of_profile: int | None) -> int:
        """Of nodes to score: the flag's, else the configuration's, where 0 is all unless ``samples_by_default``."""
        if self.flags.percentage_of_nodes_to_score != ALL_NODES:
            return self.flags.percentage_of_nodes_to_score
        configured = self.config.percentage_of_nodes_to_score if of_profile is None else of_profile
        return configured or (0 if self.flags.samples_by_default else ALL_NODES)


def _foreign(pod: Pod, mine: Container[str]) -> str:
    name = pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME
    return "" if name in mine else f"profile not found for scheduler name {go_quote(name)}"


class ProfiledScheduler(msgspec.Struct, frozen=True, eq=False):
    """Each pod is decided by the profile that its schedulerName names."""

    engine: FrameworkEngine
    cache: ClusterCache
    profiles: Profiles
    schedulers: Mapping[str, FrameworkScheduler]
    tie_break: TieBreak | None = None
    _numbers: TurnNumbers = msgspec.field(default_factory=TurnNumbers)
    """Of the pods that are decided in sequence."""

    @classmethod
    def of(
        cls, engine: FrameworkEngine, profiles: Profiles, cache: ClusterCache, tie_break: TieBreak | None
    ) -> ProfiledScheduler:
        """A scheduler for each of the profiles."""
        schedulers = {
            name: FrameworkScheduler(
                frame,
                cache,
                engine.rules.deciding,
                engine.extenders,
                tie_break,
                engine.percentage(frame.profile.percentage_of_nodes_to_score),
                frame.watch,
            )
            for name, frame in profiles.items()
        }
        return cls(engine, cache, profiles, schedulers, tie_break)

    @property
    def config(self) -> SchedulerConfig:
        """The completed configuration."""
        return self.engine.config

    @property
    def rules(self) -> FrameworkRules:
        """The release's."""
        return self.engine.rules

    @property
    def algorithm(self) -> Algorithm:
        """The first profile's."""
        return next(iter(self.schedulers.values())).algorithm

    def decide_in(
        self, frame: Framework, pod: Pod, state: CycleState, *, preempt: bool, now: float | None = None
    ) -> Decision:
        """Where a pod goes that is in a scheduler's loop: no gate is asked any more. state: the attempt's. now: the
        loop's time in seconds; None: no attempt of a loop.
        """
        scheduler = self.schedulers[frame.profile_name]
        turn = None if now is None else Turn(state.number, now)
        return scheduler.attempt(pod, state, turn=turn).run(
            preempt=preempt, reports=scheduler.rules.reports_post_filter
        )

    @property
    def has_custom_plugins(self) -> bool:
        """Whether any profile has a plugin that does not come with the scheduler."""
        known = self.rules.plugins
        return any(name not in known for frame in self.profiles.values() for name in frame.instances)

    def foreign(self, pod: Pod) -> str:
        """See FrameworkEngine."""
        return _foreign(pod, self.schedulers)

    def gate(self, pod: Pod) -> str:
        """Why the PreEnqueue plugins hold a pod back from being tried; empty when they do not."""
        frame = self.profiles.get(pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME)
        refusal = None if frame is None else frame.run_pre_enqueue(pod)
        return "" if refusal is None else refusal.message

    def points(self, pod: Pod) -> Mapping[str, tuple[str, ...]]:
        """Extension point → the plugins of the pod's profile that run there, in order; nothing for a foreign pod."""
        frame = self.profiles.of(pod)
        if frame is None:
            return {}
        return {point.value: tuple(plugin.name for plugin in frame.at(point)) for point in Point}

    def decide(
        self,
        pod: Pod,
        *,
        preempt: bool = False,
        thorough: bool = False,
        enqueued: bool = False,
        in_sequence: bool = False,
        reports: bool = True,
    ) -> Decision:
        """Where the pod goes by the profile that it names, with the release's own message.

        A pod of another scheduler, and one that a PreEnqueue plugin holds back, goes nowhere: ``Decision.tried`` is
        False then. Never raises for what a release reports, see ``Decision.error``. preempt: when nothing fits, also
        say whom preemption would evict. thorough: score also when just one node fits, run every Filter on every node,
        and try no nominated node first. enqueued: the pod has left the queue, PreEnqueue plugins are not asked.
        in_sequence: it is the next of pods that are decided and placed one after the other, while time stands still,
        so that what 1.36 keeps from the pod before counts. reports: the message also has what PostFilter plugins say;
        most of the time of a pod that fits nowhere goes into that.
        """
        try:
            foreign = self.foreign(pod)
            text = foreign or ("" if enqueued else self.gate(pod))
        except SchedulingError as error:
            return self._given_up(pod, str(error))
        if text:
            return attrs.evolve(self._given_up(pod, text), tried=False, error_at="" if foreign else "preEnqueue")
        scheduler = self.schedulers[pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME]
        turn = Turn(self._numbers.take(), 0.0) if in_sequence else None
        reports = reports and scheduler.rules.reports_post_filter and not thorough
        return scheduler.attempt(pod, thorough=thorough, turn=turn).run(preempt=preempt, reports=reports)

    def place_run(self, pods: Sequence[Pod]) -> PlacedRun | None:
        """See ``GenericScheduler.place_run``."""
        name = pods[0].spec.scheduler_name or DEFAULT_SCHEDULER_NAME
        scheduler = self.schedulers.get(name)
        if scheduler is None or self.has_custom_plugins:
            return None
        from kubescheduler.framework.deciding.bulk_profile import placed_in_bulk

        return placed_in_bulk(scheduler, pods, self._is_held(name), self._numbers)

    def _is_held(self, profile: str) -> Callable[[Pod], bool]:
        """Whether a PreEnqueue plugin of a profile holds a pod back."""
        holding: tuple[Any, ...] = self.profiles[profile].at(Point.PRE_ENQUEUE)

        def is_held(pod: Pod) -> bool:
            for plugin in holding:  # noqa: SIM110, a generator for each pod takes longer
                if plugin.pre_enqueue(pod) is not None:
                    return True
            return False

        return is_held

    def scores_on(self, pod: Pod, rows: IntArray) -> Decision:
        """See ``GenericScheduler.scores_on``; by the profile that the pod names."""
        return self.schedulers[pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME].scores_on(pod, rows)

    def again(self, pod: Pod) -> Decision:
        """See Decider; the pod is of one of the profiles."""
        return self.schedulers[pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME].again(pod)

    def _given_up(self, pod: Pod, text: str) -> Decision:
        """The decision on a pod that was given up before any profile decided on it."""
        names, listed = self.cache.columns.published
        total = self.cache.columns.node_count
        return Decision(pod, self.config.release, names, listed, total, coded=True, scale=FRAMEWORK_SCALE, error=text)


# --- of a completed configuration, or of documents --------------------------------------------


def framework_engine(config: SchedulerConfig, flags: EngineFlags, prefix: str = "") -> FrameworkEngine:
    """An engine of a completed configuration. Raises ConfigError for profiles that cannot be made."""
    encoder, wire = NodeEncoder(), flags.record.wire
    extenders = flags.extender_access.extenders(config.extenders, wire, encoder)
    config = msgspec.structs.replace(config, release=flags.release)
    engine = FrameworkEngine(config, flags, prefix, extenders)
    engine.profiles(engine.services(ClusterCache(flags.release_view())))
    return engine


def framework_engine_for(flags: EngineFlags) -> FrameworkEngine:
    """As ``engine_for``, of a release that decides by plugins."""
    rules, gates = flags.record.framework_rules, flags.gates
    policies = rules.policies
    if flags.policy is not None:
        if policies is None:
            raise ConfigError(f"release {flags.release} reads no Policy; give it a KubeSchedulerConfiguration")
        return framework_engine(
            policy_config_1_20(flags.policy, gates, plugins=rules.plugins, rules=policies), flags, FROM_POLICY
        )
    name, component = flags.provider or DEFAULT_PROVIDER, flags.component
    if lifted := lifted_component(flags):
        refuse_policy_elsewhere(lifted)
        name = lifted.provider or name
    if policies is None and name != DEFAULT_PROVIDER:
        raise ConfigError(f"release {flags.release} knows no provider {name}; give it a KubeSchedulerConfiguration")
    prefix = rules.cannot_make if policies is None else policies.from_provider(name)
    if component is None:
        return framework_engine(default_config(rules.component, gates, name), flags, prefix)
    config = component_config_from(component, rules.component, provider=name, all_problems=False, feature_gates=gates)
    if lifted is not None and policies is not None and names_empty_policy(lifted):
        refuse_policy_in(lifted)
        read = policy_config_1_20(NO_POLICY, gates, plugins=rules.plugins, rules=policies)
        return framework_engine(_beside(config, read), flags, FROM_POLICY)
    return framework_engine(config, flags, prefix)


# --- of flags ---------------------------------------------------------------------------------


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


def _config_of_source(flags: EngineFlags, policies: PolicyRules, notice: Notice) -> SchedulerConfig:
    """Of a release that reads policies, and perhaps providers, too."""
    if given := flags.options_given(*policies.gone):
        raise ConfigError(f"unknown flag: {option}: {INSTEAD.format(flags.release)}" for option in given)
    has_config = flags.config_file is not None or flags.component is not None
    lifted = lifted_component(flags)
    if lifted is not None:
        flags = with_source_of(flags, lifted, notice)
    elif has_config and not policies.beside_configuration:
        flags = _without_source(flags, notice)
    source = algorithm_source_1_20(
        provider=flags.provider,
        policy_file=flags.policy_file,
        policy_configmap=flags.policy_configmap,
        use_legacy_policy_config=flags.use_legacy_policy_config,
    )
    gates, weight = flags.gates, flags.hard_pod_affinity_symmetric_weight
    form = flags.record.framework_rules.component
    if weight is not None and (error := policies.hard_weight_error(weight)):
        raise ConfigError(error)
    policy = source.read_policy() if flags.policy is None else flags.policy
    if policy is not None:
        if lifted is not None:
            refuse_policy_in(lifted)
        elif flags.config_file is not None:
            refuse_policy_beside(read_configuration(Path(flags.config_file))[0])
        elif weight not in (None, 1) and not policies.beside_configuration:
            raise ConfigError(f"--hard-pod-affinity-symmetric-weight: {BESIDE_POLICY.format('PluginConfig')}")
        place = source.policy_configmap or source.policy_file or "policy"
        with faults_at(place):
            checked = checked_policy_config_1_20(
                policy, gates, plugins=form.plugins, rules=policies, notice=notice, strict=flags.strict
            )
        return _called(flags, _beside(_component_config(flags), checked) if has_config else checked, notice)
    provider = source.provider or DEFAULT_PROVIDER
    if has_config:
        if weight is not None:
            notice("--hard-pod-affinity-symmetric-weight has no effect beside --config")
        return _called(flags, _component_config(flags, provider), notice)
    profile_for_provider_1_20(provider, gates, providers=form.providers, plugins=form.plugins)
    config = default_config(form, gates, provider, points=plugin_points(flags))
    return _called(flags, _with_hard_weight(config, weight), notice)


def _without_source(flags: EngineFlags, notice: Notice) -> EngineFlags:
    """Without the provider and the policy that have no effect beside a configuration."""
    fields = ("provider", "policy_file", "policy_configmap", "use_legacy_policy_config")
    for option in flags.options_given(*fields):
        notice(f"{option} has no effect beside --config")
    unsaid = {field: DEFAULTS[field] for field in (*fields, "policy")}
    return msgspec.structs.replace(flags, **unsaid)


def _beside(config: SchedulerConfig, policy: SchedulerConfig) -> SchedulerConfig:
    """What a policy makes of the one profile and of the extenders of a configuration, which says all else."""
    (profile,), (own,) = policy.profiles, config.profiles
    plugins = {
        point: enabled
        for point, enabled in profile.plugins.items()
        if not config.disable_preemption or point is not Point.POST_FILTER
    }
    profile = msgspec.structs.replace(profile, scheduler_name=own.scheduler_name, plugins=plugins)
    return msgspec.structs.replace(config, profiles=(profile,), extenders=policy.extenders, document=policy.document)


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
    if given := flags.options_given(*GONE):
        raise ConfigError(f"unknown flag: {option}: {INSTEAD.format(flags.release)}" for option in given)
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
        strict=flags.strict,
    )


def prefix_of(flags: EngineFlags) -> str:
    """What the release puts before the texts of what it cannot make."""
    rules = flags.record.framework_rules
    policies = rules.policies
    if policies is None:
        return rules.cannot_make
    if flags.policy_file or flags.policy_configmap or flags.policy is not None:
        return FROM_POLICY
    return policies.from_provider(flags.provider or DEFAULT_PROVIDER)


# --- users' own plugins -----------------------------------------------------------------------


def unused_plugins(flags: EngineFlags, config: SchedulerConfig) -> list[str]:
    """The user's plugins that no profile enables."""
    entries = (e for p in config.profiles for entries in (*p.plugins.values(), p.multi_point) for e in entries)
    enabled = {entry.name for entry in entries}
    return [option.name for option in flags.plugins if option.name not in enabled]


def plugin_points(flags: EngineFlags) -> PluginPoints:
    """Where every plugin there is takes part. Raises ConfigError with every one of the user's that does nowhere."""
    services = Services(flags.release, ClusterCache(flags.release_view()))
    points: dict[str, Collection[Point]] = {**flags.record.framework_rules.points_by_plugin}
    problems: list[str] = []
    for option in flags.plugins:
        points[option.name] = attempt_at(f"plugin {option.name}", problems, _own_points, option, services) or ()
    if problems:
        raise ConfigError(problems)
    return points


def _own_points(option: PluginOption, services: Services) -> Collection[Point]:
    """A class says it by its methods; what a function makes has to be looked at. Raises ConfigError."""
    made: Any = inspect.unwrap(option.factory)
    points = points_of(made)
    if not isinstance(made, type) and not points:
        try:
            made = option.factory(None, Handle(services, ""))
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
