"""What a decision records of HTTP extenders and of preemption."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from clusterstate.objects import Node, Pod


class ExtenderTrace(msgspec.Struct, frozen=True, eq=False):
    """What one extender answered in one attempt; a member is None where no such call was made or it failed."""

    name: str
    """Its urlPrefix."""
    weight: int = 0
    """What its scores are multiplied by."""
    failed: Mapping[str, str] | None = None
    """Node → why the extender refuses it."""
    unresolvable: Mapping[str, str] | None = None
    """The same for nodes where evicting pods cannot help (1.36)."""
    scores: tuple[tuple[str, int], ...] | None = None
    """(node, raw score) as answered, before the weight."""
    filter_error: str | None = None
    """The text of a failed filter call."""
    prioritize_error: str | None = None
    """The text of a failed prioritize call."""
    filter_nodes: Sequence[Node] | None = None
    """The nodes that were sent to its filter, whether it answered or not."""
    prioritize_nodes: Sequence[Node] | None = None
    """The nodes that were sent to be scored, whether it answered or not."""


class Victims(msgspec.Struct, frozen=True, eq=False):
    """The pods that would leave one node."""

    pods: tuple[Pod, ...]
    """Those whose eviction violates a disruption budget first."""
    violations: int
    """How many of them violate a disruption budget."""


class PickStep(msgspec.Struct, frozen=True):
    """One of the rules by which preemption picks a node, in the order of the release."""

    rule: str
    """What the nodes that are left have."""
    left: tuple[str, ...]
    """The nodes that are left by it, sorted by name."""
    decided: bool
    """Whether it left fewer nodes than there were before, and no later rule did."""


def no_pick() -> tuple[PickStep, ...]:
    """There was nothing to pick."""
    return ()


class Preemption(msgspec.Struct, frozen=True, eq=False):
    """What preemption would do; nothing has been evicted."""

    candidates: Mapping[str, Victims] = msgspec.field(default_factory=dict)
    """Node → victims, of every node where the pod would then fit."""
    chosen: Sequence[str] = ()
    """The nodes that the release's rules may pick, sorted by name."""
    cleared: tuple[Pod, ...] = ()
    """The pods whose nomination is taken back."""
    keeps_nomination: bool = False
    """Nothing is said of the node that the pod itself is nominated to."""
    pick: Callable[[], tuple[PickStep, ...]] = no_pick
    """How ``chosen`` came about, worked out when somebody asks, while the cluster is what it was."""


def nominee_of(preemption: Preemption | None) -> str | None:
    """The node that preemption makes room on; empty: the pod is no longer nominated; None: nothing is said."""
    if preemption is None or preemption.keeps_nomination:
        return None
    return preemption.chosen[0] if preemption.chosen else ""
