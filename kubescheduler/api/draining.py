"""``drain``: what happens when nodes of a cluster are drained."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from clusterstate.errors import InputError, nearest
from clusterstate.objects import ClusterObject, Pod
from kubescheduler.api.cluster import Cluster
from kubescheduler.api.engine_choice import engine_spec, tie_break_of
from kubescheduler.comparison.running_pods import label_selector
from kubescheduler.core.selection import TieBreak
from kubescheduler.engine.engine_contract import Engine
from kubescheduler.inputs.given import TEXT, WHOLE, checked_cluster, flat, refuse, wrong_type
from kubescheduler.planning.drain import Chosen, DrainFlags, chosen, drained, every
from kubescheduler.planning.drain_order import OrderSearch
from kubescheduler.planning.drain_report import Drain
from kubescheduler.planning.rehearsal import Rehearsal

AT_ONCE = "pods end at once, and those that come back are taken to be ready as soon as they have a node"
"""Said of every drain."""


def drain(  # noqa: PLR0913
    cluster: Cluster,
    *nodes: Any,
    selector: str | None = None,
    ignore_daemonsets: bool = False,
    delete_emptydir_data: bool = False,
    force: bool = False,
    disable_eviction: bool = False,
    pod_selector: str | None = None,
    order: bool = False,
    batch: int = 1,
    tie_break: str = "first",
    seed: int | None = None,
    **options: Any,
) -> Drain:
    """What happens when nodes are drained as ``kubectl drain`` does it: where each pod is then, which fits nowhere and
    why, which evictions disruption budgets refuse, whom preemption evicts.

    nodes: names, one or several; selector: those with labels, as kubectl's ``-l``. ignore_daemonsets,
    delete_emptydir_data, force, disable_eviction, pod_selector: kubectl's flags; where one is missing an InputError has
    kubectl's words. order: also finds an order of the nodes, in batches of at most ``batch``, in which every budget
    holds and every pod runs again before the next begins; ``order.obstacles`` says why there is none. options: a
    Scheduler's. Raises InputError for nodes that are not there.

    >>> from kubescheduler import Cluster, pod
    >>> web = pod("web-x2bcd", node="a", cpu=1)
    >>> web["metadata"]["ownerReferences"] = [
    ...     {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "1", "controller": True}
    ... ]
    >>> result = drain(Cluster().node("a").node("b").add(web), "a")
    >>> [(moved.pod.key, moved.node) for moved in result.moved], result.fine
    ([('default/web-x2bcd', 'b')], True)
    """
    checked_cluster(cluster, Cluster)
    refuse(
        [
            *wrong_type("selector", selector, TEXT, "a label selector"),
            *wrong_type("pod_selector", pod_selector, TEXT, "a label selector"),
            *wrong_type("batch", batch, WHOLE, "a whole number"),
        ]
    )
    refuse([f"batch: expected 1 or more, found {batch}"] if batch < 1 else [])
    names = named_nodes(cluster, list(flat(nodes)), selector)
    flags = flags_for(
        cluster,
        names,
        pod_selector,
        ignore_daemonsets=ignore_daemonsets,
        delete_emptydir_data=delete_emptydir_data,
        force=force,
        disable_eviction=disable_eviction,
    )
    engine = engine_spec(cluster.release, **options).engine(lambda _: None)
    return drain_of(engine, cluster, names, flags, tie_break_of(engine, tie_break, seed), batch if order else None)


def named_nodes(cluster: Cluster, names: Iterable[str], selector: str | None) -> list[str]:
    """The nodes of these names and of a label selector, each once. Raises InputError for those that are not there."""
    known = {node.name: node for node in cluster.nodes}
    found = dict.fromkeys(names)
    if problems := [
        f"there is no node {name} in the cluster{nearest(str(name), known)}" for name in found if name not in known
    ]:
        raise InputError(problems)
    if selector is not None:
        matches = label_selector(selector)
        selected = [node.name for node in known.values() if matches(node.metadata.labels)]
        if not selected:
            raise InputError(f"no node of the cluster has the labels {selector}")
        found |= dict.fromkeys(selected)
    if not found:
        raise InputError("say which nodes: their names, or a label selector")
    return list(found)


def flags_for(cluster: Cluster, nodes: Iterable[str], pod_selector: str | None, **flags: bool) -> DrainFlags:
    """kubectl's flags for nodes of a cluster, whose manifests say which pods have emptyDir volumes.

    pod_selector: a label selector; None: every pod. Raises ConfigError for a text that is none.
    """
    there = set(nodes)
    entries = (each for each in cluster.entries() if isinstance(each.obj, Pod) and each.obj.node_name in there)
    local = frozenset(each.key[1] for each in entries if _has_empty_dir(each.manifest()))
    matches = every if pod_selector is None else _of_labels(label_selector(pod_selector))
    return DrainFlags(selects=matches, has_local_storage=lambda pod: pod.key in local, **flags)


def _of_labels(matches: Callable[[Mapping[str, str]], bool]) -> Callable[[Pod], bool]:
    return lambda pod: matches(pod.metadata.labels)


def _has_empty_dir(manifest: Mapping[str, Any]) -> bool:
    volumes = (manifest.get("spec") or {}).get("volumes") or ()
    return any(isinstance(volume, Mapping) and volume.get("emptyDir") is not None for volume in volumes)


def drain_of(
    engine: Engine,
    cluster: Cluster,
    nodes: list[str],
    flags: DrainFlags,
    tie_break: TieBreak | None = None,
    batch: int | None = None,
) -> Drain:
    """What happens, by an engine that is made already. batch: also finds an order, of at most so many nodes at once."""

    def make(objects: list[ClusterObject]) -> Rehearsal:
        rehearsal = Rehearsal(engine, objects, tie_break)
        rehearsal.cordon(nodes)
        rehearsal.settle()
        return rehearsal

    rehearsal = make(cluster.objects)
    notes = [*rehearsal.budgets.notes, AT_ONCE]
    there = chosen(rehearsal, nodes, flags)
    if batch is None:
        blocked = drained(rehearsal, there, flags)
        return _reported(rehearsal, nodes, there, notes, blocked=tuple(blocked))
    search = OrderSearch(make, rehearsal, nodes, flags, batch)
    order = search.order()
    rehearsal = search.rehearsal
    if search.rebuilt:
        rehearsal = make(cluster.objects)
        for each in order.batches:
            drained(rehearsal, chosen(rehearsal, each, flags), flags)
    in_order = [node for each in order.batches for node in each]
    return _reported(rehearsal, in_order, there, notes, order=order)


def _reported(rehearsal: Rehearsal, nodes: list[str], there: list[Chosen], notes: list[str], **more: Any) -> Drain:
    nowhere = [moved.now for moved in rehearsal.nowhere() if moved.now is not None]
    waiting = [(pod, record.node) for pod in rehearsal.waiting if (record := rehearsal.record(pod)) is not None]
    return Drain(
        nodes=tuple(nodes),
        moved=tuple(rehearsal.moved),
        stays=tuple(stays for node in there for stays in node.stays),
        waiting=tuple(waiting),
        below=rehearsal.budgets.below(),
        violations=tuple(rehearsal.violations),
        hints=rehearsal.hints(nowhere),
        notes=tuple(notes),
        **{"blocked": (), **more},
    )
