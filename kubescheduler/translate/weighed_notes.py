"""Notes of a translation weighed against a cluster: who there uses what they speak of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from clusterstate.objects import ClusterObject, Node, Pod, Service
from kubescheduler.translate.filters import NEW_FILTERS
from kubescheduler.translate.notes import AVOID_PODS, LIFECYCLE, RUNNING_INIT
from kubescheduler.translate.spreading import SELECTOR_ADVICE
from kubescheduler.translate.translation_model import Note
from priorities.prefer_avoid import ANNOTATION

ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure")


class _Uses(msgspec.Struct, frozen=True):
    """The parts of a cluster that notes speak of."""

    nodes: Sequence[Node]
    pods: Sequence[Pod]
    services: Sequence[Service]


def weighed(notes: Iterable[Note], objects: Iterable[ClusterObject]) -> tuple[Note, ...]:
    """The notes, with how many nodes, pods or services each concerns where that can be counted."""
    everything = list(objects)
    uses = _Uses(
        [each for each in everything if isinstance(each, Node)],
        [each for each in everything if isinstance(each, Pod)],
        [each for each in everything if isinstance(each, Service)],
    )
    return tuple(_weighed(note, uses) for note in notes)


def _weighed(note: Note, uses: _Uses) -> Note:
    for speaks, count in _COUNTS:
        if speaks(note):
            return msgspec.structs.replace(note, text=f"{note.text}; here {count(uses)}")
    return note


# --- counts --------------------------------------------------------------------------------


def _annotated(uses: _Uses) -> str:
    number = sum(ANNOTATION in node.metadata.annotations for node in uses.nodes)
    return f"{number} of {len(uses.nodes)} nodes carry the annotation" if number else "nobody uses it"


def _untainted(uses: _Uses) -> str:
    """Nodes with a condition that the lifecycle controller would have tainted, and no such taint."""
    pressed = [
        node
        for node in uses.nodes
        if any(
            (c.type in PRESSURES and c.status == "True") or (c.type == "Ready" and c.status != "True")
            for c in node.conditions
        )
    ]
    bare = sum(not any(t.key.startswith("node.kubernetes.io/") for t in node.taints) for node in pressed)
    return f"{len(pressed)} of {len(uses.nodes)} nodes have such a condition, {bare} of them without the taint"


def _services(uses: _Uses) -> str:
    number = sum(bool(service.selector) for service in uses.services)
    return f"{number} services select pods" if number else "nobody uses it: no service selects pods"


def _unlabelled(uses: _Uses) -> str:
    labels = (HOSTNAME, ZONE)
    lacking = [sum(label not in node.metadata.labels for node in uses.nodes) for label in labels]
    return " and ".join(
        f"{number} of {len(uses.nodes)} nodes lack {label}" for number, label in zip(lacking, labels, strict=True)
    )


def _new_filters(uses: _Uses) -> str:
    claims = sum(any(getattr(volume, "claim_name", "") for volume in pod.spec.volumes) for pod in uses.pods)
    spread = sum(
        any(each.when_unsatisfiable == "DoNotSchedule" for each in pod.spec.topology_spread_constraints)
        for pod in uses.pods
    )
    return f"{claims} of {len(uses.pods)} pods use claims, {spread} have DoNotSchedule constraints"


def _running_init(uses: _Uses) -> str:
    number = sum(bool(pod.node_name and pod.spec.init_containers) for pod in uses.pods)
    return f"{number} of {len(uses.pods)} pods run and have init containers"


_COUNTS: tuple[tuple[Callable[[Note], bool], Callable[[_Uses], str]], ...] = (
    (lambda note: note.text == AVOID_PODS[1], _annotated),
    (lambda note: note.text == LIFECYCLE, _untainted),
    (lambda note: RUNNING_INIT in note.text, _running_init),
    (lambda note: note.advice == SELECTOR_ADVICE, _unlabelled),
    (lambda note: "ServiceAffinity" in note.path + note.text or "ServiceAntiAffinity" in note.path, _services),
    (lambda note: note.path == "predicates" and any(name in note.text for name in NEW_FILTERS), _new_filters),
)
"""(whether a note speaks of it, what is there of it)."""
