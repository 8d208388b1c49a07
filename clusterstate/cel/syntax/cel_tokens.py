"""The tokens of an expression. Upstream: the grammar of cel-spec (langdef.md)."""

from __future__ import annotations

import re

import msgspec

from clusterstate.cel.syntax.cel_source import Issues

_ESCAPE = r"\\(?:[abfnrtv\"'\\?`]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"
_TEXT = (
    rf'[rR]"""(?s:.*?)"""|[rR]\'\'\'(?s:.*?)\'\'\'|"""(?:{_ESCAPE}|[^\\])*?"""|\'\'\'(?:{_ESCAPE}|[^\\])*?\'\'\''
    rf'|[rR]"[^"\n\r]*"|[rR]\'[^\'\n\r]*\'|"(?:{_ESCAPE}|[^\\"\n\r])*"|\'(?:{_ESCAPE}|[^\\\'\n\r])*\''
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
