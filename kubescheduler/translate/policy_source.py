"""What is translated: a policy or a provider as its own release reads it, and the profile that one makes of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs
import msgspec

from algorithmprovider import DEFAULT_PROVIDER
from algorithmprovider.registry import Registry
from clusterstate.errors import ConfigError, RegistryError, faults_at, nearest
from kubescheduler.config.component_format import FIT
from kubescheduler.config.config_schema import COMPONENT_EXTENDER, KIND
from kubescheduler.config.config_text import configmap_policy, parse_document
from kubescheduler.config.policy_1_16 import UNREAD
from kubescheduler.config.policy_1_20 import parse_policy_1_20, policy_faults_1_20, policy_notes_1_20
from kubescheduler.config.policy_1_20_plugins import ALWAYS, policy_profile_1_20, profile_for_provider_1_20
from kubescheduler.config.policy_model import Policy, PolicyFault, checked_policy
from kubescheduler.extender.config import ExtenderConfig
from kubescheduler.framework.contract.profile import DEFAULT_SCHEDULER_NAME, Point, Profile
from kubescheduler.framework.document_schema import written
from kubescheduler.framework.plugins.node_resources_fit import NodeResourcesFitArgs
from kubescheduler.framework.plugins.pod_topology_spread import PodTopologySpreadArgs
from kubescheduler.framework.plugins.resource_scores import RequestedToCapacityRatioArgs
from kubescheduler.framework.plugins.services import ServiceAffinityArgs
from kubescheduler.releases.lookup import release_named
from kubescheduler.releases.release import LegacyRules, Release
from kubescheduler.translate.emphasis import NOT_SCORES, SPREAD, UNWEIGHED, extender_parts, policy_emphasis
from kubescheduler.translate.policy_entries import (
    GATE,
    LIST,
    SYSTEM,
    PolicyEntry,
    entry_path,
    legacy_items,
    provider_items,
    provider_items_as_plugins,
    role_of,
    selected_as_plugins,
    strategy_role,
)
from kubescheduler.translate.translation_model import (
    EXTENDER_SCALE,
    Emphasis,
    Note,
    NoteKind,
    Role,
    WeightedScore,
    WithOrigin,
)


class Source(msgspec.Struct, frozen=True):
    """A policy or provider."""

    release: str
    name: str
    """What the user calls it."""
    policy: Policy
    """As it was read; without lists for a provider, with empty ones where the release reads absent ones so."""
    provider: str | None
    predicates: tuple[PolicyEntry, ...]
    """The predicates in effect, defaults included; mandatory ones are not."""
    priorities: tuple[PolicyEntry, ...]
    """The priorities in effect, defaults included."""
    hard_weight: int = 1
    """The weight of required pod affinity that is in effect."""
    hard_origin: str = ""
    """Where that weight comes from; empty for the release's default."""
    notes: tuple[Note, ...] = ()
    selector_spread: bool = False
    """Whether its release, one with plugins, runs SelectorSpread: as its feature gate DefaultPodTopologySpread is off,
    or as there is no such gate yet.
    """

    @property
    def record(self) -> Release:
        """The record of its release."""
        return release_named(self.release)

    @property
    def spreads_by_default(self) -> bool:
        """Whether the gate DefaultPodTopologySpread is on in its release where nobody turns it off."""
        gate = self.record.gates.gates.get(GATE)
        return gate is not None and gate.default


def read_policy_text(text: str, name: str) -> dict[str, Any]:
    """A policy's document in JSON, YAML or TOML, or under policy.cfg of a ConfigMap.

    Raises ConfigError for text that cannot be read, and for a configuration that has nothing to be translated.
    """
    document = parse_document(text, name)
    if document.get("kind") == "ConfigMap":
        return configmap_policy(document, name)
    if document.get("kind") == "KubeSchedulerConfiguration":
        raise ConfigError(f"{name}: kind: this is a KubeSchedulerConfiguration; {_hint(document)}")
    return document


def _hint(document: Mapping[str, Any]) -> str:
    source = document.get("algorithmSource")
    if not isinstance(source, Mapping):
        return "there is nothing to translate"
    if provider := source.get("provider"):
        return f"its algorithmSource is a provider: give --algorithm-provider {provider} instead"
    return "its algorithmSource names a policy: give that instead"


# --- providers -----------------------------------------------------------------------------


def provider_source(
    provider: str, release: str, feature_gates: Mapping[str, bool], hard_weight: int | None = None
) -> Source:
    """What a release has under a provider's name. Raises ConfigError for an unknown one.

    hard_weight: of the flag ``--hard-pod-affinity-symmetric-weight``.
    """
    name = f"provider {provider}"
    record = release_named(release)
    if record.legacy is None:
        rules, form = record.framework_rules.policy_rules, record.framework_rules.component
        if error := None if hard_weight is None else rules.hard_weight_error(hard_weight):
            raise ConfigError(error)
        profile_for_provider_1_20(provider, feature_gates, providers=form.providers, plugins=form.plugins)
        spreads = not feature_gates.get(GATE, False)
        predicates, priorities = provider_items_as_plugins(provider, rules.defaults, release, selector_spread=spreads)
        hard = _hard_weight(Policy(), hard_weight)
        return Source(release, name, Policy(), provider, predicates, priorities, *hard, selector_spread=spreads)
    legacy = record.legacy_rules
    known = legacy.registry(feature_gates)
    try:
        known.provider(provider)
    except RegistryError as error:
        raise ConfigError(legacy.from_provider(provider) + str(error)) from error
    if hard_weight is not None and (text := legacy.hard_weight_error(hard_weight)):
        raise ConfigError(text)
    predicates, priorities = provider_items(known, provider, name)
    return Source(release, name, Policy(), provider, predicates, priorities, *_hard_weight(Policy(), hard_weight))


def _hard_weight(policy: Policy, flag: int | None) -> tuple[int, str]:
    said = policy.hard_pod_affinity_symmetric_weight
    if said:
        return said, f"hardPodAffinitySymmetricWeight {said}"
    if flag is not None:
        return flag, f"--hard-pod-affinity-symmetric-weight {flag}"
    return 1, ""


# --- policies ------------------------------------------------------------------------------


def policy_source(
    document: Mapping[str, Any],
    release: str,
    feature_gates: Mapping[str, bool],
    name: str,
    hard_weight: int | None = None,
) -> Source:
    """A policy's document as a release reads it; ``hard_weight`` as for ``provider_source``.

    Names that the release knows only under other feature gates are taken, with a note. Raises ConfigError with every
    problem of the policy and its path.
    """
    with faults_at(name):
        if release_named(release).legacy is None:
            return _source_1_20(document, release, feature_gates, name, hard_weight)
        return _legacy_source(document, release, feature_gates, name, hard_weight)


def _source_1_20(
    document: Mapping[str, Any], release: str, feature_gates: Mapping[str, bool], name: str, hard_weight: int | None
) -> Source:
    rules = release_named(release).framework_rules.policy_rules

    def read() -> Policy:
        return parse_policy_1_20(document, strict=False, every_problem=True)

    def faults_of(policy: Policy) -> Iterator[PolicyFault]:
        yield from policy_faults_1_20(policy, ends_process=rules.ends_process)
        if hard_weight is not None and (error := rules.hard_weight_error(hard_weight)):
            yield PolicyFault(error)

    policy = checked_policy(read, faults_of)
    texts = (*policy.notes, *policy_notes_1_20(policy, spreads=feature_gates.get(GATE, False)))
    parts = (text.partition(": ") for text in texts)
    notes = tuple(Note(NoteKind.CHECK, path, what) for path, _, what in parts)
    items = selected_as_plugins(policy, DEFAULT_PROVIDER, rules.defaults, release)
    hard = _hard_weight(policy, hard_weight)
    return Source(release, name, policy, None, *items, *hard, notes, selector_spread=not feature_gates.get(GATE, False))


def _legacy_source(
    document: Mapping[str, Any], release: str, feature_gates: Mapping[str, bool], name: str, hard_weight: int | None
) -> Source:
    rules = release_named(release).legacy_rules
    known = rules.registry(feature_gates)
    predicates = {*known.fit_predicates, *rules.gated_predicates}
    priorities = {*known.priorities, *rules.gated_priorities}
    default = known.provider(DEFAULT_PROVIDER)
    weights = {key: known.priorities[key].weight for key in sorted(default.priorities)}
    flag = 1 if hard_weight is None else hard_weight
    foreign: list[tuple[str, str]] = []

    def faults_of(read: Policy) -> Iterable[PolicyFault]:
        foreign[:] = _foreign(read, {*predicates, *priorities})
        names = {name for _, name in foreign}
        return rules.faults(read, predicates | names, priorities | names, hard_weight=flag, defaults=weights)

    policy = checked_policy(lambda: rules.parse(document, release=release, strict=False, every_problem=True), faults_of)
    if not rules.absent_means_default:
        policy = attrs.evolve(policy, predicates=policy.predicates or (), priorities=policy.priorities or ())
    defaults = provider_items(known, DEFAULT_PROVIDER, f"default of {release}")
    return Source(
        release,
        name,
        policy,
        None,
        *legacy_items(policy, known, defaults, {name for _, name in foreign}),
        *_hard_weight(policy, hard_weight),
        (
            *(_unread(name, text, release) for text in policy.notes),
            *_refused(policy, known, rules, release),
            *(_taken_for_own(path, name, release, {*predicates, *priorities}) for path, name in foreign),
        ),
    )


MISSPELT = 0.85
"""A name with that share of letters in common with the name of a rule is that one misspelt, and no rule of its own."""


def _foreign(policy: Policy, known: Collection[str]) -> list[tuple[str, str]]:
    """(path, name) of entries of nothing that is registered, of predicates or priorities: rules of the team's own.

    A misspelt name is none: the release refuses it.
    """
    predicates = [(entry.name, entry.argument) for entry in policy.predicates or ()]
    priorities = [(entry.name, entry.argument) for entry in policy.priorities or ()]
    return [
        (entry_path(kind, at, name), name)
        for kind, entries in (("predicates", predicates), ("priorities", priorities))
        for at, (name, argument) in enumerate(entries)
        if argument is None and name and name not in known and not nearest(name, known, MISSPELT)
    ]


def _taken_for_own(path: str, name: str, release: str, known: Iterable[str]) -> Note:
    text = f"release {release} does not come with a rule of this name, and it is taken for one of your own"
    advice = f"load it with --plugin MODULE:NAME to have it checked, or correct the name{nearest(name, known)}"
    return Note(NoteKind.CHECK, path, text, advice)


def _unread(name: str, text: str, release: str) -> Note:
    if not text.startswith(f"{UNREAD.format(release)}; ignored: "):
        return Note(NoteKind.CHECK, name, text)
    lost = f"{text}; its rules are dropped, and the defaults stand in their place"
    return Note(NoteKind.LOST, name, lost, "if an older release runs by it, migrate it with --from 1.4, which reads it")


def _refused(policy: Policy, known: Registry, rules: LegacyRules, release: str) -> list[Note]:
    """Entries that the release itself refuses, as its feature gates are."""
    text = f"release {release} refuses this name as its feature gates are; it is translated all the same"
    paths = [
        *(
            entry_path("predicates", at, entry.name)
            for at, entry in enumerate(policy.predicates or ())
            if entry.name in rules.gated_predicates and entry.name not in known.fit_predicates
        ),
        *(
            entry_path("priorities", at, entry.name)
            for at, entry in enumerate(policy.priorities or ())
            if entry.name in rules.gated_priorities and entry.name not in known.priorities
        ),
    ]
    return [Note(NoteKind.CHECK, path, text) for path in paths]


SELECTOR_SPREADING = ("SelectorSpread", "DefaultPodTopologySpread")
"""What spreads the pods of services and controllers, under its names."""
ROLES: dict[str, Role] = {
    "NodeResourcesMostAllocated": Role.PACKS,
    "NodeResourcesLeastAllocated": Role.SPREADS,
    "NodeResourcesBalancedAllocation": Role.SPREADS,
    **dict.fromkeys(SELECTOR_SPREADING, Role.SPREADS),
}
"""Score plugin → what it does, whatever its args."""


def profile_of(source: Source, policy: Policy, record: Release) -> Profile:
    """As a release with plugins makes it of ``policy``, the source's own or what it is mended to, or of a provider.

    The weight of a flag counts where the policy has none; a plugin that several entries lead to is there once, and
    preemption is on. Raises ConfigError for a policy that the release does not take.
    """
    turned_off = source.selector_spread and GATE in record.gates.gates
    gates = record.gates.resolve({GATE: False} if turned_off else {})
    rules, known = record.framework_rules.policy_rules, record.framework_rules.component
    flag = source.hard_weight if source.hard_origin else None
    if source.provider is not None:
        profile = profile_for_provider_1_20(
            source.provider, gates, providers=known.providers, plugins=known.plugins, hard_weight=flag
        )
        return _without_system(profile) if turned_off and source.spreads_by_default else profile
    if flag is not None and not policy.hard_pod_affinity_symmetric_weight:
        policy = attrs.evolve(policy, hard_pod_affinity_symmetric_weight=flag)
    if problems := [fault.problem for fault in policy_faults_1_20(policy, ends_process=rules.ends_process)]:
        raise ConfigError(f"{source.name}: release {record.name} does not take this: {problem}" for problem in problems)
    plugins = msgspec.structs.replace(rules, always=ALWAYS, merges=True)
    return policy_profile_1_20(policy, gates, known.plugins, plugins)[0]


def _without_system(profile: Profile) -> Profile:
    """The args that PodTopologySpread has without the feature gate, spelled out."""
    spread = (SPREAD, PodTopologySpreadArgs(defaulting_type=LIST))
    return msgspec.structs.replace(profile, plugin_config=(*profile.plugin_config, spread))


# --- emphasis ------------------------------------------------------------------------------


def emphasis_before(source: Source) -> Emphasis:
    """Of what the source's release runs: plugins where there are some, else priorities."""
    if source.record.legacy is None:
        return profile_emphasis(profile_of(source, source.policy, source.record), source.policy.extenders)
    return policy_emphasis(source.priorities, source.policy.extenders)


def profile_emphasis(profile: Profile, extenders: Sequence[ExtenderConfig], unsaid: int = 0) -> Emphasis:
    """Of a profile's Score plugins, and the extenders that score. unsaid: the weight of plugins without one."""
    args = dict(profile.plugin_config)
    left_out = (*UNWEIGHED, *NOT_SCORES)
    scores = [plugin for plugin in profile.plugins.get(Point.SCORE, ()) if plugin.name not in left_out]
    beside = any(plugin.name in SELECTOR_SPREADING for plugin in scores)
    parts = [
        WeightedScore(plugin.name, plugin.weight or unsaid, *_role(plugin.name, args.get(plugin.name), beside=beside))
        for plugin in scores
    ]
    return Emphasis((*parts, *extender_parts(extenders)))


def _role(name: str, args: Any, *, beside: bool) -> tuple[Role, str]:
    """beside: another plugin spreads the pods of services, so that PodTopologySpread has no constraints by default."""
    if name == FIT:
        strategy = args.scoring_strategy if isinstance(args, NodeResourcesFitArgs) else None
        return (Role.SPREADS, "LeastAllocated") if strategy is None else (strategy_role(strategy), strategy.type)
    if name == SPREAD:
        given = args if isinstance(args, PodTopologySpreadArgs) else PodTopologySpreadArgs()
        if given.defaulting_type != LIST and not beside:
            return Role.SPREADS, SYSTEM
        return Role.SPREADS if given.default_constraints else Role.OTHER, LIST
    if isinstance(args, RequestedToCapacityRatioArgs):
        return role_of(args.shape), ""
    if isinstance(args, ServiceAffinityArgs):
        return (Role.SPREADS if args.anti_affinity_labels_preference else Role.OTHER), ""
    return ROLES.get(name, Role.OTHER), ""


def profile_document(source: Source, to: Release, plugins: Mapping[str, Any], config: list[WithOrigin]) -> WithOrigin:
    """The configuration for a release whose one profile says this of plugins and their args."""
    profile: dict[str, Any] = {
        "schedulerName": WithOrigin(DEFAULT_SCHEDULER_NAME, f"default of {to.name}"),
        "plugins": plugins,
        **({"pluginConfig": config} if config else {}),
    }
    read = f"the version that {to.name} reads"
    document: dict[str, Any] = {
        "apiVersion": WithOrigin(to.framework_rules.component.native, read),
        "kind": WithOrigin(KIND, read),
        "profiles": [profile],
    }
    if source.policy.extenders:
        document["extenders"] = written_extenders(source.policy.extenders)
    return WithOrigin(document, f"for {source.name}")


def written_extenders(extenders: Sequence[ExtenderConfig]) -> list[WithOrigin]:
    """As a configuration has them; what is at its default is left out."""
    return [
        WithOrigin(_extender(extender), f"from extenders[{at}] {extender.name}")
        for at, extender in enumerate(extenders)
    ]


def _extender(extender: ExtenderConfig) -> dict[str, Any]:
    timeout = extender.http_timeout_ns
    if not extender.weight:
        extender = msgspec.structs.replace(extender, prioritize_verb="")
    said: dict[str, Any] = written(COMPONENT_EXTENDER, extender)
    if timeout:
        said["httpTimeout"] = WithOrigin(said["httpTimeout"], f"{timeout} nanoseconds in the policy")
    return said


# --- notes ---------------------------------------------------------------------------------


def extender_notes(extenders: Sequence[ExtenderConfig], before: Release, after: Release) -> Iterator[Note]:
    """What changes for the extenders of a policy of one release in another, which reads configurations."""
    if (
        any(extender.prioritize_verb and extender.weight for extender in extenders)
        and before.top_score < after.top_score
    ):
        yield EXTENDER_SCALE
    for at, extender in enumerate(extenders):
        path = f"extenders[{at}] {extender.name}"
        if before.wire.url is not after.wire.url:
            text = f"its calls go to {extender.name.rstrip('/')}/VERB, not //VERB, and have capitalised keys"
            yield Note(
                NoteKind.APPROXIMATE, path, text, "see that the extender takes both, and answers with status 200"
            )
        if extender.prioritize_verb and not extender.weight:
            text = "with weight 0 its scores count nothing, so its prioritizeVerb is left out"
            yield Note(NoteKind.EXACT, path, text)
        empties = after.framework_rules.deciding.empties
        if empties and extender.filter_verb and not extender.node_cache_capable:
            text = f"{after.name} scores nodes that a filter sends back as objects as if they were empty"
            yield Note(NoteKind.APPROXIMATE, path, text, "answer with node names, and set nodeCacheCapable: true")
