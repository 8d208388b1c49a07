"""Changes that may help a pod, how manifests are changed by them, and those that do help."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import attrs
import msgspec

from clusterstate.errors import InputError
from clusterstate.manifests.annotations_1_4 import (
    AFFINITY_ANNOTATION,
    INIT_ANNOTATIONS,
    TAINTS_ANNOTATION,
    TOLERATIONS_ANNOTATION,
)
from clusterstate.manifests.kinds import encode_object
from clusterstate.manifests.tables import resources_text
from clusterstate.objects import (
    Affinity,
    ClusterObject,
    Container,
    DeviceClass,
    FrozenMap,
    Node,
    NodeSelectorTerm,
    PersistentVolume,
    Pod,
    PodSpec,
    ResourceClaim,
    StorageClass,
    TopologySpreadConstraint,
)
from kubescheduler.core.decision import Decision
from kubescheduler.core.results import Shown, ShownTable, counted
from kubescheduler.engine.spec import Engine

POD, CLUSTER, NODE, RUNNING, CONFIGURATION = "pod", "cluster", "node", "running pods", "configuration"
TARGETS = (POD, CLUSTER, NODE, RUNNING, CONFIGURATION)
"""What is changed, beginning with what concerns the fewest others."""


@attrs.frozen
class Proposal:
    """One change. What is None or empty stays as it is."""

    kind: str
    """The sort of change: ``request``, ``toleration``, ``taint`` and so on; the docs list them."""
    target: str
    """What is changed: one of TARGETS."""
    name: str
    """Which one: namespace/name of the pod, the name of the node, of the plugin, predicate or priority."""
    text: str
    """The change in plain words: ``ask for 1500m cpu instead of 2``."""
    size: float
    """How large it is among changes of the same target: the share by which an amount changes, 1 for a rule that is
    dropped."""
    pod: Callable[[Pod], Pod] | None = attrs.field(default=None, repr=False)
    """Changes the pod."""
    node: Callable[[Node], Node] | None = attrs.field(default=None, repr=False)
    """Changes the node called ``name``."""
    added: Node | None = attrs.field(default=None, repr=False)
    """A node that is added."""
    created: tuple[ClusterObject, ...] = attrs.field(default=(), repr=False)
    """Objects that are added."""
    evicted: tuple[Pod, ...] = attrs.field(default=(), repr=False)
    """Running pods that are taken away."""
    engine: Callable[[Engine], Engine] | None = attrs.field(default=None, repr=False)
    """Changes what decides."""
    preempts: bool = False
    """Whether it works by preemption."""
    ranks_as: str = ""
    """The target whose changes it is listed with, where that is not its own."""
    alike: tuple[str, ...] = ()
    """Other nodes on which the same change does the same."""
    smaller: tuple[str, ...] = ()
    """Texts of smaller changes that are part of it: where one of them works it says nothing new."""

    @property
    def where(self) -> str:
        """The node on which the pod has to fit by this change; empty: any."""
        return self.name if self.node is not None else "" if self.added is None else self.added.name


class Scale(msgspec.Struct, frozen=True):
    """Changes that differ in an amount: if one works, so does every larger one."""

    largest: int
    """The largest amount, in the unit that the release counts in."""
    at: Callable[[int], Proposal]
    """The change by an amount of 1 to ``largest``."""
    guess: Callable[[Decision], int] | None = None
    """From the decision with the largest change, the smallest amount that may work; it is tried before a bisection."""


Candidate = Proposal | Scale
"""What is searched through."""


class Goal(msgspec.Struct, frozen=True):
    """What is to be reached."""

    node: str = ""
    """The node that the pod is to go to; empty: any."""

    def host(self, decision: Decision, *, preempts: bool) -> str | None:
        """Where the pod goes by a decision that reaches the goal, else None. preempts: making room counts."""
        host = decision.host
        if host is None and preempts and decision.preemption is not None and decision.preemption.chosen:
            host = decision.preemption.chosen[0]
        return host if not self.node or host == self.node else None

    @property
    def text(self) -> str:
        """``fits somewhere``, or ``goes to worker-1``."""
        return f"goes to {self.node}" if self.node else "fits somewhere"


@attrs.frozen
class Hint:
    """One or two changes that together reach the goal, tried by deciding."""

    changes: tuple[Proposal, ...] = attrs.field(repr=lambda changes: repr([change.text for change in changes]))
    """What is to be changed."""
    host: str
    """Where the pod then goes."""
    victims: tuple[str, ...] = ()
    """namespace/name of the pods that preemption would evict."""
    moves: Mapping[str, str] = attrs.field(factory=dict)
    """namespace/name of each evicted pod that fits elsewhere → the node it then goes to."""
    nodes_for_all: int = 0
    """Of one more node: how many such nodes the pod and all others alike need; 0 where nobody asked about others."""

    @property
    def text(self) -> str:
        """The changes in plain words."""
        return " and ".join(change.text for change in self.changes)

    @property
    def text_for_all(self) -> str:
        """The same, with how many such nodes all pods that are alike need, where that is more than one."""
        return self.text + (f" ({self.nodes_for_all} for all pods alike)" if self.nodes_for_all > 1 else "")

    @property
    def alike(self) -> tuple[str, ...]:
        """Other nodes on which the same changes do the same."""
        of_nodes = [change.alike for change in self.changes if change.target == NODE]
        return tuple(name for name in of_nodes[0] if all(name in other for other in of_nodes)) if of_nodes else ()

    @property
    def rank(self) -> tuple[int, int, float, str]:
        """What hints are sorted by: number of changes, whom they concern, their size, their words."""
        targets = [
            TARGETS.index(RUNNING if change.preempts else change.ranks_as or change.target) for change in self.changes
        ]
        return len(self.changes), max(targets), round(sum(change.size for change in self.changes), 9), self.text

    @property
    def effect(self) -> str:
        """Where the pod goes, and what comes with it."""
        parts = [f"evicts {', '.join(self.victims)}"] if self.victims else []
        parts += [f"{pod} then goes to {node}" for pod, node in self.moves.items()]
        if self.alike:
            parts.append(f"the same on {counted(len(self.alike), 'other node')}")
        if self.nodes_for_all:
            parts.append(f"{counted(self.nodes_for_all, 'such node')} for all pods alike")
        return "; ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {
            "text": self.text,
            "changes": [
                {"kind": c.kind, "target": c.target, "name": c.name, "text": c.text, "size": round(c.size, 6)}
                for c in self.changes
            ],
            "host": self.host,
            "alike": list(self.alike),
            "victims": list(self.victims),
            "moves": dict(self.moves),
            **({"nodesForAll": self.nodes_for_all} if self.nodes_for_all else {}),
        }


@attrs.frozen
class PodHints(Shown):
    """What would make one pod reach a goal, the smallest change first."""

    pod: Pod = attrs.field(repr=lambda pod: pod.key)
    """The pod."""
    goal: Goal
    """What is to be reached."""
    host: str | None
    """Where the pod goes as things are."""
    message: str
    """The release's words for why it goes nowhere; empty when it goes somewhere."""
    hints: tuple[Hint, ...] = ()
    """In the order of their rank."""
    others: tuple[str, ...] = ()
    """namespace/name of other pods that are alike, for which the same goes."""
    reached: bool = False
    """Whether the goal is reached as things are; there are no hints then."""
    foreign: bool = False
    """Whether it is a pod of another scheduler, of which nothing is searched."""
    errors: tuple[str, ...] = ()
    """Texts of errors that ended decisions: there may be hints that are not listed."""
    left_out: str = ""
    """What was not tried, as it would take too long; empty when nothing was left out."""
    decisions: int = 0
    """How many decisions it took."""

    @property
    def none(self) -> str:
        """What is said where there are no hints."""
        return (
            "nothing is searched for a pod that is not tried" if self.foreign else "no change that is searched does it"
        )

    def table(self) -> ShownTable:
        """A row a hint."""
        if self.reached:
            return ShownTable(f"{self.pod.key}: goes to {self.host}; nothing needs to change")
        message = " ".join(self.message.split()) or f"goes to {self.host}, not to {self.goal.node}"
        rows = [(at, hint.host, f"{hint.text}; {hint.effect}".rstrip("; ")) for at, hint in enumerate(self.hints, 1)]
        below = "; ".join(filter(None, (self.left_out, *self.errors, "" if rows else self.none)))
        return ShownTable(f"{self.pod.key}: {message}", ("#", "then goes to", "change"), rows, below)

    def __iter__(self) -> Iterator[Hint]:
        return iter(self.hints)

    def __len__(self) -> int:
        return len(self.hints)

    def __getitem__(self, at: int) -> Hint:
        return self.hints[at]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        metadata = self.pod.metadata
        return {
            "pod": {"namespace": metadata.namespace, "name": metadata.name, "uid": metadata.uid},
            **({"others": list(self.others)} if self.others else {}),
            "goal": {"node": self.goal.node or None, "text": self.goal.text},
            "host": self.host,
            "reached": self.reached,
            "message": self.message,
            "hints": [hint.to_dict() for hint in self.hints],
            "errors": list(self.errors),
            "leftOut": self.left_out,
        }


T = TypeVar("T")
R = TypeVar("R", PodSpec, Affinity, NodeSelectorTerm, TopologySpreadConstraint)


def of_pod(pod: Pod, kind: str, text: str, size: float, edit: Callable[[PodSpec], PodSpec], *smaller: str) -> Proposal:
    """A change of the pod's spec."""
    return Proposal(
        kind,
        POD,
        pod.key,
        text,
        size,
        pod=lambda old: msgspec.structs.replace(old, spec=edit(old.spec)),
        smaller=smaller,
    )


def without(entries: Sequence[T], gone: T) -> tuple[T, ...]:
    """All entries but the first that equals one; all where none does."""
    at = entries.index(gone) if gone in entries else len(entries)
    return (*entries[:at], *entries[at + 1 :])


def evolved(record: R, **fields: Any) -> R:
    """The record with fields that are named at run time."""
    return msgspec.structs.replace(record, **fields)


def replaced(entries: Sequence[T], at: int, entry: T) -> tuple[T, ...]:
    """The entries with another in one place."""
    return (*entries[:at], entry, *entries[at + 1 :])


Manifest = Mapping[str, Any]

ANNOTATED = {
    "affinity": (AFFINITY_ANNOTATION,),
    "tolerations": (TOLERATIONS_ANNOTATION,),
    "taints": (TAINTS_ANNOTATION,),
    "initContainers": INIT_ANNOTATIONS,
}
"""Field of a spec → the annotations that stand for it in 1.4, and go when the field is written."""
CONTAINERS = ("containers", "initContainers")


def manifests_of(hint: Hint, pod: Pod, nodes: Mapping[str, Node]) -> list[dict[str, Any]]:
    """The manifests that a hint changes or adds, the pod's first. nodes: those of the cluster, by name.

    Raises InputError for a hint with a change that is none of a manifest.
    """
    changes = hint.changes
    if other := [change.text for change in changes if not _written_by(change)]:
        raise InputError(f"{text}: this changes no manifest that could be written" for text in other)
    out: list[dict[str, Any]] = []
    changed = pod
    for change in changes:
        changed = changed if change.pod is None else change.pod(changed)
    if changed is not pod:
        out.append(changed_pod(pod, changed))
    after: dict[str, Node] = {}
    for change in changes:
        if change.node is not None:
            after[change.name] = change.node(after.get(change.name, nodes[change.name]))
    out += (changed_node(nodes[name], node) for name, node in after.items())
    out += (changed_node(change.added, change.added) for change in changes if change.added is not None)
    out += (_written(each) for change in changes for each in change.created)
    return out


def _written_by(change: Proposal) -> bool:
    """Whether a change is one of manifests; where a volume is, what a class is of, and what a claim for devices asks
    for, is for whoever makes it to know."""
    unknown = PersistentVolume | StorageClass | DeviceClass | ResourceClaim
    if any(isinstance(each, unknown) for each in change.created):
        return False
    return bool(change.pod or change.node or change.added or change.created)


def changed_pod(before: Pod, after: Pod) -> dict[str, Any]:
    """The pod's manifest with what differs; all else is as it was written."""
    manifest = _written(before)
    encoded = encode_object(before), encode_object(after)
    old, new = (each["spec"] for each in encoded)
    spec = dict(manifest.get("spec") or {})
    gone: list[str] = []
    for field in {**old, **new}:
        if old.get(field) == new.get(field):
            continue
        gone += ANNOTATED.get(field, ())
        if field in CONTAINERS and len(spec.get(field) or ()) == len(new[field]):
            part = "containers" if field == "containers" else "init_containers"
            spec[field] = _containers(spec[field], getattr(before.spec, part), getattr(after.spec, part))
        elif field == "resources":
            spec[field] = {**(spec.get(field) or {}), **new[field]}
        else:
            _set(spec, field, new.get(field))
    if old.get("priority") != new.get("priority"):
        spec.pop("priorityClassName", None)
    if encoded[0]["status"] != encoded[1]["status"]:
        manifest["status"] = {**(manifest.get("status") or {}), **encoded[1]["status"]}
    return _without_annotations({**manifest, "spec": spec}, gone)


def changed_node(before: Node, after: Node) -> dict[str, Any]:
    """The node's manifest with what differs; all else is as it was written."""
    manifest = _written(before)
    old, new = encode_object(before), encode_object(after)
    gone: list[str] = []
    for section in ("metadata", "spec", "status"):
        fields = dict(manifest.get(section) or {})
        was, now = old.get(section) or {}, new.get(section) or {}
        for field in {**was, **now}:
            if was.get(field) != now.get(field):
                gone += ANNOTATED.get(field, ())
                _set(fields, field, now.get(field))
        manifest[section] = fields
    return _without_annotations({key: value for key, value in manifest.items() if value != {}}, gone)


def _written(obj: ClusterObject) -> dict[str, Any]:
    """The manifest it was read from; the fields that scheduling reads if none was kept.

    Without the uid of an object that no API server has stored.
    """
    encoded = encode_object(obj)
    manifest = {
        "apiVersion": encoded["apiVersion"],
        "kind": encoded["kind"],
        **(getattr(obj, "manifest", None) or encoded),
    }
    metadata = {**(manifest.get("metadata") or {})}
    if "resourceVersion" not in metadata:
        metadata.pop("uid", None)
    return {**manifest, "metadata": metadata}


def _set(fields: dict[str, Any], key: str, value: Any) -> None:
    if value is None:
        fields.pop(key, None)
    else:
        fields[key] = value


def _without_annotations(manifest: dict[str, Any], gone: Sequence[str]) -> dict[str, Any]:
    metadata = dict(manifest.get("metadata") or {})
    annotations = {k: v for k, v in (metadata.get("annotations") or {}).items() if k not in gone}
    _set(metadata, "annotations", annotations or None)
    return {**manifest, "metadata": metadata}


def _containers(
    written: Sequence[Manifest], before: Sequence[Container], after: Sequence[Container]
) -> list[dict[str, Any]]:
    return [_container(*each) for each in zip(written, before, after, strict=True)]


def _container(written: Manifest, before: Container, after: Container) -> dict[str, Any]:
    """One container with other requests and limits, and fewer host ports."""
    out = dict(written)
    for field in ("requests", "limits"):
        old, new = getattr(before, field), getattr(after, field)
        changed = {key: value for key, value in new.items() if old.get(key) != value}
        if changed:
            resources = dict(out.get("resources") or {})
            amounts = resources_text(FrozenMap(changed))
            out["resources"] = {**resources, field: {**(resources.get(field) or {}), **amounts}}
    if before.ports != after.ports:
        kept = {(port.host_port, port.host_ip, port.protocol or "TCP") for port in after.ports}
        out["ports"] = [_port(port, kept) for port in out.get("ports") or ()]
    return out


def _port(written: Manifest, kept: set[tuple[int, str, str]]) -> dict[str, Any]:
    """A container's port, without its host port if that is not kept."""
    host = (written.get("hostPort"), written.get("hostIP") or "", written.get("protocol") or "TCP")
    dropped = written.get("hostPort") and host not in kept
    return {key: value for key, value in written.items() if not (dropped and key in ("hostPort", "hostIP"))}
