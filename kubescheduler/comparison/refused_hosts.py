"""Pods that go elsewhere as a check refuses one of the hosts, and what the scores say beside it."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from kubescheduler.comparison.cause_sentences import CauseFacts, cause_sentence
from kubescheduler.comparison.contributions import Judgement, ScoreTerm, contributions, terms
from kubescheduler.comparison.outcomes import Cause, Contribution, HostChange
from kubescheduler.comparison.pairing import EXTENDER, rule_of
from kubescheduler.comparison.refusals import refusal_sentences, refusals
from kubescheduler.core.decision import failures

AS_IF_PASSED = "neither scheduler scored both nodes, the scores are those as if both had passed its checks"
"""What terms are that neither engine worked out for its own choice."""


def refused_host(old: Judgement, new: Judgement, shadow: Judgement | None) -> HostChange | None:
    """The change, if one of the hosts does not pass one engine's checks.

    An engine that passes both hosts has scored them: what its priorities say of them is then there too. Where neither
    did, both are asked what they would say if both hosts had passed.
    """
    found = _refusal(old, new, shadow)
    if found is None:
        return None
    cause, host, by = found
    row = by.scheduler.cache.columns.row_of.get(host)
    reasons = refusals(by.decision, row, host)
    change = HostChange(
        cause=cause,
        text=cause_sentence(CauseFacts(cause, host, reasons=reasons)),
        reasons=reasons,
        evidence=refusal_sentences(by.decision, row, host),
    )
    if old.decision.host is None or new.decision.host is None:
        return change
    hosts = old.decision.host, new.decision.host
    if not old.scored(hosts) and not new.scored(hosts):
        old, new = (_as_if_passed(one, hosts) for one in (old, new))
        if old.scored(hosts) or new.scored(hosts):
            change = msgspec.structs.replace(change, text=f"{change.text}; {AS_IF_PASSED}", as_if_passed=True)
    before, after = _scored_differences(old, new, hosts)
    parts = tuple(_scored_parts(old, new, hosts))
    return msgspec.structs.replace(change, contributions=parts, old_difference=before, new_difference=after)


def _refusal(old: Judgement, new: Judgement, shadow: Judgement | None) -> tuple[Cause, str, Judgement] | None:
    """The cause, the node and who refuses it; None if both hosts pass the checks of all."""
    before, after = old.decision.host, new.decision.host
    if before is not None and new.place(before) is None:
        by_engine = shadow is None or shadow.place(before) is not None
        return Cause.FILTERED_NOW if by_engine else Cause.EARLIER_CHOICES, before, new
    if after is not None and old.place(after) is None:
        by_engine = shadow is None or shadow.place(after) is None
        return Cause.NO_LONGER_FILTERED if by_engine else Cause.EARLIER_CHOICES, after, old
    if shadow is None:
        return None
    if before is not None and shadow.place(before) is None:
        return Cause.EARLIER_CHOICES, before, shadow
    if after is not None and shadow.place(after) is None:
        return Cause.NO_LONGER_FILTERED, after, shadow
    return None


# --- the scores beside it ------------------------------------------------------------------


def _as_if_passed(judgement: Judgement, hosts: tuple[str, str]) -> Judgement:
    """Its scores as if both hosts had passed; the judgement itself where it has none even then."""
    if not all(host in judgement.scheduler.cache.columns.row_of for host in hosts):
        return judgement
    there = judgement.on(hosts)
    return judgement if any(failures(there.decision)) else there


def _scored_differences(old: Judgement, new: Judgement, hosts: tuple[str, str]) -> tuple[int | None, int | None]:
    """By engine the second host's total minus the first one's; None for one that did not score both."""
    before, after = (one.difference(hosts) if one.scored(hosts) else None for one in (old, new))
    return before, after


def _scored_parts(old: Judgement, new: Judgement, hosts: tuple[str, str]) -> Iterator[Contribution]:
    """What each term adds under the engine that scored both hosts; None under the other. Nothing if neither did."""
    scored = old.scored(hosts), new.scored(hosts)
    if not any(scored):
        return
    before, after = (
        terms(one, hosts) if there else _unscored(one) for one, there in zip((old, new), scored, strict=True)
    )
    for _, part in contributions(before, after):
        part = part if scored[0] else msgspec.structs.replace(part, old=None, old_scores=None)  # noqa: PLW2901
        yield part if scored[1] else msgspec.structs.replace(part, new=None, new_scores=None)


def _unscored(judgement: Judgement) -> dict[str, ScoreTerm]:
    """The names, rules and weights of an engine's priorities, and no scores."""
    configs = {} if judgement.fine else {p.config.name: p.config for p in judgement.scheduler.algorithm.priorities}
    found = [(name, rule_of(name, configs.get(name)), weight) for name, weight in judgement.decision.weights.items()]
    found += [
        (EXTENDER + t.name, EXTENDER + t.name, t.weight) for t in judgement.decision.extenders if t.scores is not None
    ]
    return {name: ScoreTerm(name, rule, weight, (0, 0), (0, 0)) for name, rule, weight in found}
