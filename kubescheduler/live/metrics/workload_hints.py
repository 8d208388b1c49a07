"""What would help workloads whose pods fit nowhere: searched beside the scheduler, seldom, and only while it rests.

Decisions take the interpreter, and bindings have to wait for nothing. So a search has a copy of the cluster, which the
scheduler's own thread takes between two attempts; a thread of its own decides in it; and before each decision it waits
until the scheduler has nothing to do. A hint is true of the moment of its copy, which is told with it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import msgspec

from clusterstate.cache import ClusterCache
from clusterstate.errors import KubeSchedulerError
from clusterstate.objects import ClusterObject, Pod
from kubescheduler.live.observers import ShortHint
from kubescheduler.live.wall_clock import WallClock

Workload = tuple[str, str]
"""(namespace, ``Deployment/web``)."""
Search = Callable[[Sequence[ClusterObject], Sequence[Pod], Callable[[], None]], Sequence[ShortHint | None]]
"""Of (the cluster, pods that fit nowhere, what is to be called before each decision): a hint for each pod."""

MOST = 20
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
    """Its cluster."""
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


class WorkloadHints:
    """Hints for the workloads that it is asked about. Any thread may ask."""

    def __init__(
        self,
        search: Search,
        beside: RestingLoop,
        clock: WallClock,
        raised: Callable[[str, BaseException], None],
        begin: Callable[[Callable[[], None]], None] = in_thread,
    ) -> None:
        """raised: is called with what nobody foresaw. begin: has a search made."""
        self._search = search
        self._beside = beside
        self._clock = clock
        self._raised = raised
        self._begin = begin
        self._lock = threading.Lock()
        self._known: Mapping[Workload, KnownHint] = {}
        self._due = -1.0
        self._wakes = threading.Event()

    def of(self, pods: Mapping[Workload, Pod]) -> dict[Workload, KnownHint]:
        """What is known; a search for the first of the workloads begins if one is due. pods: one of each workload."""
        with self._lock:
            now = self._clock.monotonic()
            due = bool(pods) and self._due <= now
            if due:
                self._due = float("inf")
            known = self._known
        if due:
            some = dict(list(pods.items())[:MOST])
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
