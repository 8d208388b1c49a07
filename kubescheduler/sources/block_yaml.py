"""YAML as kubectl writes it, read line by line in a tenth of the time that a parser of all of YAML takes.

Only blocks are read: a key with its value, or an item of a list, in a line each; long texts may go on in the next.
Whatever else YAML has (anchors, tags, merges, flow style, comments, a key that is there twice, tabs, other than ASCII)
is declined, and so is every fault: ``yaml_stream`` then reads all of it by libyaml, which says what is wrong. What is
read is what libyaml would have read; scalars are told by the same table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from kubescheduler.sources.limits import limit
from kubescheduler.sources.yaml_scalars import plain_value

REMEMBERED = 100_000
"""Lines; most lines of a list of objects are there many times."""

_UNUSUAL = re.compile(r"[^\n -~]")
_KEY = r"[A-Za-z0-9_./](?:[^ :]|:(?! |$)){0,500}|\"[^\"\\]{0,500}\"|'[^']{0,500}'"
_LINE = re.compile(rf"( *)((?:- )*)(?:({_KEY}):(?: +(.*))?|(.*))")
_PLAIN = re.compile(r"[A-Za-z0-9/_.+~$(\\]|-[\w.]")
"""How a text without quotes begins."""
_QUOTED = re.compile(r"\"(?:[^\"\\]|\\[\"\\nt])*\"|'(?:[^']|'')*'")

PLAIN, QUOTED, NOTHING, EMPTY, BEGUN, GOES_ON, BLANK = range(7)
"""What a line has behind its key or dashes: a scalar without quotes, which may go on in the next line; one in quotes;
nothing, as the value is in the lines below; an empty list or object; the beginning of a text of several lines. Or it
has neither key nor dash, and goes on with the line before; or it has nothing at all."""

Line = tuple[int, int, str | None, int, Any, str]
"""Column, dashes before its content, key if there is one, one of the above, value, a plain value's text."""


class _Unusual(Exception):
    """A line that is read by libyaml."""


def read_blocks(data: bytes | str) -> list[Any] | None:
    """The documents of a stream that are not empty; None for one that has anything unusual in it, or a fault."""
    if not data.isascii():
        return None
    text = data if isinstance(data, str) else data.decode()
    if _UNUSUAL.search(text) or not text.endswith("\n"):
        return None
    try:
        return [document for document in _documents(text.split("\n")) if document is not None]
    except _Unusual:
        return None


def _documents(lines: list[str]) -> Iterator[Any]:
    """The value of each document; None for an empty one."""
    begin = 0
    while begin < len(lines):
        try:
            end = lines.index("---", begin)
        except ValueError:
            end = len(lines)
        yield _Document(lines[begin:end]).read()
        begin = end + 1


class _Document:
    """One document while it is read."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._number = 0
        """How many lines were read by the last text of several lines and before."""
        self._open: list[tuple[int, Any]] = []
        """(column, list or object) of those that lines can still be added to, the innermost last."""
        self._most = limit("depth")

    def read(self) -> Any:
        """The value of the document. Raises _Unusual."""
        lines, known = self._lines, dict[str, Line]()
        at = -1
        inside: Any = None
        waiting: str | None = None
        """The key in the innermost object whose value is in the lines below."""
        before: Line | None = None
        for number, line in enumerate(lines, 1):
            if number <= self._number:
                continue  # it was a part of the text of several lines before it
            parsed = known.get(line)
            if parsed is None:
                parsed = _parsed(line)
                if len(known) < REMEMBERED:
                    known[line] = parsed
            column, dashes, key, kind, value, _ = parsed
            if kind >= GOES_ON:
                before = None if kind == BLANK else _longer(before, at, column, value)
                if before is not None:
                    inside[-1 if before[2] is None else before[2]] = before[4]
                continue
            if dashes or column != at or waiting is not None or type(inside) is list:
                at, inside = self._inside(column, dashes, key is not None, waiting)
                waiting = key if kind == NOTHING else None
            elif kind == NOTHING:
                waiting = key
            if kind > NOTHING:
                value = type(value)() if kind == EMPTY else self._whole(value, number, at)
            if key is None:
                inside.append(value)
            elif key in inside:
                raise _Unusual
            else:
                inside[key] = value
            before = parsed
        return self._open[0][1] if self._open else None

    def _inside(self, column: int, dashes: int, keyed: bool, waiting: str | None) -> tuple[int, Any]:
        """(column, list or object) of what the content of a line is added to."""
        stack = self._open
        if waiting is not None and (column > stack[-1][0] or (dashes and column == stack[-1][0])):
            new: Any = [] if dashes else {}
            stack[-1][1][waiting] = new
            stack.append((column, new))
        elif not stack:
            stack.append((0, [] if dashes else {}))
        while stack and stack[-1][0] > column:
            stack.pop()
        if not dashes and len(stack) > 1 and type(stack[-1][1]) is list:
            stack.pop()  # a list may stand in the column of the key that has it
        if not stack or stack[-1][0] != column or (type(stack[-1][1]) is list) != bool(dashes):
            raise _Unusual
        inside = stack[-1][1]
        for dash in range(1, dashes + keyed):
            new = [] if dash < dashes else {}
            inside.append(new)
            column += 2
            stack.append((column, new))
            inside = new
        if len(stack) >= self._most:
            raise _Unusual
        return column, inside

    def _whole(self, begun: _Begun, number: int, column: int) -> str:
        """A text of several lines; those behind the first are read, up to its end."""
        self._number = number
        line = self._lines[self._number] if self._number < len(self._lines) else ""
        indent = len(line) - len(line.lstrip(" "))
        if indent <= column or indent == len(line):
            raise _Unusual
        return self._quoted(begun.text, column) if begun.text else self._literal(" " * indent, begun.end)

    def _quoted(self, text: str, column: int) -> str:
        parts = [text]
        while not parts[-1].endswith("'") or len(parts) == 1:
            line = self._lines[self._number] if self._number < len(self._lines) else ""
            part = line.lstrip(" ")
            self._number += 1
            if not part or part[-1] == " " or len(line) - len(part) <= column:
                raise _Unusual
            parts.append(part)
        whole = " ".join(parts)
        if not _QUOTED.fullmatch(whole):
            raise _Unusual
        return whole[1:-1].replace("''", "'")

    def _literal(self, margin: str, end: str) -> str:
        lines, begin = self._lines, self._number
        while self._number < len(lines) and (lines[self._number].startswith(margin) or not lines[self._number]):
            self._number += 1
        text = [line[len(margin) :] for line in lines[begin : self._number]]
        if any(line.isspace() for line in text) or (self._number < len(lines) and lines[self._number].isspace()):
            raise _Unusual
        return "\n".join(text).rstrip("\n") + end


def _longer(before: Line | None, at: int, column: int, text: str) -> Line:
    """The line before with a text without quotes that goes on in another line."""
    if before is None or before[3] != PLAIN or column <= at:
        raise _Unusual
    whole = f"{before[5]} {text}"
    return (*before[:4], plain_value(whole), whole)


class _Begun(msgspec.Struct, frozen=True):
    """A text whose end is in the lines below: in quotes if ``text`` is there, else as it is, with ``end`` behind it."""

    text: str = ""
    end: str = ""


def _parsed(line: str) -> Line:
    if not line:
        return 0, 0, None, BLANK, None, ""
    match = _LINE.fullmatch(line)
    if match is None:
        raise _Unusual
    indent, dashes, key, value, alone = match.groups()
    column, dashes = len(indent), len(dashes) // 2
    if key is None:
        if dashes:
            return column, dashes, None, *_value(alone)
        return column, 0, None, GOES_ON, _plain(alone), ""
    if key[0] in "\"'":
        key = key[1:-1]
    elif isinstance(plain_value(key), bool):
        key = str(plain_value(key)).lower()
    return column, dashes, key, *((NOTHING, None, "") if value is None else _value(value))


def _plain(text: str) -> str:
    if _PLAIN.match(text) and ": " not in text and " #" not in text and text[-1] not in " :":
        return text
    raise _Unusual


def _value(text: str) -> tuple[int, Any, str]:
    begin = text[:1]
    if begin in ("'", '"'):
        if not _QUOTED.fullmatch(text):
            if begin == '"' or text[-1] == " ":
                raise _Unusual
            return BEGUN, _Begun(text), ""
        if begin == "'":
            return QUOTED, text[1:-1].replace("''", "'"), ""
        return QUOTED, msgspec.json.decode(text) if "\\" in text else text[1:-1], ""
    if text in ("{}", "[]"):
        return EMPTY, [] if text == "[]" else {}, ""
    if text in ("|", "|-"):
        return BEGUN, _Begun(end="\n" if text == "|" else ""), ""
    return PLAIN, plain_value(_plain(text)), text
