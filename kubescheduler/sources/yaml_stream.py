"""YAML streams as Kubernetes reads them: dates and odd numbers stay text, keys are text, y and on are true.

Everything that is YAML is read here: clusters, pods, policies, configurations, grids. First come scalars, then what
kubectl writes, read line by line, then anything else, by libyaml; what that does not limit itself (nesting, aliases,
merges) is limited while the nodes are composed. At the end is what writes YAML.

Every release reads with go-yaml v2 (1.16 with v2.2, 1.20 and 1.36 with v2.4) before it knows what type a value should
have: plain y and on are true in all of them, and would be text only from v3 on. Numbers to the base of 60 and dates are
text.

Whatever else YAML has (anchors, tags, merges, flow style, comments, a key that is there twice, tabs, other than ASCII)
is declined by the reader of lines, and so is every fault: libyaml then reads all of it, and says what is wrong. What it
reads is what libyaml would have read; scalars are told by the same table.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import msgspec

from clusterstate.errors import DecodeError
from kubescheduler.sources.untrusted import UNPRINTABLE, TooLongError, check_values, exceeded, json_escaped, limit

TAG = "tag:yaml.org,2002:"

_BOOLS = {**dict.fromkeys(("y", "yes", "true", "on"), True), **dict.fromkeys(("n", "no", "false", "off"), False)}
_PLAIN_SCALARS = (
    ("bool", r"y|Y|yes|Yes|YES|true|True|TRUE|on|On|ON|n|N|no|No|NO|false|False|FALSE|off|Off|OFF", "yYtToOnNfF"),
    ("null", r"|~|null|Null|NULL", ("", "~", "n", "N")),
    ("int", r"[-+]?(?:0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO]?[0-7_]*|[1-9][0-9_]*)", "+-0123456789"),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9_]+)?", "+-.0123456789"),
    ("float", r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", "+-."),
    ("merge", r"<<", "<"),
)
"""What a scalar without quotes and tag is: its kind, what it looks like, and how it begins.

The first that fits counts; what fits nowhere is text. Upstream: go-yaml v2 resolve.
"""
_WHOLE = 10**21
"""From here on JSON has whole numbers with an exponent. Upstream: encoding/json."""
_LONGEST_NUMBER = 400
"""Characters; a longer one is no number of 64 bits and stays text."""


Resolvers = dict[str, list[tuple[str, re.Pattern[str]]]]
"""First character → (tag, what a scalar of it looks like), in the order they are tried."""


def plain_scalars(before: Resolvers | None = None) -> Resolvers:
    """What plain scalars are, as PyYAML's classes have it; ``before``: what is tried first."""
    found: Resolvers = {start: list(resolvers) for start, resolvers in (before or {}).items()}
    for kind, pattern, starts in _PLAIN_SCALARS:
        for start in starts:
            found.setdefault(start, []).append((TAG + kind, re.compile(rf"(?:{pattern})$")))
    return found


@cache
def _resolvers() -> Resolvers:
    return plain_scalars()


def plain_value(text: str) -> Any:
    """The value of a scalar without quotes and tag. Upstream: go-yaml v2 resolve."""
    for tag, looks in _resolvers().get(text[:1], ()):
        if looks.match(text):
            return scalar_value(tag, text)
    return text


def scalar_value(tag: str, text: str) -> Any:
    """The value of a scalar with this tag."""
    if tag == f"{TAG}null":
        return None
    if tag == f"{TAG}bool":
        return _BOOLS.get(text.lower(), text)
    if len(text) > _LONGEST_NUMBER:
        return text
    if tag == f"{TAG}int" and ":" not in text:
        return _integer(text.replace("_", ""))
    if tag == f"{TAG}float" and ":" not in text:
        return _float(text.replace("_", "").lower())
    return text


def _integer(text: str) -> int | str:
    sign, digits = (text[0], text[1:]) if text[:1] in ("+", "-") else ("", text)
    octal = len(digits) > 1 and digits[0] == "0" and digits[1].isdigit()
    try:
        return int(sign + ("0o" + digits if octal else digits), 0)
    except ValueError:
        return text


def _float(text: str) -> float | str:
    """A number as JSON has it: whole ones without a fraction. One that no double holds stays text."""
    named = text.removeprefix("+").removeprefix("-") in (".inf", ".nan")
    try:
        number = float(text.replace(".inf", "inf").replace(".nan", "nan"))
    except ValueError:
        return text
    if number.is_integer() and abs(number) < _WHOLE:
        return int(number)
    return number if named or math.isfinite(number) else text


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


_MERGE = f"{TAG}merge"


def parse_yaml(source: str, data: bytes | str, *, notes: list[str] | None = None) -> list[Any]:
    """The documents of a stream, empty ones left out.

    notes: gets one with its path for every key that is set twice in one object; the last one counts, as upstream.
    Raises DecodeError with line and column for what is no YAML, and for what goes over a limit.
    """
    try:
        check_values(data)
    except TooLongError as error:
        raise DecodeError(f"{source}: {error}") from None
    documents = read_blocks(data)
    if documents is None:
        documents = [document for document in parsed_documents(source, data, notes) if document is not None]
    return documents


def first_document(source: str, data: bytes | str) -> tuple[Any, int | None]:
    """(the first document of a stream, how many are behind it); None for a number that cannot be known.

    A release that decodes a file reads no more than the first document: what is behind it may be anything, and an empty
    one counts. Upstream: go-yaml v2 Unmarshal. Raises DecodeError as ``parse_yaml``.
    """
    documents = parsed_documents(source, data, None)
    first = next(documents, None)
    try:
        return first, sum(document is not None for document in documents)
    except DecodeError:
        return first, None


def parsed_documents(source: str, data: bytes | str, notes: list[str] | None) -> Iterator[Any]:
    """The values of all documents by libyaml, each read when it is asked for; None for an empty one."""
    import yaml

    try:
        check_values(data)
        loader = _loader()(data)
    except TooLongError as error:
        raise DecodeError(f"{source}: {error}") from None
    except yaml.YAMLError as error:
        raise DecodeError(f"{source}: {_one_line(error)}") from None
    repeats = False
    try:
        while loader.check_node():
            reader = _Reader()
            yield reader.read(loader.get_node())
            repeats = repeats or reader.repeats
    except yaml.MarkedYAMLError as error:
        raise DecodeError(f"{source}: {_position(error, data)}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise DecodeError(f"{source}: {_one_line(error)}") from None
    except RecursionError:
        raise DecodeError(f"{source}: nested too deeply to be read") from None
    finally:
        loader.dispose()
    if repeats and notes is not None:
        notes += _repeats(source, data)


def _repeats(source: str, data: bytes | str) -> Iterator[str]:
    from kubescheduler.sources.json_stream import yaml_duplicates

    found = list(yaml_duplicates(data, several=True))
    for number, repeats in enumerate(found, 1):
        place = f"{source}: document {number}" if len(found) > 1 else source
        yield from (f"{place}: {each}; the last one counts" for each in repeats)


@cache
def _loader() -> Any:
    """libyaml's loader, if it is there, that ends where the nesting is too deep: libyaml ends the process there."""
    import yaml

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        """Counts how deep it is: both hooks are called for every node while nodes are composed."""

        yaml_implicit_resolvers = plain_scalars()

        def __init__(self, stream: bytes | str) -> None:
            super().__init__(stream)
            self._left = limit("depth") + 1

        def descend_resolver(self, parent: Any, index: Any) -> None:  # noqa: ARG002
            self._left -= 1
            if self._left < 0:
                mark = getattr(parent, "start_mark", None)
                raise yaml.MarkedYAMLError(problem=f"nested too deeply: {exceeded('depth')}", problem_mark=mark)

        def ascend_resolver(self) -> None:
            self._left += 1

    return Loader


def _one_line(error: Exception) -> str:
    from yaml.reader import ReaderError

    if isinstance(error, ReaderError):
        return f"position {error.position}: {error.reason}: #x{error.character:02x}"
    return " ".join(str(error).split())


_TABS = re.compile(r"found (?:a tab character|character .*that cannot start any token)")
"""What libyaml says of a tab where it wants spaces, the latter of other characters too."""


def _position(error: Any, data: bytes | str) -> str:
    mark = error.problem_mark or error.context_mark
    if error.problem == "exceeded maximum nesting depth":
        # libyaml looks ahead of the nodes that it gives, and from 0.2.6 on counts itself how deep that is.
        return f"{_place(mark)}: nested too deeply: {exceeded('depth')}"
    if _TABS.match(error.problem or "") and _character(data, mark) == "\t":
        return f"{_place(mark)}: a tab in the indentation; YAML takes only spaces there"
    text = ", ".join(part for part in (error.context, error.problem) if part)
    return f"{_place(mark)}: {text}" if mark else text


def _character(data: bytes | str, mark: Any) -> str:
    text = data if isinstance(data, str) else data.decode(errors="replace")
    return text.removeprefix("\ufeff")[mark.index : mark.index + 1]


def _place(mark: Any) -> str:
    return f"line {mark.line + 1}, column {mark.column + 1}"


class _Reader:
    """Turns the nodes of one document into dictionaries and lists. An alias gives the same object again."""

    def __init__(self) -> None:
        self.repeats = False
        """Whether some object sets a key twice."""
        self._known: dict[int, Any] = {}
        self._sizes: dict[int, int] = {}
        self._aliased = 0

    def read(self, node: Any) -> Any:
        """The value of a node, and of all below it."""
        value = node.value
        if isinstance(value, str):
            return value if node.tag == f"{TAG}str" else scalar_value(node.tag, value)
        if id(node) in self._known:
            return self._again(node)
        self._known[id(node)] = None
        known = self._mapping(node) if node.id == "mapping" else [self.read(item) for item in value]
        self._known[id(node)] = known
        return known

    def _again(self, node: Any) -> Any:
        """The value of a node that an alias refers to."""
        known = self._known[id(node)]
        if known is None:
            raise ValueError(f"{_place(node.start_mark)}: an alias below refers to the very value that it is part of")
        self._aliased += self._size(known)
        if self._aliased > limit("aliases"):
            raise ValueError(f"{_place(node.start_mark)}: its aliases stand for {exceeded('aliases')}")
        return known

    def _size(self, value: Any) -> int:
        """The values in a value, each alias counted as often as it occurs."""
        if not isinstance(value, dict | list):
            return 1
        size = self._sizes.get(id(value))
        if size is None:
            size = 1 + sum(map(self._size, value.values() if isinstance(value, dict) else value))
            self._sizes[id(value)] = size
        return size

    def _mapping(self, node: Any) -> dict[str, Any]:
        own = [(key, value) for key, value in node.value if key.tag != _MERGE]
        found = {_key(self.read(key), key): self.read(value) for key, value in own}
        if len(found) < len(own):
            self.repeats = True
        if len(own) == len(node.value):
            return found
        merged: dict[str, Any] = {}
        for key, value in node.value:
            if key.tag == _MERGE:
                merged |= self._merged(value)
        return merged | found

    def _merged(self, node: Any) -> dict[str, Any]:
        """What ``<<`` stands for: a mapping, or several, of which the first that has a key counts."""
        parts = list(reversed(node.value)) if node.id == "sequence" else [node]
        out: dict[str, Any] = {}
        for part in parts:
            value = self.read(part)
            if not isinstance(value, Mapping):
                raise ValueError(f"{_place(part.start_mark)}: << takes an object or a list of objects")
            out |= value
        return out


def _key(value: Any, node: Any) -> str:
    """Keys are text in JSON: numbers as written, true and false in full."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(node.value, str):
        return node.value
    raise ValueError(f"{_place(node.start_mark)}: a key must be text, not a list or object")


@cache
def _dumper_class() -> Any:
    """PyYAML's dumper that puts every text in quotes which upstream would not read as text."""
    import yaml

    base: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    return type("Dumper", (base,), {"yaml_implicit_resolvers": plain_scalars(base.yaml_implicit_resolvers)})


def yaml_dumper(*, sort_keys: bool = False, width: int = 1000) -> Callable[[Any], str]:
    """Plain data → YAML that can be shown: control characters are escapes, a value that is there twice is twice."""
    import yaml

    class Dumper(_dumper_class()):  # type: ignore[misc]
        """Puts quotes around what has to be escaped."""

        def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
            return True

    def text_of(dumper: Any, value: str) -> Any:
        style = '"' if UNPRINTABLE.search(value) else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Dumper.add_representer(str, text_of)

    def dump(value: Any) -> str:
        text: str = yaml.dump(
            value, Dumper=Dumper, sort_keys=sort_keys, default_flow_style=False, allow_unicode=True, width=width
        )
        return json_escaped(text)

    return dump
