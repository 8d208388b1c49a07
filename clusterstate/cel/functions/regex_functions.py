"""Regular expressions. Upstream: cel-go's ``matches``; k8s.io/apiserver pkg/cel/library/regex.go."""

from __future__ import annotations

from clusterstate.cel.cel_faults import NO_OVERLOAD, ValueFault
from clusterstate.cel.functions import go_patterns
from clusterstate.cel.functions.cel_overloads import Function, Overload
from clusterstate.cel.values.cel_values import Duration, Timestamp, Value


def _matches(text: Value, pattern: Value) -> bool:
    if type(text) is not str:
        raise ValueFault(NO_OVERLOAD if type(text) in (Duration, Timestamp) else f"{NO_OVERLOAD}: matches")
    if type(pattern) is not str:
        raise ValueFault(NO_OVERLOAD)
    return go_patterns.matches(text, pattern)


def _legal(pattern: str) -> str:
    try:
        go_patterns.compile_pattern(pattern)
    except ValueFault as fault:
        raise ValueFault(f"Illegal regex: {fault}") from None
    return pattern


def _find(text: str, pattern: str) -> str:
    return go_patterns.find(text, _legal(pattern))


def _find_all(text: str, pattern: str, most: int = -1) -> tuple[str, ...]:
    return go_patterns.find_all(text, _legal(pattern), most)


def patterns() -> tuple[Function, ...]:
    """The functions of this file."""
    return (
        Function(
            "matches",
            (
                Overload("matches", "(string, string) -> bool"),
                Overload("matches_string", "string.(string) -> bool"),
            ),
            _matches,
        ),
        Function.of("find", ("string_find_string", "string.(string) -> string", _find)),
        Function.of(
            "findAll",
            ("string_find_all_string", "string.(string) -> list(string)", _find_all),
            ("string_find_all_string_int", "string.(string, int) -> list(string)", _find_all),
        ),
    )


PATTERN_METHODS = ("matches", "find", "findAll")
"""Functions whose second value is a pattern, compiled with the expression if it is a literal."""
