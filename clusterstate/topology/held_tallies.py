"""Running counts that a rule has asked for on behalf of a pod, found again without asking for each."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

from clusterstate.changes import NOTHING
from clusterstate.counting.tally import Tally

if TYPE_CHECKING:
    from clusterstate.podinfo import PodInfo
    from clusterstate.snapshot import Snapshot

MOST_PODS = 4096
"""Pod classes of which the counts of one rule are held."""

Tallies = dict[str, Tally]
"""By topology key."""


class HeldTallies:
    """The counts of one rule that depend on the pod and on what terms of running pods ask for, and on nothing else."""

    __slots__ = ("_found", "_version")

    def __init__(self) -> None:
        self._found: Tallies = {}
        self._version = -1

    def of(self, snapshot: Snapshot, ask: Callable[[Snapshot], Tallies]) -> Tallies:
        """What ``ask`` gives, asked again only when that may be something else."""
        if snapshot.changes:
            return ask(snapshot)
        version = snapshot.uses_version
        if version != self._version or not snapshot.are_current(self._found.values()):
            self._found = ask(snapshot)
            self._version = version
        return self._found


def held_for(snapshot: Snapshot, rule: Hashable, pod: PodInfo) -> HeldTallies:
    """Those of a rule for a pod class."""
    memo: dict[PodInfo, HeldTallies] = snapshot.derived(("held tallies", rule), NOTHING, dict)
    held = memo.get(pod)
    if held is None:
        if len(memo) >= MOST_PODS:
            memo.clear()
        held = memo[pod] = HeldTallies()
    return held
