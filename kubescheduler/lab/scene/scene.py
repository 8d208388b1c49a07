"""Scene: one state with what came before and after it, and what its schedulers decide; and what verbs of it are.

First comes what decides for a scene's sides, kept as long as neither the cluster nor the side changes: caches follow a
cluster's changes object by object where they can.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Any, Self, TypeVar, get_type_hints

import attrs
import msgspec

from clusterstate.cache import TERMINATED, ClusterCache
from clusterstate.errors import ConfigError, InputError
from clusterstate.objects import ClusterObject, Node, Pod
from kubescheduler.api.cluster import Cluster
from kubescheduler.api.engine_choice import tie_break_of
from kubescheduler.core.decision import Decision
from kubescheduler.engine.engine_flags import ALL_NODES
from kubescheduler.engine.spec import Engine, EngineSpec, PodScheduler, cache_for
from kubescheduler.extender.access import PASS
from kubescheduler.lab.plugin_file import PluginFile
from kubescheduler.lab.scene.scene_state import SceneFault, SceneState, Side, opened_state

MOST_CACHES = 4
"""Caches that are kept: one for each release that decides."""

MOST_CHANGED = 1000
"""Nodes and pods that are changed in a cache; one with more changes is filled anew."""


@attrs.define(eq=False)
class FilledCache:
    """A cache and the cluster that it is of."""

    cluster: Cluster
    cache: ClusterCache
    turn: int = 0
    """How often it was changed; what was decided before says nothing of its scores any more."""


class CacheChange(msgspec.Struct, frozen=True, eq=False):
    """What makes the cache of one cluster that of another."""

    gone: Sequence[str]
    """Names of nodes that are no longer there."""
    nodes: Sequence[Node]
    """Nodes that are new, or otherwise than before."""
    taken: Sequence[Pod]
    """All pods of the nodes whose pods differ, which leave them, since a cache has the pods of a node in order."""
    placed: Sequence[Pod]
    """Pods that these nodes have then, in order."""


class ClusterCaches:
    """Caches of clusters of several releases. What they are of moves with the clusters that are asked for, so that a
    cache is current only until the next is asked for."""

    def __init__(self) -> None:
        self._filled: list[FilledCache] = []

    def filled(self, engine: Engine, cluster: Cluster) -> FilledCache:
        """The cache of a cluster as an engine sees it.

        Raises as changing and filling a cache do; one that was changed by half is not kept.
        """
        known = next((each for each in self._filled if each.cache.view == engine.view), None)
        change = None if known is None else cache_change(cluster, known.cluster)
        self._filled = [each for each in self._filled if each is not known]
        if known is None or change is None:
            known = FilledCache(cluster, cache_for(engine, cluster.objects))
        else:
            _changed(known, cluster, change)
        self._filled = [known, *self._filled[: MOST_CACHES - 1]]
        return known


def _changed(filled: FilledCache, cluster: Cluster, change: CacheChange) -> None:
    """The order in which nodes are visited, and that of the pods of a node, is that of a cache that is filled anew."""
    filled.cluster, cache = cluster, filled.cache
    if not (change.gone or change.nodes or change.taken or change.placed):
        return
    for pod in change.taken:
        cache.remove_pod(pod)
    for name in change.gone:
        cache.remove_node(name)
    for node in change.nodes:
        cache.update_node(node)
    for pod in change.placed:
        cache.add_pod(pod)
    if change.gone or change.nodes:
        cache.tree.relist(cluster.nodes)
        cache.columns.images.refresh()
    filled.turn += 1


def cache_change(cluster: Cluster, before: Cluster) -> CacheChange | None:
    """What differs between the caches of two clusters; None where more does than some nodes and the pods on them."""
    if cluster is before:
        return CacheChange((), (), (), ())
    now, then = _seen(cluster.objects), _seen(before.objects)
    new, old = _without(now, then), _without(then, now)
    if len(new) + len(old) > MOST_CHANGED or not all(map(_changeable, (*new, *old))):
        return None
    left, kept = set(map(id, old)), set(map(id, new))
    stayed = zip(
        (each for each in then if id(each) not in left), (each for each in now if id(each) not in kept), strict=True
    )
    if not all(one is other for one, other in stayed):
        return None
    nodes = [each for each in new if isinstance(each, Node)]
    names = {node.name for node in nodes}
    touched = {each.node_name for each in (*new, *old) if isinstance(each, Pod)}
    return CacheChange(
        [each.name for each in old if isinstance(each, Node) and each.name not in names],
        nodes,
        _pods_on(then, touched),
        _pods_on(now, touched),
    )


def _seen(objects: Iterable[ClusterObject]) -> list[ClusterObject]:
    """What caches have of a cluster: not the pods that wait and that no node is held for, nor those that have ended."""
    return [
        obj
        for obj in objects
        if not isinstance(obj, Pod) or ((obj.node_name or obj.nominated_node_name) and obj.phase not in TERMINATED)
    ]


def _without(objects: Sequence[ClusterObject], others: Iterable[ClusterObject]) -> list[ClusterObject]:
    known = set(map(id, others))
    return [each for each in objects if id(each) not in known]


def _changeable(obj: ClusterObject) -> bool:
    return isinstance(obj, Node) or (isinstance(obj, Pod) and bool(obj.node_name))


def _pods_on(objects: Iterable[ClusterObject], names: set[str]) -> list[Pod]:
    return [each for each in objects if isinstance(each, Pod) and each.node_name in names] if names else []


T = TypeVar("T")


class MadeEngine(msgspec.Struct, frozen=True, eq=False):
    """A side's engine, or why there is none."""

    engine: Engine | None
    """None where the side's description cannot be used."""
    notes: tuple[str, ...]
    """What a reader of the description would not expect."""
    problems: tuple[str, ...]
    """Why there is no engine."""


class KeptValues:
    """The latest values, by the things that they were made of; these are compared by identity."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[Hashable, tuple[tuple[Any, ...], Any]] = OrderedDict()

    def value(self, of: tuple[Any, ...], make: Callable[[], T], *more: Hashable) -> T:
        """What was made of these things before, or is made now. more: compared by equality."""
        key = (*map(id, of), *more)
        found = self._values.get(key)
        if found is None:
            found = self._values[key] = (of, make())
            while len(self._values) > self._most:
                self._values.popitem(last=False)
        else:
            self._values.move_to_end(key)
        value: T = found[1]
        return value


class SideSchedulers:
    """Engines, clusters and schedulers of sides. Sides that see objects alike share one cache of the cluster, which
    nobody changes: pods are bound in other clusters."""

    def __init__(self) -> None:
        self._engines = KeptValues(8)
        self._clusters = KeptValues(8)
        self._caches = ClusterCaches()
        self._caches_aside = ClusterCaches()
        """Of the clusters in which a pod that runs waits: apart, so that the others are not changed forth and back."""
        self._schedulers = KeptValues(8)
        self._latest: dict[Hashable, tuple[Cluster, Cluster]] = {}
        """Release and gates → the cluster that was last read for them, and as what."""

    def made(self, side: Side) -> MadeEngine:
        """The side's engine."""
        return self._engines.value((side,), lambda: _made(side))

    def engine(self, side: Side) -> Engine:
        """The side's engine. Raises SceneFault with everything that is wrong with its description."""
        made = self.made(side)
        if made.engine is None:
            raise SceneFault(made.problems)
        return made.engine

    def read(self, cluster: Cluster, side: Side) -> Cluster | SceneFault:
        """The cluster as the side's release stores it, or why the release refuses to read it."""
        if side.release == cluster.release:
            return cluster
        gates = side.spec.feature_gates
        under = (side.release, gates if isinstance(gates, str) else tuple(sorted(gates.items())))
        found = self._clusters.value((cluster,), lambda: _read(cluster, side, self._latest.get(under)), *under)
        if isinstance(found, Cluster):
            self._latest[under] = (cluster, found)
        return found

    def cluster(self, cluster: Cluster, side: Side) -> Cluster:
        """The cluster as the side's release stores it. Raises SceneFault."""
        found = self.read(cluster, side)
        if isinstance(found, SceneFault):
            raise found
        return found

    def problems(self, cluster: Cluster, side: Side) -> tuple[str, ...]:
        """Why the side cannot decide in the cluster."""
        found = self.read(cluster, side)
        return (*self.made(side).problems, *(found.problems if isinstance(found, SceneFault) else ()))

    def filled(self, cluster: Cluster, side: Side, *, aside: bool = False) -> FilledCache:
        """The cluster as the side's engine sees it, its cache not to be changed. aside: it is not the scene's cluster,
        but that with a pod that runs taken off its node. Raises SceneFault."""
        caches = self._caches_aside if aside else self._caches
        return caches.filled(self.engine(side), self.cluster(cluster, side))

    def scheduler(self, cluster: Cluster, side: Side, *, aside: bool = False) -> PodScheduler:
        """The side's scheduler over the cluster; not to be used for placing pods. aside: see ``filled``. Raises
        SceneFault.

        One that chooses by chance, by turns or among a sample of the nodes is new each time, so that a question has the
        same answer whatever was asked before.
        """
        cache, engine = self.filled(cluster, side, aside=aside).cache, self.engine(side)

        def make() -> PodScheduler:
            return engine.scheduler(cache, tie_break_of(engine, side.tie_break, side.seed))

        kept = self._schedulers.value((cache, side), make)
        repeats = side.tie_break == "first" and kept.algorithm.percentage_of_nodes_to_score == ALL_NODES
        return kept if repeats else make()


def _made(side: Side) -> MadeEngine:
    notes: list[str] = []
    try:
        engine = side.spec.engine(notes.append)
    except ConfigError as error:
        return MadeEngine(None, tuple(notes), error.problems)
    return MadeEngine(engine, tuple(dict.fromkeys(notes)), ())


def _read(cluster: Cluster, side: Side, like: tuple[Cluster, Cluster] | None) -> Cluster | SceneFault:
    try:
        return cluster.for_release(side.release, side.spec.gates, like=like)
    except InputError as error:
        return SceneFault(error.problems)


MOST_STEPS = 100
"""Edits that can be undone."""

MOST_DECISIONS = 64
"""Decisions that are kept."""


class EditStep(msgspec.Struct, frozen=True, eq=False):
    """An edit that was made."""

    text: str
    """What was done, in the past tense."""
    before: SceneState
    """What the scene was."""
    join: str = ""
    """What edits in a row have in common that are one step back; empty: nothing."""


class Scene:
    """A state that edits replace, with undo and redo, and the decisions of its sides.

    Used by one thread at a time. Schedulers are kept until the cluster or their side changes, decisions until the scene
    does.

    >>> import kubescheduler as ks
    >>> scene = Scene.opened(ks.Cluster(release="1.36").node("a").pod("web", cpu=1))
    >>> scene.decision("a").host
    'a'
    """

    def __init__(self, state: SceneState, plugin_files: Sequence[PluginFile] = ()) -> None:
        """plugin_files: where the plugins of the sides come from, if that is looked at while the scene is open."""
        self._state = state
        self.plugin_files = tuple(plugin_files)
        self._version = 1
        self._done: deque[EditStep] = deque(maxlen=MOST_STEPS)
        self._undone: list[EditStep] = []
        self._sides = SideSchedulers()
        self._decisions = KeptValues(MOST_DECISIONS)
        self._without = KeptValues(2)
        self._views = KeptValues(8)
        self.extra: dict[str, Any] = {}
        """What families of verbs keep with the scene, by their own key."""

    @classmethod
    def opened(
        cls, *sources: Any, pods: Iterable[Any] = (), sides: Iterable[Side | EngineSpec] = (), title: str = ""
    ) -> Self:
        """A scene of a cluster (files, manifests, objects, or a Cluster), pods that wait in it besides, and sides.

        The first of ``pods``, else the first that waits in the cluster, is the one that is asked about. sides: by
        default the default provider of the cluster's release. Raises InputError with every fault.
        """
        return cls(opened_state(sources, pods, sides, title))

    # --- what it is ----------------------------------------------------------------------------

    @property
    def state(self) -> SceneState:
        """What it is now."""
        return self._state

    @property
    def version(self) -> int:
        """Grows with every change, also by undo and redo."""
        return self._version

    @property
    def undo_text(self) -> str | None:
        """What undo would take back; None when there is nothing."""
        return self._done[-1].text if self._done else None

    @property
    def redo_text(self) -> str | None:
        """What redo would do again; None when there is nothing."""
        return self._undone[-1].text if self._undone else None

    # --- changes -------------------------------------------------------------------------------

    def change(self, text: str, state: SceneState, join: str = "") -> None:
        """Goes on with another state; what was undone cannot be redone any more. text: what was done.

        join: when not empty and that of the edit just before, both are undone at once.
        """
        joined = self._done.pop() if join and self._done and self._done[-1].join == join else None
        self._done.append(EditStep(text, joined.before if joined else self._state, join))
        self._undone.clear()
        self._goto(state)

    def undo(self) -> str:
        """Takes the last edit back; what it had done. Raises SceneFault when there is none."""
        if not self._done:
            raise SceneFault("undo: nothing was done")
        step = self._done.pop()
        self._undone.append(EditStep(step.text, self._state))
        self._goto(step.before)
        return step.text

    def redo(self) -> str:
        """Makes the edit that was taken back last again. Raises SceneFault when there is none."""
        if not self._undone:
            raise SceneFault("redo: nothing was undone")
        step = self._undone.pop()
        self._done.append(EditStep(step.text, self._state))
        self._goto(step.before)
        return step.text

    def touched(self) -> None:
        """Something outside of the state has changed, such as a plugin's file: nothing that was decided counts."""
        self._sides, self._decisions, self._without = SideSchedulers(), KeptValues(MOST_DECISIONS), KeptValues(2)
        self.extra = {key: value for key, value in self.extra.items() if not isinstance(value, KeptValues)}
        self._version += 1

    def watched(self) -> list[Path]:
        """The files outside that the scene is made of."""
        return [file.path for file in self.plugin_files]

    def reread(self) -> list[str]:
        """Reads the files again that were saved; what is wrong with them. Another scene may have read them already."""
        for file in self.plugin_files:
            file.refresh()
        if self.plugin_files:
            self.touched()
        return [problem for file in self.plugin_files for problem in file.problems]

    def _goto(self, state: SceneState) -> None:
        self._state = state
        self._version += 1

    # --- what decides --------------------------------------------------------------------------

    def side(self, letter: str) -> Side:
        """The side of that id. Raises SceneFault."""
        return self._state.side(letter)

    def made(self, side: Side) -> MadeEngine:
        """A side's engine with its notes, or why there is none."""
        return self._sides.made(side)

    def engine(self, side: str) -> Engine:
        """What a side decides by. Raises SceneFault with what is wrong with its description."""
        return self._sides.engine(self.side(side))

    def problems(self, side: str) -> tuple[str, ...]:
        """Why a side cannot decide: its description, or manifests that its release refuses to read."""
        return self._sides.problems(self._state.cluster, self.side(side))

    def cluster(self, side: str) -> Cluster:
        """The cluster as the side's release stores it. Raises SceneFault."""
        return self._sides.cluster(self._state.cluster, self.side(side))

    def scheduler(self, side: str) -> PodScheduler:
        """What decides; its cache is not to be changed. Raises SceneFault."""
        return self._sides.scheduler(self._state.cluster, self.side(side))

    def decider(self, side: str, pod: str | None = None) -> PodScheduler:
        """What decides a pod, over the cluster in which it waits: rows of its decisions are those of this one's cache.
        Raises SceneFault."""
        cluster = self._where_it_waits(self.pod_key(pod))
        return self._sides.scheduler(cluster, self.side(side), aside=cluster is not self._state.cluster)

    def decision(self, side: str, pod: str | None = None, *, thorough: bool = False) -> Decision:
        """Where a pod goes, by default the one that is asked about, with what preemption would do.

        pod: ``namespace/name``; one that runs is decided as if it waited. thorough: every check judges every node, and
        one node that fits is scored too; extenders are not asked for that. Raises SceneFault.
        """
        return self._decided(self.side(side), pod, thorough=thorough)

    def checked(self, side: str, pod: str | None = None) -> Decision:
        """As ``decision``, of a scheduler that passes its extenders over: its ``feasible`` are the nodes that the first
        of them is asked about. Raises SceneFault."""
        described = self.side(side)
        spec = msgspec.structs.replace(described.spec, extenders=PASS)
        return self._decided(msgspec.structs.replace(described, spec=spec), pod, thorough=False)

    def _decided(self, described: Side, pod: str | None, *, thorough: bool) -> Decision:
        key = self.pod_key(pod)
        cluster = self._where_it_waits(key)
        own = self._sides.cluster(cluster, described)

        def decide() -> Decision:
            pod = own.find_pod(key)
            assert pod is not None
            scheduler = self._sides.scheduler(cluster, described, aside=aside)
            return scheduler.decide(pod, preempt=True, thorough=thorough)

        aside = cluster is not self._state.cluster
        filled = self._sides.filled(cluster, described, aside=aside)
        return self._decisions.value((own, described), decide, key, thorough, filled.turn)

    def pod_key(self, pod: str | None = None) -> str:
        """``namespace/name`` of a pod of the cluster, by default of the one that is asked about. Raises SceneFault."""
        if pod is None and self._state.asked is None:
            raise SceneFault("pod: no pod is asked about; choose one")
        key = self._state.asked if pod is None else pod
        found = self._state.cluster.find_pod(key or "")
        if found is None:
            raise SceneFault(f"pod: there is no pod {key} in the cluster")
        return found.key

    def _where_it_waits(self, key: str) -> Cluster:
        """The cluster, with a pod that runs taken off its node."""
        cluster = self._state.cluster
        there = cluster.find_pod(key)
        if there is None or not there.node_name:
            return cluster
        return self._without.value((cluster,), lambda: cluster.unbound(key), key)

    def once(self, make: Callable[[Cluster], T]) -> T:
        """What a function of the cluster answers, kept until the cluster changes."""
        cluster = self._state.cluster
        return self._views.value((cluster, make), lambda: make(cluster))


P = TypeVar("P", bound=msgspec.Struct)
Answer = TypeVar("Answer")

Verb = Callable[[Scene, Mapping[str, Any]], dict[str, Any]]
"""Answers plain data. Raises SceneFault, or another InputError, with every problem."""

Change = tuple[str, SceneState]
"""What was done, in the past tense, and the state after it."""

Edit = Callable[[Scene, Mapping[str, Any]], Change]
"""Of a scene and the edit's parameters without ``do``; the scene itself stays as it is. Raises InputError with every
fault."""

MOST_ROWS = 500
"""Rows that one answer has at most."""


class Parameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The base of every verb's parameters."""


def parameters(kind: type[P], asked: Mapping[str, Any]) -> P:
    """The parameters of a verb. Raises SceneFault that names the one that is wrong."""
    try:
        return msgspec.convert(asked, kind)
    except msgspec.ValidationError as error:
        raise SceneFault(str(error)) from error


def verb(function: Callable[..., Answer]) -> Callable[[Scene, Mapping[str, Any]], Answer]:
    """A verb or an edit, made of a function of the scene whose other arguments are its parameters.

    They are checked by the arguments' types, and have their names in camel case: ``from_`` is ``from``.
    """
    hints = get_type_hints(function)
    _, *taken = signature(function).parameters.values()
    fields = [(each.name, hints[each.name], *([] if each.default is each.empty else [each.default])) for each in taken]
    kind = msgspec.defstruct(function.__name__, fields, bases=(Parameters,), frozen=True, kw_only=True)

    @wraps(function)
    def answered(scene: Scene, asked: Mapping[str, Any]) -> Answer:
        return function(scene, **msgspec.structs.asdict(parameters(kind, asked)))

    return answered


def part(start: int, end: int) -> slice:
    """The rows that are asked for, not more than an answer has."""
    start = max(0, start)
    return slice(start, max(start, min(end, start + MOST_ROWS)))
