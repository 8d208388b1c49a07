"""Decisions per second of this project's scheduler.

    python benchmarks/run.py --release 1.16 --workload SchedulingBasic --nodes 5000 --pods 5000 --json

Schedule and assume are timed, every node is scored, one process. Initial pods are placed before the clock starts,
pod k on node k mod N. A cluster that would hold more than 30 pods a node is begun anew, untimed.

    python benchmarks/run.py --against 1.16 --release 1.36 --workload SchedulingPodAntiAffinity --nodes 300 --pods 2000

compares two releases in a sequence, every pod with a label of its own; with ``--evidence`` as ``compare -o json`` does.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections import deque
from pathlib import Path
from typing import Any

import attrs
import click

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import kubescheduler
from benchmarks.workloads import INITIAL_PODS_A_NAMESPACE, WORKLOADS, Workload, namespace, node
from clusterstate.manifests.decode import Decoder
from clusterstate.objects import Pod
from clusterstate.release_names import DEFAULT_RELEASE, RELEASE_NAMES
from kubescheduler.comparison.comparing import SEQUENCE, compare
from kubescheduler.engine.engine_contract import PodScheduler
from kubescheduler.engine.releases import RELEASES
from kubescheduler.engine.spec import EngineSpec

MOST_PODS_A_NODE = 30


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
        scheduler.cache.assume_pod(pod, f"scheduler-perf-{index % nodes:05d}")
    return scheduler


def measure(workload: Workload, release: str, nodes: int, init_pods: int, pods: int) -> tuple[float, int]:
    """(seconds, how many pods were scheduled) of ``pods`` decisions."""
    decoder = Decoder()
    waiting: list[Any] = [_pod(decoder, workload, f"pod-{index}") for index in range(pods)]
    seconds, scheduled = 0.0, 0
    while waiting:
        room = max(1, nodes * MOST_PODS_A_NODE - init_pods)
        batch, waiting = waiting[:room], waiting[room:]
        scheduler = build(workload, release, nodes, init_pods)
        waiting_for_room = deque[tuple[Pod, str]]()
        early = [_pod(decoder, workload, f"early-{index}") for index in range(workload.nominated)]
        _preempt(scheduler, early, waiting_for_room, workload.nominated)
        gc.collect()
        gc.freeze()
        started = time.perf_counter()
        if workload.preempts:
            scheduled += _preempt(scheduler, batch, waiting_for_room, workload.nominated)
        else:
            scheduled += _schedule(scheduler, batch)
        seconds += time.perf_counter() - started
        gc.unfreeze()
    return seconds, scheduled


def _pod(decoder: Decoder, workload: Workload, name: str) -> Any:
    return decoder.decode_object(workload.measured(name, workload.measured_namespace))


def measure_comparison(
    workload: Workload, releases: tuple[str, str], nodes: int, pods: int, *, evidence: bool
) -> float:
    """Seconds of comparing ``pods`` pods, one after another, on nodes without pods."""
    decoder = Decoder()
    objects = [decoder.decode_object(node(index, workload.zones)) for index in range(nodes)]
    waiting: list[Any] = []
    for index in range(pods):
        made = workload.measured(f"pod-{index}", workload.measured_namespace)
        made["metadata"]["labels"] = {**made["metadata"]["labels"], "own": str(index)}
        waiting.append(decoder.decode_object(made))
    old, new = (EngineSpec(release=release) for release in releases)
    started = time.perf_counter()
    compare(objects, waiting, old, [new], mode=SEQUENCE, evidence=evidence)
    return time.perf_counter() - started


def _schedule(scheduler: PodScheduler, pods: list[Pod]) -> int:
    scheduled = 0
    for pod in pods:
        decision = scheduler.decide(pod)
        if decision.host is not None:
            scheduler.cache.assume_pod(pod, decision.host)
            scheduled += 1
    return scheduled


def _preempt(scheduler: PodScheduler, pods: list[Pod], waiting: deque[tuple[Pod, str]], most: int) -> int:
    """Every pod is decided, its victims leave, and it waits for the room they leave as a nominated pod, until ``most``
    others do after it; then it is placed. waiting: those that wait from before, the first of them first."""
    preempted = 0
    for pod in pods:
        found = scheduler.decide(pod, preempt=True).preemption
        if found is not None and found.chosen:
            node = found.chosen[0]
            for victim in found.candidates[node].pods:
                scheduler.cache.forget_pod(victim)
            preempted += 1
            if most:
                scheduler.cache.nominate(pod, node)
            waiting.append((pod, node))
            if len(waiting) > most:
                scheduler.cache.assume_pod(*waiting.popleft())
    return preempted


@click.command(context_settings={"show_default": True})
@click.option("--release", type=click.Choice(RELEASE_NAMES), default=DEFAULT_RELEASE)
@click.option("--workload", "names", type=click.Choice(list(WORKLOADS)), multiple=True, help="All when none is named.")
@click.option("--nodes", type=int, default=(5000,), multiple=True)
@click.option("--init-pods", type=int, help="By default as many as upstream's workload begins with.")
@click.option("--pods", type=int, default=5000)
@click.option("--nominated", type=int, help="Pods that wait nominated while others preempt; by default the workload's.")
@click.option("--json", "as_json", is_flag=True, help="One JSON line per run instead of a table.")
@click.option("--against", type=click.Choice(RELEASE_NAMES), help="Compare with this release, in a sequence, instead.")
@click.option("--evidence", is_flag=True, help="With --against: also what scores were made of.")
def main(
    release: str,
    names: tuple[str, ...],
    nodes: tuple[int, ...],
    init_pods: int | None,
    pods: int,
    nominated: int | None,
    as_json: bool,
    against: str | None,
    evidence: bool,
) -> None:
    """Print how many pods a second are decided and assumed."""
    if against is not None:
        for name in names or ["SchedulingBasic", "SchedulingPreferredPodAntiAffinity"]:
            for count in nodes:
                seconds = measure_comparison(WORKLOADS[name], (against, release), count, pods, evidence=evidence)
                click.echo(f"compare {against} {release} {name:40}{count:7}{pods:7}{seconds:9.2f}{pods / seconds:9.0f}")
        return
    if not as_json:
        click.echo(f"{'workload':48}{'nodes':>7}{'init':>8}{'pods':>7}{'seconds':>9}{'pods/s':>9}{'scheduled':>11}")
    for name in names or [name for name, workload in WORKLOADS.items() if workload.runs_on(release)]:
        workload = WORKLOADS[name]
        workload = workload if nominated is None else attrs.evolve(workload, nominated=nominated)
        for count in nodes:
            initial = workload.begins_with(count) if init_pods is None else init_pods
            seconds, scheduled = measure(workload, release, count, initial, pods)
            rate = pods / seconds
            if as_json:
                row = {"release": release, "workload": name, "nodes": count, "init_pods": initial, "pods": pods}
                more = {"seconds": round(seconds, 4), "decisions_per_second": round(rate, 1), "scored": "all"}
                click.echo(json.dumps({**row, **more}))
            else:
                click.echo(f"{name:48}{count:7}{initial:8}{pods:7}{seconds:9.2f}{rate:9.0f}{scheduled:11}")


if __name__ == "__main__":
    main()
