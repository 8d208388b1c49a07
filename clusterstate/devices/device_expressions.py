"""CEL expressions that select devices, as far as they are plain.

Understood: ``&& || !``, comparisons, ``in``, literals and lists, ``device.driver``,
``device.attributes["domain"].name``, ``device.capacity["domain"].name``, ``has(…)``, ``quantity("…")``,
``semver("…")``, ``compareTo``, ``isGreaterThan``, ``isLessThan``, ``startsWith``, ``endsWith`` and ``contains``.
Everything else raises NotEvaluatedError.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import attrs

from clusterstate.devices import device_operators as operators
from clusterstate.devices.device_values import NotEvaluatedError, member
from clusterstate.objects.resource import Device

Term = Callable[[str, Device], Any]
"""Of (driver, device): a value; may raise ValueFault."""

_TOKEN = re.compile(
    r"""\s*(?:(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|(?P<number>\d+(?![\w.]))|(?P<name>[A-Za-z_]\w*)"""
    r"""|(?P<sign>&&|\|\||==|!=|<=|>=|[<>!()\[\],.-]))"""
)
_ESCAPES = {"\\": "\\", '"': '"', "'": "'", "n": "\n", "t": "\t"}
DEEPEST, LONGEST = 50, 600
"""Brackets (and ``!``) in brackets, and tokens of an expression."""

_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=", "in")
_LITERALS = {"true": True, "false": False}


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
            depth += (token.text in "([!") - (token.text in ")]")
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
    term = parser.either()
    if parser.at < len(parser.tokens):
        raise parser.refusal()
    return term


class _Parser:
    """Recursive descent, one method per level of binding."""

    def __init__(self, tokens: list[_Token]) -> None:
        self.tokens = tokens
        self.at = 0

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
        term = self.unary()
        sign = self.accept(*_COMPARISONS)
        return term if sign is None else operators.comparison(sign, term, self.unary())

    def unary(self) -> Term:
        if self.accept("!"):
            return operators.opposite(self.unary())
        if self.accept("-"):
            return operators.constant(-int(self.next("number").text))
        return self.path()

    def path(self) -> Term:
        term = self.primary()
        while (sign := self.accept(".", "[")) is not None:
            if sign == "[":
                term = operators.index(term, self.either())
                self.expect("]")
            else:
                name = self.next("name").text
                term = operators.method(name, term, self.arguments()) if self.accept("(") else _select(term, name)
        return term

    def arguments(self, closing: str = ")") -> list[Term]:
        """What stands between an opening sign and ``closing``."""
        out: list[Term] = []
        while self.accept(closing) is None:
            if out:
                self.expect(",")
            out.append(self.either())
        return out

    def primary(self) -> Term:
        if self.accept("("):
            term = self.either()
            self.expect(")")
            return term
        if self.accept("["):
            return operators.sequence(self.arguments("]"))
        token = self.next("text", "number", "name")
        if token.kind == "text":
            return operators.constant(_unquoted(token.text))
        if token.kind == "number":
            return operators.constant(int(token.text))
        return self.named(token.text)

    def named(self, name: str) -> Term:
        """What begins with a name that was just read."""
        if name in _LITERALS:
            return operators.constant(_LITERALS[name])
        if name == "device":
            self.expect(".")
            return _of_device(self.next("name").text)
        if self.accept("("):
            return self.call(name)
        raise NotEvaluatedError(f"{name!r} is not known")

    def call(self, name: str) -> Term:
        arguments = self.arguments()
        if len(arguments) != 1:
            raise NotEvaluatedError(f"{name}(…) is not understood with {len(arguments)} arguments")
        return operators.function(name, arguments[0])


def _select(term: Term, name: str) -> Term:
    return operators.index(term, operators.constant(name))


def _of_device(name: str) -> Term:
    def term(driver: str, device: Device) -> Any:
        return member(driver, device, name)

    return term
