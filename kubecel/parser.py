"""From tokens to nodes, one method for each level of binding. Upstream: the grammar of cel-spec; cel-go parser.go."""

from __future__ import annotations

from collections.abc import Callable

from kubecel import NotEvaluatedError
from kubecel import syntax as literals
from kubecel.syntax import (
    Call,
    Comprehension,
    Ident,
    Issues,
    ListNode,
    Literal,
    MapEntry,
    MapNode,
    Node,
    Select,
    StructNode,
    Token,
    check_size,
    tokens_of,
)

# --- Macros: calls that stand for something longer ------------------------------------------------

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


# --- From tokens to nodes, one method for each level of binding. Upstream: the grammar of cel-spec; cel-go parser.go --

_LEVELS: tuple[tuple[str, ...], ...] = (
    ("||",),
    ("&&",),
    ("<", "<=", ">=", ">", "==", "!=", "in"),
    ("+", "-"),
    ("*", "/", "%"),
)
"""Operators by how loosely they bind."""

FUNCTIONS = {sign: f"_{sign}_" for level in _LEVELS for sign in level} | {"in": "@in"}
RESERVED = frozenset(
    [
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ]
)
_STARTS = (
    "'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER"
)
MOST_BRACKETS = 45
"""Brackets and signs in one another."""
LONGEST = 100_000
"""Characters of an expression."""


class _Syntax(Exception):
    """The rest is not read."""


def parse(source: str) -> Node:
    """The tree of an expression. Raises CompileFault, and NotEvaluatedError for one that is too large."""
    if len(source) > LONGEST:
        raise NotEvaluatedError("it is too long or nested too deeply")
    issues = Issues(source)
    tokens = tokens_of(source, issues)
    parser = _Parser(tokens, issues)
    node = parser.whole()
    issues.raise_any()
    check_size(node)
    return node


class _Parser:
    def __init__(self, tokens: list[Token], issues: Issues) -> None:
        self.tokens = tokens
        self.issues = issues
        self.position = 0
        self.depth = 0

    @property
    def token(self) -> Token:
        """The next one."""
        return self.tokens[self.position]

    def take(self) -> Token:
        """The next token, behind which parsing goes on."""
        token = self.token
        self.position += token.kind != "end"
        return token

    def at_sign(self, *signs: str) -> bool:
        """Whether the next token is one of these signs or keywords."""
        return self.token.kind in ("sign", "keyword") and self.token.text in signs

    def accept(self, *signs: str) -> Token | None:
        """The next token if it is one of these."""
        return self.take() if self.at_sign(*signs) else None

    def expect(self, sign: str) -> Token:
        """The next token, which is this sign."""
        if not self.at_sign(sign):
            raise self.fault(f"mismatched input '{self.token.text}' expecting '{sign}'")
        return self.take()

    def fault(self, message: str) -> _Syntax:
        """A syntax error at the next token, which was reported."""
        self.issues.report(self.token.at, f"Syntax error: {message}")
        return _Syntax()

    def whole(self) -> Node:
        """The expression, up to the end."""
        try:
            node = self.expression()
            if self.token.kind != "end":
                last = self.position + 2 == len(self.tokens)
                raise self.fault(f"{'extraneous' if last else 'mismatched'} input '{self.token.text}' expecting <EOF>")
        except _Syntax:
            return Literal(0, None)
        return node

    def expression(self) -> Node:
        """A condition with alternatives, or what has none."""
        self.depth += 1
        if self.depth > MOST_BRACKETS:
            raise NotEvaluatedError("it is too long or nested too deeply")
        node = self.binary(0)
        if (sign := self.accept("?")) is not None:
            first = self.binary(0)
            self.expect(":")
            node = Call(sign.at, "_?_:_", (node, first, self.expression()))
        self.depth -= 1
        return node

    def binary(self, loosest: int) -> Node:
        """Operators that bind at least as tightly as a level."""
        node = self.unary()
        while (level := self._level()) is not None and level >= loosest:
            sign = self.take()
            right = self.binary(level + 1)
            name = FUNCTIONS[sign.text]
            if level < 2 and isinstance(node, Call) and node.function == name:
                node = Call(node.at, name, (*node.arguments, right))
            else:
                node = Call(sign.at, name, (node, right))
        return node

    def _level(self) -> int | None:
        if self.token.kind not in ("sign", "keyword"):
            return None
        return next((at for at, signs in enumerate(_LEVELS) if self.token.text in signs), None)

    def unary(self) -> Node:
        """``!`` or ``-``, several cancel one another; a sign right before a number belongs to it."""
        if not self.at_sign("!", "-"):
            return self.member(self.primary())
        first = self.token
        count = 0
        while self.at_sign(first.text) and not (first.text == "-" and self._before_number()):
            self.take()
            count += 1
        if self.at_sign("-") and self._before_number():
            sign = self.take()
            operand = self.member(self.number(sign.at, "-"))
        else:
            operand = self.member(self.primary())
        return operand if count % 2 == 0 else Call(first.at, f"{first.text}_", (operand,))

    def _before_number(self) -> bool:
        return self.tokens[self.position + 1].kind in ("int", "float")

    def number(self, at: int, sign: str = "") -> Node:
        """A literal number; the next token is one."""
        token = self.take()
        reads = {"int": literals.int_literal, "uint": literals.uint_literal, "float": literals.float_literal}
        value = reads[token.kind](sign + token.text)
        if value is None:
            names = {"int": "int", "uint": "uint", "float": "double"}
            self.issues.report(at, f"invalid {names[token.kind]} literal")
        return Literal(at, value)

    def member(self, node: Node) -> Node:
        """Fields, methods and indices behind something."""
        while (sign := self.accept(".", "[")) is not None:
            optional = self.accept("?") is not None
            if sign.text == "[":
                index = self.expression()
                self.expect("]")
                node = Call(sign.at, "_[?_]" if optional else "_[_]", (node, index))
                continue
            name = self.field_name()
            if optional:
                node = Call(sign.at, "_?._", (node, Literal(name.at, _bare(name))))
            elif name.kind == "name" and self.at_sign("("):
                node = self.call(self.take().at, name.text, node)
            else:
                node = Select(sign.at, node, _bare(name))
        return node

    def field_name(self) -> Token:
        """The name behind a dot."""
        if self.token.kind not in ("name", "escaped"):
            raise self.fault(f"no viable alternative at input '.{self.token.text}'")
        if self.token.kind == "escaped":
            self.issues.report(self.token.at, "unsupported syntax: '`'")
        return self.take()

    def call(self, at: int, name: str, target: Node | None) -> Node:
        """The arguments behind an opening bracket, and macros expanded."""
        arguments = self.arguments()
        try:
            expanded = expand(at, name, target, arguments)
        except MacroFault as fault:
            self.issues.report(fault.at, str(fault))
            return Literal(at, None)
        return expanded if expanded is not None else Call(at, name, arguments, target)

    def arguments(self) -> tuple[Node, ...]:
        """Up to the closing bracket."""
        found: list[Node] = []
        while self.accept(")") is None:
            if found:
                self.expect(",")
            found.append(self.expression())
        return tuple(found)

    def primary(self) -> Node:
        """A literal, a name, a call, a list, a map, or something in brackets."""
        token = self.token
        if token.kind in ("int", "uint", "float"):
            return self.number(token.at)
        if token.kind in ("text", "bytes", "keyword") and token.text != "in":
            return self.constant(self.take())
        if token.kind == "name" or (self.at_sign(".") and self.tokens[self.position + 1].kind == "name"):
            return self.name()
        if self.accept("("):
            node = self.expression()
            self.expect(")")
            return node
        if self.accept("["):
            return self.listing(token.at)
        if self.accept("{"):
            return self.mapping(token.at)
        raise self.fault(f"mismatched input '{token.text}' expecting {{{_STARTS}}}")

    def constant(self, token: Token) -> Node:
        """A text, bytes, a truth or null."""
        if token.kind == "keyword":
            return Literal(token.at, {"true": True, "false": False, "null": None}[token.text])
        text = token.kind == "text"
        value = literals.text_literal(token.text) if text else literals.bytes_literal(token.text)
        if value is None:
            self.issues.report(token.at, "invalid unicode code point" if text else "unable to unescape string")
        return Literal(token.at, value)

    def name(self) -> Node:
        """A name, a call of a function, or a message."""
        dot = self.accept(".")
        token = self.take()
        name = ("." if dot else "") + token.text
        if token.text in RESERVED:
            self.issues.report(token.at, f"reserved identifier: {token.text}")
        if self.at_sign("("):
            return self.call(self.take().at, name, None)
        if (message := self._message_name(name)) is not None:
            return self.message(message)
        return Ident(token.at, name)

    def _message_name(self, name: str) -> str | None:
        """The name of a message if ``{`` follows its parts."""
        at = self.position
        while self.tokens[at].text == "." and self.tokens[at + 1].kind == "name":
            name += "." + self.tokens[at + 1].text
            at += 2
        if self.tokens[at].kind != "sign" or self.tokens[at].text != "{":
            return None
        self.position = at
        return name

    def message(self, name: str) -> Node:
        """The fields of a message."""
        at = self.take().at
        fields: list[tuple[str, Node]] = []
        while self.accept("}") is None:
            if fields:
                self.expect(",")
                if self.accept("}") is not None:
                    break
            self.accept("?")
            field = _bare(self.field_name())
            self.expect(":")
            fields.append((field, self.expression()))
        return StructNode(at, name, tuple(fields))

    def listing(self, at: int) -> Node:
        """The elements of a list, up to its end."""
        elements: list[Node] = []
        optional: set[int] = set()
        while self.accept("]") is None:
            if elements:
                self.expect(",")
                if self.accept("]") is not None:
                    break
            if self.accept("?"):
                optional.add(len(elements))
            elements.append(self.expression())
        return ListNode(at, tuple(elements), frozenset(optional))

    def mapping(self, at: int) -> Node:
        """The entries of a map, up to its end."""
        entries: list[MapEntry] = []
        while self.accept("}") is None:
            if entries:
                self.expect(",")
                if self.accept("}") is not None:
                    break
            optional = self.accept("?") is not None
            key = self.expression()
            self.expect(":")
            entries.append(MapEntry(key, self.expression(), optional))
        return MapNode(at, tuple(entries))


def _bare(token: Token) -> str:
    return token.text.strip("`") if token.kind == "escaped" else token.text
