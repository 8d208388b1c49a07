"""What a release selects for a policy or provider, each entry with where it comes from, and what entries add up to."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import msgspec

from algorithmprovider.registry import Registry
from kubescheduler.config.policy_1_20_plugins import (
    EQUAL,
    EVEN_SPREAD,
    PREDICATES,
    PRIORITIES,
    SELECTOR_SPREAD,
    DefaultLists,
    predicate_name,
    priority_name,
)
from kubescheduler.config.policy_model import Policy, PredicateArgument, PriorityArgument
from kubescheduler.framework.document_schema import CPU_AND_MEMORY
from kubescheduler.framework.plugins.node_resources_fit import ScoringStrategy
from kubescheduler.translate.translation_model import Note, NoteKind, Role, WithOrigin, formula_notes, made_by, origin


class PolicyEntry(msgspec.Struct, frozen=True):
    """A selected predicate or priority."""

    name: str
    path: str
    """``priorities[2] Name``, or for a default its name alone."""
    origin: str
    """The path as a comment says it, with the weight."""
    weight: int = 0
    """The weight; 0 for predicates."""
    predicate: PredicateArgument | None = None
    """The argument of a predicate, where there is one and it has an effect."""
    priority: PriorityArgument | None = None
    """The argument of a priority, where there is one and it has an effect."""
    idle: bool = False
    """Whether the release never runs it."""


Items = tuple[tuple[PolicyEntry, ...], tuple[PolicyEntry, ...]]
"""(predicates, priorities)."""


def entry_path(kind: str, at: int, name: str) -> str:
    """``priorities[2] Name``."""
    return f"{kind}[{at}] {name}"


def weighted_origin(path: str, weight: int) -> str:
    """The origin of an entry as a comment says it, with its weight."""
    return f"from {path} (weight {weight})"


def _default_predicate(name: str, who: str) -> PolicyEntry:
    return PolicyEntry(name, _default_path(name, who), f"{who}: {name}")


def _default_priority(name: str, who: str, weight: int) -> PolicyEntry:
    return PolicyEntry(name, _default_path(name, who), f"{who}: {name} (weight {weight})", weight)


def _default_path(name: str, who: str) -> str:
    return name if who.startswith("provider ") else f"{name} ({who})"


# --- 1.4 and 1.16 --------------------------------------------------------------------------


def provider_items(known: Registry, provider: str, who: str) -> Items:
    """What a provider of a legacy release bundles, predicates in the order they run, priorities by name."""
    bundle = known.provider(provider)
    predicates = (name for name in known.ordering if name in bundle.predicates)
    weights = ((name, known.priorities[name].weight) for name in sorted(bundle.priorities))
    return (
        tuple(_default_predicate(name, who) for name in predicates),
        tuple(_default_priority(name, who, weight) for name, weight in weights),
    )


def legacy_items(policy: Policy, known: Registry, defaults: Items, foreign: Collection[str] = ()) -> Items:
    """What a legacy release selects; ``defaults`` stand for lists that are not there, ``foreign`` for names of rules
    that are not registered here, and run where they are.

    Entries of one name are one: the last argument and the last weight count.
    """
    predicates, priorities = defaults
    if policy.predicates is not None:
        predicates = tuple(_merged(_predicates(policy)))
        if not known.runs_any_name:
            predicates = tuple(
                msgspec.structs.replace(item, idle=item.name not in (*known.ordering, *foreign)) for item in predicates
            )
    if policy.priorities is not None:
        priorities = tuple(_merged(_priorities(policy)))
    return predicates, priorities


def _predicates(policy: Policy) -> Iterator[PolicyEntry]:
    for at, entry in enumerate(policy.predicates or ()):
        path = entry_path("predicates", at, entry.name)
        yield PolicyEntry(entry.name, path, f"from {path}", predicate=entry.argument)


def _priorities(policy: Policy) -> Iterator[PolicyEntry]:
    for at, entry in enumerate(policy.priorities or ()):
        path = entry_path("priorities", at, entry.name)
        yield PolicyEntry(entry.name, path, weighted_origin(path, entry.weight), entry.weight, priority=entry.argument)


def _merged(items: Iterable[PolicyEntry]) -> Iterator[PolicyEntry]:
    last: dict[str, PolicyEntry] = {}
    for item in items:
        before = last.get(item.name, item)
        last[item.name] = msgspec.structs.replace(
            item, predicate=item.predicate or before.predicate, priority=item.priority or before.priority
        )
    yield from last.values()


# --- releases with plugins -----------------------------------------------------------------


def selected_as_plugins(policy: Policy, provider: str, lists: DefaultLists, release: str) -> Items:
    """What a release with plugins selects: arguments of names that it knows do not count.

    ``lists``, the release's own, as ``provider`` has them, stand for lists that are not there.
    """
    exchanged = lists.exchanged.get(provider, {})
    who = f"provider {provider}" if exchanged else f"default of {release}"
    return _plugin_predicates(policy, lists, who), _plugin_priorities(policy, lists, exchanged, who)


def provider_items_as_plugins(provider: str, lists: DefaultLists, release: str, *, selector_spread: bool) -> Items:
    """What a provider of a release with plugins has, as predicates and priorities.

    selector_spread: it has the plugin SelectorSpread; else what both priorities that spread pods stand for is its one
    PodTopologySpread, and is named so.
    """
    predicates, priorities = selected_as_plugins(Policy(), provider, lists, release)
    if selector_spread:
        return predicates, priorities
    spreading = {item.name: item for item in priorities if item.name in (SELECTOR_SPREAD, EVEN_SPREAD)}
    weight = max((item.weight for item in spreading.values()), default=0)
    who = f"provider {provider}" if lists.exchanged.get(provider) else f"default of {release}"
    one = _default_priority(PRIORITIES[EVEN_SPREAD], who, weight)
    return predicates, tuple(
        msgspec.structs.replace(one, name=item.name) if item.name in spreading else item for item in priorities
    )


def _plugin_predicates(policy: Policy, lists: DefaultLists, who: str) -> tuple[PolicyEntry, ...]:
    if policy.predicates is None:
        return tuple(_default_predicate(name, who) for name in PREDICATES if name in lists.predicates)
    items = list(_predicates(policy))
    known = [i for i in items if predicate_name(i.name) in PREDICATES]
    own = [i for i in items if predicate_name(i.name) not in PREDICATES]
    renamed = (msgspec.structs.replace(i, name=predicate_name(i.name), predicate=None) for i in known)
    return (*_merged(renamed), *own)


def _plugin_priorities(
    policy: Policy, lists: DefaultLists, exchanged: Mapping[str, str], who: str
) -> tuple[PolicyEntry, ...]:
    if policy.priorities is None:
        names = {exchanged.get(name, name): weight for name, weight in lists.priorities.items()}
        return tuple(_default_priority(name, who, names[name]) for name in sorted(names))
    items = [i for i in _priorities(policy) if i.name != EQUAL]
    known = [i for i in items if priority_name(i.name) in PRIORITIES]
    own = [i for i in items if priority_name(i.name) not in PRIORITIES]
    plain = (i for i in known if PRIORITIES[priority_name(i.name)] != i.name)
    renamed = (msgspec.structs.replace(i, name=priority_name(i.name), priority=None) for i in plain)
    return (*_merged(renamed), *own)


NODE_AFFINITY = "NodeAffinityPriority"
MAX_TERM_WEIGHT = 100
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


class NodeScore(msgspec.Struct, frozen=True):
    """The score of NodeAffinity; with weight 0 there is none."""

    weight: int = 0
    origin: str = ""
    preferred: tuple[WithOrigin, ...] = ()
    """The preferred terms of the added affinity."""
    notes: tuple[Note, ...] = ()


def required_expressions(items: Sequence[PolicyEntry]) -> tuple[WithOrigin, ...]:
    """What the labelsPresence arguments among these predicates ask of every node, all at once."""
    found = []
    for item in items:
        presence = item.predicate.labels_presence if item.predicate else None
        if presence is not None:
            found += [_expression(label, presence.presence, item.origin) for label in presence.labels]
    return tuple(found)


def node_score(items: Sequence[PolicyEntry]) -> NodeScore:
    """NodeAffinityPriority and labelPreference arguments as one score.

    Where some node has all the preferred labels the scores are those of before; their sum is the plugin's weight.
    """
    if not items:
        return NodeScore()
    preferring = [item for item in items if item.priority is not None]
    weight = sum(item.weight for item in items)
    heaviest = max((item.weight for item in preferring), default=0)
    scale = max(1.0, heaviest / MAX_TERM_WEIGHT)
    terms = tuple(_preferred(item, max(1, round(item.weight / scale))) for item in preferring)
    source = origin(item.origin for item in items)
    return NodeScore(weight, source, terms, tuple(_note(item, alone=len(items) == 1) for item in preferring))


def added_affinity(required: Sequence[WithOrigin], preferred: Sequence[WithOrigin]) -> WithOrigin | None:
    """The args of NodeAffinity, None if there is nothing to add."""
    sides: dict[str, Any] = {}
    if required:
        source = origin(expression.origin for expression in required)
        sides[REQUIRED] = WithOrigin({"nodeSelectorTerms": [{"matchExpressions": list(required)}]}, source)
    if preferred:
        sides[PREFERRED] = WithOrigin(list(preferred), origin(term.origin for term in preferred))
    if not sides:
        return None
    return WithOrigin({"addedAffinity": sides}, origin(side.origin for side in sides.values()))


def _expression(label: str, presence: bool, source: str) -> WithOrigin:
    return WithOrigin({"key": label, "operator": "Exists" if presence else "DoesNotExist"}, source)


def _preferred(item: PolicyEntry, weight: int) -> WithOrigin:
    preference = item.priority.label_preference if item.priority else None
    assert preference is not None
    expression = _expression(preference.label, preference.presence, item.origin)
    return WithOrigin({"weight": weight, "preference": {"matchExpressions": [expression]}}, item.origin)


def _note(item: PolicyEntry, *, alone: bool) -> Note:
    text = (
        "NodeAffinity has no score per label: the preferences of the configuration and those of the pod are added up, "
        "and the best node gets 100"
    )
    if alone:
        text += "; a pod without preferred node affinity of its own is scored as before"
    advice = "see with kubescheduler compare where pods with preferred node affinity go"
    return Note(NoteKind.APPROXIMATE, item.path, text, advice)


SELECTOR_SPREADS = ("SelectorSpreadPriority", "ServiceSpreadingPriority")
SYSTEM, LIST = "System", "List"
SYSTEM_CONSTRAINTS = (
    {"maxSkew": 3, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway"},
    {"maxSkew": 5, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "ScheduleAnyway"},
)
"""What defaultingType System stands for."""
SELECTOR_PLUGIN = "SelectorSpread"
GATE = "DefaultPodTopologySpread"
GATE_OFF = f"--feature-gates {GATE}=false"
"""The feature gate by which releases from 1.20 on run SelectorSpread."""

SELECTOR_TEXT = (
    "PodTopologySpread with its system defaults (zone with maxSkew 5, hostname with maxSkew 3, ScheduleAnyway) spreads "
    "instead: zone and node weigh by how many there are of them, not two to one"
)
SELECTOR_ADVICE = (
    "label every node with kubernetes.io/hostname and topology.kubernetes.io/zone: other zone labels do not count"
)
OWN_CONSTRAINTS = "it also scores pods by the ScheduleAnyway constraints of their own, with the same weight"


class Spread(msgspec.Struct, frozen=True):
    """The score of PodTopologySpread: weight 0 for none. args: as the document has them."""

    weight: int = 0
    origin: str = ""
    defaulting: str = LIST
    constraints: tuple[WithOrigin, ...] = ()
    notes: tuple[Note, ...] = ()

    @property
    def args(self) -> WithOrigin:
        """Of the plugin, whether it scores or not."""
        source = self.origin or "no priority of the policy spreads pods that do not ask for it"
        args: dict[str, object] = {"defaultingType": self.defaulting}
        if self.constraints:
            args["defaultConstraints"] = list(self.constraints)
        return WithOrigin(args, source)


def spread(
    selecting: Sequence[PolicyEntry], even: Sequence[PolicyEntry], against: Sequence[PolicyEntry], *, one_plugin: bool
) -> Spread:
    """One score for all of them.

    selecting: SelectorSpreadPriority and its like. even: EvenPodsSpreadPriority. against: serviceAntiAffinity
    arguments. one_plugin: the first two are PodTopologySpread already, with the weight of the second, as in 1.20;
    else the larger weight counts.
    """
    items = (*selecting, *even, *against)
    if not items:
        return Spread()
    source = origin(item.origin for item in items if item not in against or not selecting)
    weight = sum(item.weight for item in selecting)
    if even:
        weight = even[0].weight if one_plugin else max(weight, even[0].weight)
    constraints = tuple({_label(item): _constraint(item) for item in against}.values())
    if selecting:
        notes = () if one_plugin else _selector_notes(selecting, even)
        if not against:
            return Spread(weight, source, SYSTEM, (), notes)
        labels = {_label(item) for item in against}
        spelled = tuple(
            WithOrigin(dict(each), f"{source}: system default")
            for each in SYSTEM_CONSTRAINTS
            if each["topologyKey"] not in labels
        )
        source = origin(item.origin for item in items)
        return Spread(weight, source, LIST, (*spelled, *constraints), (*notes, *map(_beside, against)))
    weight = max(weight, sum(item.weight for item in against))
    return Spread(weight, source, LIST, constraints, tuple(map(_approximate, against)))


def _constraint(item: PolicyEntry) -> WithOrigin:
    constraint = {"maxSkew": 1, "topologyKey": _label(item), "whenUnsatisfiable": "ScheduleAnyway"}
    return WithOrigin(constraint, item.origin)


def _label(item: PolicyEntry) -> str:
    argument = item.priority.service_anti_affinity if item.priority else None
    return "" if argument is None else argument.label


# --- notes ---------------------------------------------------------------------------------


def notes_of_plugins(
    selecting: Sequence[PolicyEntry],
    even: Sequence[PolicyEntry],
    before: str,
    to: str,
    *,
    selector_spread: bool,
    turned_off: bool,
) -> tuple[Note, ...]:
    """How PodTopologySpread differs from that of a release with plugins, and from SelectorSpread if that ran instead.

    turned_off: it ran because a feature gate was turned off; else that release has it by default.
    """
    notes: list[Note] = []
    if selector_spread and selecting and turned_off:
        text = (
            "there is neither the gate nor the plugin: PodTopologySpread with its system defaults stands in its place"
        )
        notes.append(Note(NoteKind.APPROXIMATE, GATE_OFF, f"{to}: {text}"))
    elif selector_spread and selecting:
        notes += _selector_notes(selecting, even)
    running = even if selector_spread else (*selecting, *even)
    if running:
        path = ", ".join(dict.fromkeys(item.path for item in running))
        notes += formula_notes("PodTopologySpread", path, before, to, system=bool(selecting and not selector_spread))
    return tuple(notes)


def _selector_notes(selecting: Sequence[PolicyEntry], even: Sequence[PolicyEntry]) -> tuple[Note, ...]:
    paths = ", ".join(item.path for item in selecting)
    notes = [Note(NoteKind.APPROXIMATE, paths, SELECTOR_TEXT, SELECTOR_ADVICE)]
    if even:
        text = f"{paths} and this are one plugin now, which has one weight"
        notes.append(Note(NoteKind.APPROXIMATE, even[0].path, text, "give each kind of pod a profile if both matter"))
    else:
        notes.append(Note(NoteKind.CHECK, paths, f"PodTopologySpread: {OWN_CONSTRAINTS}"))
    return tuple(notes)


def _approximate(item: PolicyEntry) -> Note:
    text = (
        f"it becomes a default constraint of PodTopologySpread on {_label(item)}, which counts the pods that the "
        "services or the owner of a pod select; a pod with constraints of its own does not get it"
    )
    return Note(NoteKind.APPROXIMATE, item.path, text, f"label every node with {_label(item)}: others score 0")


def _beside(item: PolicyEntry) -> Note:
    label = _label(item)
    text = (
        f"the system defaults of PodTopologySpread are written out, and a constraint on {label} beside them: one score "
        "for all, and a node without any of these labels scores 0"
    )
    return Note(
        NoteKind.APPROXIMATE, item.path, text, f"label every node with {label}, and those of the system defaults"
    )


LEAST = "LeastRequestedPriority"
MOST = "MostRequestedPriority"
RATIO = "RequestedToCapacityRatioPriority"

Resources = tuple[tuple[str, int], ...]
"""(resource, weight)."""
Shape = tuple[tuple[int, int], ...]
"""(utilization 0-100, score 0-10) points, utilization rising."""
Curve = list[tuple[int, Fraction]]

FALLING: Shape = ((0, 10), (100, 0))
RISING: Shape = ((0, 0), (100, 10))
SHAPES: dict[str, Shape] = {LEAST: FALLING, MOST: RISING, RATIO: FALLING}
"""Priority without an argument → what it scores by utilization; approximately for the first two."""

TYPES: dict[Shape, str] = {FALLING: "LeastAllocated", RISING: "MostAllocated"}
RATIO_TYPE = "RequestedToCapacityRatio"
MAX_RESOURCE_WEIGHT = 100


class Strategy(msgspec.Struct, frozen=True):
    """Priorities of node resources as one score of NodeResourcesFit."""

    strategy: ScoringStrategy
    weight: int
    """The weight of NodeResourcesFit as a score; 0: the priorities cancel one another out."""
    origin: str
    notes: tuple[Note, ...] = ()


class _Part(msgspec.Struct, frozen=True):
    item: PolicyEntry
    shape: Shape
    resources: Resources
    ratio: bool


def is_strategy(item: PolicyEntry) -> bool:
    """Whether the priority is one of those."""
    return item.priority.requested_to_capacity_ratio is not None if item.priority else item.name in SHAPES


def role_of(shape: Shape) -> Role:
    """Packs if it is best somewhere above the emptiest node, spreads if the emptiest node is best."""
    best = max(score for _, score in shape)
    if all(score == best for _, score in shape):
        return Role.OTHER
    return Role.SPREADS if shape[0][1] == best else Role.PACKS


def strategy_role(strategy: ScoringStrategy) -> Role:
    """What a strategy does to pods."""
    if strategy.shape is not None:
        return role_of(strategy.shape)
    return Role.PACKS if strategy.type == "MostAllocated" else Role.SPREADS


def item_role(item: PolicyEntry) -> Role:
    """What one of those priorities does to pods."""
    return role_of(_part(item).shape)


def combined(items: Sequence[PolicyEntry], before: str, to: str) -> Strategy:
    """The strategy for one or more of those priorities of release ``before``, for release ``to``.

    Several priorities over the same resources are added up to one shape; of others only the heaviest is kept.
    """
    parts = [_part(item) for item in items]
    heaviest = max(parts, key=lambda part: part.item.weight)
    same = [part for part in parts if dict(part.resources) == dict(heaviest.resources)]
    notes = [_lost(part, heaviest) for part in parts if part not in same]
    notes += _resource_notes(heaviest, to)
    if len(same) > 1:
        return _sum(same, notes)
    left_out = made_by(before, to).get("scores-of-resources-that-nodes-have")
    if heaviest.ratio and left_out:
        text = f"utilisation is rounded down from {left_out} on, and a resource that a node does not have is left out"
        notes.append(Note(NoteKind.APPROXIMATE, heaviest.item.path, text))
    elif heaviest.item.name == MOST:
        notes += formula_notes("NodeResourcesMostAllocated", heaviest.item.path, before, to)
    return Strategy(_strategy(heaviest), heaviest.item.weight, heaviest.item.origin, tuple(notes))


def _part(item: PolicyEntry) -> _Part:
    ratio = item.priority.requested_to_capacity_ratio if item.priority else None
    if ratio is None:
        return _Part(item, SHAPES[item.name], CPU_AND_MEMORY, ratio=item.name == RATIO)
    resources = tuple((name, weight) for name, weight in ratio.resource_weights() if weight > 0)
    shape = tuple((point.utilization, point.score) for point in ratio.shape)
    return _Part(item, shape, resources or CPU_AND_MEMORY, ratio=True)


def _strategy(part: _Part) -> ScoringStrategy:
    if part.ratio:
        return ScoringStrategy(RATIO_TYPE, _fitting(part.resources), part.shape)
    return ScoringStrategy(TYPES[part.shape], part.resources)


def _fitting(resources: Resources) -> Resources:
    """The weights as NodeResourcesFit takes them, 1 to 100, in about the ratios they have."""
    largest = max(weight for _, weight in resources)
    if largest <= MAX_RESOURCE_WEIGHT:
        return resources
    return tuple((name, max(1, round(weight * MAX_RESOURCE_WEIGHT / largest))) for name, weight in resources)


def _resource_notes(part: _Part, to: str) -> Iterator[Note]:
    ratio = part.item.priority.requested_to_capacity_ratio if part.item.priority else None
    if ratio is not None and any(weight < 1 for _, weight in ratio.resource_weights()):
        yield Note(NoteKind.LOST, part.item.path, f"resources with a negative weight are left out: {to} takes none")
    if _fitting(part.resources) != part.resources:
        text = f"weights of resources go up to {MAX_RESOURCE_WEIGHT} in {to}: they are scaled down"
        yield Note(NoteKind.APPROXIMATE, part.item.path, text)


def _lost(part: _Part, kept: _Part) -> Note:
    resources = ", ".join(f"{name} {weight}" for name, weight in part.resources)
    return Note(
        NoteKind.LOST,
        part.item.path,
        f"NodeResourcesFit has one scoring strategy, and {kept.item.path} takes it with resources of its own",
        f"choose one of the two for args.scoringStrategy; this one counts {resources} with weight {part.item.weight}",
    )


# --- several in one ------------------------------------------------------------------------


def _sum(parts: Sequence[_Part], notes: list[Note]) -> Strategy:
    """One shape for their weighted sum: its lowest point becomes 0, its highest 10, and its range the weight."""
    curve = _curve(parts)
    low, high = (best(value for _, value in curve) for best in (min, max))
    resources, source = _fitting(parts[0].resources), origin(part.item.origin for part in parts)
    paths = ", ".join(part.item.path for part in parts)
    if low == high:
        text = "they cancel one another out, so nothing is scored by how full nodes are"
        return Strategy(ScoringStrategy(), 0, source, (*notes, Note(NoteKind.APPROXIMATE, paths, text)))
    weight = max(1, round((high - low) / 10))
    shape = _without_straight_points(tuple((at, round((value - low) * 10 / (high - low))) for at, value in curve))
    if shape in TYPES:
        strategy, name = ScoringStrategy(TYPES[shape], resources), TYPES[shape]
    else:
        strategy, name = ScoringStrategy(RATIO_TYPE, resources, shape), f"{RATIO_TYPE}, their weighted sum as one shape"
    text = f"NodeResourcesFit has one scoring strategy; together they are {name}, weight {weight}"
    return Strategy(strategy, weight, source, (*notes, Note(NoteKind.APPROXIMATE, paths, text)))


def _curve(parts: Sequence[_Part]) -> Curve:
    """Utilization → the weighted sum of scores, wherever one of the shapes bends."""
    bends = sorted({0, 100, *(at for part in parts for at, _ in part.shape)})
    return [(at, sum((part.item.weight * _value(part.shape, at) for part in parts), Fraction())) for at in bends]


def _value(shape: Shape, at: int) -> Fraction:
    if at <= shape[0][0]:
        return Fraction(shape[0][1])
    for (left, low), (right, high) in pairwise(shape):
        if at <= right:
            return low + Fraction(high - low, right - left) * (at - left)
    return Fraction(shape[-1][1])


def _without_straight_points(shape: Shape) -> Shape:
    kept = list(shape)
    for point in shape[1:-1]:
        others = tuple(p for p in kept if p != point)
        if _value(others, point[0]) == point[1]:
            kept.remove(point)
    return tuple(kept)
