"""A policy or provider as a configuration of a release whose plugins came after policies: its nearest equivalent.

All defaults are disabled and what the source has is enabled in multiPoint; a plugin that only filters is disabled where
it would score, and the other way round. A release without multiPoint has the same in a list at every point.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from kubescheduler.config.component_format import FIT
from kubescheduler.config.policy_1_20_plugins import (
    EVEN_SPREAD,
    MANDATORY_PREDICATES,
    PREDICATES,
    PRIORITIES,
    predicate_name,
    priority_name,
)
from kubescheduler.config.policy_model import ignored_resources
from kubescheduler.framework.contract.profile import Enabled, Point
from kubescheduler.framework.plugins.node_resources_fit import ScoringStrategy
from kubescheduler.framework.plugins.plugin_record import DEFAULT_PROVIDER, enabled_everywhere
from kubescheduler.releases.lookup import release_named
from kubescheduler.releases.release import Release
from kubescheduler.translate.emphasis import (
    KEPT,
    NOT_SCORES,
    SPREAD,
    Suggestion,
    defaults_notes,
    extender_parts,
    judge,
    kept_note,
)
from kubescheduler.translate.policy_entries import (
    LIST,
    NODE_AFFINITY,
    SELECTOR_SPREADS,
    SYSTEM,
    NodeScore,
    PolicyEntry,
    Spread,
    Strategy,
    added_affinity,
    combined,
    is_strategy,
    node_score,
    notes_of_plugins,
    required_expressions,
    spread,
    strategy_role,
)
from kubescheduler.translate.policy_source import Source, emphasis_before, extender_notes, profile_document
from kubescheduler.translate.translation_model import (
    ALWAYS_ADDED,
    AVOID_PODS,
    AVOID_PODS_ADVICE,
    EQUAL,
    IN_TREE,
    IN_TREE_ADVICE,
    RESOURCE_LIMITS,
    RETIRED_PREDICATES,
    SCALE,
    UNKNOWN,
    Emphasis,
    Note,
    NoteKind,
    Role,
    Translation,
    WeightedScore,
    WithOrigin,
    all_checks,
    details,
    formula_notes,
    gone_since,
    grouped,
    has_provider,
    note,
    origin,
    since,
)

IN_TREE_LIMITS = ("EBSLimits", "GCEPDLimits", "AzureDiskLimits", "CinderLimits")
VOLUME_LIMITS = "NodeVolumeLimits"
NODE_AFFINITY_PLUGIN = "NodeAffinity"
NEW_FILTERS = (VOLUME_LIMITS, "VolumeBinding", SPREAD)
"""What pods of today rely on, whatever the policy: bound claims, limits of CSI drivers, their own constraints."""
MISSING: dict[str, str] = {
    "NodeResourcesFit": "what pods request and nodes have",
    "NodeName": "spec.nodeName",
    "NodePorts": "host ports",
    NODE_AFFINITY_PLUGIN: "nodeSelector and required node affinity",
    "VolumeRestrictions": "volumes that only one node can use",
    VOLUME_LIMITS: "how many volumes a node takes",
    "VolumeBinding": "persistent volumes; claims that wait for their first consumer are never bound",
    "VolumeZone": "the zones of volumes",
    SPREAD: "DoNotSchedule topology spread constraints",
    "InterPodAffinity": "required pod affinity and anti-affinity",
}
"""Filter plugin → what nobody looks at without it."""


class Filters(msgspec.Struct, frozen=True):
    """The predicates as filters."""

    plugins: Mapping[str, tuple[str, ...]]
    """Filter plugin → the entries that it comes from."""
    required: tuple[WithOrigin, ...]
    """Expressions that every node has to match."""
    notes: tuple[Note, ...]


def filters_of(source: Source, to: Release, *, with_new_filters: bool = False) -> Filters:
    """The Filter plugins for what a policy or provider selects, mandatory ones included; new ones when asked for."""
    plugins: dict[str, tuple[str, ...]] = {}
    notes: list[Note] = []
    for item in (item for item in source.predicates if not item.idle):
        for plugin in _plugins(item, to):
            plugins[plugin] = (*plugins.get(plugin, ()), item.origin)
        notes += _notes(item, source, to)
    notes += (
        Note(
            NoteKind.EXACT,
            item.path,
            f"release {source.release} never runs a predicate of this name, so it is left out",
        )
        for item in source.predicates
        if item.idle
    )
    if source.policy.predicates is None and SPREAD not in plugins:
        plugins[SPREAD] = (f"default of {to.name}, as release {source.release} uses its defaults",)
        text = f"not among the defaults of {source.release}: pods are held to their own DoNotSchedule constraints"
        notes.append(Note(NoteKind.CHECK, SPREAD, text))
    required = required_expressions([item for item in source.predicates if not item.idle])
    if required and NODE_AFFINITY_PLUGIN not in plugins:
        text = "NodeAffinity, which it needs, also heeds nodeSelector and required node affinity of pods"
        notes.append(Note(NoteKind.APPROXIMATE, required[0].origin.removeprefix("from "), text))
    if required:
        plugins[NODE_AFFINITY_PLUGIN] = (*plugins.get(NODE_AFFINITY_PLUGIN, ()), *(said.origin for said in required))
    if with_new_filters:
        for name in (name for name in NEW_FILTERS if name not in plugins):
            plugins[name] = ("--with-new-filters",)
            text = f"no predicate of the policy looks at {MISSING[name]}; it is enabled all the same"
            notes.append(Note(NoteKind.APPROXIMATE, f"--with-new-filters {name}", text))
    notes += _missing(plugins)
    for name in MANDATORY_PREDICATES:
        plugins.setdefault(PREDICATES[name][0], ("always added",))
    return Filters(plugins, required, tuple(notes))


def _plugins(item: PolicyEntry, to: Release) -> Iterator[str]:
    if item.predicate is not None or item.name in RETIRED_PREDICATES:
        return
    for plugin in PREDICATES.get(predicate_name(item.name), ()):
        if plugin not in ("NodeLabel", "ServiceAffinity"):
            yield VOLUME_LIMITS if _is_gone(plugin, to) else plugin


def _is_gone(plugin: str, to: Release) -> bool:
    """Whether it limits the volumes of one cloud, and the release has none such."""
    return plugin in IN_TREE_LIMITS and not to.framework_rules.component.takes(plugin)


def own_predicates(items: Iterable[PolicyEntry]) -> Iterator[PolicyEntry]:
    """Those that no release comes with, and that run."""
    for item in items:
        known = item.name in RETIRED_PREDICATES or PREDICATES.get(predicate_name(item.name))
        if item.predicate is None and not item.idle and not known:
            yield item


# --- notes ---------------------------------------------------------------------------------


def _notes(item: PolicyEntry, source: Source, to: Release) -> Iterator[Note]:
    plugins = PREDICATES.get(predicate_name(item.name), ())
    if item.predicate is not None:
        yield _argument_note(item, source, to)
    elif item.name in RETIRED_PREDICATES:
        yield note(RETIRED_PREDICATES[item.name], item.path)
    elif gone := [plugin for plugin in plugins if _is_gone(plugin, to)]:
        text = IN_TREE.format(gone_since(gone[0], source.release, to.name))
        yield Note(NoteKind.APPROXIMATE, item.path, text, IN_TREE_ADVICE)
    elif not plugins:
        yield note(UNKNOWN, item.path)
    elif not any(_plugins(item, to)):
        text = "its release knows the name already and passes over the argument: it never refused a node"
        yield Note(NoteKind.EXACT, item.path, text)


def _argument_note(item: PolicyEntry, source: Source, to: Release) -> Note:
    argument = item.predicate
    if argument is not None and argument.service_affinity is not None:
        gone = gone_since("ServiceAffinity", source.release, to.name)
        return service_affinity_note(argument.service_affinity.labels, item.path, gone)
    text = "it becomes addedAffinity of NodeAffinity; its reason speaks of scheduler-enforced node affinity"
    return Note(NoteKind.EXACT, item.path, text)


def service_affinity_note(labels: Sequence[str], path: str, release: str) -> Note:
    """What is to be said of labels that kept the pods of a service together; release: the first that does not."""
    text = (
        f"{release} has no ServiceAffinity: nothing keeps the pods of a service on nodes with the same "
        f"{', '.join(labels)}"
    )
    advice = (
        "give the pods a required podAffinity to their own labels, with the label as topologyKey, or a nodeSelector"
    )
    return Note(NoteKind.LOST, path, text, advice)


def _missing(plugins: Mapping[str, tuple[str, ...]]) -> Iterator[Note]:
    found = [f"{plugin} ({what})" for plugin, what in MISSING.items() if plugin not in plugins]
    if found:
        text = f"no filter where the policy has no predicate: {', '.join(found)}"
        advice = f"--with-new-filters enables what pods of today rely on: {', '.join(NEW_FILTERS)}"
        yield Note(NoteKind.CHECK, "predicates", text, advice)


MAX_WEIGHT = 2**31 - 1
PLAIN: dict[str, str] = {
    "BalancedResourceAllocation": "NodeResourcesBalancedAllocation",
    "ImageLocalityPriority": "ImageLocality",
    "InterPodAffinityPriority": "InterPodAffinity",
    "TaintTolerationPriority": "TaintToleration",
}
"""Priority → the Score plugin that it is, with the same name in all releases with profiles."""


class TranslatedScores(msgspec.Struct, frozen=True):
    """A Score plugin's weight, and the entries it comes from."""

    weight: int
    origin: str


class Scores(msgspec.Struct, frozen=True):
    """The priorities as scores."""

    plugins: Mapping[str, TranslatedScores]
    """Score plugin → its weight."""
    strategy: WithOrigin | None
    """The scoring strategy of NodeResourcesFit, if it scores."""
    scoring: ScoringStrategy | None
    spread: Spread
    affinity: NodeScore
    notes: tuple[Note, ...]


def scores_of(source: Source, to: Release) -> Scores:
    """The Score plugins for what a policy or provider selects."""
    items = source.priorities
    legacy = source.record.legacy is not None
    full = [item for item in items if is_strategy(item)]
    strategy = combined(full, source.release, to.name) if full else None
    spreading = _spread(items, source, to)
    affinity = node_score([item for item in items if _prefers_nodes(item)])
    plugins = {
        PLAIN[item.name]: TranslatedScores(item.weight, item.origin)
        for item in items
        if item.priority is None and item.name in PLAIN
    }
    if strategy is not None:
        plugins[FIT] = TranslatedScores(strategy.weight, strategy.origin)
    plugins[SPREAD] = TranslatedScores(spreading.weight, spreading.origin)
    plugins["NodeAffinity"] = TranslatedScores(affinity.weight, affinity.origin)
    plugins = {name: scored for name, scored in plugins.items() if scored.weight}
    scaled, scale_notes = _scaled(plugins, to.name)
    notes = [SCALE] if legacy and items else []
    for part in (strategy, spreading, affinity):
        notes += part.notes if part is not None else ()
    notes += _score_notes(items, source, to)
    if source.hard_origin and "InterPodAffinity" not in plugins:
        text = "it has no effect without InterPodAffinityPriority, neither before nor after"
        notes.append(Note(NoteKind.EXACT, source.hard_origin, text))
    notes += scale_notes
    said = None if strategy is None or FIT not in plugins else written_strategy(strategy)
    scoring = strategy.strategy if strategy is not None and FIT in plugins else None
    return Scores(scaled, said, scoring, spreading, affinity, tuple(notes))


def _prefers_nodes(item: PolicyEntry) -> bool:
    return item.priority.label_preference is not None if item.priority else item.name == NODE_AFFINITY


def _spread(items: Sequence[PolicyEntry], source: Source, to: Release) -> Spread:
    bare = [item for item in items if item.priority is None]
    selecting = [item for item in bare if item.name in SELECTOR_SPREADS]
    even = [item for item in bare if item.name == EVEN_SPREAD]
    against = [item for item in items if item.priority is not None and item.priority.service_anti_affinity is not None]
    if source.record.legacy is not None:
        return spread(selecting, even, against, one_plugin=False)
    found = spread(selecting, even, against, one_plugin=not source.selector_spread)
    ran = source.selector_spread
    notes = notes_of_plugins(
        selecting, even, source.release, to.name, selector_spread=ran, turned_off=ran and source.spreads_by_default
    )
    return msgspec.structs.replace(found, notes=(*notes, *found.notes))


def written_strategy(strategy: Strategy) -> WithOrigin:
    """As the args have it."""
    scoring = strategy.strategy
    document: dict[str, Any] = {
        "type": scoring.type,
        "resources": [{"name": name, "weight": weight} for name, weight in scoring.resources],
    }
    if scoring.shape is not None:
        shape = [{"utilization": utilization, "score": score} for utilization, score in scoring.shape]
        document["requestedToCapacityRatio"] = {"shape": shape}
    return WithOrigin(document, strategy.origin)


def _scaled(plugins: dict[str, TranslatedScores], to: str) -> tuple[dict[str, TranslatedScores], list[Note]]:
    """Weights that fit 32 bits, in the ratios they had."""
    largest = max((scored.weight for scored in plugins.values()), default=0)
    if largest <= MAX_WEIGHT:
        return plugins, []
    scaled = {
        name: msgspec.structs.replace(scored, weight=max(1, scored.weight * MAX_WEIGHT // largest))
        for name, scored in plugins.items()
    }
    text = f"weights have 32 bits in {to}: all of them are divided by about {largest / MAX_WEIGHT:.1f}"
    return scaled, [Note(NoteKind.APPROXIMATE, "priorities", text, "choose smaller weights")]


def own_priorities(items: Iterable[PolicyEntry]) -> Iterator[PolicyEntry]:
    """Those that no release comes with."""
    for item in items:
        known = item.name in OTHER_PRIORITIES or priority_name(item.name) in PRIORITIES or is_strategy(item)
        if item.priority is None and not known:
            yield item


# --- notes ---------------------------------------------------------------------------------


OTHER_PRIORITIES = {"ResourceLimitsPriority": RESOURCE_LIMITS, "EqualPriority": EQUAL}
"""Priority without a plugin → what to say of it."""


def _score_notes(items: Sequence[PolicyEntry], source: Source, to: Release) -> Iterator[Note]:
    for item in (item for item in items if item.priority is None):
        if item.name in OTHER_PRIORITIES:
            yield note(OTHER_PRIORITIES[item.name], item.path)
        elif item.name == AVOID:
            gone = gone_since(PRIORITIES[AVOID], source.release, to.name)
            yield Note(NoteKind.LOST, item.path, AVOID_PODS.format(gone), AVOID_PODS_ADVICE)
        elif item.name in PLAIN:
            yield from formula_notes(PLAIN[item.name], item.path, source.release, to.name)
    yield from (note(UNKNOWN, item.path) for item in own_priorities(items))


NEEDED = ("SchedulingGates", "PrioritySort", "DefaultPreemption", "DefaultBinder")
NEW = {
    "DynamicResources": "default of {}: pods with resource claims need it",
    "NodeDeclaredFeatures": "default of {}: pods that need features of the kubelet",
}
AVOID = "NodePreferAvoidPodsPriority"


def nearest_profile(
    source: Source, to: str, *, keep_emphasis: bool = False, with_new_filters: bool = False
) -> Translation:
    """The configuration for release ``to``.

    keep_emphasis: with the weights that keep packing on top. with_new_filters: with the filters that pods of today
    rely on.
    """
    target = release_named(to)
    filters, scores = filters_of(source, target, with_new_filters=with_new_filters), scores_of(source, target)
    before = emphasis_before(source)
    after = _emphasis(scores, source)
    verdict = judge(before, after)
    notes = [*going_notes(source, to), *source.notes, *filters.notes, *scores.notes]
    if source.policy.always_check_all_predicates:
        notes.append(all_checks(target))
    notes += [
        *extender_notes(source.policy.extenders, source.record, target),
        details(source.record, target),
        *defaults_notes(before, after, target.framework_rules.component),
        *verdict.notes,
    ]
    if keep_emphasis:
        notes.append(kept_note(verdict.suggestion))
        scores = _kept(scores, verdict.suggestion) if verdict.suggestion else scores
    config = list(_plugin_config(source, filters, scores))
    return Translation(
        source=source.name,
        from_release=source.release,
        release=to,
        document=profile_document(source, target, _written_plugins(target, filters, scores), config),
        notes=grouped(notes),
        before=before,
        after=_emphasis(scores, source),
    )


def going_notes(source: Source, to: str) -> Iterator[Note]:
    """Since when a policy is not read, or a provider is not there, any more."""
    provider = source.provider
    if provider is None:
        release, text = since(source.release, to, lambda record: not record.reads_policies), "reads policies"
    else:
        release, text = since(source.release, to, lambda record: not has_provider(record, provider)), "has it"
    if release:
        advice = "go on with this configuration before"
        path = "Policy" if provider is None else source.name
        yield Note(NoteKind.CHECK, path, f"{release} no longer {text}", advice)


# --- emphasis ------------------------------------------------------------------------------


def _emphasis(scores: Scores, source: Source) -> Emphasis:
    parts = [WeightedScore(name, scored.weight, *_role(name, scores)) for name, scored in scores.plugins.items()]
    own = (WeightedScore(item.name, item.weight) for item in own_priorities(source.priorities))
    return Emphasis((*parts, *own, *extender_parts(source.policy.extenders)))


def _role(name: str, scores: Scores) -> tuple[Role, str]:
    if name == FIT and scores.scoring is not None:
        return strategy_role(scores.scoring), scores.scoring.type
    if name == SPREAD and scores.spread.defaulting == SYSTEM:
        return Role.SPREADS, SYSTEM
    if name == SPREAD:
        return Role.SPREADS if scores.spread.constraints else Role.OTHER, LIST
    return Role.SPREADS if name == "NodeResourcesBalancedAllocation" else Role.OTHER, ""


def _kept(scores: Scores, suggestion: Suggestion) -> Scores:
    """The scores with the suggestion in them."""
    plugins = dict(scores.plugins)
    for name, weight in suggestion.weights.items():
        scored = plugins[name]
        kept = KEPT.format(weight, scored.weight)
        plugins[name] = msgspec.structs.replace(scored, weight=weight, origin=f"{scored.origin}, {kept}")
    spreading = scores.spread
    if suggestion.no_defaults:
        kept = KEPT.format(LIST, spreading.defaulting)
        spreading = Spread(spreading.weight, f"{spreading.origin}, {kept}", LIST)
    return msgspec.structs.replace(scores, plugins=plugins, spread=spreading)


# --- document ------------------------------------------------------------------------------


def _written_plugins(to: Release, filters: Filters, scores: Scores) -> dict[str, Any]:
    form = to.framework_rules.component
    enabled = list(_enabled(to, filters, scores))
    none = WithOrigin([{"name": "*"}], f"no default of {to.name} but what is enabled here")
    names = [said.value["name"] for said in enabled]
    checked = {Point.PRE_FILTER: filters.plugins, Point.FILTER: filters.plugins}
    scored = {Point.PRE_SCORE: scores.plugins, Point.SCORE: scores.plugins}
    left_out: dict[Point, list[str]] = {}
    for point, wanted in {**checked, **scored}.items():
        idle = [name for name in names if name not in wanted and name not in NEW and point in form.plugins[name].points]
        left_out[point] = [name for name in idle if point in checked or name not in NOT_SCORES]
    if not form.multi_point:
        return {
            point.value: {
                "enabled": [
                    said if point is Point.SCORE else WithOrigin({"name": said.value["name"]}, said.origin)
                    for said in enabled
                    if point in form.plugins[said.value["name"]].points
                    and (point is not Point.SCORE or "weight" in said.value)
                    and said.value["name"] not in left_out.get(point, ())
                ],
                "disabled": none,
            }
            for point in form.points
            if point in form.providers[DEFAULT_PROVIDER]
        }
    members: dict[str, Any] = {"multiPoint": {"enabled": enabled, "disabled": none}}
    for point, idle in left_out.items():
        what = "predicate" if point in checked else "priority"
        if idle:
            disabled = [WithOrigin({"name": name}, f"no {what} of the policy") for name in idle]
            members[point.value] = {"disabled": disabled}
    return members


def _defaults(to: Release) -> tuple[Enabled, ...]:
    """Every plugin that runs by default, with its weight, in order; where there is no multiPoint as filters run."""
    form = to.framework_rules.component
    if form.multi_point:
        return enabled_everywhere(form.multi_point, form.plugins)
    lists = form.providers[DEFAULT_PROVIDER].values()
    return enabled_everywhere(dict.fromkeys(name for names in lists for name in names), form.plugins)


def _enabled(to: Release, filters: Filters, scores: Scores) -> Iterator[WithOrigin]:
    """In the release's own order, then what does not run there by default; a weight where the plugin scores."""
    defaults = _defaults(to)
    others = {*filters.plugins, *scores.plugins}.difference(default.name for default in defaults)
    for default in (*defaults, *map(Enabled, sorted(others))):
        name, scored = default.name, scores.plugins.get(default.name)
        if name in NEEDED:
            yield WithOrigin({"name": name}, ALWAYS_ADDED)
        elif name in NEW:
            weight = {"weight": default.weight} if default.weight else {}
            yield WithOrigin({"name": name, **weight}, NEW[name].format(to.name))
        elif scored is not None:
            source = origin(filters.plugins.get(name, (scored.origin,)))
            yield WithOrigin({"name": name, "weight": WithOrigin(scored.weight, scored.origin)}, source)
        elif name in filters.plugins:
            yield WithOrigin({"name": name}, origin(filters.plugins[name]))


def _plugin_config(source: Source, filters: Filters, scores: Scores) -> Iterator[WithOrigin]:
    """The args, by plugin. NodeResourcesFit is there also when extenders ignore resources, as releases ask for it."""
    if "InterPodAffinity" in scores.plugins:
        said = source.hard_origin or f"default of {source.release}"
        yield _args("InterPodAffinity", WithOrigin({"hardPodAffinityWeight": source.hard_weight}, said))
    added = added_affinity(filters.required, scores.affinity.preferred)
    if added is not None:
        yield _args("NodeAffinity", added)
    if scores.strategy is not None:
        yield _args(FIT, WithOrigin({"scoringStrategy": scores.strategy}, scores.strategy.origin))
    elif ignored_resources(source.policy.extenders):
        yield _args(FIT, WithOrigin({"ignoredResources": []}, "extenders look after resources, which are written here"))
    if SPREAD in scores.plugins:
        yield _args(SPREAD, scores.spread.args)


def _args(plugin: str, args: WithOrigin) -> WithOrigin:
    return WithOrigin({"name": plugin, "args": args}, args.origin)
