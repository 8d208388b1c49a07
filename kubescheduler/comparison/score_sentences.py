"""What the scores of the two hosts were made of, beside the terms of their difference."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from clusterstate.errors import StaleDecisionError
from kubescheduler.comparison.contributions import Judgement
from kubescheduler.comparison.outcomes import Contribution, HostChange, Sentences
from kubescheduler.comparison.pairing import EXTENDER


def with_score_sentences(change: HostChange, old: Judgement, new: Judgement) -> HostChange:
    """The change with the evidence of every term that is not 0 on both sides.

    The decisions' clusters have to be what they were; what cannot be worked out any more is left out.
    """
    hosts = old.decision.host, new.decision.host
    if not change.contributions or hosts[0] is None or hosts[1] is None:
        return change
    if change.as_if_passed:
        old, new = (one.on((hosts[0], hosts[1])) for one in (old, new))
    unequal = [part for part in change.contributions if part.old or part.new]
    before = _sentences(old, (hosts[0], hosts[1]), _names(part.old_name for part in unequal))
    after = _sentences(new, (hosts[0], hosts[1]), _names(part.new_name for part in unequal))

    def said(part: Contribution) -> Contribution:
        if not part.old and not part.new:
            return part
        return msgspec.structs.replace(
            part, old_evidence=_of(part.old_name, before), new_evidence=_of(part.new_name, after)
        )

    return msgspec.structs.replace(change, contributions=tuple(map(said, change.contributions)))


def _names(of: Iterable[str | None]) -> frozenset[str]:
    """The single rules of the names that terms have."""
    return frozenset(name for names in of if names is not None for name in names.split(" + "))


def _of(names: str | None, found: dict[str, tuple[str, str]]) -> Sentences:
    """Of each rule that a term's name has."""
    each = () if names is None else names.split(" + ")
    return tuple(found[name] for name in each if name in found)


def _sentences(judgement: Judgement, hosts: tuple[str, str], rules: frozenset[str]) -> dict[str, tuple[str, str]]:
    """Rule that is asked about, or extender as terms name it → its sentences on both hosts, where both were scored."""
    try:
        first, second = (judgement.decision.score_evidence(host, rules) for host in hosts)
    except StaleDecisionError:
        return {}
    extenders = {trace.name for trace in judgement.decision.extenders}
    return {
        f"{EXTENDER * (one.rule in extenders)}{one.rule}": (one.sentence, other.sentence)
        for one, other in zip(first, second, strict=False)
    }
