"""Text from elsewhere (names, values, messages of extenders and plugins) before it reaches a terminal or a table."""

from __future__ import annotations

import re

LONGEST_WORD, LONGEST_MESSAGE = 300, 4000
"""Characters of a message that are shown: of what has no blank in it, and in all."""

_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_LONG_WORD = re.compile(rf"\S{{{LONGEST_WORD + 1},}}")
_PASSWORD = re.compile(r"(?<=://)([^\s/@:\"]*):[^\s/@\"]+(?=@)")


def escaped(text: str) -> str:
    """Control characters, also those that turn the direction of text, as ``\\x1b``; line ends and tabs stay."""
    return _UNPRINTABLE.sub(_escape, text)


def one_line(text: str) -> str:
    """The same without line ends and tabs: what is a cell or a name cannot look like two."""
    return escaped(text).replace("\n", "\\n").replace("\t", "\\t")


def shown(message: str) -> str:
    """A message as it is printed: escaped, long values cut in the middle, passwords in addresses masked."""
    return _cut(_LONG_WORD.sub(lambda word: _cut(word[0], LONGEST_WORD), _PASSWORD.sub(r"\1:***", escaped(message))))


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def _cut(text: str, most: int = LONGEST_MESSAGE) -> str:
    if len(text) <= most:
        return text
    return f"{text[: most * 2 // 3]}… ({len(text):,} characters) …{text[-most // 6 :]}"
