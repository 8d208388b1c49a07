"""Texts, and how they are formatted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubecel import NotEvaluatedError
from tests.support.references.cel import evaluate, fault_of

PRECISION = "could not parse formatting clause: error while parsing precision"
FAR = 'strconv.Atoi: parsing "99999999999999999999": value out of range'
STRING_CLAUSE = (
    "error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, "
    "types, durations, and timestamps, was given "
)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("'tacocat'.charAt(3)", "o"),
        ("'tacocat'.charAt(7)", ""),
        ("'tacocat'.indexOf('ac')", 1),
        ("'tacocat'.indexOf('a', 3)", 5),
        ("'tacocat'.indexOf('a', 30)", -1),
        ("'tacocat'.indexOf('')", 0),
        ("'tacocat'.lastIndexOf('at')", 5),
        ("'tacocat'.lastIndexOf('a', 4)", 1),
        ("'tacocat'.lastIndexOf('')", 7),
        ("'TacoCÆt'.lowerAscii() + 'TacoCæt'.upperAscii()", "tacocÆtTACOCæT"),
        (
            "'hello'.replace('l', 'L', 1) + 'hello'.replace('', '-') + 'hello'.replace('l', 'L', 0)",
            "heLlo-h-e-l-l-o-hello",
        ),
        ("'a,b,c'.split(',') == ['a', 'b', 'c'] && 'ab'.split('') == ['a', 'b']", True),
        (
            "'a,b,c'.split(',', 2) == ['a', 'b,c'] && 'a,b'.split(',', 0) == [] && 'abc'.split('', 2) == ['a', 'bc']",
            True,
        ),
        ("'tacocat'.substring(4) + 'tacocat'.substring(0, 2)", "catta"),
        (r"'\u00a0\u2003 a \n'.trim()", "a"),
        ("['x', 'y'].join('-') + ['x', 'y'].join() + [].join()", "x-yxy"),
        (r"""strings.quote("a\n\"b\"\\")""", '"a\\n\\"b\\"\\\\"'),
        ("'abc'.contains('b') && 'abc'.startsWith('a') && 'abc'.endsWith('c')", True),
        ("size('é') + 'abc'.size() + size(b'é')", 6),
        ("string(b'abc') + string(true) + string(1u) + string(1.5)", "abctrue11.5"),
    ],
)
def test_texts(source: str, expected: object) -> None:
    """Each function of texts gives what ext.Strings of version 2 gives."""
    assert evaluate(source) == expected


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("'abc'.charAt(4)", "index out of range: 4"),
        ("'abc'.indexOf('a', -1)", "index out of range: -1"),
        ("'abc'.substring(4)", "index out of range: 4"),
        ("'abc'.substring(2, 1)", "invalid substring range. start: 2, end: 1"),
        ("[dyn('a'), dyn(1)].join()", "join: invalid input: 1"),
        ("dyn(1).trim()", "no such overload: trim(int)"),
        ("dyn(1).contains('a')", "no such overload"),
        ("string(b'\\xff' + b'')", "invalid UTF-8 in bytes, cannot convert to string"),
    ],
)
def test_what_texts_cannot_do(source: str, fault: str) -> None:
    """Faults say what cel-go says."""
    assert fault_of(source) == fault


def test_texts_that_grow_without_end() -> None:
    """A text may not become larger than there is room for."""
    source = "'a'" + ".replace('', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa')" * 9
    with pytest.raises(NotEvaluatedError):
        evaluate(source)


@pytest.mark.parametrize(
    ("template", "values", "expected"),
    [
        ("%s %s %s %s", "['a', 'b', 'c', 'd']", "a b c d"),
        ("%d %d", "[dyn(1), dyn(2u)]", "1 2"),
        ("100%% of %s", "[dyn(null)]", "100% of null"),
        ("%f %.2f", "[1234.5678, 2.0]", "1,234.567800 2.00"),
        ("%e %.1e", "[1052.032911275, 0.00123]", "1.052033\u202f×\u202f10⁰³ 1.2\u202f×\u202f10⁻⁰³"),
        ("%f %f %f", "['NaN', 'Infinity', '-Infinity']", "NaN ∞ -∞"),
        ("%b %b %b", "[dyn(5), dyn(-5), dyn(true)]", "101 -101 1"),
        ("%x %X %x %x", "[dyn(30), dyn(30u), dyn('hi'), dyn(b'ÿ')]", "1e 1E 6869 c3bf"),
        ("%o", "[8]", "10"),
        ("%s", "[dyn(['a', 'b'])]", '["a", "b"]'),
        ("%s", "[{'b': 2.5, 'a': double('NaN')}]", '{"a":"NaN", "b":2.500000}'),
        ("%s", "[[duration('1h')]]", '[duration("3600s")]'),
        ("%s %s", "[dyn(type(1)), dyn(timestamp('2020-01-01T00:00:00.5Z'))]", "int 2020-01-01T00:00:00.5Z"),
        ("%s %s %s", "[dyn(1.5), dyn(b'x'), dyn(true)]", "1.5 x true"),
    ],
)
def test_format(template: str, values: str, expected: str) -> None:
    """Each clause writes its values as cel-go does in English."""
    assert evaluate(f"'{template}'.format({values})") == expected


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("dyn('%s').format([])", "index 0 out of range"),
        ("dyn('%').format([1])", "unexpected end of string"),
        ("dyn('%a').format([1])", 'could not parse formatting clause: unrecognized formatting clause "a"'),
        ("dyn('%.3').format([1.0])", f"{PRECISION}: could not find end of precision specifier"),
        (
            "dyn('%.99999999999999999999f').format([1.0])",
            f"{PRECISION}: error while converting precision to integer: {FAR}",
        ),
        (
            "dyn('%d').format(['a'])",
            "error during formatting: decimal clause can only be used on integers, was given string",
        ),
        ("dyn('%s').format([optional.none()])", STRING_CLAUSE + "optional_type"),
    ],
)
def test_what_cannot_be_formatted(source: str, fault: str) -> None:
    """A clause refuses values of other types."""
    assert fault_of(source) == fault


@given(st.text(max_size=8), st.text(max_size=3))
def test_splitting_is_undone_by_joining(text: str, separator: str) -> None:
    """Parts joined by what separated them are the text."""
    quoted = "".join(f"\\U{ord(sign):08x}" for sign in text)
    by = "".join(f"\\U{ord(sign):08x}" for sign in separator)
    assert evaluate(f"'{quoted}'.split('{by}').join('{by}')") == text
