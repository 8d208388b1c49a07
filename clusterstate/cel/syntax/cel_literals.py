"""What literals stand for. Upstream: cel-go parser/unescape.go."""

from __future__ import annotations

import math
import re

from clusterstate.cel.values.cel_values import LEAST_INT, MOST_INT, MOST_UINT, UInt

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
