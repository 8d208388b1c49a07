"""What makes a release that decides by predicates and priorities: the part of its record."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

if TYPE_CHECKING:
    from algorithmprovider.registry import Registry
    from kubescheduler.config.policy.policy_model import Policy
    from kubescheduler.config.v1alpha1.v1alpha1_config import V1Alpha1Config
    from kubescheduler.core.legacy_behaviour import LegacyBehaviour
    from kubescheduler.engine.fine_scores import Fine
    from kubescheduler.engine.legacy_loops import LegacyLoop
    from kubescheduler.extender.wire import WireFormat


class Parse(Protocol):
    """Decodes a policy's document.

    every_problem: raises with every fault and its path. strict: so too, and keys that the release ignores are faults.
    """

    def __call__(self, document: Mapping[str, Any], *, strict: bool, every_problem: bool = False) -> Policy: ...


class ReadComponent(Protocol):
    """Reads a component configuration's document; strict: keys that the release ignores are faults."""

    def __call__(self, document: Mapping[str, Any], *, strict: bool = False) -> V1Alpha1Config: ...


class Check(Protocol):
    """Raises ConfigError with the release's text for the first fault of a policy."""

    def __call__(
        self,
        policy: Policy,
        predicates: Collection[str],
        priorities: Collection[str],
        *,
        hard_weight: int,
        defaults: Mapping[str, int],
    ) -> None: ...


class Problems(Protocol):
    """Every fault of a policy, with its path."""

    def __call__(
        self,
        policy: Policy,
        predicates: Collection[str],
        priorities: Collection[str],
        *,
        hard_weight: int,
        defaults: Mapping[str, int],
    ) -> list[str]: ...


class LegacyRules(msgspec.Struct, frozen=True, eq=False):
    """What makes a release that decides by predicates and priorities: from text to an algorithm, and its attempts."""

    registry: Callable[[Mapping[str, bool]], Registry]
    """Of all gates: its predicates, priorities and providers, with what users registered on top."""
    read_file: Callable[[Path], dict[str, Any] | None]
    """A policy file's document; None when there is no such file, and the provider decides."""
    parse: Parse
    """A document's Policy."""
    check: Check
    """Raises where the release gives up on a policy."""
    problems: Problems
    """Every problem of a policy, with its path."""
    hard_weight_error: Callable[[int], str | None]
    """The text for a weight of required pod affinity out of range; None when all is well."""
    total_weight_error: Callable[[Mapping[str, int]], str | None]
    """The text for weights whose sum is too large."""
    failure_domains_error: Callable[[Iterable[str]], str | None]
    """The text for ``--failure-domains`` that are no labels."""
    from_provider: Callable[[str], str]
    """What stands before the texts of what cannot be made from the provider of that name."""
    from_policy: str
    """What stands before the texts of what cannot be made from a policy."""
    unknown_predicate: str
    """The text for a provider's predicate that is not registered, with ``{}`` for its key."""
    unknown_priority: str
    """The same for a priority."""
    read_component: ReadComponent | None
    """How ``--config`` is read; None when there is no such flag."""
    absent_means_default: bool
    """A list that a policy leaves out is the default provider's."""
    config_maps: bool
    """A policy may come from a ConfigMap."""
    legacy_policy_flag: bool
    """There is a flag ``--use-legacy-policy-config``."""
    samples: bool
    """The search may end once enough nodes fit."""
    every_check: bool
    """All predicates run on every node, always."""
    wire: WireFormat
    """How extenders are called."""
    fine_scores: Callable[[], Mapping[str, Fine]]
    """Gives priority → its formula from 0 to 100, for comparisons with releases that score so."""
    gated_predicates: frozenset[str]
    """Names that policies for other feature gates have; they are translated all the same."""
    gated_priorities: frozenset[str]
    """The same for priorities."""
    behaviour: LegacyBehaviour
    """How an attempt goes, apart from predicates and priorities."""
    loop: Callable[[], LegacyLoop]
    """What surrounds its decisions; a function, so that what only decides imports none of it."""
