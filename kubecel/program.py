"""An expression, compiled to one closure: what the rest of the code uses.

Upstream: cel-go interpreter/planner.go, decorators.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from kubecel import CompileFault, NotEvaluatedError, ValueFault
from kubecel import evaluation as terms
from kubecel.checker import Checked, Resolved, check, validate
from kubecel.evaluation import MOST_COST, EvaluationFrame, Qualifier, Term, followed
from kubecel.functions.strings import PATTERN_METHODS, compile_pattern
from kubecel.functions.table import LIST, NAME
from kubecel.parser import ACCUMULATOR, parse
from kubecel.syntax import Call, Comprehension, Ident, ListNode, Literal, MapNode, Node, Select
from kubecel.types import CelType
from kubecel.values import CelMap, UInt, Value


class Program(msgspec.Struct, frozen=True, eq=False):
    """An expression that can be evaluated."""

    term: Term
    slots: int
    kind: CelType
    """The type of what it gives."""

    def evaluate(self, subject: Value, limit: int = MOST_COST) -> Value:
        """The value for one subject. Raises ValueFault, CostFault and NotEvaluatedError."""
        return self.run(subject, limit)[0]

    def run(self, subject: Value, limit: int = MOST_COST) -> tuple[Value, int]:
        """(the value, what it cost), as ``evaluate``."""
        frame = EvaluationFrame(subject, self.slots, limit)
        try:
            value = self.term(frame)
        except RecursionError:
            raise NotEvaluatedError("it is too long or nested too deeply") from None
        frame.charge(0)
        return value, frame.cost


def compile_program(source: str, variable: str, fields: Mapping[str, CelType]) -> Program:
    """An expression over one variable with these fields. Raises CompileFault and NotEvaluatedError."""
    try:
        checked = check(parse(source), source, variable, fields)
        validate(checked, source)
        term, slots = plan(checked)
    except RecursionError:
        raise NotEvaluatedError("it is too long or nested too deeply") from None
    return Program(term, slots, checked.kind(checked.root))


_CONVERSIONS = frozenset(["bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"])
"""Functions that are worked out beforehand for a constant."""

_MEMBERS = ("_[_]", "_[?_]", "_?._")
_PRIMITIVES = (bool, float, int, str, UInt)


class Planned(msgspec.Struct, frozen=True, eq=False):
    """A node, ready to be evaluated."""

    term: Term
    constant: tuple[Value, ...] = ()
    """Its value if it is known beforehand."""


class _Path(msgspec.Struct, frozen=True, eq=False):
    """A value and the steps behind it."""

    root: Term
    steps: tuple[Qualifier, ...] = ()
    conditional: bool = False
    """It starts with a condition, which costs nothing of its own."""

    def term(self, own_cost: int = NAME) -> Term:
        """What it evaluates to."""
        tested = bool(self.steps) and self.steps[-1].test_only
        return followed(self.root, self.steps, 0 if self.conditional or tested else own_cost)


def plan(checked: Checked) -> tuple[Term, int]:
    """(the expression, the number of slots of its frames). Raises CompileFault for constants that fail."""
    planner = _Planner(checked)
    try:
        term = planner.plan(checked.root).term
    except ValueFault as fault:
        raise CompileFault(f"program instantiation failed: {fault}") from None
    return term, planner.slots


class _Planner:
    def __init__(self, checked: Checked) -> None:
        self.checked = checked
        self.scope: dict[str, Term] = {}
        self.slots = 0

    def plan(self, node: Node) -> Planned:
        """A node as a term."""
        match node:
            case Literal():
                return _known(node.value)
            case Ident() | Select():
                kind = self.checked.constants.get(id(node))
                return _known(kind) if kind is not None else self._member(node)
            case Call():
                return self._call(node)
            case ListNode():
                return self._list(node)
            case MapNode():
                return self._map(node)
            case Comprehension():
                return Planned(self._fold(node))
        raise CompileFault("program instantiation failed: unknown type")

    def _member(self, node: Node) -> Planned:
        path = self._path(node)
        assert path is not None
        return Planned(path.term())

    def _path(self, node: Node) -> _Path | None:
        """A node that is a name, a member of something, or a condition; None for others."""
        if id(node) in self.checked.constants:
            return None
        match node:
            case Ident():
                return _Path(self.scope.get(node.name.removeprefix("."), _subject))
            case Select():
                key = terms.constant(node.field)
                return self._longer(node.operand, Qualifier(key, 1, test_only=node.test_only))
            case Call(function=name) if name in _MEMBERS:
                key, cost = self._key(node.arguments[1])
                return self._longer(node.arguments[0], Qualifier(key, cost, optional=name != "_[_]"))
            case Call(function="_?_:_"):
                condition, first, second = node.arguments
                root = terms.conditional(self.plan(condition).term, self._branch(first), self._branch(second))
                return _Path(root, conditional=True)
        return None

    def _longer(self, operand: Node, step: Qualifier) -> _Path:
        path = self._path(operand)
        if path is None or (path.steps and path.steps[-1].test_only):
            return _Path(self.plan(operand).term, (step,))
        return _Path(path.root, (*path.steps, step), path.conditional)

    def _key(self, node: Node) -> tuple[Term, int]:
        """(what picks a member, what picking costs)."""
        path = self._path(node)
        if path is None:
            return self.plan(node).term, 1
        return path.term(own_cost=0), 0 if path.conditional and not path.steps else 1

    def _branch(self, node: Node) -> Term:
        """What a condition leads to; a name costs nothing there."""
        path = self._path(node)
        return self.plan(node).term if path is None else path.term(own_cost=0)

    def _call(self, node: Call) -> Planned:
        if node.function in _MEMBERS or node.function == "_?_:_":
            return self._member(node)
        resolved = self.checked.calls[id(node)]
        if (growing := self._growing(node, resolved)) is not None:
            return Planned(growing)
        arguments = tuple(self.plan(argument) for argument in resolved.arguments)
        own = _OWN.get(resolved.function.name)
        if own is not None:
            return Planned(own(tuple(argument.term for argument in arguments)))
        return _called(resolved, arguments)

    def _growing(self, node: Call, resolved: Resolved) -> Term | None:
        """The step of a macro that makes a list or a map, which nothing else sees."""
        first = resolved.arguments[0] if resolved.arguments else None
        if not isinstance(first, Ident) or first.name != ACCUMULATOR:
            return None
        total = _Path(self.scope[ACCUMULATOR]).term()
        rest = resolved.arguments[1:]
        if node.function == "_+_" and isinstance(rest[0], ListNode):
            made = 0 if (element := self.plan(rest[0].elements[0])).constant else LIST
            return terms.growing(total, element.term, made + 1)
        if node.function == "cel.@mapInsert":
            return terms.inserting(total, tuple(self.plan(each).term for each in rest), 1)
        return None

    def _list(self, node: ListNode) -> Planned:
        elements = tuple(self.plan(element) for element in node.elements)
        if not node.optional and all(element.constant for element in elements):
            return _known(tuple(element.constant[0] for element in elements))
        return Planned(terms.listing(tuple(element.term for element in elements), node.optional))

    def _map(self, node: MapNode) -> Planned:
        pairs = tuple((self.plan(entry.key), self.plan(entry.value)) for entry in node.entries)
        optional = any(entry.optional for entry in node.entries)
        if not optional and all(key.constant and value.constant for key, value in pairs):
            return _known(CelMap(tuple((key.constant[0], value.constant[0]) for key, value in pairs)))
        entries = zip(pairs, node.entries, strict=True)
        return Planned(terms.mapping(tuple((key.term, value.term, entry.optional) for (key, value), entry in entries)))

    def _slot(self) -> int:
        self.slots += 1
        return self.slots - 1

    def _fold(self, node: Comprehension) -> Term:
        ranged, initial = self.plan(node.range).term, self._initial(node.initial)
        first, total = self._slot(), self._slot()
        second = self._slot() if node.second else None
        outside = self.scope
        with_total = {**outside, node.accumulator: terms.accumulator(total, initial)}
        self.scope = {**with_total, node.variable: terms.variable(first)}
        if second is not None:
            self.scope[node.second] = terms.variable(second)
        condition, step = self.plan(node.condition).term, self.plan(node.step).term
        self.scope = with_total
        result = self.plan(node.result).term
        self.scope = outside
        return terms.folded(terms.Fold(ranged, first, second, total, initial, condition, step, result))

    def _initial(self, node: Node) -> Term:
        """What an accumulator starts with; an empty map is a new one each time."""
        if isinstance(node, MapNode) and not node.entries:
            return lambda _frame: CelMap()
        return self.plan(node).term


def _subject(frame: EvaluationFrame) -> Value:
    return frame.subject


def _known(value: Value) -> Planned:
    return Planned(terms.constant(value), (value,))


def _called(resolved: Resolved, arguments: tuple[Planned, ...]) -> Planned:
    """A call of a function; what constants give is worked out now."""
    function, overload = resolved.function, resolved.overload
    if function.name in _CONVERSIONS and len(arguments) == 1 and arguments[0].constant:
        return _known(function.call(arguments[0].constant, overload))
    if function.name == "@in" and overload == "in_list" and arguments[1].constant:
        members = arguments[1].constant[0]
        if not members:
            return _known(False)
        if all(type(member) in _PRIMITIVES for member in members):
            return Planned(terms.membership(arguments[0].term, members))
    if function.name in PATTERN_METHODS and arguments[1].constant and type(arguments[1].constant[0]) is str:
        compile_pattern(arguments[1].constant[0])
    return Planned(terms.call(function, overload, tuple(argument.term for argument in arguments)))


_OWN: dict[str, Callable[[tuple[Term, ...]], Term]] = {
    "_||_": lambda each: terms.junction(each, decisive=True),
    "_&&_": lambda each: terms.junction(each, decisive=False),
    "_==_": lambda each: terms.equality(*each, negated=False),
    "_!=_": lambda each: terms.equality(*each, negated=True),
    "@not_strictly_false": lambda each: terms.not_strictly_false(*each),
    "or": lambda each: terms.alternative(*each, unwrapped=False),
    "orValue": lambda each: terms.alternative(*each, unwrapped=True),
}
"""Functions that do not just take values."""
