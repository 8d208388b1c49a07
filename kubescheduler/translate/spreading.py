"""Priorities that spread the pods of a service, as the one score that PodTopologySpread of 1.36 has."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from kubescheduler.translate.policy_entries import PolicyEntry
from kubescheduler.translate.translation_model import Note, NoteKind, WithOrigin, origin

SELECTOR_SPREAD = ("SelectorSpreadPriority", "ServiceSpreadingPriority")
EVEN_SPREAD = "EvenPodsSpreadPriority"
SYSTEM, LIST = "System", "List"
SYSTEM_CONSTRAINTS = (
    {"maxSkew": 3, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway"},
    {"maxSkew": 5, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "ScheduleAnyway"},
)
"""What defaultingType System stands for."""
SELECTOR_PLUGIN = "SelectorSpread"
GATE = "DefaultPodTopologySpread"
GATE_OFF = f"--feature-gates {GATE}=false"
"""The feature gate by which release 1.20 runs SelectorSpread."""

SELECTOR_TEXT = (
    "PodTopologySpread with its system defaults (zone with maxSkew 5, hostname with maxSkew 3, ScheduleAnyway) spreads "
    "instead: zone and node weigh by how many there are of them, not two to one"
)
SELECTOR_ADVICE = (
    "label every node with kubernetes.io/hostname and topology.kubernetes.io/zone: other zone labels do not count"
)
ROUNDED = "1.36 rounds the score by the pods in a zone or on a node to a whole number, where 1.20 cuts the fraction off"
SELECTORS = (
    "of controllers, only the one that owns a pod says which pods are its like, where in 1.20 all did that select it"
)
GATE_TEXT = (
    "1.36 has neither the gate nor SelectorSpread: PodTopologySpread with its system defaults stands in its place"
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


def notes_from_1_20(
    selecting: Sequence[PolicyEntry], even: Sequence[PolicyEntry], *, selector_spread: bool
) -> tuple[Note, ...]:
    """How PodTopologySpread of 1.36 differs from that of 1.20, and from SelectorSpread if that ran instead."""
    notes = [Note(NoteKind.APPROXIMATE, GATE_OFF, GATE_TEXT)] if selector_spread and selecting else []
    running = even if selector_spread else (*selecting, *even)
    if running:
        defaults = selecting and not selector_spread
        text = f"{ROUNDED}; {SELECTORS}" if defaults else ROUNDED
        notes.append(Note(NoteKind.APPROXIMATE, ", ".join(dict.fromkeys(item.path for item in running)), text))
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
