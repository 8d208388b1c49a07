"""Text from elsewhere (names, values, messages of extenders and plugins) before it reaches a terminal or a table."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

LONGEST_WORD, LONGEST_MESSAGE = 300, 4000
"""Characters of a message that are shown: of what has no blank in it, and in all."""

_UNPRINTABLE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_IN_A_LINE = re.compile(_UNPRINTABLE.pattern.replace("\\ud800-\\udfff", ""))
"""The same of what was decoded from UTF-8."""
_LONG_WORD = re.compile(rf"\S{{{LONGEST_WORD + 1},}}")
_PASSWORD = re.compile(r"(?<=://)([^\s/@:\"]*):[^\s/\"]*(?=@)")


def escaped(text: str) -> str:
    """Control characters, also those that turn the direction of text, as ``\\x1b``; line ends and tabs stay."""
    return _UNPRINTABLE.sub(_escape, text)


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


def yaml_dumper(*, sort_keys: bool = False, width: int = 1000) -> Callable[[Any], str]:
    """Plain data → YAML that can be shown: control characters are escapes, a value that is there twice is twice."""
    import yaml

    from kubescheduler.sources.yaml_stream import dumper_class

    class Dumper(dumper_class()):  # type: ignore[misc]
        """Puts quotes around what has to be escaped."""

        def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
            return True

    def text_of(dumper: Any, value: str) -> Any:
        style = '"' if _UNPRINTABLE.search(value) else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Dumper.add_representer(str, text_of)

    def dump(value: Any) -> str:
        text: str = yaml.dump(
            value, Dumper=Dumper, sort_keys=sort_keys, default_flow_style=False, allow_unicode=True, width=width
        )
        return json_escaped(text)

    return dump


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
