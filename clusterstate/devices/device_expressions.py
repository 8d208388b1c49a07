"""CEL expressions that select devices, as far as Kubernetes lets selectors use them.

Understood: ``? : && || !``, comparisons, ``in``, arithmetic, literals, lists and maps, ``has``, ``all``, ``exists``,
``exists_one``, ``filter``, ``map``, ``cel.bind``, the functions and methods of ``device_functions``, and of a device
``driver``, ``attributes``, ``capacity`` and ``allowMultipleAllocations``. Everything else raises NotEvaluatedError.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import attrs

from clusterstate.devices import device_functions as functions
from clusterstate.devices import device_operators as operators
from clusterstate.devices.device_macros import MACROS, binding, comprehension, unbound, variable_named
from clusterstate.devices.device_values import NotEvaluatedError, member
from clusterstate.objects.resource import Device

Term = Callable[[str, Device], Any]
"""Of (driver, device): a value; may raise ValueFault."""

_TOKEN = re.compile(
    r"""\s*(?:(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|(?P<number>(?:\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|0x[0-9a-fA-F]+|\d+)(?!\w))|(?P<name>[A-Za-z_]\w*)"""
    r"""|(?P<sign>&&|\|\||==|!=|<=|>=|[<>!()\[\]{},.?:+*/%-]))"""
)
_ESCAPES = {"\\": "\\", '"': '"', "'": "'", "n": "\n", "t": "\t"}
DEEPEST, LONGEST = 50, 600
"""Brackets (and ``!``) in brackets, and tokens of an expression."""

_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=", "in")
_LITERALS = {"true": True, "false": False, "null": None}


@attrs.frozen
class _Token:
    kind: str
    text: str


def _tokens(source: str) -> list[_Token]:
    out, at, end = [], 0, len(source.rstrip())
    while at < end:
        match = _TOKEN.match(source, at)
        if match is None or match.lastgroup is None:
            raise NotEvaluatedError(f"{source[at:].strip()[:20]!r} is not understood")
        out.append(_Token(match.lastgroup, match[match.lastgroup]))
        at = match.end()
    return out


def _check_size(tokens: list[_Token]) -> None:
    """Raises NotEvaluatedError for what would be too much to take apart."""
    depth = deepest = 0
    for token in tokens:
        if token.kind == "sign":
            depth += (token.text in "([{!") - (token.text in ")]}")
            deepest = max(deepest, depth)
    if deepest > DEEPEST or len(tokens) > LONGEST:
        raise NotEvaluatedError("it is too long or nested too deeply")


def _unquoted(text: str) -> str:
    def unescape(match: re.Match[str]) -> str:
        if match[1] not in _ESCAPES:
            raise NotEvaluatedError(f"the escape {match[0]} is not understood")
        return _ESCAPES[match[1]]

    return re.sub(r"\\(.)", unescape, text[1:-1])


@lru_cache(maxsize=1024)
def compile_expression(source: str) -> Term:
    """The expression, ready to be asked about devices. Raises NotEvaluatedError."""
    tokens = _tokens(source)
    _check_size(tokens)
    parser = _Parser(tokens)
    term = parser.expression()
    if parser.at < len(parser.tokens):
        raise parser.refusal()
    return term


class _Parser:
    """Recursive descent, one method per level of binding."""

    def __init__(self, tokens: list[_Token]) -> None:
        self.tokens = tokens
        self.at = 0
        self.names: list[str] = []

    def refusal(self) -> NotEvaluatedError:
        """Of the next token."""
        found = repr(self.tokens[self.at].text) if self.at < len(self.tokens) else "the end"
        return NotEvaluatedError(f"{found} is not understood there")

    def next(self, *kinds: str) -> _Token:
        """The next token, which is of one of ``kinds``."""
        if self.at >= len(self.tokens) or self.tokens[self.at].kind not in kinds:
            raise self.refusal()
        self.at += 1
        return self.tokens[self.at - 1]

    def accept(self, *texts: str) -> str | None:
        """The next token if it is one of ``texts``, which are no string literals."""
        if self.at < len(self.tokens):
            token = self.tokens[self.at]
            if token.kind != "text" and token.text in texts:
                self.at += 1
                return token.text
        return None

    def expect(self, text: str) -> None:
        if self.accept(text) is None:
            raise self.refusal()

    def expression(self) -> Term:
        """A condition with alternatives, or what has none."""
        term = self.either()
        if not self.accept("?"):
            return term
        first = self.expression()
        self.expect(":")
        return functions.choice(term, first, self.expression())

    def either(self) -> Term:
        term = self.both()
        while self.accept("||"):
            term = operators.either(term, self.both())
        return term

    def both(self) -> Term:
        term = self.comparison()
        while self.accept("&&"):
            term = operators.both(term, self.comparison())
        return term

    def comparison(self) -> Term:
        term = self.sum()
        while (sign := self.accept(*_COMPARISONS)) is not None:
            term = operators.comparison(sign, term, self.sum())
        return term

    def sum(self) -> Term:
        term = self.product()
        while (sign := self.accept("+", "-")) is not None:
            term = functions.arithmetic(sign, term, self.product())
        return term

    def product(self) -> Term:
        term = self.unary()
        while (sign := self.accept("*", "/", "%")) is not None:
            term = functions.arithmetic(sign, term, self.unary())
        return term

    def unary(self) -> Term:
        if self.accept("!"):
            return operators.opposite(self.unary())
        if self.accept("-"):
            return functions.negative(self.unary())
        return self.path()

    def path(self) -> Term:
        term = self.primary()
        while (sign := self.accept(".", "[")) is not None:
            if sign == "[":
                term = operators.index(term, self.expression())
                self.expect("]")
                continue
            name = self.next("name").text
            if not self.accept("("):
                term = _select(term, name)
            elif name in MACROS:
                term = self.macro(name, term)
            else:
                term = functions.method(name, term, self.arguments())
        return term

    def macro(self, name: str, term: Term) -> Term:
        """What stands between the brackets of ``all(x, …)`` and its like."""
        variable = self.next("name").text
        self.expect(",")
        body = self.body(variable)
        self.expect(")")
        return comprehension(name, term, variable, body)

    def body(self, variable: str) -> Term:
        """An expression that may use a variable."""
        self.names.append(variable)
        term = self.expression()
        self.names.pop()
        return term

    def arguments(self, closing: str = ")") -> list[Term]:
        """What stands between an opening sign and ``closing``."""
        out: list[Term] = []
        while self.accept(closing) is None:
            if out:
                self.expect(",")
            out.append(self.expression())
        return out

    def primary(self) -> Term:
        if self.accept("("):
            term = self.expression()
            self.expect(")")
            return term
        if self.accept("["):
            return operators.sequence(self.arguments("]"))
        if self.accept("{"):
            return functions.mapping(self.pairs())
        token = self.next("text", "number", "name")
        if token.kind == "text":
            return operators.constant(_unquoted(token.text))
        if token.kind == "number":
            return operators.constant(functions.number(token.text))
        return self.named(token.text)

    def pairs(self) -> list[tuple[Term, Term]]:
        """The keys and values of a map, up to its end."""
        out: list[tuple[Term, Term]] = []
        while self.accept("}") is None:
            if out:
                self.expect(",")
            key = self.expression()
            self.expect(":")
            out.append((key, self.expression()))
        return out

    def named(self, name: str) -> Term:
        """What begins with a name that was just read."""
        if name in self.names:
            return variable_named(name)
        if name in _LITERALS:
            return operators.constant(_LITERALS[name])
        if name == "device":
            self.expect(".")
            return _of_device(self.next("name").text)
        if name == "cel":
            return self.bind()
        if not self.accept("("):
            raise NotEvaluatedError(f"{name!r} is not known")
        if name == "has":
            return self.has()
        return functions.function(name, self.arguments())

    def bind(self) -> Term:
        """``cel.bind(x, value, expression)``."""
        self.expect(".")
        if self.next("name").text != "bind":
            raise self.refusal()
        self.expect("(")
        variable = self.next("name").text
        self.expect(",")
        value = self.expression()
        self.expect(",")
        body = self.body(variable)
        self.expect(")")
        return binding(variable, value, body)

    def has(self) -> Term:
        """``has(a.b)``: whether a has the member b."""
        term, name = self.primary(), None
        while (sign := self.accept(".", "[")) is not None:
            if name is not None:
                term, name = _select(term, name), None
            if sign == "[":
                term = operators.index(term, self.expression())
                self.expect("]")
            else:
                name = self.next("name").text
        self.expect(")")
        if name is None:
            raise NotEvaluatedError("has(…) asks for a member such as has(a.b)")
        return operators.presence(term, name)


def _select(term: Term, name: str) -> Term:
    return operators.index(term, operators.constant(name))


def _of_device(name: str) -> Term:
    def term(driver: str, device: Device) -> Any:
        return member(driver, unbound(device), name)

    return term
