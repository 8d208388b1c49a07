"""How long a pod that fitted nowhere waits before it is tried again."""

from __future__ import annotations

from collections import OrderedDict

INITIAL_SECONDS = 1.0
MAX_SECONDS = 10.0


def backoff_seconds(attempts: int) -> float:
    """1, 2, 4, 8, 10, 10 … for attempts 1, 2, 3 …. Upstream: 1.16 calculateBackoffDuration."""
    doublings = max(attempts, 1) - 1
    return MAX_SECONDS if doublings > 4 else min(MAX_SECONDS, INITIAL_SECONDS * 2.0**doublings)


def backoff_seconds_1_20(failures: int, initial: float, longest: float) -> float:
    """Doubled with every failure but the first, at most ``longest``. Upstream: 1.20 calculateBackoffDuration."""
    wait = initial
    for _ in range(failures - 1):
        wait *= 2
        if wait > longest:
            return longest
    return wait


def backoff_seconds_1_36(failures: int, initial: float, longest: float) -> float:
    """The same; nothing to wait for before the first failure. Upstream: 1.36 calculateBackoffDuration."""
    if failures == 0:
        return 0.0
    doublings = min(failures - 1, 62)
    return longest if initial > longest / 2.0**doublings else initial * 2.0**doublings


class BackoffRecords:
    """Failed attempts by pod. Times are seconds on the caller's clock. Upstream: 1.16 PodBackoffMap."""

    def __init__(self) -> None:
        self._records: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._records)

    def failed(self, key: str, now: float) -> None:
        """Notes that an attempt failed. It counts once the wait for the one before is over."""
        self._forget_idle(now)
        expiry = self.expiry(key)
        if expiry is None or expiry <= now:
            self._records[key] = (self.attempts(key) + 1, now)
            self._records.move_to_end(key)

    def attempts(self, key: str) -> int:
        """Failed attempts that counted, since the record was last forgotten."""
        return self._records.get(key, (0, 0.0))[0]

    def expiry(self, key: str) -> float | None:
        """When the pod's wait ends or ended; None for a pod without a record."""
        record = self._records.get(key)
        return None if record is None else record[1] + backoff_seconds(record[0])

    def is_waiting(self, key: str, now: float) -> bool:
        """Whether the pod of this key is still in back-off."""
        expiry = self.expiry(key)
        return expiry is not None and expiry > now

    def forget(self, key: str) -> None:
        """Drops the record of a pod: its next failure is its first."""
        self._records.pop(key, None)

    def _forget_idle(self, now: float) -> None:
        """Records lie in order of their last change, so the oldest is the first."""
        while self._records:
            key, (_, changed) = next(iter(self._records.items()))
            if changed + MAX_SECONDS >= now:
                return
            del self._records[key]
