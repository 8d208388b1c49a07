"""What a scheduler runs: ordered predicates, weighted priorities, extenders."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Protocol

import attrs

from clusterstate.objects import Node, Pod
from kubescheduler.core.legacy_behaviour import BEHAVIOUR_1_16, LegacyBehaviour
from predicates.types import FitPredicate
from priorities.types import PriorityConfig


class FilterAnswer(Protocol):
    """What an extender's filter said.

    nodes: names of the nodes that are left, in its order. failed: node name → message. unresolvable: likewise where
    taking pods away cannot help. as_objects: the nodes came as objects, not as names.
    """

    @property
    def nodes(self) -> tuple[str, ...]: ...
    @property
    def failed(self) -> dict[str, str]: ...
    @property
    def unresolvable(self) -> dict[str, str]: ...
    @property
    def as_objects(self) -> bool: ...


class ExtenderSettings(Protocol):
    """What the scheduler itself reads of an extender's configuration; verbs are empty when unsupported."""

    @property
    def url_prefix(self) -> str: ...
    @property
    def filter_verb(self) -> str: ...
    @property
    def prioritize_verb(self) -> str: ...
    @property
    def preempt_verb(self) -> str: ...
    @property
    def bind_verb(self) -> str: ...
    @property
    def weight(self) -> int: ...
    @property
    def ignorable(self) -> bool: ...


class Extender(Protocol):
    """An HTTP extender as the scheduler calls it; every call may raise a SchedulingError.

    ``known`` are the names that the cluster has. ``preempt_counted``: node → (uids of the pods that would go, how many
    of them violate a budget).
    """

    @property
    def config(self) -> ExtenderSettings: ...
    def is_interested(self, pod: Pod) -> bool: ...
    def filter(self, pod: Pod, nodes: Sequence[Node], known: Container[str]) -> FilterAnswer: ...
    def prioritize(self, pod: Pod, nodes: Sequence[Node]) -> list[tuple[str, int]]: ...
    def preempt(self, pod: Pod, victims: Mapping[str, tuple[Sequence[Pod], int]]) -> dict[str, tuple[str, ...]]: ...
    def preempt_counted(
        self, pod: Pod, victims: Mapping[str, tuple[Sequence[Pod], int]]
    ) -> dict[str, tuple[tuple[str, ...], int]]: ...
    def bind(self, pod: Pod, node_name: str) -> None: ...


@attrs.frozen
class WeightedPriority:
    config: PriorityConfig
    weight: int


@attrs.frozen(eq=False)
class Algorithm:
    """One configuration of a release, ready to decide.

    predicates: in the order they run on a node. idle: selected, but the release never runs them.
    priorities: empty means that every node scores 1, or 0 when there are extenders. unresolvable: reasons
    that taking pods away cannot mend. behaviour: how the release goes about an attempt.
    """

    release: str
    predicates: tuple[FitPredicate, ...]
    priorities: tuple[WeightedPriority, ...]
    extenders: tuple[Extender, ...] = ()
    idle: tuple[FitPredicate, ...] = ()
    unresolvable: frozenset[str] = frozenset()
    honours_preemption_policy: bool = False
    """Whether a pod with preemptionPolicy Never does not preempt."""
    always_check_all_predicates: bool = False
    behaviour: LegacyBehaviour = BEHAVIOUR_1_16
    percentage_of_nodes_to_score: int = 100
    """Below 100 (0: adaptive) scheduling stops looking once enough nodes fit, as upstream does."""
