"""Profiles of an older KubeSchedulerConfiguration as profiles of v1, plugin by plugin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from kubescheduler.config.component.config_schema import ALL, PluginConfig
from kubescheduler.config.component.format_1_36 import GONE
from kubescheduler.config.policy.policy_model import (
    LabelPreference,
    LabelsPresence,
    PredicateArgument,
    PriorityArgument,
    RequestedToCapacityRatio,
    ResourceWeight,
    ServiceAntiAffinity,
    UtilizationPoint,
)
from kubescheduler.framework.args.args_type import CPU_AND_MEMORY
from kubescheduler.framework.plugins.node_label import NodeLabelArgs
from kubescheduler.framework.plugins.service_affinity import ServiceAffinityArgs
from kubescheduler.releases import v1_20, v1_36
from kubescheduler.translate.policy_entries import (
    FALLING,
    LEAST,
    MOST,
    RISING,
    ROUNDED,
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
from kubescheduler.translate.to_1_36 import service_affinity_note, written_strategy
from kubescheduler.translate.translation_model import (
    AVOID_PODS,
    BALANCED_1_36,
    DETAILS_1_36,
    IMAGES_1_36,
    INTER_POD_1_36,
    Note,
    NoteKind,
    WithOrigin,
    note,
)

FIT = "NodeResourcesFit"
LEAST_PLUGIN = "NodeResourcesLeastAllocated"
FULLNESS: dict[str, tuple[str, Shape]] = {
    LEAST_PLUGIN: (LEAST, FALLING),
    "NodeResourcesMostAllocated": (MOST, RISING),
    "RequestedToCapacityRatio": ("", ()),
}
"""Plugin → the priority that it was, and its shape."""


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


def fit_upgrade(
    score: tuple[Sequence[Mapping[str, Any]], Sequence[str]], args: Mapping[str, Any], path: str, *, least: bool
) -> FitUpgrade:
    """Of a profile's (enabled entries, disabled names) at score and its decoded args.

    least: NodeResourcesLeastAllocated is a default with weight 1; else these plugins are not, and without any of them
    nothing has to change.
    """
    enabled, disabled = score
    items = []
    for at, entry in enumerate(enabled):
        if (name := entry.get("name")) in FULLNESS:
            items.append(_item(str(name), entry.get("weight") or 1, f"{path}.plugins.score.enabled[{at}] {name}", args))
    kept = least and LEAST_PLUGIN not in disabled and ALL not in disabled
    if kept:
        items.insert(0, _item(LEAST_PLUGIN, 1, f"{LEAST_PLUGIN} (default)", args))
    if not items:
        return FitUpgrade(0)
    if kept and len(items) == 1 and LEAST_PLUGIN not in args:
        return FitUpgrade(1)
    found = combined(items, overfull_counts_nothing=False)
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


def label_args(
    config: Sequence[PluginConfig], scores: Sequence[Mapping[str, Any]], path: str, notes: list[Note]
) -> Iterator[PluginArgs]:
    """What the args of those plugins become; ``scores`` are the enabled Score plugins, with their weights."""
    weights = {entry.get("name"): entry.get("weight") or 1 for entry in scores}
    for at, entry in enumerate(config):
        where = f"{path}.pluginConfig[{at}] {entry.name}"
        if isinstance(entry.args, NodeLabelArgs):
            yield from _node_label(entry.args, weights.get("NodeLabel", 0), where, notes)
        elif isinstance(entry.args, ServiceAffinityArgs):
            yield from _service_affinity(entry.args, weights.get("ServiceAffinity", 0), where, notes)


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


def _service_affinity(args: ServiceAffinityArgs, weight: int, path: str, notes: list[Note]) -> Iterator[PluginArgs]:
    if args.affinity_labels:
        notes.append(service_affinity_note(args.affinity_labels, path))
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
LIMITS = ("EBSLimits", "GCEPDLimits", "AzureDiskLimits", "CinderLimits")
REPLACED = {**dict.fromkeys(LIMITS, "NodeVolumeLimits"), "SelectorSpread": "PodTopologySpread"}
"""Plugin that 1.36 no longer has → the one that does its work."""
LIGHT = ("TaintToleration", "NodeAffinity", "InterPodAffinity")
"""Score plugins with weight 1 by default before v1beta3, with 3, 2 and 2 in v1."""
OTHER_FORMULAS = {
    "NodeResourcesBalancedAllocation": BALANCED_1_36,
    "ImageLocality": IMAGES_1_36,
    "InterPodAffinity": INTER_POD_1_36,
    "NodePreferAvoidPods": AVOID_PODS,
    "PodTopologySpread": (NoteKind.APPROXIMATE, ROUNDED, ""),
}
"""Default score of 1.20 → what is to be said of it in 1.36."""


class OldProfile(msgspec.Struct, frozen=True):
    """A profile as it is written."""

    written: Mapping[str, Any]
    path: str
    """``profiles[0]``."""
    args: tuple[PluginConfig, ...]
    """The entries of ``pluginConfig``, decoded."""
    lists: bool
    """Whether the defaults of its version are lists at each point, with weight 1 for most scores."""
    least: bool
    """Whether NodeResourcesLeastAllocated is one of the defaults."""

    def plugin_set(self, member: str) -> tuple[list[dict[str, Any]], list[str]]:
        """(enabled entries, disabled names)."""
        found = (self.written.get("plugins") or {}).get(member) or {}
        return [dict(each) for each in found.get("enabled") or ()], [d["name"] for d in found.get("disabled") or ()]

    def scores(self, name: str) -> bool:
        """Whether a default score is left, neither disabled nor named anew."""
        _, disabled = self.plugin_set(SCORE)
        return ALL not in disabled and name not in disabled


def upgraded_profile(old: OldProfile) -> tuple[dict[str, Any], list[Note]]:
    """(``plugins`` and ``pluginConfig`` of v1, what to know)."""
    notes: list[Note] = []
    plugins = {member: _plugin_set(old, member, notes) for member in old.written.get("plugins") or {}}
    scores = plugins.get(SCORE, ([], []))
    fit = fit_upgrade(old.plugin_set(SCORE), {entry.name: entry.args for entry in old.args}, old.path, least=old.least)
    notes += fit.notes
    if fit.weight == 0 and old.least and ALL not in old.plugin_set(SCORE)[1]:
        scores[1].append(WithOrigin({"name": FIT}, f"{old.path}: {LEAST_PLUGIN} is disabled"))
    elif fit.weight and fit.listed:
        scores[0].append(WithOrigin({"name": FIT, "weight": fit.weight}, fit.origin))
    if old.lists:
        scores[0].extend(_light(old))
    plugins[SCORE] = scores
    config = _plugin_config(old, fit.args, notes)
    if old.least:
        notes += (note(text, name) for name, text in OTHER_FORMULAS.items() if old.scores(name))
        notes.append(DETAILS_1_36)
    said: dict[str, Any] = {}
    if written := {member: _written(*found) for member, found in plugins.items() if any(found)}:
        said["plugins"] = written
    if config:
        said["pluginConfig"] = config
    return said, notes


def _written(enabled: Sequence[WithOrigin], disabled: Sequence[WithOrigin]) -> dict[str, Any]:
    found = {"enabled": list(enabled), "disabled": list(disabled)}
    return {key: value for key, value in found.items() if value}


def _light(old: OldProfile) -> Iterator[WithOrigin]:
    """The weights that v1 would change."""
    enabled, _ = old.plugin_set(SCORE)
    for name in LIGHT:
        if old.scores(name) and name not in {entry.get("name") for entry in enabled}:
            yield WithOrigin({"name": name, "weight": 1}, "its weight by default before v1beta3")


# --- plugins -------------------------------------------------------------------------------


def _plugin_set(old: OldProfile, member: str, notes: list[Note]) -> tuple[list[WithOrigin], list[WithOrigin]]:
    enabled, disabled = old.plugin_set(member)
    names = {entry.get("name") for entry in enabled}
    kept: list[WithOrigin] = []
    for at, entry in enumerate(enabled):
        name, path = str(entry.get("name")), f"{old.path}.plugins.{member}.enabled[{at}]"
        if name not in GONE:
            kept.append(WithOrigin(entry, path))
            notes += _foreign(name, path)
        elif name in REPLACED:
            instead = REPLACED[name]
            notes.append(_replaced_note(name, path))
            if instead not in names and (member != "multiPoint" or name not in LIMITS):
                names.add(instead)
                kept.append(WithOrigin({**entry, "name": instead}, f"{path} {name}"))
        elif member == "multiPoint":
            notes.append(Note(NoteKind.LOST, f"{path} {name}", f"1.36 has no such plugin: {GONE[name]}"))
        elif name not in (*FULLNESS, *LABELS):
            notes.append(note(AVOID_PODS, f"{path} {name}"))
    dropped = {REPLACED.get(name, name) for name in disabled if name in GONE} - {FIT}
    left = [
        WithOrigin({"name": name}, f"{old.path}.plugins.{member}.disabled") for name in disabled if name not in GONE
    ]
    replaced = [name for name in disabled if name == "SelectorSpread"]
    if replaced and dropped:
        text = "SelectorSpread was disabled; PodTopologySpread spreads by default in 1.36, and is left on"
        advice = "disable PodTopologySpread there too, or give it defaultingType List, if pods are not to be spread"
        notes.append(Note(NoteKind.CHECK, f"{old.path}.plugins.{member}.disabled", text, advice))
    return kept, left


def _foreign(name: str, path: str) -> Iterator[Note]:
    if name not in v1_36.PLUGINS and name not in v1_20.PLUGINS:
        text = "it does not come with kube-scheduler: it is kept as it is"
        yield Note(
            NoteKind.CHECK, f"{path} {name}", text, "build it against the framework of 1.36; try it with --plugin"
        )


def _replaced_note(name: str, path: str) -> Note:
    if name == "SelectorSpread":
        return Note(NoteKind.APPROXIMATE, f"{path} {name}", SELECTOR_TEXT, SELECTOR_ADVICE)
    return Note(NoteKind.APPROXIMATE, f"{path} {name}", GONE[name], "see that the CSI drivers report allocatable.count")


# --- args ----------------------------------------------------------------------------------


def _plugin_config(old: OldProfile, strategy: WithOrigin | None, notes: list[Note]) -> list[WithOrigin]:
    """The args without those of plugins that are gone, with what these become."""
    config: dict[str, WithOrigin] = {}
    for at, entry in enumerate(old.written.get("pluginConfig") or ()):
        name, path = str(entry.get("name")), f"{old.path}.pluginConfig[{at}]"
        if name in GONE:
            continue
        args = {key: value for key, value in (entry.get("args") or {}).items() if key not in ("apiVersion", "kind")}
        if name == "PodTopologySpread" and args.get("defaultConstraints") and not args.get("defaultingType"):
            args["defaultingType"] = WithOrigin("List", "what constraints meant by default; v1 has System")
        config[name] = WithOrigin({"name": name, "args": args}, path)
    if strategy is not None:
        _add(config, FIT, {"scoringStrategy": strategy}, strategy.origin)
    for plugin, args, origin in label_args(old.args, old.plugin_set(SCORE)[0], old.path, notes):
        if plugin in config and set(args) & set(config[plugin].value["args"]):
            text = f"{plugin} has args of its own already, to which this cannot be added"
            notes.append(Note(NoteKind.LOST, origin, text, f"add {', '.join(args)} by hand"))
        else:
            _add(config, plugin, args, origin)
    return list(config.values())


def _add(config: dict[str, WithOrigin], plugin: str, args: Mapping[str, Any], origin: str) -> None:
    before = config[plugin].value["args"] if plugin in config else {}
    config[plugin] = WithOrigin({"name": plugin, "args": {**before, **args}}, origin)
