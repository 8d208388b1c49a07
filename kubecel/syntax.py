"""The text of an expression as tokens, and the tree that it is parsed to."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, TypeAlias

import attrs
import msgspec

from kubecel import CompileFault, NotEvaluatedError
from kubecel.values import LEAST_INT, MOST_INT, MOST_UINT, UInt, Value

# --- Messages that point into an expression. Upstream: cel-go common/error.go ---------------------

MOST_ISSUES = 100


@attrs.define
class Issues:
    """What is wrong with an expression."""

    source: str
    found: list[tuple[int, str]] = attrs.field(factory=list)
    """(where, in characters; what)."""

    def report(self, at: int, message: str) -> None:
        """Adds one."""
        self.found.append((at, message))

    def raise_any(self) -> None:
        """Raises CompileFault with all that was reported, by place."""
        if not self.found:
            return
        ordered = sorted(self.found[:MOST_ISSUES], key=lambda issue: issue[0])
        texts = [self._shown(at, message) for at, message in ordered]
        if len(self.found) > MOST_ISSUES:
            texts.append(f"{len(self.found) - MOST_ISSUES} more errors were truncated")
        raise CompileFault("compilation failed: " + "\n".join(texts))

    def _shown(self, at: int, message: str) -> str:
        before = self.source[:at]
        line, column = before.count("\n"), at - (before.rfind("\n") + 1)
        text = self.source.split("\n")[line].replace("\t", " ")
        dots = "".join("." if sign.isascii() else "．" for sign in text[:column])
        pointer = "^" if text[column : column + 1].isascii() else "＾"
        return f"ERROR: <input>:{line + 1}:{column + 1}: {message}\n | {text}\n | {dots}{pointer}"


# --- The tokens of an expression. Upstream: the grammar of cel-spec (langdef.md) ------------------

_ESCAPED = r"\\(?:[abfnrtv\"'\\?`]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"
_TEXT = (
    rf'[rR]"""(?s:.*?)"""|[rR]\'\'\'(?s:.*?)\'\'\'|"""(?:{_ESCAPED}|[^\\])*?"""|\'\'\'(?:{_ESCAPED}|[^\\])*?\'\'\''
    rf'|[rR]"[^"\n\r]*"|[rR]\'[^\'\n\r]*\'|"(?:{_ESCAPED}|[^\\"\n\r])*"|\'(?:{_ESCAPED}|[^\\\'\n\r])*\''
)
_TOKEN = re.compile(
    rf"(?P<space>[\t \r\n\f]+|//[^\n]*)|(?P<bytes>[bB](?:{_TEXT}))|(?P<text>{_TEXT})"
    r"|(?P<float>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<uint>(?:0x[0-9a-fA-F]+|[0-9]+)[uU])|(?P<int>0x[0-9a-fA-F]+|[0-9]+)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<escaped>`[A-Za-z0-9_.\-/ ]+`)"
    r"|(?P<sign>&&|\|\||==|!=|<=|>=|[<>!()\[\]{},.?:+*/%-])"
)
_KEYWORDS = ("in", "true", "false", "null")


class Token(msgspec.Struct, frozen=True):
    """A piece of an expression."""

    kind: str
    """``text``, ``bytes``, ``float``, ``uint``, ``int``, ``name``, ``escaped``, ``sign``, ``keyword`` or ``end``."""
    text: str
    at: int


def tokens_of(source: str, issues: Issues) -> list[Token]:
    """All tokens and an end; what is none is reported."""
    out: list[Token] = []
    at = 0
    while at < len(source):
        match = _TOKEN.match(source, at)
        if match is None:
            issues.report(at, f"Syntax error: token recognition error at: '{source[at]}'")
            at += 1
            continue
        kind = str(match.lastgroup)
        if kind != "space":
            text = match[0]
            out.append(Token("keyword" if kind == "name" and text in _KEYWORDS else kind, text, at))
        at = match.end()
    out.append(Token("end", "<EOF>", len(source)))
    return out


# --- What literals stand for. Upstream: cel-go parser/unescape.go ---------------------------------

_ESCAPE = re.compile(
    r"\\(?:(?P<sign>[abfnrtv\"'\\?`])|(?P<octal>[0-3][0-7]{2})|[xX](?P<byte>[0-9a-fA-F]{2})"
    r"|u(?P<short>[0-9a-fA-F]{4})|U(?P<long>[0-9a-fA-F]{8}))"
)
_SIGNS = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_MOST_DIGITS = 100


def int_literal(text: str) -> int | None:
    """``-0x1f`` or ``31``; None for what is no int."""
    number = _whole(text)
    return number if number is not None and LEAST_INT <= number <= MOST_INT else None


def uint_literal(text: str) -> UInt | None:
    """``31u``; None for what is no uint."""
    number = _whole(text[:-1])
    return UInt(number) if number is not None and number <= MOST_UINT else None


def float_literal(text: str) -> float | None:
    """None for what a double cannot hold."""
    number = float(text)
    return None if math.isinf(number) else number


def _whole(text: str) -> int | None:
    if len(text) > _MOST_DIGITS:
        return None
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text)
    return sign * (int(digits, 16) if digits.startswith("0x") else int(digits))


def _body(literal: str) -> tuple[str, bool]:
    """(what stands between the quotes, whether escapes count)."""
    literal = literal.replace("\r\n", "\n").replace("\r", "\n")
    raw = literal[0] in "rR"
    literal = literal[1:] if raw else literal
    width = 3 if len(literal) >= 6 and literal[:3] in ('"""', "'''") else 1
    return literal[width:-width], raw


def text_literal(literal: str) -> str | None:
    """A string; None for an escape of what is no character."""
    body, raw = _body(literal)
    if raw:
        return body
    if any(not _is_character(_code(match)) for match in _ESCAPE.finditer(body)):
        return None
    return _ESCAPE.sub(lambda match: chr(_code(match)), body)


def bytes_literal(literal: str) -> bytes | None:
    """Bytes; None for an escape of a code point, which bytes lack."""
    body, raw = _body(literal[1:])
    if raw:
        return body.encode("utf-8", "surrogatepass")
    out, at = b"", 0
    for match in _ESCAPE.finditer(body):
        if match["short"] or match["long"]:
            return None
        out += body[at : match.start()].encode("utf-8", "surrogatepass") + bytes([_code(match)])
        at = match.end()
    return out + body[at:].encode("utf-8", "surrogatepass")


def _code(match: re.Match[str]) -> int:
    if match["sign"]:
        return ord(_SIGNS.get(match["sign"], match["sign"]))
    if match["octal"]:
        return int(match["octal"], 8)
    return int(match["byte"] or match["short"] or match["long"], 16)


def _is_character(code: int) -> bool:
    return code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF


# --- The nodes of a parsed expression -------------------------------------------------------------

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
