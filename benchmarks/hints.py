"""How long hints take, and whether they are right, on a trace.

    python benchmarks/hints.py openb_nodes.csv openb_pods.csv --release 1.36 --share 0.5

The pods of the trace are placed one after the other on a share of its nodes. Of those that do not fit, one of each
shape is asked about: milliseconds of CPU a pod, without and with pairs, decisions, hints. Every hint is then tried
again by a fresh engine over a fresh cache of the changed cluster; the exit status is 1 if one does not hold.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from clusterstate.objects import ClusterObject, Node, Pod
from kubescheduler.api.cluster import Cluster
from kubescheduler.api.scheduler import Scheduler
from kubescheduler.engine.spec import Engine, EngineSpec, cache_for, no_notice
from kubescheduler.hinting.hint_search import HintSearch
from kubescheduler.hinting.proposals import Hint
from kubescheduler.releases.names import RELEASE_NAMES
from kubescheduler.simulation.workload import renamed


def changed_objects(objects: list[ClusterObject], hint: Hint) -> Iterator[ClusterObject]:
    """The cluster's objects with a hint's changes."""
    gone = {pod.key for change in hint.changes for pod in change.evicted}
    for obj in objects:
        if isinstance(obj, Pod) and obj.key in gone:
            continue
        changed: ClusterObject = obj
        for change in hint.changes:
            if isinstance(changed, Node) and change.node is not None and change.name == changed.name:
                changed = change.node(changed)
        yield changed
    yield from (change.added for change in hint.changes if change.added is not None)


def holds(engine: Engine, objects: list[ClusterObject], pod: Pod, hint: Hint) -> bool:
    """Whether a fresh engine over a fresh cache sends the pod where the hint says."""
    for change in hint.changes:
        pod = pod if change.pod is None else change.pod(pod)
        engine = engine if change.engine is None else change.engine(engine)
    preempts = any(change.preempts for change in hint.changes)
    scheduler = engine.scheduler(cache_for(engine, changed_objects(objects, hint)))
    decision = scheduler.decide(pod, preempt=preempts)
    found = decision.preemption.chosen if preempts and decision.preemption is not None else ()
    return decision.host == hint.host or hint.host in found


def milliseconds(search: HintSearch, pod: Pod, *, pairs: bool) -> float:
    """CPU time of one search."""
    start = time.process_time()
    search.hints(pod, pairs=pairs)
    return (time.process_time() - start) * 1000


@click.command()
@click.argument("nodes")
@click.argument("pods")
@click.option("--release", type=click.Choice(RELEASE_NAMES), default="1.36", show_default=True)
@click.option("--share", type=float, default=0.5, show_default=True, help="Of the nodes that are there.")
@click.option("--copies", type=int, default=1, show_default=True, help="Of the trace's pods.")
@click.option("--most", type=int, default=20, show_default=True, help="Shapes of pods asked about.")
@click.option("--verified", type=int, default=5, show_default=True, help="Of them, how many are tried again.")
def main(nodes: str, pods: str, release: str, share: float, copies: int, most: int, verified: int) -> None:
    """Places a trace, asks for hints, tries them again."""
    whole = Cluster.read(nodes, release=release)
    names = [node.name for node in whole.nodes]
    kept = {name for at, name in enumerate(names) if int((at + 1) * share) > int(at * share)}
    cluster = whole.without_node(*(name for name in names if name not in kept))
    scheduler = Scheduler(cluster)
    trace = cluster.to_place(pods).pods
    asked = [renamed(pod, f"{pod.metadata.name}-{n}") if n else pod for n in range(copies) for pod in trace]
    refused: dict[object, Pod] = {}
    placed = failed = 0
    for pod in asked:
        decision = scheduler.running.decide(pod, in_sequence=True)
        if decision.host is None:
            failed += 1
            refused.setdefault(msgspec.structs.replace(pod.spec, priority=None), pod)
        else:
            placed += 1
            scheduler.running.cache.assume_pod(pod, decision.host)
    print(f"{len(kept)} nodes, {placed} pods placed, {failed} do not fit, of {len(refused)} shapes")
    engine = EngineSpec(release=release).engine(no_notice)
    objects: list[ClusterObject] = [*cluster.objects, *scheduler.running.cache.pods()]
    search = HintSearch(engine, cache_for(engine, objects))
    wrong, tried, times, with_pairs = 0, 0, list[float](), list[float]()
    for at, pod in enumerate(list(refused.values())[:most]):
        times.append(milliseconds(search, pod, pairs=False))
        with_pairs.append(milliseconds(search, pod, pairs=True))
        found = search.hints(pod)
        print(f"{pod.key}: {times[-1]:.0f} ms, with pairs {with_pairs[-1]:.0f} ms, {found.decisions} decisions", end="")
        print(f", {len(found)} hints{'; ' + found.left_out if found.left_out else ''}")
        for hint in found if at < verified else ():
            tried += 1
            if not holds(engine, objects, pod, hint):
                wrong += 1
                print(f"  does not hold: {hint.text} -> {hint.host}")
        if found.hints:
            print(f"  {found[0].text} -> {found[0].host} {found[0].effect}")
    print(f"median {statistics.median(times):.0f} ms, most {max(times):.0f} ms; with pairs ", end="")
    print(f"median {statistics.median(with_pairs):.0f} ms, most {max(with_pairs):.0f} ms")
    print(f"{tried} hints tried again by fresh engines, {wrong} do not hold")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
