"""From text to trees."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubecel import CompileFault, NotEvaluatedError
from kubecel.parser import parse
from kubecel.syntax import Literal, Node
from kubecel.values import UInt
from tests.support.references.cel import same_tree, trees, written

STARTS = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)


@given(trees())
def test_what_is_written_is_read_back(tree: Node) -> None:
    """Parsing undoes writing."""
    assert same_tree(parse(written(tree)), tree)


@given(trees())
def test_writing_what_was_read_changes_nothing(tree: Node) -> None:
    """A text that was written once is written the same again."""
    text = written(tree)
    assert written(parse(text)) == text


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("1 + 2 * 3 - 4", "((1 + (2 * 3)) - 4)"),
        ("a || b && c || d", "((a || (b && c)) || d)"),
        ("a ? b : c ? d : e", "(a ? b : (c ? d : e))"),
        ("!!a", "a"),
        ("!!!a", "(!a)"),
        ("--1", "-(-1)"),
        ("-x.y", "-(x.y)"),
        ("1 < 2 == true", "((1 < 2) == true)"),
        ("a in b in c", "((a in b) in c)"),
        ("[1, 2,]", "[1, 2]"),
        ("{1: 2,}", "{1: 2}"),
        ("a // what follows is no part\n + b", "a + b"),
        (".a", "(.a)"),
    ],
)
def test_what_binds_tighter(text: str, same: str) -> None:
    """Operators bind as in the grammar."""
    assert same_tree(parse(text), parse(same))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-9223372036854775808", -(2**63)),
        ("0xff", 255),
        ("-0xff", -255),
        ("18446744073709551615u", UInt(2**64 - 1)),
        ("0x1FU", UInt(31)),
        ("1e3", 1000.0),
        (".5", 0.5),
        (r"'\a\b\f\n\r\t\v\\\'\"\?\`'", "\a\b\f\n\r\t\v\\'\"?`"),
        (r'"\x41\u00e9\U0001f600\101"', "Aé😀A"),
        (r'r"\n"', "\\n"),
        ("'''a'b\n'''", "a'b\n"),
        (r'b"\xff\377é"', b"\xff\xff\xc3\xa9"),
        ('R"""a"b"""', 'a"b'),
    ],
)
def test_literals(text: str, value: object) -> None:
    """Literals stand for their values."""
    node = parse(text)
    assert isinstance(node, Literal)
    assert (type(node.value), node.value) == (type(value), value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 +", f"1:4: Syntax error: mismatched input '<EOF>' expecting {STARTS}"),
        ("", f"1:1: Syntax error: mismatched input '<EOF>' expecting {STARTS}"),
        ("1 2", "1:3: Syntax error: extraneous input '2' expecting <EOF>"),
        ("a\n)", "2:1: Syntax error: extraneous input ')' expecting <EOF>"),
        ("(a", "1:3: Syntax error: mismatched input '<EOF>' expecting ')'"),
        ("a $", "1:3: Syntax error: token recognition error at: '$'"),
        ("9223372036854775808", "1:1: invalid int literal"),
        ("18446744073709551616u", "1:1: invalid uint literal"),
        ("1.99e90000009", "1:1: invalid double literal"),
        ("while", "1:1: reserved identifier: while"),
        (r'"\ud800"', "1:1: invalid unicode code point"),
        ("has(m)", "1:5: invalid argument to has() macro"),
        ("m.all(x.y, true)", "1:8: argument must be a simple name"),
        ("m.map(__result__, 1)", "1:7: iteration variable overwrites accumulator variable"),
        ("m.exists(x, x, true)", "1:13: duplicate variable name: x"),
        ("cel.bind(x.y, 1, 2)", "1:11: cel.bind() variable names must be simple identifiers"),
        ("m.optMap(1, 2)", "1:10: optMap() variable name must be a simple identifier"),
        (
            "1.0.sortBy(x, x)",
            "1:1: sortBy can only be applied to a list, identifier, comprehension, call or select expression",
        ),
        ("m.`a-b`", "1:3: unsupported syntax: '`'"),
    ],
)
def test_what_is_no_expression(text: str, message: str) -> None:
    """Faults name their place and what is wrong, in the words of cel-go."""
    with pytest.raises(CompileFault) as caught:
        parse(text)
    assert str(caught.value).startswith(f"compilation failed: ERROR: <input>:{message}\n | ")


def test_what_points_at_a_fault() -> None:
    """Wide characters have wide dots, tabs are blanks."""
    with pytest.raises(CompileFault) as caught:
        parse("'é'\t$")
    assert str(caught.value).endswith("\n | 'é' $\n | .．..^")


@pytest.mark.parametrize(
    "text",
    ["(" * 1000, "[" * 60 + "]" * 60, "!(" * 60 + "a" + ")" * 60, "a" + " + a" * 200, "a" + ".b" * 200, "a" * 200_000],
    ids=["brackets", "lists", "signs", "sum", "members", "length"],
)
def test_what_is_too_deep_or_long(text: str) -> None:
    """Limits end in a message, not in a crash."""
    with pytest.raises(NotEvaluatedError):
        parse(text)


def test_what_grows_by_macros() -> None:
    """A macro that copies what it is called on must not multiply without end."""
    text = "m" + ".optMap(x, x)" * 30
    with pytest.raises(NotEvaluatedError):
        parse(text)


@given(st.text(alphabet="abx.()[]{}?:,!-+*/%<>=&|\"'\\ 01u\n", max_size=60))
def test_no_text_breaks_the_parser(text: str) -> None:
    """Every text is a tree or refused."""
    try:
        parse(text)
    except (CompileFault, NotEvaluatedError):
        return
