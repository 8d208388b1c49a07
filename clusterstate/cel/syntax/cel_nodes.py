"""The nodes of a parsed expression."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from clusterstate.cel.cel_faults import NotEvaluatedError
from clusterstate.cel.values.cel_values import Value

DEEPEST, LARGEST = 110, 20_000
"""Levels and nodes of an expression, macros expanded."""


class Literal(msgspec.Struct, frozen=True, eq=False):
    """A constant."""

    at: int
    """Where its text begins, in characters of the expression; likewise in the other nodes."""
    value: Value


class Ident(msgspec.Struct, frozen=True, eq=False):
    """A name."""

    at: int
    name: str


class Select(msgspec.Struct, frozen=True, eq=False):
    """``operand.field``."""

    at: int
    operand: Node
    field: str
    test_only: bool = False
    """It is ``has(operand.field)``."""


class Call(msgspec.Struct, frozen=True, eq=False):
    """A function, method or operator with its arguments."""

    at: int
    function: str
    """Operators are called as in cel-go: ``_+_``, ``!_``, ``_[_]``, ``_?._``."""
    arguments: tuple[Node, ...]
    target: Node | None = None
    """What a method is called on."""


class ListNode(msgspec.Struct, frozen=True, eq=False):
    """``[a, ?b]``."""

    at: int
    elements: tuple[Node, ...]
    optional: frozenset[int] = frozenset()
    """Positions of elements that are left out where they have no value."""


class MapEntry(msgspec.Struct, frozen=True, eq=False):
    """``key: value`` or ``?key: value``."""

    key: Node
    value: Node
    optional: bool = False


class MapNode(msgspec.Struct, frozen=True, eq=False):
    """``{key: value}``."""

    at: int
    entries: tuple[MapEntry, ...]


class StructNode(msgspec.Struct, frozen=True, eq=False):
    """``name{field: value}``."""

    at: int
    name: str
    fields: tuple[tuple[str, Node], ...]


class Comprehension(msgspec.Struct, frozen=True, eq=False):
    """What a macro over the elements of something stands for."""

    at: int
    range: Node
    variable: str
    """Of a list its elements, of a map its keys."""
    second: str
    """With two variables: positions or keys, then elements or values; empty for one variable."""
    accumulator: str
    initial: Node
    condition: Node
    """Goes on while it holds."""
    step: Node
    """The next value of the accumulator."""
    result: Node


Node: TypeAlias = Literal | Ident | Select | Call | ListNode | MapNode | StructNode | Comprehension


def children(node: Node) -> tuple[Node, ...]:
    """The nodes right below one."""
    act = _CHILDREN.get(type(node))
    return act(node) if act is not None else ()


_CHILDREN: dict[type, Callable[[Any], tuple[Node, ...]]] = {
    Select: lambda node: (node.operand,),
    Call: lambda node: node.arguments if node.target is None else (node.target, *node.arguments),
    ListNode: lambda node: node.elements,
    MapNode: lambda node: tuple(part for entry in node.entries for part in (entry.key, entry.value)),
    StructNode: lambda node: tuple(value for _, value in node.fields),
    Comprehension: lambda node: (node.range, node.initial, node.condition, node.step, node.result),
}


def check_size(node: Node) -> None:
    """Raises NotEvaluatedError for a tree that is too deep or too large to work with."""
    level: list[Node] = [node]
    deep = total = 0
    while level:
        deep, total = deep + 1, total + len(level)
        if deep > DEEPEST or total > LARGEST:
            raise NotEvaluatedError("it is too long or nested too deeply")
        level = [child for parent in level for child in children(parent)]


def descendants(node: Node) -> list[Node]:
    """A node and all below it, parents first; of what a macro used twice both."""
    found, stack = [], [node]
    while stack:
        found.append(stack.pop())
        stack.extend(reversed(children(found[-1])))
    return found
