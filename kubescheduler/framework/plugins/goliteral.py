"""Node selector terms as Go prints them with ``%#v``, which is how 1.20 shows the value of a field error."""

from __future__ import annotations

from collections.abc import Iterable

from clusterstate.objects import NodeSelectorTerm, PreferredSchedulingTerm, Requirement
from clusterstate.validation import go_quote


def _slice(kind: str, items: Iterable[str]) -> str:
    """An empty one is one that was left out."""
    inside = ", ".join(items)
    return f"[]{kind}{{{inside}}}" if inside else f"[]{kind}(nil)"


def _requirement(requirement: Requirement) -> str:
    values = _slice("string", map(go_quote, requirement.values))
    key, operator = go_quote(requirement.key), go_quote(requirement.operator)
    return f"v1.NodeSelectorRequirement{{Key:{key}, Operator:{operator}, Values:{values}}}"


def _term(term: NodeSelectorTerm) -> str:
    expressions, fields = (
        _slice("v1.NodeSelectorRequirement", map(_requirement, part))
        for part in (term.match_expressions, term.match_fields)
    )
    return f"v1.NodeSelectorTerm{{MatchExpressions:{expressions}, MatchFields:{fields}}}"


def node_selector_literal(terms: Iterable[NodeSelectorTerm]) -> str:
    return f"v1.NodeSelector{{NodeSelectorTerms:{_slice('v1.NodeSelectorTerm', map(_term, terms))}}}"


def preferred_terms_literal(terms: Iterable[PreferredSchedulingTerm]) -> str:
    return _slice(
        "v1.PreferredSchedulingTerm",
        (f"v1.PreferredSchedulingTerm{{Weight:{t.weight}, Preference:{_term(t.preference)}}}" for t in terms),
    )
