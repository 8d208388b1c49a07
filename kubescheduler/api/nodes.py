"""Which nodes to add to a cluster, which can go, and which moves empty nodes or let a pod in, from Python."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from clusterstate.errors import ConfigError, nearest
from clusterstate.manifests.decode import Item
from clusterstate.objects import Pod
from kubescheduler.api.cluster import Cluster
from kubescheduler.api.engine_choice import engine_spec, tie_break_of
from kubescheduler.api.whole_runs import workload_of
from kubescheduler.given import NUMBER, TEXT, Given, checked_cluster, flat, found_in, refuse, wrong_number, wrong_type
from kubescheduler.planning import rebalance as moves
from kubescheduler.planning.cluster_autoscaler import (
    EXPANDERS,
    NODES_A_SCALE_UP,
    Expander,
    checked_expanders,
    priorities_of,
)
from kubescheduler.planning.node_plan import BY, TRIES, NodePlan, autoscaled_plan, plan_nodes
from kubescheduler.planning.node_trials import daemon_set_key, pending_pods
from kubescheduler.planning.rebalance import Rebalanced
from kubescheduler.planning.removable_nodes import THRESHOLD, Removals
from kubescheduler.planning.removable_nodes import removable_nodes as of_cluster
from kubescheduler.planning.shapes import Shape, shapes_in
from kubescheduler.releases.daemon_controllers import target_node
from kubescheduler.simulation.openb_trace import ReadInputs
from kubescheduler.simulation.workload import Workload
from kubescheduler.simulation.workload_files import workload_in

if TYPE_CHECKING:
    from kubescheduler.core.selection import TieBreak
    from kubescheduler.engine.spec import Engine


def nodes(  # noqa: PLR0913
    cluster: Cluster,
    shapes: Any,
    workload: Any = None,
    *,
    pending: bool = False,
    tries: int = TRIES,
    top: int | None = 10,
    by: str = BY[0],
    expander: str = EXPANDERS[0],
    priorities: Mapping[int, Sequence[str]] | None = None,
    max_nodes_per_scaleup: int = NODES_A_SCALE_UP,
    tie_break: str = "first",
    seed: int | None = None,
    **options: Any,
) -> NodePlan:
    """The fewest new nodes, or with prices the cheapest, with which everything runs as the scheduler places it.

    shapes: what nodes there are to choose from: file names, texts, manifests of nodes, or entries such as
    ``{"name": "small", "cpu": 4, "memory": "16Gi", "price": 0.1}``, one or several. workload: what is to run, as for
    ``simulate``, all of it at once; None: the pending pods of the cluster. pending: these come too, beside a workload.
    tries: the scheduler runs at most so often to find a better set. top: at most so many hints for a pod that
    fits on no shape.

    by: ``"cluster-autoscaler"``: instead, what the Cluster Autoscaler adds if shapes are its node groups, and what the
    scheduler then does. expander: how it chooses: least-waste, least-nodes, most-pods, price, priority, random, or
    several with commas between. priorities: those of the ConfigMap for ``priority``. max_nodes_per_scaleup: its flag;
    0: no limit. seed: also of what it draws.

    options: a Scheduler's. Raises DecodeError and ConfigError with every fault.

    >>> from kubescheduler import Cluster
    >>> cluster = Cluster().node("a", cpu=4).pod("web-1", cpu=3).pod("web-2", cpu=3)
    >>> small, large = {"cpu": 2, "memory": "4Gi"}, {"name": "large", "cpu": 8, "memory": "16Gi"}
    >>> plan = nodes(cluster, [small, large])
    >>> dict(plan.added), plan.proven
    ({'large': 1}, True)
    """
    checked_cluster(cluster, Cluster)
    refuse([*wrong_number("tries", tries, 0), *wrong_number("top", top)])
    if by not in BY:
        raise ConfigError(f"by: {by!r} is not known; known are {', '.join(BY)}{nearest(str(by), BY)}")
    engine = engine_spec(cluster.release, **options).engine(lambda _: None)
    known = shapes_in(as_shapes(shapes), cluster.release)
    if workload is None:
        asked, notes = pending_pods(cluster, cluster.release), list[str]()
    else:
        templates = [shape.template for shape in known]
        asked, notes = workload_of(cluster, workload, pending=pending, beside=templates)
    for note in notes:
        warnings.warn(note, UserWarning, stacklevel=2)
    asked = with_daemons(cluster, asked, known)
    world = (engine, cluster.objects, known, asked, partial(tie_break_of, engine, tie_break, seed))
    if by == BY[0]:
        return plan_nodes(*world, tries=tries, repeatable=is_repeatable(tie_break, seed), top=top)
    names = checked_expanders(expander, priced=known[0].price is not None, priorities=priorities)
    given = None if priorities is None else priorities_of(priorities, "priorities")
    return autoscaled_plan(*world, expander=Expander(names, given, seed, max_nodes_per_scaleup), top=top)


def with_daemons(cluster: Cluster, workload: Workload, shapes: Sequence[Shape]) -> Workload:
    """The workload with the pods that the cluster's DaemonSet manifests have on a node of each shape, whether one runs
    anywhere or not; a DaemonSet of the workload takes the place of the cluster's. Raises DecodeError with every fault.
    """
    if not cluster.daemon_sets:
        return workload
    names = {shape.template.name for shape in shapes}
    others = [obj for obj in cluster.objects if not isinstance(obj, Pod)]
    made, _ = workload_in(
        ReadInputs([*cluster.daemon_sets]),
        [*others, *(shape.template for shape in shapes)],
        release=cluster.release,
        strictness=cluster.strictness,
    )
    known = {daemon_set_key(arrival.pod) for arrival in workload.arrivals}
    own = [one for one in made.arrivals if target_node(one.pod) in names and daemon_set_key(one.pod) not in known]
    return msgspec.structs.replace(workload, arrivals=(*workload.arrivals, *own))


def as_shapes(given: Any) -> Given:
    """Things that say shapes, read but not looked at; a dict without a kind is an entry in a few words."""
    things = list(flat(given))
    short = [isinstance(each, Mapping) and "kind" not in each for each in things]
    found = found_in([each for each, plain in zip(things, short, strict=True) if not plain], what="shapes")
    entries = [Item("", each, f"[{at}]") for at, each in enumerate(things) if short[at]]
    return Given([*entries, *found.items], found.objects, found.problems)


def is_repeatable(tie_break: str, seed: int | None) -> bool:
    """Whether one run of a scheduler is like the other."""
    return tie_break == "first" or seed is not None


# --- which can go ------------------------------------------------------------------------------------------

LOCAL_IS_SAFE = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
"""The annotation that names volumes which may be lost."""


def removable_nodes(
    cluster: Cluster,
    *,
    threshold: float = THRESHOLD,
    tie_break: str = "first",
    seed: int | None = None,
    **options: Any,
) -> Removals:
    """Which nodes can go, all together, as the Cluster Autoscaler's scale-down sees it, where the scheduler puts their
    pods, and why each other node cannot.

    threshold: a node of which more than that share of cpu or memory is asked for stays. options: a Scheduler's.

    >>> from kubescheduler import Cluster, pod
    >>> web = pod("web-x2bcd", node="a", cpu=1)
    >>> web["metadata"]["ownerReferences"] = [
    ...     {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "1", "controller": True}
    ... ]
    >>> found = removable_nodes(Cluster().node("a").node("b").pod("db", node="b", cpu=3).add(web))
    >>> [each.node for each in found.freed], found.moves[0].to_node, found.kept[0].reason
    (['a'], 'b', 'NotUnderutilized')
    """
    checked_cluster(cluster, Cluster)
    faults = wrong_type("threshold", threshold, NUMBER, "a number")
    refuse(faults or ([f"threshold: expected 0 to 1, found {threshold}"] if not 0 <= threshold <= 1 else []))
    engine = engine_spec(cluster.release, **options).engine(lambda _: None)
    return removals_of(engine, cluster, partial(tie_break_of, engine, tie_break, seed), threshold)


def removals_of(engine: Engine, cluster: Cluster, tie_break: Callable[[], TieBreak], threshold: float) -> Removals:
    """See ``removable_nodes``. cluster: with its manifests, which say what volumes pods have."""
    local = _running_with(cluster, _has_local_storage)
    return of_cluster(engine, cluster.objects, tie_break, now=time.time(), local_storage=local, threshold=threshold)


def rebalance(
    cluster: Cluster,
    *,
    empty: int | None = None,
    let_in: str | None = None,
    tries: int = moves.TRIES,
    tie_break: str = "first",
    seed: int | None = None,
    **options: Any,
) -> Rebalanced:
    """The fewest moves of running pods that empty so many nodes, or let a pending pod in; each is played.

    empty: nodes that are to have no pods but those of DaemonSets and static ones. let_in: ``namespace/name`` of a
    pending pod, or its name in ``default``. One of both. tries: so many plans are played at most. options: a
    Scheduler's.

    A move: the pod's node is cordoned, the pod evicted if its budgets allow that now, and the scheduler places what its
    controller makes in its place; nobody is evicted for it. Not moved are pods that the descheduler would not evict:
    of no controller, with local storage, or system critical. Raises InputError where the pod does not wait.

    >>> from kubescheduler import Cluster, pod
    >>> web = pod("web-x2bcd", node="a", cpu=1)
    >>> web["metadata"]["ownerReferences"] = [
    ...     {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "1", "controller": True}
    ... ]
    >>> found = rebalance(Cluster().node("a", cpu=4).node("b", cpu=2).pod("big", cpu=4).add(web), let_in="big")
    >>> [(move.pod, move.to_node) for move in found.moves], found.node, found.proven
    ([('default/web-x2bcd', 'b')], 'a', True)
    """
    checked_cluster(cluster, Cluster)
    wanted = empty if empty is not None else let_in
    either = [] if (empty is None) != (let_in is None) else ["say what to find out: either empty=NUMBER or let_in=POD"]
    told = either or [*wrong_number("empty", empty, 1), *wrong_type("let_in", let_in, TEXT, "a pod's name")]
    refuse([*wrong_number("tries", tries, 1), *told])
    assert wanted is not None
    engine = engine_spec(cluster.release, **options).engine(lambda _: None)
    repeatable = is_repeatable(tie_break, seed)
    return rebalanced(engine, cluster, wanted, partial(tie_break_of, engine, tie_break, seed), tries, repeatable)


def rebalanced(
    engine: Engine, cluster: Cluster, wanted: int | str, tie_break: Callable[[], TieBreak], tries: int, repeatable: bool
) -> Rebalanced:
    """See ``rebalance``. cluster: with its manifests, which say what volumes pods have."""
    local = _running_with(cluster, _has_volume_of_its_node)
    pod = wanted if isinstance(wanted, int) or "/" in wanted else f"default/{wanted}"
    return moves.fewest_moves(
        engine, cluster.objects, pod, tie_break, local_storage=local, tries=tries, repeatable=repeatable
    )


def _running_with(cluster: Cluster, holds: Callable[[Mapping[str, Any]], bool]) -> frozenset[str]:
    """``namespace/name`` of the pods on nodes of whose manifests something holds."""
    running = (each for each in cluster.entries() if isinstance(each.obj, Pod) and each.obj.node_name)
    return frozenset(each.key[1] for each in running if holds(each.manifest()))


def _has_volume_of_its_node(manifest: Mapping[str, Any]) -> bool:
    """Upstream: the descheduler's IsPodWithLocalStorage."""
    return any(
        volume.get("hostPath") is not None or volume.get("emptyDir") is not None for volume in volumes_of(manifest)
    )


def _has_local_storage(manifest: Mapping[str, Any]) -> bool:
    """Whether a pod has a volume that is lost with its node. Upstream: HasBlockingLocalStorage."""
    annotations = (manifest.get("metadata") or {}).get("annotations") or {}
    safe = str(annotations.get(LOCAL_IS_SAFE) or "").split(",")
    for volume in volumes_of(manifest):
        empty = volume.get("emptyDir")
        local = volume.get("hostPath") is not None or (isinstance(empty, Mapping) and empty.get("medium") != "Memory")
        if local and volume.get("name") not in safe:
            return True
    return False


def volumes_of(manifest: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The volumes of a pod."""
    return [each for each in (manifest.get("spec") or {}).get("volumes") or () if isinstance(each, Mapping)]
