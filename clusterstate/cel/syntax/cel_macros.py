"""Macros: calls that stand for something longer.

Upstream: cel-go parser/macro.go, ext/comprehensions.go, ext/lists.go, ext/bindings.go, cel/library.go.
"""

from __future__ import annotations

from collections.abc import Callable

from clusterstate.cel.syntax.cel_nodes import Call, Comprehension, Ident, ListNode, Literal, MapNode, Node, Select

ACCUMULATOR = "@result"
UNUSED = "#unused"
_ACCUMULATORS = (ACCUMULATOR, "__result__")
_SORTED = "@__sortBy_input__"

Arguments = tuple[Node, ...]
Macro = Callable[[int, Node, Arguments], "Node | None"]
"""Of (where, what the method is called on, its arguments): the expansion."""


class MacroFault(Exception):
    """A macro that is used as it must not be."""

    def __init__(self, at: int, message: str) -> None:
        super().__init__(message)
        self.at = at


def expand(at: int, name: str, target: Node | None, arguments: Arguments) -> Node | None:
    """The expansion of a call, or None for one of a function. Raises MacroFault."""
    if target is None:
        return _has(at, arguments) if name == "has" and len(arguments) == 1 else None
    macro = _MACROS.get((name, len(arguments)))
    return None if macro is None else macro(at, target, arguments)


def _has(at: int, arguments: Arguments) -> Node:
    inner = arguments[0]
    if not isinstance(inner, Select) or inner.test_only:
        raise MacroFault(inner.at, "invalid argument to has() macro")
    return Select(at, inner.operand, inner.field, test_only=True)


def _variable(node: Node, message: str) -> str:
    if not isinstance(node, Ident):
        raise MacroFault(node.at, message)
    if node.name in _ACCUMULATORS:
        raise MacroFault(node.at, "iteration variable overwrites accumulator variable")
    return node.name


def _variables(arguments: Arguments, count: int, message: str) -> tuple[str, str]:
    """The one or two variables that a macro binds; the second is empty for one."""
    first = _variable(arguments[0], message)
    if count == 1:
        return first, ""
    second = _variable(arguments[1], message)
    if first == second:
        raise MacroFault(arguments[1].at, f"duplicate variable name: {first}")
    return first, second


def _accumulated(at: int) -> Node:
    return Ident(at, ACCUMULATOR)


def _true(at: int) -> Node:
    return Literal(at, True)


def _plus_one(at: int, element: Node) -> Node:
    return Call(at, "_+_", (_accumulated(at), ListNode(at, (element,))))


def _all(count: int) -> Macro:
    """``range.all(x, predicate)``: absorbs errors beside what is false."""

    def macro(at: int, target: Node, arguments: Arguments) -> Node:
        first, second = _variables(arguments, count, "argument must be a simple name")
        condition = Call(at, "@not_strictly_false", (_accumulated(at),))
        step = Call(at, "_&&_", (_accumulated(at), arguments[count]))
        return Comprehension(at, target, first, second, ACCUMULATOR, _true(at), condition, step, _accumulated(at))

    return macro


def _exists(count: int) -> Macro:
    """``range.exists(x, predicate)``: absorbs errors beside what is true."""

    def macro(at: int, target: Node, arguments: Arguments) -> Node:
        first, second = _variables(arguments, count, "argument must be a simple name")
        condition = Call(at, "@not_strictly_false", (Call(at, "!_", (_accumulated(at),)),))
        step = Call(at, "_||_", (_accumulated(at), arguments[count]))
        return Comprehension(
            at, target, first, second, ACCUMULATOR, Literal(at, False), condition, step, _accumulated(at)
        )

    return macro


def _exists_one(count: int) -> Macro:
    """``range.exists_one(x, predicate)``."""

    def macro(at: int, target: Node, arguments: Arguments) -> Node:
        first, second = _variables(arguments, count, "argument must be a simple name")
        one = Literal(at, 1)
        step = Call(at, "_?_:_", (arguments[count], Call(at, "_+_", (_accumulated(at), one)), _accumulated(at)))
        result = Call(at, "_==_", (_accumulated(at), one))
        return Comprehension(at, target, first, second, ACCUMULATOR, Literal(at, 0), _true(at), step, result)

    return macro


def _collected(count: int, message: str) -> Macro:
    """``range.map(x, [filter,] element)`` and ``transformList``."""

    def macro(at: int, target: Node, arguments: Arguments) -> Node:
        first, second = _variables(arguments, count, message)
        step = _filtered(at, arguments[count:], _plus_one(at, arguments[-1]))
        return Comprehension(
            at, target, first, second, ACCUMULATOR, ListNode(at, ()), _true(at), step, _accumulated(at)
        )

    return macro


def _filtered(at: int, rest: Arguments, step: Node) -> Node:
    return step if len(rest) == 1 else Call(at, "_?_:_", (rest[0], step, _accumulated(at)))


def _filter(at: int, target: Node, arguments: Arguments) -> Node:
    """``range.filter(x, predicate)``."""
    name = _variable(arguments[0], "argument is not an identifier")
    step = Call(at, "_?_:_", (arguments[1], _plus_one(at, arguments[0]), _accumulated(at)))
    return Comprehension(at, target, name, "", ACCUMULATOR, ListNode(at, ()), _true(at), step, _accumulated(at))


def _inserted(whole: bool) -> Macro:
    """``transformMap``, and ``transformMapEntry`` for whole entries."""

    def macro(at: int, target: Node, arguments: Arguments) -> Node:
        first, second = _variables(arguments, 2, "argument must be a simple name")
        added = (arguments[-1],) if whole else (Ident(at, first), arguments[-1])
        step = _filtered(at, arguments[2:], Call(at, "cel.@mapInsert", (_accumulated(at), *added)))
        return Comprehension(at, target, first, second, ACCUMULATOR, MapNode(at, ()), _true(at), step, _accumulated(at))

    return macro


def _bound(at: int, name: str, value: Node, body: Node) -> Node:
    """``body`` with a variable that is worked out when first asked for."""
    return Comprehension(at, ListNode(at, ()), UNUSED, "", name, value, Literal(at, False), Ident(at, name), body)


def _bind(at: int, target: Node, arguments: Arguments) -> Node | None:
    """``cel.bind(x, value, body)``."""
    if not isinstance(target, Ident) or target.name != "cel":
        return None
    if not isinstance(arguments[0], Ident):
        raise MacroFault(arguments[0].at, "cel.bind() variable names must be simple identifiers")
    return _bound(at, arguments[0].name, arguments[1], arguments[2])


def _optional(name: str, wraps: bool) -> Macro:
    """``optional.optMap(x, value)``, and ``optFlatMap`` for what is optional itself."""

    def macro(at: int, target: Node, arguments: Arguments) -> Node:
        if not isinstance(arguments[0], Ident):
            raise MacroFault(arguments[0].at, f"{name}() variable name must be a simple identifier")
        held = _bound(at, arguments[0].name, Call(at, "value", (), target), arguments[1])
        then = Call(at, "optional.of", (held,)) if wraps else held
        return Call(at, "_?_:_", (Call(at, "hasValue", (), target), then, Call(at, "optional.none", ())))

    return macro


def _sort_by(at: int, target: Node, arguments: Arguments) -> Node:
    """``list.sortBy(x, key)``."""
    if not isinstance(target, ListNode | Select | Ident | Comprehension | Call):
        what = "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
        raise MacroFault(target.at, what)
    listed = Ident(at, _SORTED)
    keys = _collected(1, "argument is not an identifier")(at, listed, arguments)
    assert keys is not None
    return _bound(at, _SORTED, target, Call(at, "@sortByAssociatedKeys", (keys,), listed))


_MACROS: dict[tuple[str, int], Macro] = {
    ("all", 2): _all(1),
    ("all", 3): _all(2),
    ("exists", 2): _exists(1),
    ("exists", 3): _exists(2),
    ("exists_one", 2): _exists_one(1),
    ("exists_one", 3): _exists_one(2),
    ("existsOne", 2): _exists_one(1),
    ("existsOne", 3): _exists_one(2),
    ("map", 2): _collected(1, "argument is not an identifier"),
    ("map", 3): _collected(1, "argument is not an identifier"),
    ("filter", 2): _filter,
    ("transformList", 3): _collected(2, "argument must be a simple name"),
    ("transformList", 4): _collected(2, "argument must be a simple name"),
    ("transformMap", 3): _inserted(whole=False),
    ("transformMap", 4): _inserted(whole=False),
    ("transformMapEntry", 3): _inserted(whole=True),
    ("transformMapEntry", 4): _inserted(whole=True),
    ("bind", 3): _bind,
    ("optMap", 2): _optional("optMap", wraps=True),
    ("optFlatMap", 2): _optional("optFlatMap", wraps=False),
    ("sortBy", 2): _sort_by,
}
"""(name, number of arguments) → the macro; all are methods."""
