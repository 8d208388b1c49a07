"""Scheduler: decides where pods go in a cluster, binds them, and decides on.

Behind it, decisions on pods that were placed in bulk: all but the node is found by repeating the run up to the pod.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

import attrs
import msgspec

from clusterstate.errors import ClusterStateError, ConfigError, DecodeError, StaleDecisionError
from kubescheduler.api.cluster import Cluster
from kubescheduler.api.engine_choice import engine_spec, tie_break_of
from kubescheduler.core.decision import Decision
from kubescheduler.core.equal_runs import PlacedRun, placed_in_order
from kubescheduler.core.results import AT_ONCE, NotPickled, OneAtATime, in_turn
from kubescheduler.engine.spec import Engine, PodScheduler, cache_for, place
from kubescheduler.extender.access import LIVE
from kubescheduler.given import TEXT, checked_cluster, key_of, named, refuse, shown_argument, wrong_number, wrong_type

if TYPE_CHECKING:
    from clusterstate.cache import ClusterCache
    from clusterstate.growable import Mask
    from clusterstate.objects import ClusterObject, Pod
    from kubescheduler.core.selection import TieBreak
    from kubescheduler.hinting.hint_search import HintSearch
    from kubescheduler.hinting.proposals import PodHints


class Scheduler(NotPickled):
    """A scheduler of the cluster's release over a copy of the cluster; what it binds, its next decision sees.

    provider: the name of an algorithm provider (up to 1.21). policy: a Policy (up to 1.22), config: a
    KubeSchedulerConfiguration (from 1.13 on); each a file name, a dict, or text. policy_configmap: the file of a
    ConfigMap that holds a policy. plugins: custom framework plugins (from 1.18 on), a mapping of names, classes, or
    ``"module:Factory"``. gates: feature gates, ``{"EvenPodsSpread": True}``. tie_break: among nodes with equal totals,
    ``"first"`` by name, ``"random"``, or ``"upstream"`` as the release chooses; seed: makes the latter two repeatable.
    percentage_of_nodes_to_score: below 100 stops looking once enough nodes fit, 0 is upstream's adaptive share.
    scheduler_name: what it is called where no configuration says it, ``"default-scheduler"`` by default; it leaves pods
    alone that name another.
    extenders: ``"live"`` asks HTTP extenders as configured, ``"pass"`` not at all: every node fits, none has a score;
    ``"record FILE"`` keeps their answers by request, ``"replay FILE"`` answers from there alone, and an unknown request
    raises InputError. ``notes`` says so.

    Threads may share one: each call, also on a decision of its, waits until no other is under way. Between ``decide``
    and ``bind`` others may bind as well; ``run`` does both in one. Raises ConfigError with every fault of policy,
    configuration, gates and plugins.

    >>> from kubescheduler import Cluster
    >>> cluster = Cluster(release="1.36").node("a", cpu=2).node("b", cpu=4).pod("web-1", node="b", cpu=3)
    >>> scheduler = Scheduler(cluster)
    >>> decision = scheduler.decide({"metadata": {"name": "web-2"}, "spec": {}})
    >>> decision.host
    'a'
    >>> scheduler.bind(decision)
    >>> scheduler.cluster.find_pod("web-2").node_name
    'a'
    """

    _KEEP_INSTEAD = "make another one of scheduler.cluster, with the same arguments; processes each make their own"

    def __init__(  # noqa: PLR0913
        self,
        cluster: Cluster,
        *,
        provider: str | None = None,
        policy: Any = None,
        policy_configmap: str | os.PathLike[str] | None = None,
        config: Any = None,
        plugins: Any = (),
        gates: Mapping[str, bool] | str | None = None,
        tie_break: str = "first",
        seed: int | None = None,
        percentage_of_nodes_to_score: int = 100,
        hard_pod_affinity_symmetric_weight: int | None = None,
        scheduler_name: str | None = None,
        extenders: str = LIVE,
    ) -> None:
        checked_cluster(cluster, Cluster)
        spec = engine_spec(
            cluster.release,
            provider=provider,
            policy=policy,
            policy_configmap=policy_configmap,
            config=config,
            plugins=plugins,
            gates=gates,
            percentage_of_nodes_to_score=percentage_of_nodes_to_score,
            hard_pod_affinity_symmetric_weight=hard_pod_affinity_symmetric_weight,
            scheduler_name=scheduler_name,
            extenders=extenders,
        )
        notes: list[str] = []
        engine = spec.engine(notes.append)
        self._start(engine, cluster, tie_break_of(engine, tie_break, seed), tuple(notes))

    @classmethod
    def of_engine(cls, engine: Engine, cluster: Cluster, tie_break: TieBreak | None = None) -> Self:
        """A scheduler by an engine that is made already. Raises ConfigError for a cluster of another release."""
        out = cls.__new__(cls)
        out._start(engine, cluster, tie_break, ())
        return out

    def _start(self, engine: Engine, cluster: Cluster, tie_break: TieBreak | None, notes: tuple[str, ...]) -> None:
        if cluster.release != engine.release:
            raise ConfigError(
                f"a cluster of release {cluster.release} cannot be scheduled by release {engine.release}, which fills "
                f'manifests in otherwise; give it cluster.for_release("{engine.release}")'
            )
        self._turn = OneAtATime()
        self._read = cluster
        self._notes = dict.fromkeys(notes)
        self._bound: dict[str, tuple[Pod, str]] = {}
        self._claims: dict[tuple[str, str], ClusterObject] = {}
        self._engine = engine
        self._running = engine.scheduler(cache_for(engine, cluster.objects), tie_break)
        self._journal = Journal(engine, cluster, tie_break)
        self._hinting: HintSearch | None = None

    @property
    def release(self) -> str:
        """By which release it decides: the cluster's."""
        return self._read.release

    @property
    @in_turn
    def notes(self) -> tuple[str, ...]:
        """What the configuration, and the manifests of pods so far, have that a reader would not expect, as texts."""
        return tuple(self._notes)

    @property
    def running(self) -> PodScheduler:
        """The release's scheduler itself, with its ``cache`` and ``algorithm``."""
        return self._running

    @property
    @in_turn
    def cluster(self) -> Cluster:
        """The cluster with the pods that were bound, and the volumes and claims that were bound with them."""
        there = {key: (pod, host) for key, (pod, host) in self._bound.items() if self._read.find_pod(key) is not None}
        out = self._read.with_accompanying((obj, None) for obj in self._claims.values())
        if there:
            out = out.replaced([pod.on(host) for pod, host in there.values()])
        fresh = [pod.on(host) for key, (pod, host) in self._bound.items() if key not in there]
        return out.add(fresh) if fresh else out

    def __repr__(self) -> str:
        return f"<Scheduler of release {self.release}: {len(self._bound)} bound>"

    @in_turn
    def decide(self, pod: Any, *, preempt: bool = False, thorough: bool = False) -> Decision:
        """Where a pod goes, and why; the cluster stays as it is.

        pod: the name of a pending pod of the cluster (``namespace/name``, or ``name`` in the namespace default), a file
        name, a manifest, YAML or JSON text, or an object. preempt: for a pod that fits nowhere, also say which pods
        would have to go. thorough: have every check judge every node, and score also when just one fits. Raises
        DecodeError with every fault.

        >>> from kubescheduler import Cluster
        >>> scheduler = Scheduler(Cluster().node("a", cpu=2).pod("big", cpu=3))
        >>> scheduler.decide("big").message
        '0/1 nodes are available: 1 Insufficient cpu.'
        """
        one = self._one_pod(pod, "decide", "; use run for several")
        return self._hinted(self._running.decide(one, preempt=preempt, thorough=thorough))

    @in_turn
    def hints(self, pod: Any, node: str | None = None, *, top: int | None = 10, pairs: bool = True) -> PodHints:
        """What would make a pod fit, or go to a node: changes of the pod, of nodes, of running pods, and of the
        configuration, each tried by deciding; the smallest first. The cluster stays as it is.

        pod: as for ``decide``. node: where it is to go; None: anywhere. top: at most so many; None: all. pairs: also
        two changes at a time, of which neither does it alone. Raises InputError for a node that is not there, and as
        ``decide`` does.

        >>> from kubescheduler import Cluster
        >>> scheduler = Scheduler(Cluster().node("a", cpu=2).pod("big", cpu=3))
        >>> scheduler.hints("big")[0].text
        'ask for 2 cpu instead of 3'
        """
        refuse([*wrong_type("node", node, TEXT, "the name of a node"), *wrong_number("top", top, 1)])
        one = self._one_pod(pod, "hints")  # what comes with it is in the cluster before the search begins
        return self.hint_search().hints(one, node=node or "", top=top, pairs=pairs)

    @in_turn
    def hint_search(self) -> HintSearch:
        """What finds hints, over a cache of its own of the cluster as it is now; kept until something is bound.

        >>> from kubescheduler import Cluster
        >>> cluster = Cluster().node("a", cpu=2).pod("big", cpu=3)
        >>> len(Scheduler(cluster).hint_search().hints(cluster.pending()[0], top=1))
        1
        """
        from kubescheduler.hinting.hint_search import HintSearch

        if self._hinting is None:
            self._hinting = HintSearch(self._engine, cache_for(self._engine, self.cluster.objects))
        return self._hinting

    def _hinted(self, decision: Decision) -> Decision:
        return attrs.evolve(decision, hinter=self.hints, turn=self._turn)

    @in_turn
    def bind(self, decision: Decision) -> None:
        """Has the pod run on the decision's host from now on, with its claims bound and its devices ready.

        Raises ClusterStateError for a decision without one, and for an older one whose host by now does not fit.

        >>> from kubescheduler import Cluster
        >>> scheduler = Scheduler(Cluster().node("a").pod("web"))
        >>> scheduler.bind(scheduler.decide("web"))
        >>> scheduler.pending()
        []
        """
        if not isinstance(decision, Decision):
            text = f"decision: expected a Decision, found {shown_argument(decision)}"
            raise ConfigError(f"{text}; the method decide makes one")
        if decision.host is None:
            raise ClusterStateError(f"{named(decision.pod)} has no node to be bound to: {decision.message.rstrip()}")
        self._check_still_fits(decision)
        self._place(decision.pod, decision.host)

    def _place(self, pod: Pod, host: str) -> None:
        """A pod runs on a node from now on, with its claims."""
        changes = place(self._running, pod, host)
        self._note(pod, host)
        for _, obj in changes:
            self._journal.added(obj)
            self._claims[key_of(obj)] = obj

    def _check_still_fits(self, decision: Decision) -> None:
        """Raises ClusterStateError where the cluster has changed since, and the host is refused."""
        cache = self._running.cache
        if decision.explainer is not None and decision.explainer.is_of(cache):
            return
        from kubescheduler.comparison.differences import NOT_LOOKED_AT, refusals

        host = decision.host or ""
        again = self._running.again(decision.pod)
        said = refusals(again, cache.columns.row_of.get(host), host)  # of every check, also where nodes are sampled
        reasons = [reason for given in said.values() for reason in given if reason != NOT_LOOKED_AT]
        if why := again.error or "; ".join(reasons):
            raise ClusterStateError(f"{named(decision.pod)} no longer fits {decision.host}: {why}; decide on it again")

    def _note(self, pod: Pod, host: str) -> None:
        """A pod runs on a node from now on."""
        self._hinting = None
        self._journal.bound(pod, host)
        self._bound[key_of(pod)[1]] = (pod, host)

    @in_turn
    def pending(self) -> list[Pod]:
        """The pods of the cluster that wait for a node, in the order of the queue.

        >>> from kubescheduler import Cluster
        >>> [pod.key for pod in Scheduler(Cluster().node("a").pod("web")).pending()]
        ['default/web']
        """
        return [pod for pod in self._read.pending() if key_of(pod)[1] not in self._bound]

    @in_turn
    def run(self, *pods: Any) -> dict[str, Decision]:
        """Decides one pod after the other, by default the pending ones, and binds each that has a node.

        The answer maps ``namespace/name`` to the decision. Raises as ``decide`` does, before the first pod is decided.
        Pods that no rule can tell apart are placed in bulk; what their decisions say besides the node is worked out
        when it is first read, on a copy of the cluster as it was when they were placed.

        >>> from kubescheduler import Cluster
        >>> scheduler = Scheduler(Cluster().node("a", cpu=2).pod("web-1", cpu=1).pod("web-2", cpu=2))
        >>> {pod: decision.host for pod, decision in scheduler.run().items()}
        {'default/web-1': 'a', 'default/web-2': None}
        """
        out: dict[str, Decision] = {}
        runs = RunsToReplay(self._running, self._journal)
        for part in placed_in_order(
            runs.place_run, self._pods(list(pods), "pods") if pods else self.pending(), self._placed
        ):
            if isinstance(part, Decision):
                out[key_of(part.pod)[1]] = part
                continue
            for decision in runs.decisions(part, hinter=self.hints, turn=self._turn):
                out[key_of(decision.pod)[1]] = decision
            for pod, host in zip(part.pods, part.hosts, strict=True):
                self._note(pod, host)
        return out

    def _placed(self, pod: Pod) -> Decision:
        """The decision on the next pod, which is bound if it has a node."""
        decision = self._hinted(self._running.decide(pod, in_sequence=True))
        if decision.host is not None:
            self._place(pod, decision.host)
        return decision

    def _one_pod(self, given: Any, method: str, instead: str = "") -> Pod:
        pods = self._pods(given, "pod")
        if len(pods) != 1:
            names = ", ".join(key_of(pod)[1] for pod in pods)
            raise DecodeError(f"{method} takes one pod, found {f'{names}{instead}' if names else 'none'}")
        return pods[0]

    def _pods(self, given: Any, what: str) -> list[Pod]:
        to_place = self._read.to_place(given, what)
        pods = to_place.pods
        for note in (*to_place.notes, *to_place.controllers):
            self._notes.setdefault(note)
        taken = ((pod, self._bound.get(key_of(pod)[1])) for pod in pods)
        if problems := [f"{named(pod)}: it runs on {bound[1]}, to which it was bound" for pod, bound in taken if bound]:
            raise DecodeError(problems)
        for obj in to_place.objects:
            self._running.cache.add(obj)
            self._journal.added(obj)
            self._hinting = None
        self._read = self._read.with_accompanying(to_place.accompanying)
        return pods


# --- decisions on runs ---------------------------------------------------------------------------

ASK, SHARED = "_ask", "_shared"
OWN = ("pod", "host")
"""The fields that each has of its own."""
FIELDS = frozenset(field.name for field in attrs.fields(Decision))
"""What a Decision has."""


class LazyDecision(Decision):
    """A Decision on a pod that was placed with others like it: what is not known of it is decided when it is first
    read."""

    __slots__ = (ASK, SHARED)

    @classmethod
    def of(cls, ask: Callable[[], Decision], pod: Pod, host: str, shared: Mapping[str, Any]) -> LazyDecision:
        """ask: the decision itself, with the same host. shared: see ``placed_by``."""
        out = object.__new__(cls)
        set_in = object.__setattr__
        set_in(out, ASK, ask)
        set_in(out, SHARED, shared)
        set_in(out, "pod", pod)
        set_in(out, "host", host)
        return out

    def __getattr__(self, name: str) -> Any:
        """A field that is not this decision's own, or not known yet. Raises what deciding raises."""
        if name not in FIELDS:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        shared = object.__getattribute__(self, SHARED)
        if name in shared:
            return shared[name]
        with shared.get("turn", AT_ONCE):
            found = object.__getattribute__(self, ASK)()
            for field in FIELDS.difference(shared, OWN):
                object.__setattr__(self, field, getattr(found, field))
        return object.__getattribute__(self, name)


def placed_by(
    release: str,
    names: tuple[str, ...],
    listed: Mask,
    nodes_total: int,
    *,
    from_kept_ranking: bool = False,
    **more: Any,
) -> Mapping[str, Any]:
    """Fields that Decisions on the pods of a run have in common; see Decision. more: further ones."""
    return {
        "release": release,
        "names": names,
        "listed": listed,
        "nodes_total": nodes_total,
        "from_kept_ranking": from_kept_ranking,
        "extenders": (),
        "error": None,
        "error_at": "",
        "tried": True,
        "preemption": None,
        "nominated": None,
        **more,
    }


class Journal(msgspec.Struct, eq=False):
    """What a scheduler's cluster began with, and what was done to it since, in order."""

    engine: Engine
    cluster: Cluster
    """At the beginning."""
    tie_break: TieBreak | None
    """The scheduler's; it goes on drawing."""
    _done: list[tuple[ClusterObject, str | None]] = msgspec.field(default_factory=list)
    """(object, the node that it was bound to; None: it was added)."""

    def added(self, obj: ClusterObject) -> None:
        """An object came."""
        self._done.append((obj, None))

    def bound(self, pod: Pod, host: str) -> None:
        """A pod was bound."""
        self._done.append((pod, host))

    def __len__(self) -> int:
        return len(self._done)

    def cache(self, count: int) -> ClusterCache:
        """The cluster as it was after so much of it."""
        out = cache_for(self.engine, self.cluster.objects)
        for obj, host in islice(self._done, count):
            if host is None:
                out.add(obj)
            else:
                out.assume_pod(obj, host)  # type: ignore[arg-type]
        return out


class RunsToReplay(msgspec.Struct, eq=False):
    """Places runs as a scheduler does, and remembers what it takes to repeat the last one."""

    scheduler: PodScheduler
    journal: Journal
    _last: ReplayedRun | None = None

    def place_run(self, pods: Sequence[Pod]) -> PlacedRun | None:
        """See ``GenericScheduler.place_run``."""
        journal, log = self.journal, self.scheduler.cache.columns.log
        self._last = ReplayedRun(journal, len(journal), log.position, copy.deepcopy(journal.tie_break), pods)
        return self.scheduler.place_run(pods)

    def decisions(self, run: PlacedRun, **known: Any) -> Iterator[Decision]:
        """The decision on each pod of the run that was placed last. known: fields of all of them."""
        assert self._last is not None
        self._last.pods = run.pods
        names, listed = self.scheduler.cache.columns.published
        shared = [
            placed_by(run.release, names, listed, run.nodes_total, from_kept_ranking=kept, **known)
            for kept in (False, True)
        ]
        each = zip(run.pods, run.hosts, run.by_ranking.tolist(), strict=True)
        for at, (pod, host, kept) in enumerate(each):
            yield LazyDecision.of(partial(self._last.decision, at), pod, host, shared[kept])


class ReplayedRun(msgspec.Struct, eq=False):
    """A run of pods that is repeated as far as somebody asks, on the scheduler as it was before."""

    journal: Journal
    count: int
    """How much of the journal was done by then."""
    position: int
    """Of the cluster's log."""
    tie_break: TieBreak | None
    pods: Sequence[Pod]
    _scheduler: PodScheduler | None = None
    _at: int = 0
    """How many of the pods are placed."""

    def decision(self, at: int) -> Decision:
        """The decision on the pod at a position of the run. Raises StaleDecisionError where something else than a
        scheduler has changed its cache."""
        scheduler, self._scheduler = self._scheduler, None  # nobody knows how far one is that was interrupted
        if scheduler is None or at < self._at:
            scheduler, self._at = self._before(), 0
        one = partial(decided_and_placed, scheduler)
        for _ in placed_in_order(scheduler.place_run, self.pods[self._at : at], one):
            pass
        decision = one(self.pods[at])
        self._scheduler, self._at = scheduler, at + 1
        return decision

    def _before(self) -> PodScheduler:
        """The scheduler as it was."""
        cache = self.journal.cache(self.count)
        if cache.columns.log.position != self.position:
            raise StaleDecisionError(
                "the scheduler's cache was changed by something else than the scheduler, so nobody knows it as it was "
                "when this pod was placed; use decide and bind for each pod to have all that is said of it"
            )
        return self.journal.engine.scheduler(cache, copy.deepcopy(self.tie_break))


def decided_and_placed(scheduler: PodScheduler, pod: Pod) -> Decision:
    """The decision on the next of pods that are placed one after the other, and the pod placed."""
    decision = scheduler.decide(pod, in_sequence=True)
    if decision.host is not None:
        place(scheduler, pod, decision.host)
    return decision
