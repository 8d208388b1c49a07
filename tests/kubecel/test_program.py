"""Expressions of any kind, whatever they are about."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

import kubecel
from kubecel import CompileFault, CostFault, NotEvaluatedError, ValueFault
from kubecel.functions.table import function_table
from kubecel.program import compile_program
from kubecel.syntax import Node
from tests.support.references.cel import FIELDS, SUBJECT, trees, written

FOREIGN = re.compile(
    r"Traceback|<class|object at 0x|\b\w+Error\b|NoneType|argument of type|positional|attrs|must be str|codec|recursion"
)
"""What only Python says."""

LITERALS = ["1", "-1", "2u", "1.5", "'a'", "b'a'", "null", "true", "[1]", "[]", "{}", "{'a': 1}", "dyn(1)", "dyn('x')"]
LITERALS += ["dyn([1])", "dyn({})", "duration('1s')", "timestamp(0)", "optional.of(1)", "optional.none()", "int"]
LITERALS += [
    "quantity('1')",
    "semver('1.0.0')",
    "ip('::1')",
    "cidr('::/8')",
    "url('/x')",
    "device.any",
    "device.driver",
]
LITERALS += [
    "format.uuid()",
    "dyn(null)",
    "dyn(b'x')",
    "dyn(1.5)",
    "dyn(true)",
    "dyn(optional.of(1))",
    "9223372036854775807",
]
NAMES = sorted(name for name in function_table() if re.fullmatch(r"[a-zA-Z]\w*(\.[a-zA-Z]\w*)?", name))
SIGNS = ["+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "in", "&&", "||"]
ARGUMENTS = st.lists(st.sampled_from(LITERALS), max_size=3).map(", ".join)


def _outcome(source: str) -> str:
    """Nothing, or what was said of the expression."""
    try:
        compile_program(source, "device", FIELDS).evaluate(SUBJECT)
    except (CompileFault, CostFault, NotEvaluatedError, ValueFault) as fault:
        return str(fault)
    return ""


def _own_words(source: str) -> bool:
    said = _outcome(source)
    return FOREIGN.search(said.replace(source, "")) is None and len(said) < 5000


@settings(max_examples=400)
@given(st.sampled_from(NAMES), ARGUMENTS, st.none() | st.sampled_from(LITERALS))
def test_every_function_with_any_values(name: str, arguments: str, target: str | None) -> None:
    """A function takes its arguments or refuses them, in words of CEL."""
    assert _own_words(f"{name}({arguments})" if target is None else f"{target}.{name}({arguments})")


@settings(max_examples=300)
@given(st.sampled_from(LITERALS), st.sampled_from(SIGNS), st.sampled_from(LITERALS))
def test_every_operator_with_any_values(one: str, sign: str, other: str) -> None:
    """An operator takes its values or refuses them, in words of CEL."""
    assert _own_words(f"dyn({one}) {sign} dyn({other})")
    assert _own_words(f"{one} {sign} {other}")


@settings(max_examples=200)
@given(st.sampled_from(LITERALS), st.sampled_from(LITERALS))
def test_members_and_macros_of_any_values(one: str, other: str) -> None:
    """So do members, conditions and macros."""
    for source in (
        f"dyn({one})[dyn({other})]",
        f"dyn({one})[?dyn({other})]",
        f"dyn({one}).?a.b",
        f"has(dyn({one}).a)",
        f"dyn({one}) ? {other} : {other}",
        f"dyn({one}).map(x, x == {other})",
        f"dyn({one}).all(k, v, v == {other})",
        f"dyn({one}).transformMap(k, v, {other})",
        f"dyn({one}).transformMapEntry(k, v, dyn({other}))",
        f"dyn({one}).sortBy(x, dyn({other}))",
        f"[?dyn({one}), ?dyn({other})]",
        f"'%s %d %f %e %x %b %o'.format([dyn({one}), dyn({other}), 1.0, 1.0, dyn({one}), dyn({other}), dyn({one})])",
    ):
        assert _own_words(source), source


@given(trees())
def test_any_tree(tree: Node) -> None:
    """Whatever can be written is evaluated or refused, in words of CEL."""
    assert _own_words(written(tree))


@given(st.text(max_size=30))
def test_functions_of_texts_with_any_text(text: str) -> None:
    """What reads texts takes any text."""
    quoted = "".join(f"\\U{ord(sign):08x}" for sign in text if not 0xD800 <= ord(sign) <= 0xDFFF)
    for name in ("quantity", "semver", "ip", "cidr", "url", "duration", "timestamp", "int", "uint", "double", "bool"):
        assert _own_words(f"{name}('{quoted}' + '')")
    for method in ("matches", "find", "findAll"):
        assert _own_words(f"'aXb'.{method}('{quoted}' + '')")
    assert _own_words(f"('{quoted}' + '').format([1, 'a'].map(x, dyn(x)))")
    assert _own_words(f"timestamp(0).getHours('{quoted}')")


SHOWN = re.compile(r"^(program\..*?) {2,}# (.*)$", re.MULTILINE)


def test_the_example_gives_what_it_says() -> None:
    """Each line of the README's example, and what stands behind it."""
    text = Path(kubecel.__file__).with_name("README.md").read_text(encoding="utf-8")
    code = text.partition("```python\n")[2].partition("```")[0]
    names: dict[str, object] = {}
    exec(code, names)
    shown = SHOWN.findall(code)
    assert len(shown) == 3
    for expression, value in shown:
        wanted = value.partition(":")[0]
        assert eval(expression, names) == eval(wanted, names), expression
