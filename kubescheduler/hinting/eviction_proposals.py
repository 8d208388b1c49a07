"""Running pods whose place the pod could have."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import msgspec

from clusterstate.daemon_pods import is_daemon_pod
from clusterstate.objects import Pod
from kubescheduler.core.decision import Decision
from kubescheduler.core.decision_records import Victims
from kubescheduler.engine.engine_contract import Engine
from kubescheduler.engine.legacy_engine import LegacyEngine
from kubescheduler.hinting.proposals import RUNNING, Hint, Proposal
from kubescheduler.hinting.trials import Trials

HIGHEST = 2**31 - 1
"""A priority above that of every pod."""
NODES = 3
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
    for node, victims in sorted(candidates, key=lambda each: _cost(*each))[:NODES]:
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
    placed: list[Pod] = []
    moves: dict[str, str] = {}
    with trials.under(hint.changes) as (scheduler, pod):
        try:
            cache.assume_pod(pod, hint.host)
            placed.append(pod)
            for victim in gone:
                waiting = msgspec.structs.replace(victim, node_name="", nominated_node_name="")
                host = scheduler.decide(waiting).host
                if host is not None:
                    cache.assume_pod(waiting, host)
                    placed.append(waiting)
                    moves[victim.key] = host
        finally:
            for one in reversed(placed):
                cache.forget_pod(one)
    return attrs.evolve(hint, moves=moves)
