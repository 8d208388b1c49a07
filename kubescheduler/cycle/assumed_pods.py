"""Assumed pods that are never confirmed: they are believed for a while, then taken out again."""

from __future__ import annotations

from collections.abc import Callable

from clusterstate.cache import ClusterCache
from clusterstate.objects import Pod

EXPIRY_SECONDS = 30.0


class AssumedPods:
    """The assumed pods of a cache and when they expire. Upstream: 1.16 schedulerCache.

    A pod expires ``seconds`` after its binding finished, never while it runs; ``from_assume`` counts from the
    assumption, as 1.4 does. Nothing here waits: a caller sweeps every second.
    """

    def __init__(
        self,
        cache: ClusterCache,
        clock: Callable[[], float],
        seconds: float = EXPIRY_SECONDS,
        *,
        from_assume: bool = False,
    ) -> None:
        self._cache = cache
        self._clock = clock
        self._seconds = seconds
        self._from_assume = from_assume
        self._deadlines: dict[str, tuple[Pod, float | None]] = {}

    def __len__(self) -> int:
        return len(self._deadlines)

    def assume(self, pod: Pod, node_name: str) -> Pod:
        """Places a pod ahead of its binding; the pod as it now runs. Raises ClusterStateError as the cache does."""
        placed = self._cache.assume_pod(pod, node_name)
        deadline = self._clock() + self._seconds if self._from_assume else None
        self._deadlines[_key(placed)] = (placed, deadline)
        return placed

    def finish_binding(self, pod: Pod) -> None:
        """The binding was accepted: confirmation is awaited from now on. A pod that is not assumed is passed over."""
        key = _key(pod)
        deadline = self._deadlines.get(key)
        if deadline is not None and deadline[1] is None:
            self._deadlines[key] = (deadline[0], self._clock() + self._seconds)

    def forget(self, pod: Pod) -> None:
        """The binding failed. Raises ClusterStateError as the cache does."""
        self._cache.forget_pod(pod)
        self._deadlines.pop(_key(pod), None)

    def confirm(self, pod: Pod) -> None:
        """The pod was seen on its node, assumed before or not."""
        self._cache.add_pod(pod)
        self._deadlines.pop(_key(pod), None)

    def gone(self, pod: Pod) -> Pod | None:
        """The pod was deleted before it was seen on its node: taken out, as it was there, if its binding is over."""
        placed, deadline = self._deadlines.get(_key(pod), (None, None))
        if placed is None or deadline is None or self._from_assume:
            return None
        self.forget(placed)
        return placed

    def sweep(self) -> list[Pod]:
        """Takes expired pods out of the cache, and returns them."""
        now = self._clock()
        expired = [pod for pod, deadline in self._deadlines.values() if deadline is not None and now > deadline]
        for pod in expired:
            self.forget(pod)
        return expired


def _key(pod: Pod) -> str:
    return pod.metadata.uid or pod.key
