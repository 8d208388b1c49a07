"""``drain``, ``outage`` and ``outages``: what happens when nodes of a cluster are drained, or gone at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import msgspec

from clusterstate.errors import InputError, attempt, nearest
from clusterstate.node_order import REGION, STABLE_REGION, STABLE_ZONE, ZONE
from clusterstate.objects import ClusterObject, Node, Pod
from kubescheduler.api.cluster import Cluster
from kubescheduler.api.engine_choice import engine_spec, tie_break_of
from kubescheduler.api.nodes import as_shapes, volumes_of, with_daemons
from kubescheduler.comparison.effects import effects
from kubescheduler.comparison.running_pods import label_selector
from kubescheduler.core.selection import FirstByName, TieBreak
from kubescheduler.engine.spec import Engine
from kubescheduler.given import TEXT, Given, checked_cluster, flat, refuse, wrong_number, wrong_type
from kubescheduler.planning.departures import Fate
from kubescheduler.planning.drain import Chosen, DrainFlags, KubeletUpgrade, check_flags, chosen, drained
from kubescheduler.planning.drain_order import Drain, Order, OrderOptions, OrderSearch, Surge, play_step
from kubescheduler.planning.node_trials import nodes_beside
from kubescheduler.planning.outage import Outage, Outages, lose, worst_first
from kubescheduler.planning.rehearsal import LOST_NODE, Rehearsal, after_waiting, not_tried_notes, played
from kubescheduler.planning.shapes import one_shape
from kubescheduler.simulation.workload import Workload

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
    surge: int = 0,
    shape: Any = None,
    kubernetes_upgrade: str | None = None,
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

    Of an order besides: surge: so many nodes of a ``shape`` (as ``ks.nodes`` takes it) come first; ``surge.leave`` says
    whether they can go again. kubernetes_upgrade: ``"A:B"``: each node is cordoned for its own step alone, and comes
    back after it with a kubelet of B instead of A.

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
            *wrong_number("batch", batch, 1),
            *wrong_number("surge", surge, 0),
            *wrong_type("kubernetes_upgrade", kubernetes_upgrade, TEXT, "two versions such as 1.30:1.31"),
        ]
    )
    refuse(_of_no_order(order, surge, shape, kubernetes_upgrade))
    of_shape = None if shape is None else partial(as_shapes, shape)
    options_of_order = order_options(batch, surge, of_shape, kubernetes_upgrade, cluster.release)
    names = named_nodes(cluster, list(flat(nodes)), selector)
    flags = flags_for(
        cluster,
        None if kubernetes_upgrade is not None else names,
        pod_selector,
        ignore_daemonsets=ignore_daemonsets,
        delete_emptydir_data=delete_emptydir_data,
        force=force,
        disable_eviction=disable_eviction,
    )
    engine = engine_spec(cluster.release, **options).engine(lambda _: None)
    ties = tie_break_of(engine, tie_break, seed)
    return drain_of(engine, cluster, names, flags, ties, options_of_order if order else None)


def _of_no_order(order: bool, surge: int, shape: object, upgrade: str | None) -> Iterator[str]:
    """What is wrong with the arguments that say what sort of order is looked for."""
    if (surge > 0) != (shape is not None):
        yield "surge: say how many nodes come first, and of which shape: surge=2, shape=…"
    if not order and (surge or upgrade is not None):
        yield f"{'surge' if surge else 'kubernetes_upgrade'}: it is of an order; say order=True as well"


def order_options(
    batch: int,
    surge: int,
    shape: Callable[[], Given] | None,
    upgrade: str | None,
    release: str,
    name: str = "kubernetes_upgrade",
) -> OrderOptions:
    """What sort of order. shape: reads what the first nodes are like. name: of what says the upgrade, in errors. Raises
    InputError with every fault."""
    problems: list[str] = []
    parsed = None if upgrade is None else attempt(problems, KubeletUpgrade.parse, upgrade, name)
    read = None if shape is None else attempt(problems, lambda: one_shape(shape(), release))
    if problems:
        raise InputError(problems)
    return OrderOptions(batch, read, surge, parsed)


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


def flags_for(cluster: Cluster, nodes: Iterable[str] | None, pod_selector: str | None, **flags: bool) -> DrainFlags:
    """kubectl's flags for nodes of a cluster, whose manifests say which pods have emptyDir volumes.

    nodes: on which pods are looked at; None: all. A pod that its controller has made in another one's place has what
    that one had. pod_selector: a label selector; None: every pod. Raises ConfigError for a text that is none.
    """
    there = None if nodes is None else set(nodes)
    pods = {each.obj.key: (each.obj, each) for each in cluster.entries() if isinstance(each.obj, Pod)}
    looked_at = ((pod, entry) for pod, entry in pods.values() if there is None or pod.node_name in there)
    local = {
        pod.key: pod
        for pod, entry in looked_at
        if any(volume.get("emptyDir") is not None for volume in volumes_of(entry.manifest()))
    }
    owners = {owner.uid for pod in local.values() if (owner := pod.metadata.controller) is not None}

    def has_local_storage(pod: Pod) -> bool:
        owner = pod.metadata.controller
        return pod.key in local or (pod.key not in pods and owner is not None and owner.uid in owners)

    matches = (lambda _: True) if pod_selector is None else label_selector(pod_selector)
    return DrainFlags(selects=lambda pod: matches(pod.metadata.labels), has_local_storage=has_local_storage, **flags)


def drain_of(
    engine: Engine,
    cluster: Cluster,
    nodes: list[str],
    flags: DrainFlags,
    tie_break: TieBreak | None = None,
    order: OrderOptions | None = None,
) -> Drain:
    """What happens, by an engine that is made already. order: also finds one."""
    options = OrderOptions() if order is None else order

    def make(names: list[str], objects: Iterable[ClusterObject]) -> Rehearsal:
        """A rehearsal in which these nodes are cordoned."""
        rehearsal = Rehearsal(engine, objects, tie_break)
        rehearsal.cordon(names)
        rehearsal.settle()
        return rehearsal

    new: list[list[ClusterObject]] = []
    if options.shape is not None:
        daemons = with_daemons(cluster, Workload(), [options.shape])
        new = nodes_beside(cluster.objects, options.shape, options.surge, engine.release, daemons)
    objects = [*cluster.objects, *(obj for made in new for obj in made)]
    cordoned = nodes if options.upgrade is None else []
    rehearsal, notes = make(cordoned, objects), list[str]()
    if rehearsal.moved:
        calm, notes = after_waiting(Rehearsal(engine, objects, tie_break), tie_break)
        objects = calm.objects()
        rehearsal = make(cordoned, objects)
    notes += [*rehearsal.budgets.notes, AT_ONCE]
    there = chosen(rehearsal, nodes, flags)
    check_flags(there)
    if order is None:
        blocked = drained(rehearsal, there, flags)
        return _reported(rehearsal, nodes, there, notes, blocked=tuple(blocked))
    if order.upgrade is not None:
        wanted = frozenset(nodes)
        notes += order.upgrade.notes((node for node in cluster.nodes if node.name in wanted), engine.release)
    search = OrderSearch(partial(make, cordoned), rehearsal, nodes, flags, order)
    found = search.order()
    if found.steps and not isinstance(tie_break, FirstByName | None):  # other draws might lead to an order
        found = msgspec.structs.replace(found, proven=False)
    rehearsal = search.rehearsal
    if search.rebuilt:
        rehearsal, found = _replayed(partial(make, cordoned, objects), found, flags, order.upgrade)
    surge = None
    if order.shape is not None:
        names = [made[0].metadata.name for made in new]
        again = partial(make, [*cordoned, *names])
        leave = _leave(again, rehearsal, names, flags, order.batch) if found.complete else None
        surge = Surge(order.shape.name, tuple(names), leave)
    in_order = [node for each in found.batches for node in each]
    return _reported(rehearsal, in_order, there, notes, order=found, surge=surge, upgrade=order.upgrade)


def _replayed(
    make: Callable[[], Rehearsal], found: Order, flags: DrainFlags, upgrade: KubeletUpgrade | None
) -> tuple[Rehearsal, Order]:
    """The cluster in which an order has been played, and as much of it as holds when it is played from its beginning:
    in a search that took steps back, pods may have gone elsewhere, by other draws among equal nodes."""
    while True:
        rehearsal = make()
        for at, batch in enumerate(found.batches):
            if obstacles := play_step(rehearsal, batch, flags, upgrade):
                place = f"step {at + 1} ({', '.join(batch)}) does not hold when the order is played from its beginning"
                left = (*(node for later in found.batches[at:] for node in later), *found.left)
                told = tuple(msgspec.structs.replace(each, text=f"{place}: {each.text}") for each in obstacles)
                found = msgspec.structs.replace(
                    found, batches=found.batches[:at], left=left, proven=False, obstacles=told
                )
                break
        else:
            return rehearsal, found


def _leave(
    make: Callable[[Iterable[ClusterObject]], Rehearsal],
    rehearsal: Rehearsal,
    names: list[str],
    flags: DrainFlags,
    batch: int,
) -> Order:
    """In which order the nodes that came first can go again, with what DaemonSets have there."""
    flags = msgspec.structs.replace(flags, ignore_daemonsets=True)
    return OrderSearch(make, make(rehearsal.objects()), names, flags, OrderOptions(batch)).order()


def _reported(rehearsal: Rehearsal, nodes: list[str], there: list[Chosen], notes: list[str], **more: Any) -> Drain:
    return Drain(
        nodes=tuple(nodes),
        stays=tuple(stays for node in there for stays in node.stays),
        violations=tuple(rehearsal.violations),
        notes=(*notes, *not_tried_notes(rehearsal.moved)),
        **played(rehearsal, rehearsal.moved),
        **more,
    )


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
    """What happens, by an engine that is made already. The pods that wait in the cluster have their turn before, on the
    other nodes, and none of them counts as one that ran."""
    first = Rehearsal(engine, cluster.objects, tie_break)
    uncordon = [name for name in nodes if (node := first.node(name)) is not None and not node.unschedulable]
    first.cordon(nodes)
    rehearsal, preempted = after_waiting(first, tie_break)
    waited = {pod.key for pod in (*first.waiting, *rehearsal.waiting)}
    notes = (*preempted, *rehearsal.budgets.notes, OBJECTS_STAY if unreachable else OBJECTS_GO)
    lost = lose(rehearsal, nodes, unreachable=unreachable, waited=waited, uncordon=uncordon)
    gone = frozenset(nodes)
    ran = [one for one in rehearsal.moved if one.pod.key not in waited]
    moved = [one for one in ran if one.fate not in (Fate.DAEMON, Fate.STATIC) or one.left[0] != LOST_NODE]
    left = [obj for obj in rehearsal.objects() if _place(obj) not in gone]
    return Outage(
        name=name,
        nodes=tuple(nodes),
        lost_nodes=lost,
        utilisation=effects(left, (), (), (), engine.view, leave=False).utilisation,
        notes=(*notes, *not_tried_notes(moved)),
        **played(rehearsal, moved, hints=hints),
    )


def _place(obj: ClusterObject) -> str:
    """The node that an object is, or is on."""
    return obj.name if isinstance(obj, Node) else obj.node_name if isinstance(obj, Pod) else ""
