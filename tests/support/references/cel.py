"""CEL expressions for tests: evaluated, written, and made up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import strategies as st

from kubecel import ValueFault, types
from kubecel.program import compile_program
from kubecel.syntax import Call, Ident, ListNode, Literal, MapEntry, MapNode, Node, Select
from kubecel.values import CelMap, Optional, UInt, Value

FIELDS = {"driver": types.STRING, "any": types.ANY}
SUBJECT = CelMap.of_texts({"driver": "gpu.example.com", "any": 7})


def evaluate(source: str) -> Any:
    """The value of an expression, maps as dicts, optionals as (value,) or ()."""
    return native(compile_program(source, "device", FIELDS).evaluate(SUBJECT))


def fault_of(source: str) -> str:
    """What is said of an expression that has no value."""
    with pytest.raises(ValueFault) as caught:
        evaluate(source)
    return str(caught.value)


def cost(source: str) -> int:
    """What the evaluation of an expression costs."""
    return compile_program(source, "device", FIELDS).run(SUBJECT)[1]


def native(value: Value) -> Any:
    """A value in Python's own types where that is shorter."""
    if isinstance(value, CelMap):
        return {native(key): native(held) for key, held in value.items()}
    if isinstance(value, tuple):
        return [native(each) for each in value]
    return tuple(map(native, value.held)) if isinstance(value, Optional) else value


_SIGNS = ("+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||")


def written(node: Node) -> str:
    """A node as text, with brackets around everything that has parts."""
    return _WRITTEN[type(node)](node)


def _list(node: ListNode) -> str:
    marks = ("?" if at in node.optional else "" for at in range(len(node.elements)))
    return "[" + ", ".join(mark + written(each) for mark, each in zip(marks, node.elements, strict=True)) + "]"


def _call(node: Call) -> str:
    arguments = [written(argument) for argument in node.arguments]
    sign = node.function.strip("_")
    if node.function == "_?_:_":
        return "({} ? {} : {})".format(*arguments)
    if node.function in ("_[_]", "_[?_]"):
        return f"{arguments[0]}[{'?' if '?' in node.function else ''}{arguments[1]}]"
    if node.function in ("!_", "-_"):
        return f"({sign}({arguments[0]}))"
    if sign in _SIGNS:
        return "(" + f" {sign} ".join(arguments) + ")"
    before = "" if node.target is None else written(node.target) + "."
    return f"{before}{node.function}({', '.join(arguments)})"


def _constant(value: Value) -> str:
    if isinstance(value, UInt):
        return f"{value.number}u"
    if isinstance(value, str):
        return '"' + "".join(f"\\U{ord(sign):08x}" for sign in value) + '"'
    if isinstance(value, bytes):
        return 'b"' + "".join(f"\\x{byte:02x}" for byte in value) + '"'
    return "null" if value is None else str(value).lower()


_WRITTEN: dict[type, Callable[[Any], str]] = {
    Literal: lambda node: _constant(node.value),
    Ident: lambda node: node.name,
    Select: lambda node: f"{written(node.operand)}.{node.field}",
    ListNode: _list,
    MapNode: lambda node: "{" + ", ".join(f"{written(e.key)}: {written(e.value)}" for e in node.entries) + "}",
    Call: _call,
}


def same_tree(one: Node, other: Node) -> bool:
    """Whether two trees differ in nothing but places."""
    return bool(_bare(one) == _bare(other))


def _bare(part: Any) -> Any:
    if isinstance(part, tuple):
        return tuple(map(_bare, part))
    if isinstance(part, Literal):
        return ("literal", type(part.value).__name__, part.value)
    if isinstance(part, Ident | Select | Call | ListNode | MapNode | MapEntry):
        names = [name for name in part.__struct_fields__ if name != "at"]
        return (type(part).__name__, *(_bare(getattr(part, name)) for name in names))
    return part


_LEAVES: st.SearchStrategy[Node] = st.one_of(
    st.builds(Literal, st.just(0), st.none() | st.booleans() | st.integers(0, 2**63 - 1) | st.text(max_size=4)),
    st.builds(Literal, st.just(0), st.binary(max_size=4) | st.builds(UInt, st.integers(0, 2**64 - 1))),
    st.builds(Ident, st.just(0), st.sampled_from(["device", "x", "y"])),
)


def _branches(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    binary = [f"_{sign}_" for sign in _SIGNS if sign not in ("&&", "||")]
    return st.one_of(
        st.builds(Select, st.just(0), inner, st.sampled_from(["driver", "size_of"])),
        st.builds(Call, st.just(0), st.sampled_from([*binary, "_[_]", "_[?_]"]), st.tuples(inner, inner)),
        st.builds(Call, st.just(0), st.just("_?_:_"), st.tuples(inner, inner, inner)),
        st.builds(Call, st.just(0), st.just("!_"), st.tuples(inner)),
        st.builds(Call, st.just(0), st.sampled_from(["size", "f"]), st.tuples(inner), inner),
        st.builds(Call, st.just(0), st.just("size"), st.lists(inner, max_size=2).map(tuple)),
        st.builds(ListNode, st.just(0), st.lists(inner, max_size=3).map(tuple)),
        st.builds(MapNode, st.just(0), st.lists(st.builds(MapEntry, inner, inner), max_size=2).map(tuple)),
    )


def trees() -> st.SearchStrategy[Node]:
    """Trees of expressions, of any types."""
    return st.recursive(_LEAVES, _branches, max_leaves=12)


def plain_values() -> st.SearchStrategy[Value]:
    """Values of the language itself."""
    scalars = st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**63), 2**63 - 1),
        st.integers(-3, 3),
        st.builds(UInt, st.integers(0, 3)),
        st.floats(allow_nan=False),
        st.sampled_from([0.0, 1.0, 2.0]),
        st.text(max_size=3),
        st.binary(max_size=3),
    )

    def holders(inner: st.SearchStrategy[Value]) -> st.SearchStrategy[Value]:
        keys = st.text(max_size=2) | st.integers(0, 3) | st.builds(UInt, st.integers(0, 3)) | st.booleans()
        maps = st.lists(st.tuples(keys, inner), max_size=3).map(lambda pairs: CelMap(tuple(pairs)))
        return st.lists(inner, max_size=3).map(tuple) | maps

    return st.recursive(scalars, holders, max_leaves=6)
