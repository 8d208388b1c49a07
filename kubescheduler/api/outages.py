"""``outage`` and ``outages``: what happens when nodes of a cluster are gone at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from clusterstate.errors import InputError, nearest
from clusterstate.node_order import REGION, STABLE_REGION, STABLE_ZONE, ZONE
from clusterstate.objects import ClusterObject, Node, Pod
from kubescheduler.api.cluster import Cluster
from kubescheduler.api.draining import named_nodes
from kubescheduler.api.engine_choice import engine_spec, tie_break_of
from kubescheduler.comparison.effects import effects
from kubescheduler.core.selection import TieBreak
from kubescheduler.engine.engine_contract import Engine
from kubescheduler.inputs.given import TEXT, checked_cluster, flat, refuse, wrong_type
from kubescheduler.planning.departures import Fate
from kubescheduler.planning.outage import Outage, Outages, lose, worst_first
from kubescheduler.planning.rehearsal import LOST_NODE, Rehearsal, after_waiting, played

LABELS = {"zone": (STABLE_ZONE, ZONE), "region": (STABLE_REGION, REGION), "hostname": ("kubernetes.io/hostname",)}
"""Short name of a domain → the labels that say it, the first that a node has."""
ASSUMED = (
    "pods that are made anew are taken to be ready as soon as they have a node, and volumes that one node alone may "
    "have to be detached by then"
)
OBJECTS_GO = (
    "the nodes' objects go too, as a cloud's controller removes them, so that StatefulSets make their pods anew; with "
    f"--unreachable they stay; {ASSUMED}"
)
OBJECTS_STAY = f"the nodes' objects stay, tainted node.kubernetes.io/unreachable; {ASSUMED}"


def outage(
    cluster: Cluster,
    *nodes: Any,
    zone: str | None = None,
    selector: str | None = None,
    unreachable: bool = False,
    tie_break: str = "first",
    seed: int | None = None,
    **options: Any,
) -> Outage:
    """What happens when nodes are gone at once: what runs again and where, what fits nowhere and why, which workloads
    have fewer pods than before or were down meanwhile.

    nodes: names, one or several; zone: those of a zone; selector: those with labels, as kubectl's ``-l``. unreachable:
    the nodes' objects stay; a StatefulSet then makes no other pods. Pods are made anew in the order in which their
    tolerations of ``node.kubernetes.io/unreachable`` run out. options: a Scheduler's. Raises InputError for nodes that
    are not there.

    >>> from kubescheduler import Cluster, pod
    >>> web = pod("web-x2bcd", node="a", cpu=1)
    >>> web["metadata"]["ownerReferences"] = [
    ...     {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "1", "controller": True}
    ... ]
    >>> result = outage(Cluster().node("a").node("b").add(web), "a")
    >>> [(moved.pod.key, moved.node) for moved in result.moved], result.fine
    ([('default/web-x2bcd', 'b')], True)
    """
    checked_cluster(cluster, Cluster)
    refuse([*wrong_type("zone", zone, TEXT, "a zone"), *wrong_type("selector", selector, TEXT, "a label selector")])
    name, names = lost_nodes(cluster, list(flat(nodes)), zone, selector)
    engine = engine_spec(cluster.release, **options).engine(lambda _: None)
    return outage_of(engine, cluster, name, names, tie_break_of(engine, tie_break, seed), unreachable=unreachable)


def outages(
    cluster: Cluster,
    each: str = "zone",
    *,
    unreachable: bool = False,
    tie_break: str = "first",
    seed: int | None = None,
    **options: Any,
) -> Outages:
    """The same for every domain in turn, the worst first; without hints. each: zone, region, hostname, or a label.

    Raises InputError where no node has the label.
    """
    checked_cluster(cluster, Cluster)
    refuse(wrong_type("each", each, TEXT, "a label"))
    engine = engine_spec(cluster.release, **options).engine(lambda _: None)
    return outages_of(engine, cluster, each, lambda: tie_break_of(engine, tie_break, seed), unreachable=unreachable)


def lost_nodes(cluster: Cluster, names: Iterable[str], zone: str | None, selector: str | None) -> tuple[str, list[str]]:
    """(what they are called, the names of the nodes). Raises InputError for those that are not there."""
    given = list(names)
    title = ", ".join([f"zone {zone}"] * (zone is not None) + [selector or ""] * (selector is not None) + given)
    if zone is not None:
        zones = domains(cluster, "zone")
        if zone not in zones:
            raise InputError(f"there is no node in zone {zone}; the zones are {', '.join(zones) or 'none'}")
        given += zones[zone]
    return title, named_nodes(cluster, given, selector)


def domains(cluster: Cluster, each: str) -> dict[str, list[str]]:
    """Value of a label → the nodes that have it; nodes without are in no domain."""
    keys = LABELS.get(each, (each,))
    found: dict[str, list[str]] = {}
    for node in cluster.nodes:
        value = next((node.metadata.labels[key] for key in keys if node.metadata.labels.get(key)), None)
        if value is not None:
            found.setdefault(value, []).append(node.name)
    return found


def outages_of(
    engine: Engine,
    cluster: Cluster,
    each: str,
    tie_break: Callable[[], TieBreak | None],
    *,
    unreachable: bool,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Outages:
    """The same by an engine that is made already. tie_break: makes one for each domain."""
    there = domains(cluster, each)
    if not there:
        known = {*LABELS, *(key for node in cluster.nodes for key in node.metadata.labels)}
        keys = " or ".join(LABELS.get(each, (each,)))
        like = "" if each in LABELS else nearest(each, sorted(known))
        raise InputError(f"no node of the cluster has the label {keys}{like}")
    found: list[Outage] = []
    for name, nodes in there.items():
        progress(len(found), len(there))
        title = f"{each}={name}"
        found.append(outage_of(engine, cluster, title, nodes, tie_break(), unreachable=unreachable, hints=False))
    notes = tuple(dict.fromkeys(note for one in found for note in one.notes))
    without = len(cluster.nodes) - sum(map(len, there.values()))
    notes += (f"{without:,} nodes have no label {each}: no domain has them",) * (without > 0)
    return Outages(each, worst_first(found), notes)


def outage_of(
    engine: Engine,
    cluster: Cluster,
    name: str,
    nodes: list[str],
    tie_break: TieBreak | None = None,
    *,
    unreachable: bool = False,
    hints: bool = True,
) -> Outage:
    """What happens, by an engine that is made already. The pods that wait in the cluster have their turn before."""
    rehearsal, preempted = after_waiting(Rehearsal(engine, cluster.objects, tie_break), tie_break)
    notes = (*preempted, *rehearsal.budgets.notes, OBJECTS_STAY if unreachable else OBJECTS_GO)
    lost = lose(rehearsal, nodes, unreachable=unreachable)
    gone = frozenset(nodes)
    moved = [one for one in rehearsal.moved if one.fate not in (Fate.DAEMON, Fate.STATIC) or one.left[0] != LOST_NODE]
    left = [obj for obj in rehearsal.objects() if _place(obj) not in gone]
    return Outage(
        name=name,
        nodes=tuple(nodes),
        lost_nodes=lost,
        utilisation=effects(left, (), (), (), engine.view, leave=False).utilisation,
        notes=notes,
        **played(rehearsal, moved, hints=hints),
    )


def _place(obj: ClusterObject) -> str:
    """The node that an object is, or is on."""
    return obj.name if isinstance(obj, Node) else obj.node_name if isinstance(obj, Pod) else ""
