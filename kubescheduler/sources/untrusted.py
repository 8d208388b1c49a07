"""Input from elsewhere: how much of it is read, and how its text is shown.

A hostile or broken file ends with a message and not with the machine's memory. Each limit can be raised:
``kubescheduler --max depth=500 …``, or ``KUBESCHEDULER_LIMITS=depth=500,seeds=50000``. Names, values and messages of
extenders and plugins are made harmless before they reach a terminal or a table.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec

from clusterstate.errors import InputError

VARIABLE = "KUBESCHEDULER_LIMITS"
"""The environment variable; workers of a sweep inherit it."""


class TooLongError(ValueError):
    """A text is longer than the limits, or has no end."""


class Limit(msgspec.Struct, frozen=True):
    """What is limited, and how far."""

    default: int
    what: str
    """What is counted, for messages and the help."""
    most: int = 2**60
    """How far it can be raised."""


LIMITS: Mapping[str, Limit] = {
    "depth": Limit(100, "levels of lists and objects in one another", 400),
    "aliases": Limit(1_000_000, "values that the aliases of a YAML document stand for"),
    "values": Limit(1_000_000, "values of fewer than 16 bytes on average, as no manifest has"),
    "size": Limit(2 * 2**30, "bytes of a file, unpacked"),
    "pods": Limit(200_000, "pods that the controllers of a workload make"),
    "seeds": Limit(10_000, "seeds"),
}


def limit(name: str) -> int:
    """How far ``name`` goes. Raises InputError when the environment variable cannot be read."""
    return _changed(os.environ.get(VARIABLE, "")).get(name, LIMITS[name].default)


@contextmanager
def changed_limits(text: str) -> Iterator[None]:
    """Other limits for this process and those it starts: ``depth=500,seeds=50000``. Raises InputError."""
    before = os.environ.get(VARIABLE)
    both = _changed(before or "") | _changed(text)
    os.environ[VARIABLE] = ",".join(f"{name}={value}" for name, value in both.items())
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before


def exceeded(name: str) -> str:
    """The end of a message about a limit: how far it goes, and how to raise it."""
    return f"more than {limit(name):,} {LIMITS[name].what}; to allow more: kubescheduler --max {name}=NUMBER …"


def check_values(data: bytes | str) -> None:
    """Raises TooLongError for a text of many tiny values: each takes many times its size in memory once it is read.

    Lines and commas are counted; lists and objects in one another are limited by ``depth``.
    """
    if len(data) < limit("values"):
        return
    most = max(data.count(","), data.count("\n")) if isinstance(data, str) else max(map(data.count, (b",", b"\n")))
    if most > limit("values") and most * 16 > len(data):
        raise TooLongError(exceeded("values"))


def _changed(text: str) -> dict[str, int]:
    out: dict[str, int] = {}
    for part in filter(None, text.split(",")):
        name, _, number = part.partition("=")
        if name not in LIMITS:
            raise InputError(f"--max {part}: there is no such limit; there are {', '.join(LIMITS)}")
        if not number.isdecimal() or len(number) > 18:
            raise InputError(f"--max {part}: write it as {name}=NUMBER")
        if int(number) > LIMITS[name].most:
            raise InputError(f"--max {part}: the most is {LIMITS[name].most}")
        out[name] = int(number)
    return out


LONGEST_WORD, LONGEST_MESSAGE = 300, 4000
"""Characters of a message that are shown: of what has no blank in it, and in all."""

UNPRINTABLE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Control characters, also those that turn the direction of text, and halves of pairs of surrogates."""
_IN_A_LINE = re.compile(UNPRINTABLE.pattern.replace("\\ud800-\\udfff", ""))
"""The same of what was decoded from UTF-8."""
_LONG_WORD = re.compile(rf"\S{{{LONGEST_WORD + 1},}}")
_PASSWORD = re.compile(r"(?<=://)([^\s/@:\"]*):[^\s/\"]*(?=@)")


def escaped(text: str) -> str:
    """Control characters, also those that turn the direction of text, as ``\\x1b``; line ends and tabs stay."""
    return UNPRINTABLE.sub(_escape, text)


def one_line(text: str) -> str:
    """The same without line ends and tabs: what is a cell or a name cannot look like two."""
    return escaped(text).replace("\n", "\\n").replace("\t", "\\t")


def csv_cell(text: str) -> str:
    """A text in one line as a cell; what a spreadsheet would take for a formula has an apostrophe before it."""
    return f"'{text}" if is_formula(text) else text


def is_formula(text: str) -> bool:
    """Whether a spreadsheet would run a cell with the text, or did before an apostrophe was put there."""
    return text.lstrip("'").startswith(("=", "+", "-", "@", "\t"))


def json_text(value: Any, indent: int = 0) -> str:
    """A value as JSON whose control characters are escapes of JSON, so that it can be shown. indent: 0: in one line."""
    encoded = msgspec.json.encode(value)
    return json_escaped((msgspec.json.format(encoded, indent=indent) if indent else encoded).decode())


def json_escaped(text: str) -> str:
    """JSON without control characters; it means the same."""
    return _IN_A_LINE.sub(_unicode_escape, text)


def json_shown(text: str) -> str:
    """JSON whose control characters are read as visible escapes, for a page that shows what it reads."""
    return _IN_A_LINE.sub(lambda found: "\\" + _unicode_escape(found), text)


def shown(message: str) -> str:
    """A message as it is printed: escaped, long values cut in the middle, passwords in addresses masked.

    Lines after the first are indented, so that a name with a line end in it cannot look like a message of its own.
    """
    message = message.replace("\n", "\n  ")
    return _cut(_LONG_WORD.sub(lambda word: _cut(word[0], LONGEST_WORD), _PASSWORD.sub(r"\1:***", escaped(message))))


def _unicode_escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def _cut(text: str, most: int = LONGEST_MESSAGE) -> str:
    if len(text) <= most:
        return text
    return f"{text[: most * 2 // 3]}… ({len(text):,} characters) …{text[-most // 6 :]}"


def is_utf8(text: bytes) -> bool:
    """Whether bytes are text. Releases of msgspec say differently of JSON that they are not."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
