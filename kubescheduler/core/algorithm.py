"""What a scheduler runs: ordered predicates, weighted priorities, extenders."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Protocol

import msgspec

from clusterstate.objects import Node, Pod
from kubescheduler.core.answer_rows import FilterAnswer
from kubescheduler.core.legacy_behaviour import LegacyBehaviour
from predicates.types import FitPredicate
from priorities.types import PriorityConfig


class ExtenderSettings(Protocol):
    """What the scheduler itself reads of an extender's configuration; verbs are empty when unsupported."""

    @property
    def name(self) -> str:
        """What messages call the extender: the address that verbs are appended to, without a password."""

    @property
    def filter_verb(self) -> str:
        """The verb of filter."""

    @property
    def prioritize_verb(self) -> str:
        """The verb of prioritize."""

    @property
    def preempt_verb(self) -> str:
        """The verb of preempt."""

    @property
    def bind_verb(self) -> str:
        """The verb of bind."""

    @property
    def weight(self) -> int:
        """What the extender's scores are multiplied by."""

    @property
    def ignorable(self) -> bool:
        """Whether a pod is scheduled without the extender when it cannot be reached."""


class Extender(Protocol):
    """An HTTP extender as the scheduler calls it; every call may raise a SchedulingError.

    ``known`` are the names that the cluster has. ``preempt_counted``: node → (uids of the pods that would go, how many
    of them violate a budget).
    """

    @property
    def config(self) -> ExtenderSettings:
        """The extender's configuration."""

    def is_interested(self, pod: Pod) -> bool:
        """Whether the extender is asked about this pod."""

    def filter(self, pod: Pod, nodes: Sequence[Node], known: Container[str]) -> FilterAnswer:
        """Which of the nodes pass; ``known`` are the names of the nodes that there are."""

    def prioritize(self, pod: Pod, nodes: Sequence[Node]) -> list[tuple[str, int]]:
        """(node, score) before the extender's weight."""

    def preempt(self, pod: Pod, victims: Mapping[str, tuple[Sequence[Pod], int]]) -> dict[str, tuple[str, ...]]:
        """The victims that the extender agrees with, by node; victims are given with their violated budgets."""

    def preempt_counted(
        self, pod: Pod, victims: Mapping[str, tuple[Sequence[Pod], int]]
    ) -> dict[str, tuple[tuple[str, ...], int]]:
        """As ``preempt``, with the number of violated budgets that the extender answers."""

    def bind(self, pod: Pod, node_name: str) -> None:
        """Has the extender bind the pod to the node."""


class WeightedPriority(msgspec.Struct, frozen=True):
    """A priority and what its scores are multiplied by."""

    config: PriorityConfig
    weight: int


class Algorithm(msgspec.Struct, frozen=True, eq=False):
    """One configuration of a release, ready to decide."""

    release: str
    predicates: tuple[FitPredicate, ...]
    """In the order they run on a node."""
    priorities: tuple[WeightedPriority, ...]
    """Empty means that every node scores 1, or 0 when there are extenders."""
    extenders: tuple[Extender, ...] = ()
    idle: tuple[FitPredicate, ...] = ()
    """Selected, but the release never runs them."""
    mandatory: frozenset[str] = frozenset()
    """Names of predicates that run whatever is selected."""
    unresolvable: frozenset[str] = frozenset()
    """Reasons that taking pods away cannot mend."""
    honours_preemption_policy: bool = False
    """Whether a pod with preemptionPolicy Never does not preempt."""
    always_check_all_predicates: bool = False
    behaviour: LegacyBehaviour = LegacyBehaviour()
    """How the release goes about an attempt."""
    scheduler_name: str | None = None
    """Pods that name another scheduler are left alone; None: no pod is."""
    percentage_of_nodes_to_score: int = 100
    """Below 100 (0: adaptive) scheduling stops looking once enough nodes fit, as upstream does."""
