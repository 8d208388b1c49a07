"""What is wrong with literals, once the types are right. Upstream: cel-go cel/validator.go, ext/formatting.go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clusterstate.cel.cel_faults import ValueFault
from clusterstate.cel.checking.cel_checker import Checked
from clusterstate.cel.functions.go_patterns import compile_pattern
from clusterstate.cel.functions.text_formatting import REFUSALS, clauses
from clusterstate.cel.syntax.cel_nodes import Call, ListNode, Literal, MapNode, Node, children, descendants
from clusterstate.cel.syntax.cel_source import Issues
from clusterstate.cel.values import cel_types as types
from clusterstate.cel.values.cel_conversions import to_duration, to_timestamp
from clusterstate.cel.values.cel_types import CelType, is_dynamic

_LITERALS: dict[str, Callable[[Any], object]] = {
    "duration": to_duration,
    "timestamp": to_timestamp,
    "matches": lambda value: compile_pattern(value) if isinstance(value, str) else None,
}
"""Function → what its first argument must go through if it is a literal."""

_FORMATTED = {
    "d": ("int", "uint"),
    "f": ("double", "string"),
    "e": ("double", "string"),
    "b": ("int", "uint", "bool"),
    "x": ("int", "uint", "string", "bytes"),
    "X": ("int", "uint", "string", "bytes"),
    "o": ("int", "uint"),
    "s": ("list", "map", "int", "uint", "double", "bool", "string", "timestamp", "bytes", "duration", "type", "null"),
}
"""Clause of a format → kinds that it takes."""


def validate(checked: Checked, source: str) -> None:
    """Raises CompileFault for literals that can only fail."""
    issues = Issues(source)
    for node in descendants(checked.root):
        if isinstance(node, Call):
            _check_literal(node, issues)
            if node.function == "format" and node.target is not None:
                _check_format(node, checked, issues)
    _check_aggregates(checked.root, checked, issues)
    issues.raise_any()


def _check_literal(node: Call, issues: Issues) -> None:
    act = _LITERALS.get(node.function)
    argument = node.arguments[0] if node.arguments else None
    if act is None or not isinstance(argument, Literal):
        return
    try:
        act(argument.value)
    except ValueFault:
        issues.report(argument.at, f"invalid {node.function} argument")


def _check_aggregates(node: Node, checked: Checked, issues: Issues) -> None:
    """Elements of literals are of one type, but for what is formatted."""
    if isinstance(node, Call) and node.function == "format":
        return
    if isinstance(node, ListNode):
        kinds = [(each, _kind(checked, each, at in node.optional)) for at, each in enumerate(node.elements)]
        _check_same(kinds, issues, once=True)
    if isinstance(node, MapNode):
        _check_same([(entry.key, checked.kind(entry.key)) for entry in node.entries], issues)
        _check_same([(entry.value, _kind(checked, entry.value, entry.optional)) for entry in node.entries], issues)
    for child in children(node):
        _check_aggregates(child, checked, issues)


def _kind(checked: Checked, node: Node, optional: bool) -> CelType:
    kind = checked.kind(node)
    return kind.parameters[0] if optional and kind.parameters else kind


def _check_same(kinds: list[tuple[Node, CelType]], issues: Issues, once: bool = False) -> None:
    for node, kind in kinds[1:]:
        if kind != kinds[0][1]:
            issues.report(node.at, f"expected type '{kinds[0][1]}' but found '{kind}'")
            if once:
                return


def _check_format(node: Call, checked: Checked, issues: Issues) -> None:
    """Clauses of a literal format against the types of a literal list."""
    template = node.target
    if not (isinstance(template, Literal) and isinstance(template.value, str)) or len(node.arguments) != 1:
        return
    values = node.arguments[0]
    if not isinstance(values, ListNode):
        return
    try:
        letters = clauses(template.value)
    except ValueFault as fault:
        issues.report(node.at, str(fault))
        return
    for at, letter in enumerate(letters):
        if at >= len(values.elements):
            issues.report(node.at, f"index {at} out of range")
            return
        if not _check_clause(letter, values.elements[at], checked, issues):
            return
    if len(values.elements) > len(letters):
        counts = f"(expected {len(letters)}, got {len(values.elements)})"
        issues.report(node.at, f"too many arguments supplied to string.format {counts}")


def _check_clause(letter: str, node: Node, checked: Checked, issues: Issues) -> bool:
    wrong = _unformatted(letter, node, checked)
    if wrong is None:
        return True
    refusal = REFUSALS[letter.lower()].format(checked.kind(wrong).name)
    issues.report(wrong.at, f"error during formatting: {refusal}")
    return False


def _unformatted(letter: str, node: Node, checked: Checked) -> Node | None:
    """The first part of an argument that a clause does not take."""
    kind = checked.kind(node)
    if kind != types.DYN and (is_dynamic(kind) or kind.kind not in _FORMATTED[letter]):
        return node
    if letter == "s" and isinstance(node, ListNode | MapNode):
        return next(
            (wrong for each in children(node) if (wrong := _unformatted(letter, each, checked)) is not None), None
        )
    return None
