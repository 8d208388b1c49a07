"""One workload in this process: the cluster is built, then the decisions are timed."""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import kubescheduler
from benchmarks.child_process import Stopwatch
from benchmarks.workloads import INITIAL_PODS_A_NAMESPACE, Workload, namespace, node, node_name
from clusterstate.manifests.decode import Decoder
from clusterstate.objects import Pod
from kubescheduler.comparison.comparing import SEQUENCE, compare
from kubescheduler.core.decision import Decision
from kubescheduler.engine.engine_contract import PodScheduler
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.releases.lookup import RELEASES

LAST_ONE_BY_ONE = 5

Run = Callable[[PodScheduler, list[Pod]], int]
"""Decides and assumes pods in their order; how many found a node."""


def build(workload: Workload, release: str, nodes: int, init_pods: int) -> PodScheduler:
    """A scheduler over a fresh cluster with the initial pods in place."""
    known = RELEASES[release].gates.gates
    gates = {name: on for name, on in workload.feature_gates.items() if name in known}
    objects = [namespace(name, labels) for name, labels in workload.namespaces(init_pods).items()]
    objects += (node(index, workload.zones) for index in range(nodes))
    cluster = kubescheduler.Cluster(objects, release=release, defaulting=False)
    scheduler = kubescheduler.Scheduler(cluster, gates=gates).running
    decoder = Decoder()
    for index in range(init_pods):
        pod: Any = decoder.decode_object(
            workload.initial(f"init-{index}", workload.initial_namespace.format(index // INITIAL_PODS_A_NAMESPACE))
        )
        scheduler.cache.assume_pod(pod, node_name(index % nodes))
    return scheduler


def measured_pods(workload: Workload, pods: int, *, own_labels: bool = False, prefix: str = "pod") -> list[Pod]:
    """The pods to decide. own_labels: each has a label that no other has."""
    decoder = Decoder()
    waiting: list[Any] = []
    for index in range(pods):
        made = workload.measured(f"{prefix}-{index}", workload.measured_namespace)
        if own_labels:
            made["metadata"]["labels"] = {**made["metadata"]["labels"], "own": str(index)}
        waiting.append(decoder.decode_object(made))
    return waiting


def measure(
    workload: Workload, release: str, nodes: int, init_pods: int, waiting: list[Pod], run: Run
) -> tuple[Stopwatch, int]:
    """(the time of all decisions, how many pods found a node); a cluster that would be too full is begun anew, untimed.

    run: how the pods of a workload that does not preempt are decided.
    """
    watch, scheduled = Stopwatch(), 0
    while waiting:
        room = max(1, nodes * workload.most_a_node - init_pods - workload.nominated)
        batch, waiting = waiting[:room], waiting[room:]
        scheduler = build(workload, release, nodes, init_pods)
        early = measured_pods(workload, workload.nominated, prefix="early")
        nominated = deque(nominated_at_once(scheduler, early))
        gc.collect()
        gc.freeze()
        watch.start()
        if workload.preempts:
            scheduled += by_preemption(scheduler, batch, nominated, workload.nominated)
        else:
            scheduled += run(scheduler, batch)
        watch.stop()
        gc.unfreeze()
    return watch, scheduled


def measure_comparison(
    workload: Workload, releases: tuple[str, str], nodes: int, pods: int, *, evidence: bool
) -> Stopwatch:
    """The time of comparing ``pods`` pods, one after another, on nodes without pods."""
    decoder = Decoder()
    objects = [decoder.decode_object(node(index, workload.zones)) for index in range(nodes)]
    waiting = measured_pods(workload, pods, own_labels=True)
    old, new = (EngineSpec(release=release) for release in releases)
    watch = Stopwatch()
    watch.start()
    compare(objects, waiting, old, [new], mode=SEQUENCE, evidence=evidence)
    watch.stop()
    return watch


def one_by_one(scheduler: PodScheduler, pods: list[Pod]) -> int:
    """Each pod is decided by itself."""
    scheduled = 0
    for pod in pods:
        decision = scheduler.decide(pod)
        if decision.host is not None:
            scheduler.cache.assume_pod(pod, decision.host)
            scheduled += 1
    return scheduled


def in_bulk(scheduler: PodScheduler, pods: list[Pod]) -> int:
    """Runs of pods that no rule can tell apart are placed in one go; by a checkout that cannot, one by one."""
    if not hasattr(scheduler, "place_run"):
        return one_by_one(scheduler, pods)
    from kubescheduler.core.bulk.placing_in_order import placed_in_order

    def one(pod: Pod) -> Decision:
        decision = scheduler.decide(pod, in_sequence=True)
        if decision.host is not None:
            scheduler.cache.assume_pod(pod, decision.host)
        return decision

    parts = placed_in_order(scheduler, pods, one)
    return sum(part.host is not None if isinstance(part, Decision) else len(part) for part in parts)


def nominated_at_once(scheduler: PodScheduler, pods: list[Pod]) -> Iterator[tuple[Pod, str]]:
    """Each pod and the node that it waits for. Pods take the candidates of one preemption in turn, then of the next,
    so that many are there without as many preemptions; the last few are preempted for one by one."""
    pods, last = pods[:-LAST_ONE_BY_ONE], pods[-LAST_ONE_BY_ONE:]
    while pods:
        found = scheduler.decide(pods[0], preempt=True).preemption
        if found is None or not found.chosen:
            break
        for pod, (host, victims) in zip(pods, found.candidates.items(), strict=False):
            _wait_for(scheduler, pod, host, victims.pods)
            yield pod, host
        pods = pods[len(found.candidates) :]
    waiting = deque[tuple[Pod, str]]()
    by_preemption(scheduler, last, waiting, len(last))
    yield from waiting


def by_preemption(scheduler: PodScheduler, pods: list[Pod], waiting: deque[tuple[Pod, str]], most: int) -> int:
    """Every pod is decided, its victims leave, and it waits for the room they leave as a nominated pod, until ``most``
    others do after it; then it is placed. waiting: those that wait from before, the first of them first."""
    preempted = 0
    for pod in pods:
        found = scheduler.decide(pod, preempt=True).preemption
        if found is not None and found.chosen:
            node = found.chosen[0]
            _wait_for(scheduler, pod, node, found.candidates[node].pods, nominate=bool(most))
            preempted += 1
            waiting.append((pod, node))
            if len(waiting) > most:
                scheduler.cache.assume_pod(*waiting.popleft())
    return preempted


def _wait_for(scheduler: PodScheduler, pod: Pod, node: str, victims: Iterable[Pod], *, nominate: bool = True) -> None:
    for victim in victims:
        scheduler.cache.forget_pod(victim)
    if nominate:
        scheduler.cache.nominate(pod, node)
