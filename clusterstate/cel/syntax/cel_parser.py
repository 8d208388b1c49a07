"""From tokens to nodes, one method for each level of binding. Upstream: the grammar of cel-spec; cel-go parser.go."""

from __future__ import annotations

from clusterstate.cel.cel_faults import NotEvaluatedError
from clusterstate.cel.syntax import cel_literals as literals
from clusterstate.cel.syntax.cel_macros import MacroFault, expand
from clusterstate.cel.syntax.cel_nodes import (
    Call,
    Ident,
    ListNode,
    Literal,
    MapEntry,
    MapNode,
    Node,
    Select,
    StructNode,
    check_size,
)
from clusterstate.cel.syntax.cel_source import Issues
from clusterstate.cel.syntax.cel_tokens import Token, tokens_of

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
