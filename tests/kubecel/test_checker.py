"""Types of expressions."""

from __future__ import annotations

import pytest

from kubecel import CompileFault
from kubecel.program import compile_program
from kubecel.types import full_name
from tests.support.references.cel import FIELDS


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("1 + 2", "int"),
        ("[]", "list(dyn)"),
        ("[1].map(x, [x])", "list(list(int))"),
        ("{}", "map(dyn, dyn)"),
        ("{'a': [1u]}", "map(string, list(uint))"),
        ("true ? 1 : dyn('a')", "dyn"),
        ("device.any", "google.protobuf.Any"),
        ("device.any == 1", "bool"),
        ("device", "kubernetes.DRADevice"),
        ("device.?driver", "optional_type(string)"),
        ("{'a': 1}[?'a']", "optional_type(int)"),
        ("{'a': {'b': 1}}.?a.b", "optional_type(int)"),
        ("optional.of(1).optMap(x, string(x))", "optional_type(string)"),
        ("[1, 2].sortBy(x, -x)", "list(int)"),
        ("[[1]].flatten()", "list(int)"),
        ("cel.bind(x, 'a', [x])", "list(string)"),
        ("type(1)", "type(int)"),
        ("{1: 'a'}.transformMap(k, v, [k])", "map(int, list(int))"),
        ("timestamp(0) - timestamp(0)", "google.protobuf.Duration"),
        ("dyn(1) + 2", "int"),
        ("dyn(1) + dyn(2)", "dyn"),
    ],
)
def test_types(source: str, kind: str) -> None:
    """The type of an expression follows from its parts."""
    assert full_name(compile_program(source, "device", FIELDS).kind) == kind


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("1 + 'a'", "1:3: found no matching overload for '_+_' applied to '(int, string)'"),
        ("1 == 1.0", "1:3: found no matching overload for '_==_' applied to '(int, double)'"),
        ("'a'.size(1)", "1:9: found no matching overload for 'size' applied to 'string.(int)'"),
        ("[1].isSorted('a')", "1:13: found no matching overload for 'isSorted' applied to 'list(int).(string)'"),
        ("x", "1:1: undeclared reference to 'x' (in container '')"),
        ("f(1)", "1:2: undeclared reference to 'f' (in container '')"),
        ("'a'.f()", "1:6: undeclared reference to 'f' (in container '')"),
        ("m.T{a: 1}", "1:4: undeclared reference to 'm.T' (in container '')"),
        ("device.none", "1:7: undefined field 'none'"),
        ("'a'.b", "1:4: type 'string' does not support field selection"),
        ("[1, 'a']", "1:5: expected type 'int' but found 'string'"),
        ("[dyn(1), 2]", "1:10: expected type 'dyn' but found 'int'"),
        ("{'a': 1, 2: 1}", "1:10: expected type 'string' but found 'int'"),
        ("{'a': 1, 'b': 'c'}", "1:15: expected type 'int' but found 'string'"),
        ("[?1]", "1:3: expected type 'optional_type(int)' but found 'int'"),
        ("1 && true", "1:1: expected type 'bool' but found 'int'"),
        ("true ? 1 : 'a'", "1:6: found no matching overload for '_?_:_' applied to '(bool, int, string)'"),
        (
            "(1).all(x, true)",
            "1:2: expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)",
        ),
        (
            "device.any.all(x, true)",
            "1:7: expression of type 'any' cannot be range of a comprehension (must be list, map, or dynamic)",
        ),
        ("[1].all(x, x)", "1:12: expected type 'bool' but found 'int'"),
        ("[1].all(x, y)", "1:12: undeclared reference to 'y' (in container '')"),
        ("duration('x')", "1:10: invalid duration argument"),
        ("timestamp(null)", "1:11: invalid timestamp argument"),
        ("timestamp('2020-02-30T00:00:00Z')", "1:11: invalid timestamp argument"),
        ("'a'.matches('(')", "1:13: invalid matches argument"),
        (
            "'%d'.format(['a'])",
            "1:14: error during formatting: decimal clause can only be used on integers, was given string",
        ),
        ("'%s'.format([1, 2])", "1:12: too many arguments supplied to string.format (expected 1, got 2)"),
        ("'%s %s'.format([1])", "1:15: index 1 out of range"),
    ],
)
def test_what_does_not_fit(source: str, fault: str) -> None:
    """Faults of types name their place, in the words of cel-go."""
    with pytest.raises(CompileFault) as caught:
        compile_program(source, "device", FIELDS)
    assert str(caught.value).partition("\n")[0] == f"compilation failed: ERROR: <input>:{fault}"


def test_all_faults_are_told() -> None:
    """Faults stand in the order of their places."""
    with pytest.raises(CompileFault) as caught:
        compile_program("x + y", "device", FIELDS)
    assert str(caught.value) == (
        "compilation failed: ERROR: <input>:1:1: undeclared reference to 'x' (in container '')\n | x + y\n | ^\n"
        "ERROR: <input>:1:5: undeclared reference to 'y' (in container '')\n | x + y\n | ....^"
    )


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("int('x')", "type conversion error from 'string' to 'int'"),
        ("uint(-1)", "unsigned integer overflow"),
        ("'a'.find('[')", "error parsing regexp: missing closing ]: `[`"),
        ("false && bool('x')", "type conversion error from 'string' to 'bool'"),
    ],
)
def test_constants_that_can_only_fail(source: str, fault: str) -> None:
    """Conversions of constants are made when an expression is compiled."""
    with pytest.raises(CompileFault) as caught:
        compile_program(source, "device", FIELDS)
    assert str(caught.value) == f"program instantiation failed: {fault}"
