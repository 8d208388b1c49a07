"""Which workloads have pods that fit nowhere, by which plugin, since when, and what would help: metrics of ours, beside
the release's. Nothing is exported of them while every pod fits. Read ``UnschedulableWorkloads``, at the end, first.

Hints are searched beside the scheduler, seldom, and only while it rests: decisions take the interpreter, and bindings
have to wait for nothing. So a search has a copy of the cluster, which the scheduler's own thread takes between two
attempts; a thread of its own decides in it; and before each decision it waits until the scheduler has nothing to do. A
hint is true of the moment of its copy, which is told with it.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

import attrs
import msgspec
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from clusterstate.cache import ClusterCache
from clusterstate.errors import KubeSchedulerError
from clusterstate.objects import ClusterObject, Pod
from clusterstate.selectors.pod_owners import workloads_of
from kubescheduler.live.observers import ShortHint, UnschedulablePod
from kubescheduler.live.transport.io_thread import WallClock

Workload = tuple[str, str]
"""(namespace, ``Deployment/web``)."""
Search = Callable[[Sequence[ClusterObject], Sequence[Pod], Callable[[], None]], Sequence[ShortHint | None]]
"""Of (the cluster, pods that fit nowhere, what is to be called before each decision): a hint for each pod."""

SEARCHED = 20
"""Workloads that a search is for."""
EVERY = 60.0
"""Seconds from the end of a search to the beginning of the next."""
LONGEST = 120.0
"""Seconds that a search may take, with its waiting; then it is given up."""
KEPT = 600.0
"""Seconds after which a hint is not told any more."""
PAUSE = 0.02
"""Seconds between looks at whether the scheduler rests."""


class RestingLoop(msgspec.Struct, frozen=True, eq=False):
    """The loop that a search is made beside."""

    cache: ClusterCache
    ask: Callable[[Callable[[], None]], None]
    """Has the loop's thread do something between two attempts."""
    is_idle: Callable[[], bool]
    """Whether it has nothing to do, and no binding is under way."""


class KnownHint(msgspec.Struct, frozen=True):
    """A hint that was found."""

    uid: str
    """Of the pod that it is for."""
    hint: ShortHint
    at: float
    """When the cluster was so, in seconds since 1970."""


class _GivenUpError(KubeSchedulerError):
    """The scheduler did not rest for long enough."""


def in_thread(work: Callable[[], None]) -> None:
    """Does work beside everything else."""
    threading.Thread(target=work, name="hints", daemon=True).start()


@attrs.define(eq=False)
class WorkloadHints:
    """Hints for the workloads that it is asked about. Any thread may ask."""

    _search: Search
    _beside: RestingLoop
    _clock: WallClock
    _raised: Callable[[str, BaseException], None]
    """Is called with what nobody foresaw."""
    _begin: Callable[[Callable[[], None]], None] = in_thread
    """Has a search made."""
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False)
    _known: Mapping[Workload, KnownHint] = attrs.field(factory=dict, init=False)
    _due: float = attrs.field(default=-1.0, init=False)
    _wakes: threading.Event = attrs.field(factory=threading.Event, init=False)

    def of(self, pods: Mapping[Workload, Pod]) -> dict[Workload, KnownHint]:
        """What is known; a search for the first of the workloads begins if one is due. pods: one of each workload."""
        with self._lock:
            now = self._clock.monotonic()
            due = bool(pods) and self._due <= now
            if due:
                self._due = float("inf")
            known = self._known
        if due:
            some = dict(list(pods.items())[:SEARCHED])
            self._begin(partial(self._run, some))
        oldest = self._clock.now().timestamp() - KEPT
        told = {name: one for name, one in known.items() if name in pods and one.at >= oldest}
        return {name: one for name, one in told.items() if one.uid == pods[name].metadata.uid}

    def _run(self, pods: Mapping[Workload, Pod]) -> None:
        end = self._clock.monotonic() + LONGEST

        def pause() -> None:
            while not self._beside.is_idle():
                if self._clock.monotonic() >= end:
                    raise _GivenUpError("the scheduler did not rest")
                self._wakes.wait(PAUSE)

        try:
            pause()
            objects, at = self._copy(end)
            found = self._search(objects, list(pods.values()), pause)
            self._known = {
                name: KnownHint(pod.metadata.uid, hint, at)
                for (name, pod), hint in zip(pods.items(), found, strict=True)
                if hint is not None
            }
        except _GivenUpError:
            pass
        except Exception as error:
            self._raised("searching for hints", error)
        finally:
            self._due = self._clock.monotonic() + EVERY

    def _copy(self, end: float) -> tuple[list[ClusterObject], float]:
        """(the cluster between two attempts, when that was)."""
        taken: list[tuple[list[ClusterObject], float]] = []
        done = threading.Event()

        def take() -> None:
            try:
                taken.append((self._beside.cache.everything(), self._clock.now().timestamp()))
            finally:
                done.set()

        self._beside.ask(take)
        if not done.wait(max(0.0, end - self._clock.monotonic())):
            raise _GivenUpError("the scheduler does not answer")
        return taken[0]


NAMED = 200
"""Workloads that are named; the pods of those with the fewest count under ``OTHERS``."""
OTHERS = "(others)"

PODS, SINCE = "kubescheduler_unschedulable_pods", "kubescheduler_unschedulable_since_timestamp_seconds"
HINT, HINT_AT = "kubescheduler_unschedulable_hint", "kubescheduler_unschedulable_hint_timestamp_seconds"

Hints = Callable[[Mapping[Workload, Pod]], Mapping[Workload, KnownHint]]
"""Of a pod of each workload, the most pods first: what is known of them."""


def no_hints(_: Mapping[Workload, Pod]) -> Mapping[Workload, KnownHint]:
    """Nobody searches."""
    return {}


class UnschedulableWorkloads(Collector):
    """Counts them when somebody asks."""

    def __init__(self, unschedulable: Callable[[], Iterable[UnschedulablePod]], hints: Hints = no_hints) -> None:
        """unschedulable: the pods that fit nowhere now; may be asked by any thread, as hints may."""
        self._unschedulable = unschedulable
        self._hints = hints

    def describe(self) -> Iterator[GaugeMetricFamily]:
        """All families. A pod that several plugins reject counts for each of them."""
        text = "Pods that fit nowhere, by workload and by the plugin that rejects them."
        yield GaugeMetricFamily(PODS, text, labels=("namespace", "workload", "plugin", "profile"))
        text = "Since when the oldest of the workload's pods that fit nowhere has been waiting, in seconds since 1970."
        yield GaugeMetricFamily(SINCE, text, labels=("namespace", "workload"))
        text = "1, with the smallest change that would make the workload's oldest pod that fits nowhere fit."
        yield GaugeMetricFamily(HINT, text, labels=("namespace", "workload", "kind", "hint"))
        text = "Of which moment the workload's hint is true, in seconds since 1970."
        yield GaugeMetricFamily(HINT_AT, text, labels=("namespace", "workload"))

    def collect(self) -> Iterator[Metric]:
        """As it is now."""
        found = list(self._unschedulable())
        names = [
            (one.pod.metadata.namespace, workload)
            for one, workload in zip(found, workloads_of((one.pod for one in found), ()), strict=True)
        ]
        named = dict.fromkeys(name for name, _ in Counter(names).most_common(NAMED))
        counts = Counter[tuple[str, str, str, str]]()
        oldest: dict[tuple[str, str], float] = {}
        for name, one in zip(names, found, strict=True):
            shown = name if name in named else ("", OTHERS)
            for plugin in one.plugins or {""}:
                counts[(*shown, plugin, one.pod.spec.scheduler_name)] += 1
            oldest[shown] = min(oldest.get(shown, one.since), one.since)
        pods, since, hint, hint_at = self.describe()
        for labels, count in counts.items():
            pods.add_metric(labels, count)
        for shown, moment in oldest.items():
            since.add_metric(shown, moment)
        by_age = sorted(zip(names, found, strict=True), key=lambda each: -each[1].since)
        first = {name: one.pod for name, one in by_age}
        for name, known in self._hints({name: first[name] for name in named}).items():
            hint.add_metric([*name, known.hint.kind, known.hint.text], 1)
            hint_at.add_metric(name, known.at)
        yield from (pods, since, hint, hint_at)
