"""Profiles of an older KubeSchedulerConfiguration as a later release takes them, plugin by plugin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from clusterstate.errors import nearest
from kubescheduler.config.component_format import FIT
from kubescheduler.config.config_schema import MEMBERS, V1BETA1, PluginConfig
from kubescheduler.config.policy_model import (
    LabelPreference,
    LabelsPresence,
    PredicateArgument,
    PriorityArgument,
    RequestedToCapacityRatio,
    ResourceWeight,
    ServiceAntiAffinity,
    UtilizationPoint,
)
from kubescheduler.framework.contract.profile import ALL
from kubescheduler.framework.document_schema import CPU_AND_MEMORY
from kubescheduler.framework.plugins.nodes import NodeLabelArgs
from kubescheduler.framework.plugins.plugin_record import args_keys
from kubescheduler.framework.plugins.services import ServiceAffinityArgs
from kubescheduler.releases.release import Release
from kubescheduler.translate.emphasis import SPREAD
from kubescheduler.translate.nearest_profile import IN_TREE_LIMITS, service_affinity_note, written_strategy
from kubescheduler.translate.policy_entries import (
    FALLING,
    LEAST,
    MOST,
    RATIO_TYPE,
    RISING,
    SELECTOR_ADVICE,
    SELECTOR_TEXT,
    PolicyEntry,
    Shape,
    added_affinity,
    combined,
    node_score,
    required_expressions,
    spread,
)
from kubescheduler.translate.translation_model import (
    AVOID_PODS,
    AVOID_PODS_ADVICE,
    IN_TREE_ADVICE,
    RESOURCE_LIMITS,
    Note,
    NoteKind,
    WithOrigin,
    gone_since,
    note,
)

LEAST_PLUGIN = "NodeResourcesLeastAllocated"
FULLNESS: dict[str, tuple[str, Shape]] = {
    LEAST_PLUGIN: (LEAST, FALLING),
    "NodeResourcesMostAllocated": (MOST, RISING),
    "RequestedToCapacityRatio": ("", ()),
}
"""Plugin → the priority that it was, and its shape."""
RATIO = "requestedToCapacityRatio"
"""The key of a scoring strategy."""


class FitUpgrade(msgspec.Struct, frozen=True):
    """How NodeResourcesFit scores."""

    weight: int
    """0: not at all."""
    listed: bool = False
    """Whether the profile has to list it among its scores."""
    args: WithOrigin | None = None
    """The scoring strategy, if it is not the default one."""
    origin: str = ""
    notes: tuple[Note, ...] = ()


def fit_upgrade(old: OldProfile) -> FitUpgrade:
    """Of a profile's scores by fullness, for a release that has none but NodeResourcesFit.

    Where NodeResourcesLeastAllocated is no default there is nothing to do without any of these plugins.
    """
    (enabled, disabled), args = old.plugin_set(SCORE), {entry.name: entry.args for entry in old.args}
    items = []
    for at, entry in enumerate(enabled):
        if (name := entry.get("name")) in FULLNESS:
            path = f"{old.path}.plugins.score.enabled[{at}] {name}"
            items.append(_item(str(name), entry.get("weight") or 1, path, args))
    kept = old.least and LEAST_PLUGIN not in disabled and ALL not in disabled
    if kept:
        items.insert(0, _item(LEAST_PLUGIN, 1, f"{LEAST_PLUGIN} (default)", args))
    if not items:
        return FitUpgrade(0)
    if kept and len(items) == 1 and LEAST_PLUGIN not in args:
        return FitUpgrade(1)
    found = combined(items, old.before.name, old.to.name)
    text = "it is a scoring strategy of NodeResourcesFit now, with the same formula"
    notes = found.notes or tuple(Note(NoteKind.EXACT, item.path, text) for item in items)
    return FitUpgrade(found.weight, listed=True, args=written_strategy(found), origin=found.origin, notes=notes)


def _item(name: str, weight: int, path: str, args: Mapping[str, Any]) -> PolicyEntry:
    priority, shape = FULLNESS[name]
    given = args.get(name)
    resources = tuple(getattr(given, "resources", ()) or ())
    shape = tuple(getattr(given, "shape", ()) or shape)
    if priority and (not resources or dict(resources) == dict(CPU_AND_MEMORY)):
        return PolicyEntry(priority, path, path, weight)
    ratio = RequestedToCapacityRatio(
        tuple(UtilizationPoint(*point) for point in shape), tuple(ResourceWeight(*each) for each in resources)
    )
    return PolicyEntry(name, path, path, weight, priority=PriorityArgument(requested_to_capacity_ratio=ratio))


LABELS = ("NodeLabel", "ServiceAffinity")
PluginArgs = tuple[str, dict[str, Any], str]
"""(plugin, its args, where they come from)."""


def label_args(old: OldProfile, notes: list[Note]) -> Iterator[PluginArgs]:
    """What the args of those plugins become where the target has them no more."""
    weights = {entry.get("name"): entry.get("weight") or 1 for entry in old.plugin_set(SCORE)[0]}
    for at, entry in enumerate(old.args):
        where = f"{old.path}.pluginConfig[{at}] {entry.name}"
        if not old.lacks(entry.name):
            continue
        if isinstance(entry.args, NodeLabelArgs):
            yield from _node_label(entry.args, weights.get("NodeLabel", 0), where, notes)
        elif isinstance(entry.args, ServiceAffinityArgs):
            gone = gone_since(entry.name, old.before.name, old.to.name)
            yield from _service_affinity(entry.args, weights.get("ServiceAffinity", 0), where, gone, notes)


def _node_label(args: NodeLabelArgs, weight: int, path: str, notes: list[Note]) -> Iterator[PluginArgs]:
    required = [
        PolicyEntry("NodeLabel", path, path, predicate=PredicateArgument(labels_presence=LabelsPresence(labels, there)))
        for labels, there in ((args.present_labels, True), (args.absent_labels, False))
        if labels
    ]
    preferred = [
        PolicyEntry(
            "NodeLabel", path, path, weight, priority=PriorityArgument(label_preference=LabelPreference(label, there))
        )
        for labels, there in ((args.present_labels_preference, True), (args.absent_labels_preference, False))
        for label in labels
        if weight
    ]
    score = node_score(preferred)
    notes += score.notes
    found = added_affinity(required_expressions(required), score.preferred)
    if found is not None:
        yield "NodeAffinity", dict(found.value), path


def _service_affinity(
    args: ServiceAffinityArgs, weight: int, path: str, gone: str, notes: list[Note]
) -> Iterator[PluginArgs]:
    if args.affinity_labels:
        notes.append(service_affinity_note(args.affinity_labels, path, gone))
    against = [
        PolicyEntry(
            "ServiceAffinity",
            path,
            path,
            weight,
            priority=PriorityArgument(service_anti_affinity=ServiceAntiAffinity(label)),
        )
        for label in args.anti_affinity_labels_preference
        if weight
    ]
    if against:
        found = spread((), (), against, one_plugin=False)
        notes += found.notes
        value = found.args.value
        yield (
            "PodTopologySpread",
            {**value, "defaultConstraints": [WithOrigin(c.value, path) for c in found.constraints]},
            path,
        )


SCORE, PRE_SCORE = "score", "preScore"
SELECTOR, OLD_SELECTOR = "SelectorSpread", "DefaultPodTopologySpread"
REPLACED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(IN_TREE_LIMITS, ("NodeVolumeLimits",)),
    SELECTOR: (SPREAD,),
    OLD_SELECTOR: (SELECTOR, SPREAD),
}
"""Plugin → those that do its work where it is gone; the first that there is."""


class OldProfile(msgspec.Struct, frozen=True):
    """A profile as it is written."""

    written: Mapping[str, Any]
    path: str
    """``profiles[0]``."""
    args: tuple[PluginConfig, ...]
    """The entries of ``pluginConfig``, decoded."""
    before: Release
    """The release that reads it."""
    to: Release
    """The one that it is for."""
    weights: Mapping[str, int]
    """Score plugin → weight, of those that run by default in its version."""
    new_weights: Mapping[str, int]
    """The same of the target."""

    def lacks(self, name: str) -> bool:
        """Whether the release before has a plugin that configurations of the target cannot name."""
        return name in self.before.framework_rules.plugins and not self.to.framework_rules.component.takes(name)

    def instead(self, name: str) -> str:
        """The plugin that does the work of one that the target lacks; empty for none."""
        takes = self.to.framework_rules.component.takes
        return next((other for other in REPLACED.get(name, ()) if takes(other)), "")

    @property
    def least(self) -> bool:
        """Whether NodeResourcesLeastAllocated is a default that the target lacks."""
        return LEAST_PLUGIN in self.weights and self.lacks(LEAST_PLUGIN)

    def plugin_set(self, member: str) -> tuple[list[dict[str, Any]], list[str]]:
        """(enabled entries, disabled names)."""
        found = (self.written.get("plugins") or {}).get(member) or {}
        return [dict(each) for each in found.get("enabled") or ()], [d["name"] for d in found.get("disabled") or ()]

    def scores(self, name: str) -> bool:
        """Whether a default score is left, neither disabled nor named anew."""
        _, disabled = self.plugin_set(SCORE)
        return ALL not in disabled and name not in disabled


def upgraded_profile(old: OldProfile) -> tuple[dict[str, Any], list[Note]]:
    """(``plugins`` and ``pluginConfig`` as the target has them, what to know)."""
    notes: list[Note] = []
    members = MEMBERS[old.to.framework_rules.component.native]
    written = old.written.get("plugins") or {}
    plugins = {member: _plugin_set(old, member, notes) for member in written if member in members}
    notes += _members_gone(old, [member for member in written if member not in members])
    scores = plugins.get(SCORE, ([], []))
    fit = fit_upgrade(old) if old.lacks(LEAST_PLUGIN) else FitUpgrade(0)
    notes += fit.notes
    if fit.weight == 0 and old.least and ALL not in old.plugin_set(SCORE)[1]:
        scores[1].append(WithOrigin({"name": FIT}, f"{old.path}: {LEAST_PLUGIN} is disabled"))
    elif fit.weight and fit.listed:
        scores[0].append(WithOrigin({"name": FIT, "weight": fit.weight}, fit.origin))
    _keep_weights(old, scores)
    plugins[SCORE] = scores
    config = _plugin_config(old, fit.args, notes)
    notes += _left_defaults(old)
    said: dict[str, Any] = {}
    for member, found in plugins.items():
        if kept := {key: entries for key, entries in zip(("enabled", "disabled"), found, strict=True) if entries}:
            said.setdefault("plugins", {})[member] = kept
    if config:
        said["pluginConfig"] = config
    return said, notes


def _keep_weights(old: OldProfile, scores: tuple[list[WithOrigin], list[WithOrigin]]) -> None:
    """Lists the defaults whose weight the target has changed, with the one that they had."""
    enabled, _ = old.plugin_set(SCORE)
    named = {entry.get("name") for entry in enabled}
    once = old.to.framework_rules.component.native == V1BETA1
    for name, weight in old.weights.items():
        both = name == SPREAD and any(each in old.weights and old.lacks(each) for each in (SELECTOR, OLD_SELECTOR))
        changed = old.new_weights.get(name, weight) != weight and not both
        if changed and old.scores(name) and name not in named:
            said = f"its weight by default in {old.before.name}"
            scores[0].append(WithOrigin({"name": name, "weight": weight}, said))
            if once:
                scores[1].append(WithOrigin({"name": name}, said))


def _left_defaults(old: OldProfile) -> Iterator[Note]:
    """Default scores that the target does not have by default."""
    for name in old.weights:
        if name in old.new_weights or not old.scores(name) or name in FULLNESS:
            continue
        gone = gone_since(name, old.before.name, old.to.name)
        if name == "NodePreferAvoidPods":
            yield Note(NoteKind.LOST, name, AVOID_PODS.format(gone), AVOID_PODS_ADVICE)
        elif name == OLD_SELECTOR and SELECTOR in old.new_weights:
            yield Note(NoteKind.EXACT, name, f"it is called {SELECTOR} now")
        elif name in (SELECTOR, OLD_SELECTOR):
            yield Note(NoteKind.APPROXIMATE, name, SELECTOR_TEXT, SELECTOR_ADVICE)


def _members_gone(old: OldProfile, members: Sequence[str]) -> Iterator[Note]:
    for member in members:
        path = f"{old.path}.plugins.{member}"
        text = f"{old.to.name} has no such point: a Reserve plugin undoes there what it has done"
        if old.plugin_set(member)[0]:
            yield Note(NoteKind.LOST, path, text, "enable the plugins at reserve, and see that they do it there")
        else:
            yield Note(NoteKind.EXACT, path, text)


# --- plugins -------------------------------------------------------------------------------


def _plugin_set(old: OldProfile, member: str, notes: list[Note]) -> tuple[list[WithOrigin], list[WithOrigin]]:
    enabled, disabled = old.plugin_set(member)
    names = {entry.get("name") for entry in enabled}
    kept: list[WithOrigin] = []
    for at, entry in enumerate(enabled):
        name, path = str(entry.get("name")), f"{old.path}.plugins.{member}.enabled[{at}]"
        gone = gone_since(name, old.before.name, old.to.name)
        if not old.lacks(name):
            kept.append(WithOrigin(entry, path))
            notes += _foreign(old, name, path)
        elif instead := old.instead(name):
            notes += _replaced_note(old, name, instead, path)
            if instead not in names and (member != "multiPoint" or name not in IN_TREE_LIMITS):
                names.add(instead)
                kept.append(WithOrigin({**entry, "name": instead}, f"{path} {name}"))
        elif name == "NodeResourceLimits":
            notes.append(note(RESOURCE_LIMITS, f"{path} {name}"))
        elif name not in (*FULLNESS, *LABELS):
            notes.append(Note(NoteKind.LOST, f"{path} {name}", AVOID_PODS.format(gone), AVOID_PODS_ADVICE))
    left: list[WithOrigin] = []
    for name in disabled:
        instead = old.instead(name)
        if not old.lacks(name):
            left.append(WithOrigin({"name": name}, f"{old.path}.plugins.{member}.disabled"))
            notes += _foreign(old, name, f"{old.path}.plugins.{member}.disabled") if name != ALL else ()
        elif instead == SELECTOR and name == OLD_SELECTOR:
            left.append(WithOrigin({"name": SELECTOR}, f"{old.path}.plugins.{member}.disabled {name}"))
        elif instead == SPREAD:
            text = f"{name} was disabled; PodTopologySpread spreads by default in {old.to.name}, and is left on"
            advice = "disable PodTopologySpread there too, or give it defaultingType List, if pods are not to be spread"
            notes.append(Note(NoteKind.CHECK, f"{old.path}.plugins.{member}.disabled", text, advice))
    return kept, left


def _foreign(old: OldProfile, name: str, path: str) -> Iterator[Note]:
    if name not in old.to.framework_rules.plugins and name not in old.before.framework_rules.plugins:
        near = nearest(name, old.before.framework_rules.plugins)
        text = f"it does not come with kube-scheduler: it is kept as it is{near}"
        advice = f"build it against the framework of {old.to.name}; try it with --plugin"
        yield Note(NoteKind.CHECK, f"{path} {name}", text, advice)


def _replaced_note(old: OldProfile, name: str, instead: str, path: str) -> Iterator[Note]:
    if instead == SELECTOR:
        yield Note(NoteKind.EXACT, f"{path} {name}", f"it is called {SELECTOR} now")
    elif instead == SPREAD:
        yield Note(NoteKind.APPROXIMATE, f"{path} {name}", SELECTOR_TEXT, SELECTOR_ADVICE)
    else:
        gone = gone_since(name, old.before.name, old.to.name)
        text = f"{gone} has no such plugin: {instead} counts these volumes"
        yield Note(NoteKind.APPROXIMATE, f"{path} {name}", text, IN_TREE_ADVICE)


# --- args ----------------------------------------------------------------------------------


def _plugin_config(old: OldProfile, strategy: WithOrigin | None, notes: list[Note]) -> list[WithOrigin]:
    """The args without those of plugins that are gone, with what these become."""
    config: dict[str, WithOrigin] = {}
    known = args_keys(old.to.framework_rules.plugins, {})
    for at, entry in enumerate(old.written.get("pluginConfig") or ()):
        name, path = str(entry.get("name")), f"{old.path}.pluginConfig[{at}]"
        if old.lacks(name):
            continue
        args = {key: value for key, value in (entry.get("args") or {}).items() if key not in ("apiVersion", "kind")}
        keys = {field.key for field in known[name].fields} if name in known else None
        constrained = name == SPREAD and args.get("defaultConstraints") and not args.get("defaultingType")
        if constrained and (keys is None or "defaultingType" in keys):
            args["defaultingType"] = WithOrigin("List", "what constraints meant by default")
        for key in [key for key in args if keys is not None and key not in keys]:
            del args[key]
            notes.append(Note(NoteKind.LOST, f"{path}.args.{key}", f"{name} of {old.to.name} has no such key"))
        scoring = args.get("scoringStrategy") if name == FIT else None
        if scoring and scoring.get("type") != RATIO_TYPE and scoring.get(RATIO) is not None:
            args["scoringStrategy"] = {key: value for key, value in scoring.items() if key != RATIO}
            text = f"only the type {RATIO_TYPE} reads it, and from 1.36 on no other may have it; it is left out"
            notes.append(Note(NoteKind.EXACT, f"{path}.args.scoringStrategy.{RATIO}", text))
        config[name] = WithOrigin({"name": name, "args": args}, path)
    if strategy is not None:
        _add(config, FIT, {"scoringStrategy": strategy}, strategy.origin)
    for plugin, args, origin in label_args(old, notes):
        if plugin in config and set(args) & set(config[plugin].value["args"]):
            text = f"{plugin} has args of its own already, to which this cannot be added"
            notes.append(Note(NoteKind.LOST, origin, text, f"add {', '.join(args)} by hand"))
        else:
            _add(config, plugin, args, origin)
    return list(config.values())


def _add(config: dict[str, WithOrigin], plugin: str, args: Mapping[str, Any], origin: str) -> None:
    before = config[plugin].value["args"] if plugin in config else {}
    config[plugin] = WithOrigin({"name": plugin, "args": {**before, **args}}, origin)
