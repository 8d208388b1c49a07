"""Changes of the pod itself: what it asks for, tolerates and wants of nodes and of other pods."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import attrs
import msgspec

from clusterstate.objects import (
    Affinity,
    Container,
    ContainerPort,
    FrozenMap,
    NodeAffinity,
    NodeSelectorTerm,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodSpec,
    Requirement,
    Taint,
    Toleration,
    TopologySpreadConstraint,
)
from clusterstate.usage import CPU, MEMORY, is_extended_resource, is_hugepage_resource
from kubescheduler.core.decision import Decision
from kubescheduler.hinting.proposals import NODE, Candidate, Proposal, Scale, evolved, of_pod, replaced, without
from kubescheduler.hinting.trials import Trials
from predicates.refusal_evidence import amount, requirement_text

Lowered = Callable[[int, PodSpec], PodSpec]
"""Of what is still asked for, in thousandths, and a spec: the spec that asks for it."""


USABLE = {CPU: 10, MEMORY: 10 * 1024**2 * 1000}
"""The least with which a container is any use, in thousandths: 10m and 10Mi; of any other resource one piece."""


def requests(trials: Trials) -> Iterator[Scale]:
    """Each amount that a container asks for, lowered as far as it is of use, and each of the pod as a whole (1.36)."""
    spec = trials.pod.spec
    several = len(spec.containers) + len(spec.init_containers) > 1
    for field in ("containers", "init_containers"):
        for at, container in enumerate(getattr(spec, field)):
            of = f" in container {container.name}" if several else ""
            for resource, asked in container.requests.items():
                lowered = partial(_in_container, field, at, resource)
                yield from _scale(trials, resource, asked, USABLE.get(resource, 1000), of, lowered)
    for resource, asked in spec.resources.items():
        least = sum(container.requests.get(resource, 0) for container in spec.containers)
        least = max(least, USABLE.get(resource, 1000))
        yield from _scale(trials, resource, asked, least, " for the pod as a whole", partial(_in_pod, resource))


def _in_container(field: str, at: int, resource: str, left: int, spec: PodSpec) -> PodSpec:
    containers: tuple[Container, ...] = getattr(spec, field)
    container = containers[at]
    changed = {"requests": FrozenMap({**container.requests, resource: left})}
    # An API server takes no request of these that is below the limit.
    if resource in container.limits and (is_extended_resource(resource) or is_hugepage_resource(resource)):
        changed["limits"] = FrozenMap({**container.limits, resource: left})
    return evolved(spec, **{field: replaced(containers, at, msgspec.structs.replace(container, **changed))})


def _in_pod(resource: str, left: int, spec: PodSpec) -> PodSpec:
    return msgspec.structs.replace(spec, resources=FrozenMap({**spec.resources, resource: left}))


def _scale(trials: Trials, resource: str, asked: int, least: int, of: str, lowered: Lowered) -> Iterator[Scale]:
    """The request lowered, by the unit in which the resource is counted. asked, least: in thousandths."""
    unit = 1 if resource == CPU else 1000
    whole = -(-asked // unit)
    largest = whole - -(-least // unit)

    def proposal(less: int) -> Proposal:
        left = whole - less
        text = f"ask for {amount(resource, left)} {resource} instead of {amount(resource, whole)}{of}"
        return of_pod(trials.pod, "request", text, less / whole, partial(lowered, left * unit))

    def guess(decision: Decision) -> int:
        short = trials.shortage(decision, resource)
        return int(short.min()) if len(short) else 0

    if largest > 0:
        yield Scale(largest, proposal, guess)


SYSTEM_TAINTS = "node.kubernetes.io/"
"""Taints that Kubernetes itself puts on nodes begin so: to tolerate one is a larger change than another."""
CORDON = "node.kubernetes.io/unschedulable"
"""The key of the taint of cordoned nodes: somebody wants no pods there, so it is smaller to ask them to uncordon."""
HOSTNAME = "kubernetes.io/hostname"
"""The label that says which node it is."""
PINNED = 2.0
"""The size of selecting one node by its name: no other can take the pod then."""
HARD_EFFECTS = ("NoSchedule", "NoExecute")


def pod_candidates(trials: Trials) -> Iterator[Candidate]:
    """Every change of the pod that is searched, except its priority."""
    pod = trials.pod
    yield from requests(trials)
    yield from tolerations(pod, trials)
    yield from node_selector(pod)
    yield from node_affinity(pod)
    yield from pod_affinity(pod)
    yield from spread_constraints(pod, trials)
    yield from host_ports(pod)
    yield from scheduling_gates(pod)
    yield from pinned(trials)


# --- taints --------------------------------------------------------------------------------


def tolerations(pod: Pod, trials: Trials) -> Iterator[Proposal]:
    """A toleration of each taint of the cluster, or of the one node that is wanted."""
    for taint in known_taints(trials):
        toleration = Toleration(taint.key, "Equal" if taint.value else "Exists", taint.value, taint.effect)
        size = 2.0 if taint.key.startswith(SYSTEM_TAINTS) else 1.0

        def edit(spec: PodSpec, added: Toleration = toleration) -> PodSpec:
            return msgspec.structs.replace(spec, tolerations=(*spec.tolerations, added))

        proposal = of_pod(pod, "toleration", f"tolerate {taint_text(taint)}", size, edit)
        yield attrs.evolve(proposal, ranks_as=NODE) if taint.key == CORDON else proposal


def known_taints(trials: Trials) -> list[Taint]:
    """The taints with a hard effect of the nodes in question, each once."""
    nodes = (node for node in trials.cache.columns.nodes if node is not None)
    wanted = trials.goal.node
    found = (taint for node in nodes if not wanted or node.name == wanted for taint in node.taints)
    return list(dict.fromkeys(taint for taint in found if taint.effect in HARD_EFFECTS))


def taint_text(taint: Taint) -> str:
    """``dedicated=batch:NoSchedule``."""
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"


# --- what it wants of nodes ----------------------------------------------------------------


def node_selector(pod: Pod) -> Iterator[Proposal]:
    """Without each entry of the nodeSelector."""
    for key, value in pod.spec.node_selector.items():

        def edit(spec: PodSpec, gone: str = key) -> PodSpec:
            left = FrozenMap({k: v for k, v in spec.node_selector.items() if k != gone})
            return msgspec.structs.replace(spec, node_selector=left)

        yield of_pod(pod, "nodeSelector", f"drop {key}={value} from the nodeSelector", 1, edit)


def node_affinity(pod: Pod) -> Iterator[Proposal]:
    """Without each requirement of a required term that has several, and without all required terms."""
    node = None if pod.spec.affinity is None else pod.spec.affinity.node_affinity
    if node is None or node.required is None:
        return
    terms = node.required
    smaller: list[str] = []
    for at, term in enumerate(terms):
        if len(term.match_expressions) + len(term.match_fields) < 2:
            continue
        for field in ("match_expressions", "match_fields"):
            for requirement in getattr(term, field):
                of = f" (term {at + 1})" if len(terms) > 1 else ""
                smaller.append(f"drop the requirement {requirement_text(requirement)} from the node affinity{of}")

                def edit(spec: PodSpec, at: int = at, field: str = field, gone: Requirement = requirement) -> PodSpec:
                    old = _required(spec)
                    if at >= len(old):
                        return spec
                    fewer = evolved(old[at], **{field: without(getattr(old[at], field), gone)})
                    return _with_required(spec, replaced(old, at, fewer))

                yield of_pod(pod, "nodeAffinity", smaller[-1], 1, edit)
    size = 1.0 + sum(len(term.match_expressions) + len(term.match_fields) for term in terms)
    edit_all = partial(_with_required, required=None)
    yield of_pod(pod, "nodeAffinity", "drop the required node affinity", size, edit_all, *smaller)


def _required(spec: PodSpec) -> tuple[NodeSelectorTerm, ...]:
    node_affinity = None if spec.affinity is None else spec.affinity.node_affinity
    return () if node_affinity is None else node_affinity.required or ()


def _with_required(spec: PodSpec, required: tuple[NodeSelectorTerm, ...] | None) -> PodSpec:
    assert spec.affinity is not None
    preferred = spec.affinity.node_affinity.preferred if spec.affinity.node_affinity else ()
    left = NodeAffinity(required, preferred) if required is not None or preferred else None
    return _with_affinity(spec, node_affinity=left)


def _with_affinity(spec: PodSpec, **parts: NodeAffinity | PodAffinity | None) -> PodSpec:
    changed = evolved(spec.affinity or Affinity(), **parts)
    empty = not (changed.node_affinity or changed.pod_affinity or changed.pod_anti_affinity)
    affinity = None if empty else changed
    return msgspec.structs.replace(spec, affinity=affinity)


def pinned(trials: Trials) -> Iterator[Proposal]:
    """For the node that is wanted: with the node's hostname in the nodeSelector."""
    node = trials.cache.columns.nodes[trials.cache.columns.row_of[trials.goal.node]] if trials.goal.node else None
    hostname = None if node is None else node.metadata.labels.get(HOSTNAME)
    if hostname is None or trials.pod.spec.node_selector.get(HOSTNAME) == hostname:
        return
    chosen: str = hostname

    def edit(spec: PodSpec) -> PodSpec:
        return msgspec.structs.replace(spec, node_selector=FrozenMap({**spec.node_selector, HOSTNAME: chosen}))

    yield of_pod(trials.pod, "hostname", f"select {HOSTNAME}={hostname}", PINNED, edit)


# --- what it wants of other pods -----------------------------------------------------------


def pod_affinity(pod: Pod) -> Iterator[Proposal]:
    """Without each required term of pod affinity and of pod anti-affinity."""
    for field, words in (("pod_affinity", "pod affinity"), ("pod_anti_affinity", "pod anti-affinity")):
        part: PodAffinity | None = getattr(pod.spec.affinity, field, None)
        terms = () if part is None else part.required
        for at, term in enumerate(terms):

            def edit(spec: PodSpec, field: str = field, gone: PodAffinityTerm = term) -> PodSpec:
                old: PodAffinity | None = getattr(spec.affinity, field, None)
                if old is None:
                    return spec
                left = PodAffinity(without(old.required, gone), old.preferred)
                return _with_affinity(spec, **{field: left if left.required or left.preferred else None})

            which = f" {at + 1}" if len(terms) > 1 else ""
            kind = "podAffinity" if field == "pod_affinity" else "podAntiAffinity"
            text = f"drop the required {words} term{which} (topology {term.topology_key or 'any'})"
            yield of_pod(pod, kind, text, 1, edit)


def spread_constraints(pod: Pod, trials: Trials) -> Iterator[Candidate]:
    """Each constraint that must be met: with a larger maxSkew, and as one that need not be met."""
    constraints = pod.spec.topology_spread_constraints
    for at, constraint in enumerate(constraints):
        if constraint.when_unsatisfiable == "ScheduleAnyway":
            continue
        of = f" of the constraint on {constraint.topology_key}" + (f" ({at + 1})" if len(constraints) > 1 else "")
        yield Scale(trials.cache.pod_count + 2, partial(_skewed, pod, at, constraint, of))
        text = f"set whenUnsatisfiable{of} to ScheduleAnyway"
        edit = partial(_with_constraint, at=at, when_unsatisfiable="ScheduleAnyway")
        yield of_pod(pod, "topologySpread", text, 1, edit)


def _skewed(pod: Pod, at: int, constraint: TopologySpreadConstraint, of: str, more: int) -> Proposal:
    skew = constraint.max_skew + more
    text = f"set maxSkew{of} to {skew} instead of {constraint.max_skew}"
    edit = partial(_with_constraint, at=at, max_skew=skew)
    return of_pod(pod, "maxSkew", text, more / skew, edit)


def _with_constraint(spec: PodSpec, at: int, **fields: int | str) -> PodSpec:
    constraints = spec.topology_spread_constraints
    changed = evolved(constraints[at], **fields)
    return msgspec.structs.replace(spec, topology_spread_constraints=replaced(constraints, at, changed))


# --- the rest ------------------------------------------------------------------------------


def host_ports(pod: Pod) -> Iterator[Proposal]:
    """Without each host port, unless the pod is on its node's network, where every port is one."""
    if pod.spec.host_network:
        return
    for at, container in enumerate(pod.spec.containers):
        for port in container.ports:

            def edit(spec: PodSpec, at: int = at, gone: ContainerPort = port) -> PodSpec:
                old = spec.containers[at]
                fewer = msgspec.structs.replace(old, ports=without(old.ports, gone))
                return msgspec.structs.replace(spec, containers=replaced(spec.containers, at, fewer))

            text = f"drop the host port {port.host_port}/{port.protocol or 'TCP'} of container {container.name}"
            yield of_pod(pod, "hostPort", text, 1, edit)


def scheduling_gates(pod: Pod) -> Iterator[Proposal]:
    """Without each scheduling gate."""
    gates = pod.spec.scheduling_gates
    for gate in gates:
        edit = partial(_without_gate, gone=gate)
        yield of_pod(pod, "schedulingGate", f"remove the scheduling gate {gate}", 1, edit)


def _without_gate(spec: PodSpec, gone: str) -> PodSpec:
    return msgspec.structs.replace(spec, scheduling_gates=without(spec.scheduling_gates, gone))


def priorities_above(trials: Trials) -> list[int]:
    """The priorities above the pod's own at which more running pods can be evicted, ascending."""
    running: Iterable[Pod] = trials.cache.pods()
    return sorted({pod.priority + 1 for pod in running if pod.priority + 1 > trials.pod.priority})


def priority_scale(trials: Trials) -> Scale | None:
    """Higher priorities, at which preemption would make room; None where none is higher."""
    levels = priorities_above(trials)
    if not levels:
        return None
    own = trials.pod.priority

    def proposal(step: int) -> Proposal:
        priority = levels[step - 1]

        def edit(spec: PodSpec) -> PodSpec:
            return msgspec.structs.replace(spec, priority=priority)

        text = f"give it priority {priority} instead of {own}"
        return attrs.evolve(of_pod(trials.pod, "priority", text, step / len(levels), edit), preempts=True)

    return Scale(len(levels), proposal)
