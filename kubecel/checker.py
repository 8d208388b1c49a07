"""The types of an expression, and which overloads its calls mean. Upstream: cel-go checker/checker.go."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs
import msgspec

from kubecel import ValueFault, types
from kubecel.conversions import to_duration, to_timestamp
from kubecel.functions.overloads import Signature
from kubecel.functions.strings import REFUSALS, clauses, compile_pattern
from kubecel.functions.table import KnownFunction, function_table
from kubecel.syntax import (
    Call,
    Comprehension,
    Ident,
    Issues,
    ListNode,
    Literal,
    MapNode,
    Node,
    Select,
    StructNode,
    children,
    descendants,
)
from kubecel.types import CelType, is_dynamic, is_optional
from kubecel.values import type_of

# --- Whether a type may stand for another, and what open types become. Upstream: cel-go checker/types.go ---

Bindings = dict[CelType, CelType]
"""Open type → what it was found to be."""

_NULLABLE = ("opaque", "object", "any", "duration", "timestamp")


def assigned(bindings: Bindings, pairs: list[tuple[CelType, CelType]]) -> Bindings | None:
    """The bindings under which each first type may stand for the second, or None."""
    tried = dict(bindings)
    return tried if all(_assignable(tried, one, other) for one, other in pairs) else None


def _is_loose(what: CelType) -> bool:
    return is_dynamic(what) or what.kind == "error"


def _assignable(bindings: Bindings, one: CelType, other: CelType) -> bool:
    if other.kind == "param":
        valid, bound = _bind(bindings, one, other)
        if valid or bound:
            return valid
    if one.kind == "param":
        return _bind(bindings, other, one)[0]
    if _is_loose(one) or _is_loose(other):
        return True
    return _assignable_closed(bindings, one, other)


def _assignable_closed(bindings: Bindings, one: CelType, other: CelType) -> bool:
    """Of two types that are known, but for their parameters."""
    kinds = (one.kind, other.kind)
    if "null" in kinds:
        return kinds == ("null", "null") or any(kind in _NULLABLE for kind in kinds)
    if one.kind == "type":
        return other.kind == "type"
    if one.kind != other.kind or one.name != other.name or len(one.parameters) != len(other.parameters):
        return False
    return all(_assignable(bindings, *pair) for pair in zip(one.parameters, other.parameters, strict=True))


def _bind(bindings: Bindings, what: CelType, open_type: CelType) -> tuple[bool, bool]:
    """(whether the open type may be this one, whether it was bound before)."""
    if what == open_type:
        return True, True
    known = bindings.get(open_type)
    if known is not None:
        if what == known:
            return True, True
        if not _assignable(bindings, what, known):
            return False, True
        general = most_general(what, known)
        if _is_free(bindings, open_type, general):
            bindings[open_type] = general
        return True, True
    if not _is_free(bindings, open_type, what):
        return False, False
    bindings[open_type] = what
    return True, False


def _is_free(bindings: Bindings, open_type: CelType, within: CelType) -> bool:
    """Whether a type does not contain an open one."""
    if within == open_type:
        return False
    if within.kind == "param":
        known = bindings.get(within)
        return known is None or _is_free(bindings, open_type, known)
    return all(_is_free(bindings, open_type, inner) for inner in within.parameters)


def most_general(one: CelType, other: CelType) -> CelType:
    """The less specific of two types of which one may stand for the other."""
    return one if _covers(one, other) else other


def _covers(one: CelType, other: CelType) -> bool:
    if is_dynamic(one) or one.kind == "param":
        return True
    if is_dynamic(other) or other.kind == "param" or one.kind != other.kind:
        return False
    if one.kind == "type":
        return True
    if one.name != other.name or len(one.parameters) != len(other.parameters):
        return False
    return all(_covers(*pair) for pair in zip(one.parameters, other.parameters, strict=True))


def substituted(bindings: Bindings, what: CelType, close: bool = False) -> CelType:
    """A type with what is known of its open ones; ``close`` makes those that stay open dynamic."""
    known = bindings.get(what) if what.kind == "param" else None
    if known is not None:
        return substituted(bindings, known, close)
    if what.kind == "param" and close:
        return types.DYN
    if not what.parameters:
        return what
    inner = tuple(substituted(bindings, each, close) for each in what.parameters)
    return CelType(what.kind, what.name, inner)


# --- The types of an expression, and which overloads its calls mean. Upstream: cel-go checker/checker.go ---


class Resolved(msgspec.Struct, frozen=True, eq=False):
    """The function that a call means."""

    function: KnownFunction
    overload: str
    """The only one that fits; empty for several."""
    arguments: tuple[Node, ...]
    """With what a method is called on first."""


@attrs.define(eq=False)
class Checked:
    """What the checker found, by the identity of nodes."""

    root: Node
    kinds: dict[int, CelType] = attrs.field(factory=dict)
    calls: dict[int, Resolved] = attrs.field(factory=dict)
    constants: dict[int, CelType] = attrs.field(factory=dict)
    """Names that are types."""

    def kind(self, node: Node) -> CelType:
        """The type of a node."""
        return self.kinds[id(node)]


Fields = Mapping[str, CelType]
"""Field of the variable ``device`` → its type."""


def check(root: Node, source: str, variable: str, fields: Fields) -> Checked:
    """The types of an expression over one variable. Raises CompileFault."""
    issues = Issues(source)
    checker = _Checker(issues, variable, fields, Checked(root))
    checker.check(root)
    issues.raise_any()
    found = checker.found
    found.kinds = {key: substituted(checker.bindings, kind, close=True) for key, kind in found.kinds.items()}
    return found


def qualified_name(node: Node) -> str | None:
    """``a.b.c`` if a node is written so."""
    parts: list[str] = []
    while isinstance(node, Select) and not node.test_only:
        parts.append(node.field)
        node = node.operand
    return ".".join((node.name, *reversed(parts))) if isinstance(node, Ident) else None


class _Checker:
    def __init__(self, issues: Issues, variable: str, fields: Fields, found: Checked) -> None:
        self.issues = issues
        self.fields = fields
        self.found = found
        self.bindings: Bindings = {}
        self.scope: dict[str, CelType] = {variable: types.DEVICE}
        self.opened = 0

    def check(self, node: Node) -> CelType:
        """Finds the type of a node and of all below it."""
        kind = self._kind(node)
        self.found.kinds[id(node)] = kind
        return kind

    def _kind(self, node: Node) -> CelType:
        if isinstance(node, Literal):
            return type_of(node.value)
        by_kind: dict[type, Callable[[Any], CelType]] = {
            Ident: self._name,
            Select: self._select,
            Call: self._call,
            ListNode: self._list,
            MapNode: self._map,
            StructNode: self._struct,
            Comprehension: self._comprehension,
        }
        return by_kind[type(node)](node)

    def _fresh(self) -> CelType:
        self.opened += 1
        return types.parameter(f"_var{self.opened - 1}")

    def _fits(self, *pairs: tuple[CelType, CelType]) -> bool:
        found = assigned(self.bindings, list(pairs))
        if found is None:
            return False
        self.bindings = found
        return True

    def _mismatch(self, node: Node, expected: CelType, found: CelType) -> None:
        self.issues.report(node.at, f"expected type '{expected}' but found '{found}'")

    def _undeclared(self, at: int, name: str) -> CelType:
        self.issues.report(at, f"undeclared reference to '{name}' (in container '')")
        return types.ERROR

    def _known_name(self, node: Node, name: str) -> CelType | None:
        """The type of a variable, or of the name of a type."""
        name = name.removeprefix(".")
        if name in self.scope:
            return self.scope[name]
        if name in types.IN_EXPRESSIONS:
            kind = types.optional_of(types.DYN) if name == types.OPTIONAL_NAME else types.NAMED[name]
            self.found.constants[id(node)] = kind
            return types.type_type(kind)
        return None

    def _name(self, node: Ident) -> CelType:
        known = self._known_name(node, node.name)
        return known if known is not None else self._undeclared(node.at, node.name.removeprefix("."))

    def _select(self, node: Select) -> CelType:
        name = qualified_name(node)
        if name is not None and (known := self._known_name(node, name)) is not None:
            return known
        kind = self._field(node, node.operand, node.field, optional=False)
        return types.BOOL if node.test_only else substituted(self.bindings, kind)

    def _field(self, node: Node, operand: Node, field: str, optional: bool) -> CelType:
        kind = substituted(self.bindings, self.check(operand))
        held = kind.parameters[0] if is_optional(kind) else kind
        result = types.DYN
        if held.kind == "map":
            result = held.parameters[1]
        elif held.kind == "object":
            result = self._object_field(node, held, field)
        elif held.kind == "param":
            self._fits((types.DYN, held))
        elif held.kind != "error" and not is_dynamic(held):
            self.issues.report(node.at, f"type '{held}' does not support field selection")
        return types.optional_of(result) if optional or is_optional(kind) else result

    def _object_field(self, node: Node, kind: CelType, field: str) -> CelType:
        if kind != types.DEVICE:
            self.issues.report(node.at, f"unexpected failed resolution of '{kind.name}'")
        elif field not in self.fields:
            self.issues.report(node.at, f"undefined field '{field}'")
        else:
            return self.fields[field]
        return types.ERROR

    def _call(self, node: Call) -> CelType:
        if node.function == "_?._":
            return self._optional_select(node)
        for argument in node.arguments:
            self.check(argument)
        function = self._function(node)
        if function is None:
            if node.target is not None:
                self.check(node.target)
            return self._undeclared(node.at, node.function.removeprefix("."))
        known, called = function
        if called:
            assert node.target is not None
            self.check(node.target)
        arguments = (node.target, *node.arguments) if called and node.target is not None else node.arguments
        return self._overload(node, known, arguments, called)

    def _optional_select(self, node: Call) -> CelType:
        operand, field = node.arguments
        assert isinstance(field, Literal)
        self.check(field)
        kind = self._field(node, operand, field.value, optional=True)
        return substituted(self.bindings, kind)

    def _function(self, node: Call) -> tuple[KnownFunction, bool] | None:
        """(the function, whether it is called on something); ``a.b()`` may be a function of that name."""
        table = function_table()
        if node.target is None:
            found = table.get(node.function.removeprefix("."))
            return None if found is None else (found, False)
        prefix = qualified_name(node.target)
        if prefix is not None and (found := table.get(f"{prefix.removeprefix('.')}.{node.function}")) is not None:
            return found, False
        found = table.get(node.function)
        return None if found is None else (found, True)

    def _overload(self, node: Call, function: KnownFunction, arguments: tuple[Node, ...], called: bool) -> CelType:
        kinds = [self.found.kind(argument) for argument in arguments]
        if function.name in ("_&&_", "_||_"):
            return self._junction(node, function, arguments, kinds)
        fitting: list[str] = []
        result: CelType | None = None
        for signature in function.signatures:
            if signature.method != called or len(signature.arguments) != len(kinds):
                continue
            given = self._result(signature, kinds)
            if given is None:
                continue
            fitting.append(signature.id)
            if result is None:
                result = given
            elif not is_dynamic(result) and given != result:
                result = types.DYN
        if result is None:
            self._no_overload(node, function.name, kinds, called)
            return types.ERROR
        self.found.calls[id(node)] = Resolved(function, fitting[0] if len(fitting) == 1 else "", arguments)
        return result

    def _junction(
        self, node: Call, function: KnownFunction, arguments: tuple[Node, ...], kinds: list[CelType]
    ) -> CelType:
        wrong = False
        for argument, kind in zip(arguments, kinds, strict=True):
            if not self._fits((kind, types.BOOL)):
                self._mismatch(argument, types.BOOL, kind)
                wrong = True
        self.found.calls[id(node)] = Resolved(function, function.signatures[0].id, arguments)
        return types.ERROR if wrong else types.BOOL

    def _result(self, signature: Signature, kinds: list[CelType]) -> CelType | None:
        """The type of a call by one signature, or None if it does not fit."""
        renamed: Bindings = {types.parameter(name): self._fresh() for name in sorted(signature.open_names)}
        wanted = [substituted(renamed, argument) for argument in signature.arguments]
        if not self._fits(*zip(kinds, wanted, strict=True)):
            return None
        return substituted(self.bindings, substituted(renamed, signature.result))

    def _no_overload(self, node: Call, name: str, kinds: list[CelType], called: bool) -> None:
        shown = [str(substituted(self.bindings, kind, close=True)) for kind in kinds]
        signature = f"{shown[0]}.({', '.join(shown[1:])})" if called else f"({', '.join(shown)})"
        self.issues.report(node.at, f"found no matching overload for '{name}' applied to '{signature}'")

    def _joined(self, node: Node, known: CelType | None, kind: CelType) -> CelType:
        """The type of elements of which some have one and this has another."""
        if known is None:
            return kind
        if self._fits((known, kind)):
            return most_general(known, kind)
        self._mismatch(node, known, kind)
        return types.ERROR

    def _held(self, node: Node, optional: bool) -> CelType:
        """The type of an element, or of what it holds if it is left out where there is nothing."""
        kind = self.check(node)
        if not optional:
            return kind
        if is_optional(kind):
            return kind.parameters[0]
        if not is_dynamic(kind):
            self._mismatch(node, types.optional_of(kind), kind)
        return kind

    def _list(self, node: ListNode) -> CelType:
        kind: CelType | None = None
        for at, element in enumerate(node.elements):
            kind = self._joined(element, kind, self._held(element, at in node.optional))
        return types.list_of(kind if kind is not None else self._fresh())

    def _map(self, node: MapNode) -> CelType:
        key: CelType | None = None
        value: CelType | None = None
        for entry in node.entries:
            key = self._joined(entry.key, key, self.check(entry.key))
            value = self._joined(entry.value, value, self._held(entry.value, entry.optional))
        return types.map_of(key or self._fresh(), value or self._fresh())

    def _struct(self, node: StructNode) -> CelType:
        """No message can be made: nothing here is one."""
        for _, value in node.fields:
            self.check(value)
        return self._undeclared(node.at, node.name.removeprefix("."))

    def _comprehension(self, node: Comprehension) -> CelType:
        ranged = substituted(self.bindings, self.check(node.range))
        total = self.check(node.initial)
        outside = self.scope
        with_total = {**outside, node.accumulator: total}
        first, second = self._element_types(node, ranged)
        self.scope = {**with_total, node.variable: first} | ({node.second: second} if node.second else {})
        self._assert(node.condition, types.BOOL)
        self._assert(node.step, total)
        self.scope = with_total
        result = self.check(node.result)
        self.scope = outside
        return substituted(self.bindings, result)

    def _assert(self, node: Node, wanted: CelType) -> None:
        kind = self.check(node)
        if not self._fits((wanted, kind)):
            self._mismatch(node, wanted, kind)

    def _element_types(self, node: Comprehension, ranged: CelType) -> tuple[CelType, CelType]:
        """The types of the variables of a macro."""
        if ranged.kind == "list":
            element = ranged.parameters[0]
            return (types.INT, element) if node.second else (element, element)
        if ranged.kind == "map":
            return ranged.parameters[0], ranged.parameters[1]
        if ranged.kind in ("dyn", "error", "param"):
            self._fits((types.DYN, ranged))
            return types.DYN, types.DYN
        what = f"expression of type '{ranged}' cannot be range of a comprehension (must be list, map, or dynamic)"
        self.issues.report(node.range.at, what)
        return types.ERROR, types.ERROR


# --- What is wrong with literals, once the types are right. Upstream: cel-go cel/validator.go, ext/formatting.go ---

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
