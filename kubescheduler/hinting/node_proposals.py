"""Changes of the cluster: of nodes, one node more, objects that are missing, pods that make room."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import islice

import attrs
import msgspec
import numpy as np

from clusterstate.cache import ClusterCache
from clusterstate.growable import IntArray
from clusterstate.manifests.annotations_1_4 import TAINTS_ANNOTATION
from clusterstate.manifests.defaulting import derived_uid
from clusterstate.objects import (
    ClaimSpec,
    ClaimVolume,
    Container,
    DeviceAsk,
    DeviceClass,
    DeviceRequest,
    EphemeralVolume,
    FrozenMap,
    LabelSelector,
    Node,
    ObjectMeta,
    OwnerReference,
    PersistentVolumeClaim,
    Pod,
    PodSpec,
    Requirement,
    ResourceClaim,
    ResourceClaimStatus,
    StorageClass,
    Taint,
)
from clusterstate.selectors.pod_owners import is_daemon_pod
from clusterstate.usage import CPU, MEMORY, PODS
from clusterstate.volumes.claims import (
    BIND_COMPLETED_ANNOTATION,
    NO_PROVISIONER,
    WAIT_FOR_FIRST_CONSUMER,
    claim_class,
    completed,
    provisioned,
)
from kubescheduler.core.decision import Decision
from kubescheduler.core.preemption_choice import Victims
from kubescheduler.engine.legacy_engine import LegacyEngine
from kubescheduler.engine.spec import Engine, place, take_back
from kubescheduler.hinting.pod_proposals import CORDON, HARD_EFFECTS, HOSTNAME, taint_text
from kubescheduler.hinting.proposals import CLUSTER, NODE, RUNNING, Candidate, Hint, Proposal, Scale, without
from kubescheduler.hinting.trials import Trials, without_annotations
from predicates.refusal_evidence import amount

UNSIZED = 2.0
"""The size of a node more, among changes of nodes."""
LARGER = 8
"""How many times larger a node may get for the pod to be drawn there."""
VALUES = 8
"""Values of a topology label that are tried."""

WantedLabels = Mapping[str, tuple[str | None, ...]]
"""Key of a label of nodes → the values that may help; None: without the label."""


class NodeGroup(msgspec.Struct, frozen=True):
    """Nodes that refuse the pod for the same reasons, and have the same of what a change may concern."""

    rows: tuple[int, ...]
    """Of the cluster, by name; the first stands for all."""
    nodes: tuple[Node, ...]
    """In the same order."""
    wanted: WantedLabels = msgspec.field(default_factory=dict)
    """The labels that the pod names."""

    @property
    def first(self) -> Node:
        """The node that changes are tried on."""
        return self.nodes[0]

    @property
    def alike(self) -> tuple[str, ...]:
        """The names of the others."""
        return tuple(node.name for node in self.nodes[1:])


def node_groups(trials: Trials) -> list[NodeGroup]:
    """The nodes in question in groups, the largest first."""
    decision, columns = trials.thorough, trials.cache.columns
    masks = [decision.listed, *(mask for _, verdict in decision.verdicts for mask in verdict.values())]
    bits = np.packbits(np.stack([mask[: len(decision.listed)] for mask in masks]), axis=0).T
    wanted = wanted_labels(trials)
    found: dict[object, list[tuple[str, int, Node]]] = {}
    for row, node in enumerate(columns.nodes[: len(bits)]):
        if node is None or (trials.goal.node and node.name != trials.goal.node):
            continue
        labels = tuple(node.metadata.labels.get(key) for key in wanted)
        key = (bits[row].tobytes(), node.taints, node.unschedulable, labels)
        found.setdefault(key, []).append((node.name, row, node))
    groups = [sorted(members, key=lambda member: member[0]) for members in found.values()]
    groups.sort(key=lambda members: (-len(members), members[0][0]))
    return [NodeGroup(tuple(m[1] for m in members), tuple(m[2] for m in members), wanted) for members in groups]


def node_candidates(trials: Trials, group: NodeGroup) -> Iterator[Candidate]:
    """Every change of one node of a group that is searched, except a node more."""
    yield from taints_gone(group)
    yield from uncordoned(group)
    yield from labelled(group)
    yield from larger(trials, group)


def everything(trials: Trials, group: NodeGroup) -> list[Proposal]:
    """The largest change of a group's first node by each kind: where all together do not help, no single one does.

    Of the labels one value each, so it stands for all only where there are no labels to choose from.
    """
    found: dict[str, Proposal] = {}
    for candidate in node_candidates(trials, group):
        proposal = candidate.at(candidate.largest) if isinstance(candidate, Scale) else candidate
        found.setdefault(proposal.text, proposal)
    return list(found.values())


def of_node(group: NodeGroup, kind: str, text: str, edit: Callable[[Node], Node]) -> Proposal:
    """A change of the group's first node."""
    return Proposal(kind, NODE, group.first.name, text, 1.0, node=edit, alike=group.alike)


# --- taints and cordons --------------------------------------------------------------------


def taints_gone(group: NodeGroup) -> Iterator[Proposal]:
    """Without each of its taints."""
    for taint in group.first.taints:
        if taint.effect in HARD_EFFECTS:
            text = f"remove the taint {taint_text(taint)} from {group.first.name}"
            yield of_node(group, "taint", text, partial(_untainted, gone=taint))


def _untainted(node: Node, gone: Taint) -> Node:
    return _with_taints(node, without(node.taints, gone))


def _with_taints(node: Node, taints: tuple[Taint, ...]) -> Node:
    """With these taints, also for 1.4, which reads the annotation where there are none."""
    annotations = without_annotations(node.metadata.annotations, TAINTS_ANNOTATION)
    return msgspec.structs.replace(
        node, taints=taints, metadata=msgspec.structs.replace(node.metadata, annotations=annotations)
    )


def uncordoned(group: NodeGroup) -> Iterator[Proposal]:
    """Open for pods again; the taint of cordoned nodes goes with the cordon."""
    if group.first.unschedulable:
        yield of_node(group, "cordon", f"uncordon {group.first.name}", _uncordoned)


def _uncordoned(node: Node) -> Node:
    kept = tuple(taint for taint in node.taints if taint.key != CORDON)
    return _with_taints(msgspec.structs.replace(node, unschedulable=False), kept)


# --- labels --------------------------------------------------------------------------------


def wanted_labels(trials: Trials) -> WantedLabels:
    """The labels that the pod's selector, affinity, terms and constraints name."""
    spec = trials.pod.spec
    out: dict[str, tuple[str | None, ...]] = {}

    def note(key: str, *values: str | None) -> None:
        if key and key != HOSTNAME:
            out[key] = tuple(dict.fromkeys((*out.get(key, ()), *values)))

    for key, value in spec.node_selector.items():
        note(key, value)
    node_affinity = None if spec.affinity is None else spec.affinity.node_affinity
    for term in (None if node_affinity is None else node_affinity.required) or ():
        for requirement in term.match_expressions:
            note(requirement.key, *_meeting(requirement))
    for key in topology_keys(trials):
        note(key, *_values(trials, key))
    return out


def _meeting(requirement: Requirement) -> tuple[str | None, ...]:
    """Values with which a requirement is met."""
    values = requirement.values
    number = int(values[0]) if values and values[0].lstrip("-").isdigit() else 0
    by_operator: dict[str, tuple[str | None, ...]] = {
        "In": values,
        "Exists": ("",),
        "NotIn": (None,),
        "DoesNotExist": (None,),
        "Gt": (str(number + 1),),
        "Lt": (str(number - 1),),
    }
    return by_operator.get(requirement.operator, ())


def topology_keys(trials: Trials) -> list[str]:
    """The keys by which the pod's constraints and terms of pod affinity divide the nodes."""
    spec = trials.pod.spec
    keys = [constraint.topology_key for constraint in spec.topology_spread_constraints]
    for part in () if spec.affinity is None else (spec.affinity.pod_affinity, spec.affinity.pod_anti_affinity):
        keys += () if part is None else (term.topology_key for term in part.required)
    return list(dict.fromkeys(keys))


def _values(trials: Trials, key: str) -> list[str]:
    """The values of a label that nodes have, by name, the first few."""
    nodes = (node for node in trials.cache.columns.nodes if node is not None)
    return sorted({value for node in nodes if (value := node.metadata.labels.get(key)) is not None})[:VALUES]


def labelled(group: NodeGroup) -> Iterator[Proposal]:
    """With another value of each label that the pod names, or without it."""
    for key, values in group.wanted.items():
        there = group.first.metadata.labels.get(key)
        for value in values:
            if value == there:
                continue
            name = group.first.name
            was = "" if there is None else f" instead of {there!r}"
            text = f"remove the label {key} from {name}" if value is None else f"label {name} {key}={value}{was}"
            yield of_node(group, "label", text, partial(_relabelled, key=key, value=value))


def _relabelled(node: Node, key: str, value: str | None) -> Node:
    labels = {k: v for k, v in node.metadata.labels.items() if k != key}
    labels |= {} if value is None else {key: value}
    return msgspec.structs.replace(node, metadata=msgspec.structs.replace(node.metadata, labels=FrozenMap(labels)))


# --- sizes ---------------------------------------------------------------------------------


def larger(trials: Trials, group: NodeGroup) -> Iterator[Scale]:
    """With more of each resource that the pod asks for, on the node of the group that lacks the least of it."""
    asked = trials.cache.info(trials.pod).usage.request
    for resource in (*asked, PODS):
        short = _short(trials, group.rows, resource, 1 if resource == PODS else asked[resource])
        if short is None or int(short.min()) <= 0:
            continue
        at = int(short.argmin())
        least = int(short[at])
        alike = tuple(node.name for node, more in zip(group.nodes, short.tolist(), strict=True) if more == least)
        node = group.nodes[at]
        beyond = LARGER * (node.allocatable.get(resource, 0) // _unit(resource)) if trials.goal.node else 0
        yield _scale(node, tuple(name for name in alike if name != node.name), resource, least, 2 * least + beyond)


def _short(trials: Trials, rows: Sequence[int], resource: str, asked: int) -> IntArray | None:
    """(n,) by how much more of a resource is asked for than is free on some rows; None: no node counts it."""
    snapshot = trials.cache.snapshot()
    at = np.array(rows, np.int64)
    if resource == PODS:
        return snapshot.take(at).pod_count + 1 - snapshot.take(at).allowed_pods
    index = snapshot.resource(resource)
    if index is None:
        return None
    out: IntArray = snapshot.take(at).requested[index] + asked - snapshot.take(at).allocatable[index]
    return out


def _unit(resource: str) -> int:
    """Thousandths in the unit that a resource is counted in."""
    return 1 if resource == CPU else 1000


def _scale(node: Node, alike: tuple[str, ...], resource: str, least: int, largest: int) -> Scale:
    unit = _unit(resource)
    there = node.allocatable.get(resource, 0) // unit

    def proposal(more: int) -> Proposal:
        text = f"give {node.name} {amount(resource, there + more)} {resource} instead of {amount(resource, there)}"
        edit = partial(_resized, resource=resource, allocatable=(there + more) * unit)
        return Proposal("size", NODE, node.name, text, more / (there + more), node=edit, alike=alike)

    return Scale(largest, proposal, lambda _: least)


def _resized(node: Node, resource: str, allocatable: int) -> Node:
    return msgspec.structs.replace(node, allocatable=FrozenMap({**node.allocatable, resource: allocatable}))


# --- one more ------------------------------------------------------------------------------


def copies(trials: Trials, groups: Sequence[NodeGroup]) -> Iterator[Proposal]:
    """One more node, empty and open for pods, like each sort of node that there is: those that are cordoned last, the
    smallest first; then each as large as the pod asks for, the one that has to grow least first."""
    if trials.goal.node:
        return
    sorts: dict[object, Node] = {}
    for node in sorted((node for group in groups for node in group.nodes), key=lambda node: node.unschedulable):
        labels = frozenset(item for item in node.metadata.labels.items() if item[0] != HOSTNAME)
        sorts.setdefault((labels, _uncordoned(node).taints, node.allocatable), node)
    for node in sorted(sorts.values(), key=_small_first):
        yield _more(f"add one more node like {node.name}", UNSIZED, another(trials.cache, node))
    grown = [each for node in sorts.values() if (each := _grown(trials, node))]
    for node, more, text in sorted(grown, key=lambda each: (each[1], *_small_first(each[0]))):
        yield _more(text, UNSIZED + more, another(trials.cache, node))


def _small_first(node: Node) -> tuple[bool, tuple[int, ...], str]:
    return node.unschedulable, _amounts(node), node.name


def _more(text: str, size: float, added: Node) -> Proposal:
    return Proposal("node", NODE, added.name, text, size, added=added)


def another(cache: ClusterCache, node: Node) -> Node:
    """An empty node like another, with a name of its own, and not cordoned."""
    taken = cache.columns.row_of
    names = (f"{node.name}-{at}" for at in range(1, len(taken) + 2))
    return _copy(node, next(name for name in names if name not in taken or _gone(cache, name)))


def _grown(trials: Trials, node: Node) -> tuple[Node, float, str] | None:
    """The node as large as the pod asks for, by which share it grows, and the words; None if it is large enough."""
    asked = trials.cache.info(trials.pod).usage.request
    there = node.allocatable
    short = {name: number for name, number in asked.items() if number * _unit(name) > there.get(name, 0)}
    if not short:
        return None
    larger = FrozenMap({**there, **{name: number * _unit(name) for name, number in short.items()}})
    with_text = " and ".join(f"{amount(name, number)} {name}" for name, number in sorted(short.items()))
    share = sum(1 - there.get(name, 0) / (number * _unit(name)) for name, number in short.items())
    text = f"add one more node like {node.name}, but with {with_text}"
    return msgspec.structs.replace(node, allocatable=larger), share, text


def _gone(cache: ClusterCache, name: str) -> bool:
    columns = cache.columns
    row = columns.row_of[name]
    return columns.nodes[row] is None and not columns.pods[row]


def _amounts(node: Node) -> tuple[int, ...]:
    there = node.allocatable
    return there.get(CPU, 0), there.get(MEMORY, 0), sum(there.values())


def _copy(node: Node, name: str) -> Node:
    labels = FrozenMap({key: name if key == HOSTNAME else value for key, value in node.metadata.labels.items()})
    metadata = msgspec.structs.replace(node.metadata, name=name, uid="", labels=labels)
    return msgspec.structs.replace(_uncordoned(node), metadata=metadata, manifest=None)


GIBIBYTE = 1 << 30
NODES_NEAR = 100
"""Nodes on which a pod to be near to is tried."""


def created(trials: Trials) -> list[Hint]:
    """The hints of objects that are missing: the first way to have the claims, their classes, and the first node for a
    pod; and of claims that are not bound yet."""
    found = (
        missing_claims(trials),
        unfinished_claims(trials),
        missing_device_claims(trials),
        missing_classes(trials),
        missing_pods(trials),
    )
    return [hint for one in found for hint in islice(filter(None, map(trials.tried, one)), 1)]


# --- claims ----------------------------------------------------------------------------------


def missing_claims(trials: Trials) -> Iterator[Proposal]:
    """The claims that the pod names and nobody has: of each class that makes volumes where the pod goes, then bound."""
    pod, known = trials.pod, trials.cache.objects
    namespace = pod.metadata.namespace
    names = dict.fromkeys(volume.claim_name for volume in pod.spec.volumes if isinstance(volume, ClaimVolume))
    missing = [name for name in names if (namespace, name) not in known.persistent_volume_claims]
    if not missing:
        return
    claims = [_claim(name, namespace) for name in missing]
    shown = " and ".join(f"{namespace}/{name}" for name in missing)
    text = f"create the PersistentVolumeClaim{'s' * (len(missing) > 1)} {shown}"
    for cls in sorted(known.storage_classes.values(), key=lambda each: each.metadata.name):
        if cls.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER and cls.provisioner not in ("", NO_PROVISIONER):
            of_class = cls.metadata.name
            made = tuple(msgspec.structs.replace(claim, storage_class_name=of_class) for claim in claims)
            yield Proposal("claim", CLUSTER, shown, f"{text} of the StorageClass {of_class}", 1.0, created=made)
    bound = tuple(one for claim in claims for one in provisioned(msgspec.structs.replace(claim, storage_class_name="")))
    yield Proposal("claim", CLUSTER, shown, f"{text}, bound to a volume", 1.0, created=bound)


def unfinished_claims(trials: Trials) -> Iterator[Proposal]:
    """The pod's claims that name their volume, and whose binding is not complete, as one that is written by hand may
    be."""
    namespace, claims = trials.pod.metadata.namespace, trials.cache.objects.persistent_volume_claims
    names = dict.fromkeys(volume.claim_name for volume in trials.pod.spec.volumes if isinstance(volume, ClaimVolume))
    named = (claim for name in names if (claim := claims.get((namespace, name))) is not None and claim.volume_name)
    found = [claim for claim in named if BIND_COMPLETED_ANNOTATION not in claim.metadata.annotations]
    if found:
        shown = " and ".join(f"{namespace}/{claim.metadata.name}" for claim in found)
        kinds = f"PersistentVolumeClaim{'s' * (len(found) > 1)}"
        text = f"complete the binding of the {kinds} {shown}: the annotation {BIND_COMPLETED_ANNOTATION} is missing"
        yield Proposal("claim", CLUSTER, shown, text, 1.0, created=tuple(map(completed, found)))


def missing_device_claims(trials: Trials) -> Iterator[Proposal]:
    """The ResourceClaims and ResourceClaimTemplates that the pod names and nobody has, for a device of each class."""
    pod, known = trials.pod, trials.cache.objects
    namespace, made = pod.metadata.namespace, {each.name for each in pod.resource_claim_statuses}
    names: dict[str, str] = {}
    statuses = list(pod.resource_claim_statuses)
    for entry in pod.spec.resource_claims:
        claim, template = entry.resource_claim_name, entry.resource_claim_template_name
        if claim is not None and (namespace, claim) not in known.resource_claims:
            names[claim] = f"ResourceClaim {namespace}/{claim}"
        elif template and entry.name not in made and (namespace, template) not in known.resource_claim_templates:
            own = f"{pod.metadata.name}-{entry.name}"
            names[own] = f"ResourceClaimTemplate {namespace}/{template}"
            statuses.append(ResourceClaimStatus(entry.name, own))
    if not names:
        return
    shown = " and ".join(f"the {name}" for name in dict.fromkeys(names.values()))
    owner = (OwnerReference("Pod", pod.metadata.name, pod.metadata.uid, controller=True),)
    of_pod = partial(msgspec.structs.replace, resource_claim_statuses=tuple(statuses))
    for cls in sorted(known.device_classes):
        spec = ClaimSpec((DeviceRequest("device", DeviceAsk(cls)),))
        claims = tuple(ResourceClaim(ObjectMeta(name, namespace, owner_references=owner), spec) for name in names)
        text = f"create {shown} for a device of the DeviceClass {cls}"
        yield Proposal("deviceClaim", CLUSTER, shown, text, 1.0, pod=of_pod, created=claims)


def missing_classes(trials: Trials) -> Iterator[Proposal]:
    """The classes that the pod's claims name and nobody has: one of storage that makes volumes where the pod goes, one
    of devices that selects any."""
    pod, known = trials.pod, trials.cache.objects
    namespace = pod.metadata.namespace
    volumes = (known.persistent_volume_claims.get((namespace, name)) for name in _volume_claim_names(pod))
    wanted = (claim_class(claim) for claim in volumes if claim is not None and not claim.volume_name)
    classes = [name for name in dict.fromkeys(wanted) if name and name not in known.storage_classes]
    if classes:
        text = f"create the {_named('StorageClass', classes)}, with {WAIT_FOR_FIRST_CONSUMER}"
        made = (StorageClass(ObjectMeta(name), SOME_PROVISIONER, WAIT_FOR_FIRST_CONSUMER) for name in classes)
        yield Proposal("class", CLUSTER, " and ".join(classes), text, 1.0, created=tuple(made))
    named = [one.resource_claim_name for one in pod.spec.resource_claims]
    named += [one.resource_claim_name for one in pod.resource_claim_statuses]
    claims = (known.resource_claims.get((namespace, name)) for name in dict.fromkeys(named) if name)
    requests = (request for claim in claims if claim is not None for request in claim.spec.requests)
    asked = dict.fromkeys(ask.device_class_name for request in requests for _, ask in request.alternatives())
    missing = [name for name in asked if name and name not in known.device_classes]
    if missing:
        text = f"create the {_named('DeviceClass', missing)}, for any device"
        devices = tuple(DeviceClass(ObjectMeta(name)) for name in missing)
        yield Proposal("class", CLUSTER, " and ".join(missing), text, 1.0, created=devices)


SOME_PROVISIONER = "some.provisioner"
"""What makes volumes of a class that nobody has is not known."""


def _named(kind: str, names: Sequence[str]) -> str:
    return f"{kind}{'es' * (len(names) > 1)} {' and '.join(names)}"


def _volume_claim_names(pod: Pod) -> Iterator[str]:
    for volume in pod.spec.volumes:
        if isinstance(volume, ClaimVolume):
            yield volume.claim_name
        elif isinstance(volume, EphemeralVolume):
            yield f"{pod.metadata.name}-{volume.volume_name}"


def _claim(name: str, namespace: str) -> PersistentVolumeClaim:
    metadata = ObjectMeta(name, namespace, derived_uid("PersistentVolumeClaim", namespace, name))
    return PersistentVolumeClaim(metadata, storage=GIBIBYTE * 1000, access_modes=("ReadWriteOnce",), phase="Pending")


# --- pods ------------------------------------------------------------------------------------


def missing_pods(trials: Trials) -> Iterator[Proposal]:
    """A pod that all required terms of pod affinity pick, on each node."""
    affinity = trials.pod.spec.affinity
    terms = () if affinity is None or affinity.pod_affinity is None else affinity.pod_affinity.required
    labels = {key: value for term in terms for key, value in _picked(term.label_selector).items()}
    if not labels:
        return
    own = trials.pod.metadata.namespace
    namespace = next((term.namespaces[0] for term in terms if term.namespaces), own)
    shown = ",".join(f"{key}={value}" for key, value in labels.items())
    where = "" if namespace == own else f" in the namespace {namespace}"
    name = f"{trials.pod.metadata.name}-neighbour"
    metadata = ObjectMeta(name, namespace, derived_uid("Pod", namespace, name), FrozenMap(labels))
    nodes = sorted(node.name for node in trials.cache.columns.nodes if node is not None)
    for node in nodes[:NODES_NEAR]:
        spec = PodSpec(containers=(Container(name="main"),))
        text = f"run a pod with {shown}{where} on {node}"
        yield Proposal("pod", CLUSTER, f"{namespace}/{name}", text, 1.0, created=(Pod(metadata, spec, node_name=node),))


def _picked(selector: LabelSelector | None) -> dict[str, str]:
    """Labels that a selector picks, as far as a pod can have them."""
    if selector is None:
        return {}
    expressions = selector.match_expressions
    some = {one.key: one.values[0] for one in expressions if one.operator == "In" and one.values}
    any_value = {one.key: "" for one in expressions if one.operator == "Exists"}
    return {**any_value, **some, **selector.match_labels}


HIGHEST = 2**31 - 1
"""A priority above that of every pod."""
NODES_TO_CLEAR = 3
"""Nodes of which hints tell whom to evict there."""


def evictions(trials: Trials) -> Iterator[Proposal]:
    """The pods that preemption would evict were the pod above all: of the nodes where that costs least.

    Those of DaemonSets and static pods stay where they are, so nodes where one of them would have to go are left out.
    """
    found = _as_the_highest(trials).preemption
    if found is None:
        return
    wanted = trials.goal.node
    candidates = [
        (node, victims)
        for node, victims in found.candidates.items()
        if (not wanted or node == wanted) and not any(is_daemon_pod(pod) for pod in victims.pods) and victims.pods
    ]
    for node, victims in sorted(candidates, key=lambda each: _cost(*each))[:NODES_TO_CLEAR]:
        names = ", ".join(pod.key for pod in victims.pods)
        text = f"evict {names} from {node}"
        yield Proposal("eviction", RUNNING, node, text, float(len(victims.pods)), evicted=victims.pods)


def _cost(node: str, victims: Victims) -> tuple[int, int, int, str]:
    return max(pod.priority for pod in victims.pods), victims.violations, len(victims.pods), node


def _as_the_highest(trials: Trials) -> Decision:
    """The decision on the pod with a priority above all, by a release that preempts."""

    def highest(pod: Pod) -> Pod:
        return msgspec.structs.replace(
            pod, spec=msgspec.structs.replace(pod.spec, priority=HIGHEST, preemption_policy=None)
        )

    engine = trials.engine
    preempts = not isinstance(engine, LegacyEngine) or engine.algorithm.behaviour.preempts
    edit = None if preempts else _preempting
    return trials.decide([Proposal("", RUNNING, "", "", 0, pod=highest, engine=edit, preempts=True)])


def _preempting(engine: Engine) -> Engine:
    """The same rules in a scheduler that preempts."""
    assert isinstance(engine, LegacyEngine)
    behaviour = msgspec.structs.replace(engine.algorithm.behaviour, preempts=True)
    return msgspec.structs.replace(engine, algorithm=msgspec.structs.replace(engine.algorithm, behaviour=behaviour))


def with_moves(trials: Trials, hint: Hint) -> Hint:
    """The hint with the nodes to which the evicted pods then go, one after the other."""
    gone = [pod for change in hint.changes for pod in change.evicted]
    cache = trials.cache
    placed = ExitStack()
    moves: dict[str, str] = {}
    with trials.under(hint.changes) as (scheduler, pod), placed:
        placed.callback(take_back, cache, pod, place(scheduler, pod, hint.host))
        for victim in gone:
            waiting = msgspec.structs.replace(victim, node_name="", nominated_node_name="")
            host = scheduler.decide(waiting, reports=False).host
            if host is not None:
                placed.callback(take_back, cache, waiting, place(scheduler, waiting, host))
                moves[victim.key] = host
    return attrs.evolve(hint, moves=moves)
