"""What a scheduler runs: ordered predicates, weighted priorities, extenders."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from kubescheduler.core.extender_calls import Extender
from kubescheduler.core.legacy_behaviour import LegacyBehaviour
from predicates.types import FitPredicate
from priorities.types import PriorityConfig


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
    feature_gates: Mapping[str, bool] = msgspec.field(default_factory=dict)
    """What it is made under, for what is done about a pod once its node is chosen."""
    percentage_of_nodes_to_score: int = 100
    """Below 100 (0: adaptive) scheduling stops looking once enough nodes fit, as upstream does."""
