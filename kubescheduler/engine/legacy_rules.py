"""What a release makes of providers and policies: one record of functions each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

import attrs

from kubescheduler.config.config_text import read_policy_file
from kubescheduler.config.policy.policy_1_4 import (
    FATAL,
    check_policy_1_4,
    failure_domains_error,
    hard_weight_error_1_4,
    no_total_error,
    parse_policy_1_4,
    policy_problems_1_4,
    read_policy_file_1_4,
)
from kubescheduler.config.policy.policy_1_16 import parse_policy
from kubescheduler.config.policy.policy_checks_1_16 import (
    FROM_POLICY,
    check_policy,
    hard_weight_error,
    policy_problems,
    total_weight_error,
)
from kubescheduler.config.policy.policy_model import Policy
from kubescheduler.core.legacy_behaviour import BEHAVIOUR_1_4, BEHAVIOUR_1_16, Behaviour
from kubescheduler.extender import WIRE_1_4, WIRE_1_16, WireFormat


class Parse(Protocol):
    def __call__(self, document: Mapping[str, Any], *, strict: bool) -> Policy: ...


class Check(Protocol):
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
    def __call__(
        self,
        policy: Policy,
        predicates: Collection[str],
        priorities: Collection[str],
        *,
        hard_weight: int,
        defaults: Mapping[str, int],
    ) -> list[str]: ...


def from_provider_1_16(name: str) -> str:
    return f'couldn\'t create scheduler using provider "{name}": '


def from_provider_1_4(_: str) -> str:
    return FATAL


def no_domains_error(_: Iterable[str]) -> None:
    """Failure domains mean nothing here."""
    return


@attrs.frozen
class Rules:
    """One release's way from text to an algorithm.

    read_file: a policy file's document; None when there is none, and the provider counts.
    parse: a document's Policy. check: raises where the release gives up. problems: every problem, with paths.
    hard_weight_error, total_weight_error, failure_domains_error: the texts of later checks, None when all is well.
    from_provider, from_policy: what stands before those texts.
    unknown_predicate, unknown_priority: the texts for a provider's key that is not registered, with ``{}``.
    absent_means_default: a list that a policy leaves out is the default provider's.
    config_maps: a policy may come from a ConfigMap. samples: the search may end once enough nodes fit.
    every_check: all predicates run on every node, always.
    """

    read_file: Callable[[Path], dict[str, Any] | None] = read_policy_file
    parse: Parse = parse_policy
    check: Check = check_policy
    problems: Problems = policy_problems
    hard_weight_error: Callable[[int], str | None] = hard_weight_error
    total_weight_error: Callable[[Mapping[str, int]], str | None] = total_weight_error
    failure_domains_error: Callable[[Iterable[str]], str | None] = no_domains_error
    from_provider: Callable[[str], str] = from_provider_1_16
    from_policy: str = FROM_POLICY
    unknown_predicate: str = 'invalid predicate name "{}" specified - no corresponding function found'
    unknown_priority: str = "invalid priority name {} specified - no corresponding function found"
    absent_means_default: bool = True
    config_maps: bool = True
    samples: bool = True
    every_check: bool = False
    wire: WireFormat = WIRE_1_16
    behaviour: Behaviour = BEHAVIOUR_1_16


RULES: dict[str, Rules] = {
    "1.4": Rules(
        read_file=read_policy_file_1_4,
        parse=parse_policy_1_4,
        check=check_policy_1_4,
        problems=policy_problems_1_4,
        hard_weight_error=hard_weight_error_1_4,
        total_weight_error=no_total_error,
        failure_domains_error=failure_domains_error,
        from_provider=from_provider_1_4,
        from_policy=FATAL,
        unknown_predicate='Invalid predicate name "{}" specified - no corresponding function found',
        unknown_priority="Invalid priority name {} specified - no corresponding function found",
        absent_means_default=False,
        config_maps=False,
        samples=False,
        every_check=True,
        wire=WIRE_1_4,
        behaviour=BEHAVIOUR_1_4,
    ),
    "1.16": Rules(),
}
"""Release → its rules."""
