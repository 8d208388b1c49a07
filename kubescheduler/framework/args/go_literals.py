"""Values as Go literals: so release 1.20 shows what is wrong in a message."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from clusterstate.objects import NodeSelectorTerm, PreferredSchedulingTerm, Requirement
from kubecel.api_names import go_quote

T = TypeVar("T")


def literal_list(go: str, items: Sequence[T], show: Callable[[T], str]) -> str:
    """A list of Go type ``[]go``; an empty one is nil."""
    return f"[]{go}{{{', '.join(map(show, items))}}}" if items else f"[]{go}(nil)"


def node_selector(terms: Iterable[NodeSelectorTerm]) -> str:
    """A node selector as Go prints it."""
    return f"v1.NodeSelector{{NodeSelectorTerms:{literal_list('v1.NodeSelectorTerm', tuple(terms), _term)}}}"


def preferred_terms(terms: Iterable[PreferredSchedulingTerm]) -> str:
    """Preferred node affinity as Go prints it."""
    return literal_list("v1.PreferredSchedulingTerm", tuple(terms), _preferred)


def _preferred(term: PreferredSchedulingTerm) -> str:
    return f"v1.PreferredSchedulingTerm{{Weight:{term.weight}, Preference:{_term(term.preference)}}}"


def _term(term: NodeSelectorTerm) -> str:
    go = "v1.NodeSelectorRequirement"
    expressions = literal_list(go, term.match_expressions, _requirement)
    fields = literal_list(go, term.match_fields, _requirement)
    return f"v1.NodeSelectorTerm{{MatchExpressions:{expressions}, MatchFields:{fields}}}"


def _requirement(requirement: Requirement) -> str:
    key, operator = go_quote(requirement.key), go_quote(requirement.operator)
    values = literal_list("string", requirement.values, go_quote)
    return f"v1.NodeSelectorRequirement{{Key:{key}, Operator:{operator}, Values:{values}}}"
