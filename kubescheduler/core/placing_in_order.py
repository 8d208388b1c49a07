"""Many pods decided one after another, each placed before the next: runs of pods that are alike in bulk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from clusterstate.objects import Pod
    from kubescheduler.core.decision import Decision
    from kubescheduler.core.equal_runs import PlacedRun

MOST = 1 << 14
"""Pods that are placed at a time."""
LONGEST_WAIT = 1024


class PlacesRuns(Protocol):
    """A scheduler as far as it places runs."""

    def place_run(self, pods: Sequence[Pod], *, in_sequence: bool = False) -> PlacedRun | None:
        """See ``GenericScheduler.place_run``."""


def placed_in_order(
    scheduler: PlacesRuns, pods: Sequence[Pod], one: Callable[[Pod], Decision]
) -> Iterator[Decision | PlacedRun]:
    """What becomes of each pod, the same as if ``one`` was called for all of them.

    one: decides on a pod, as one in a sequence, and assumes it. It is called when its decision is asked for. Where runs
    come to nothing they are tried more and more seldom.
    """
    from kubescheduler.core.equal_runs import FEWEST

    at = wait = plain = 0
    while at < len(pods):
        if plain >= wait:
            run = scheduler.place_run(pods[at : at + MOST], in_sequence=True)
            worth = run is not None and len(run) > FEWEST
            wait, plain = 0 if worth else min(2 * wait + FEWEST, LONGEST_WAIT), 0
            if run is not None:
                at += len(run)
                yield run
                continue
        yield one(pods[at])
        at, plain = at + 1, plain + 1
