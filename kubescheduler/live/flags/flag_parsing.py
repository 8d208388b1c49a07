"""Reading a command line as pflag reads it, with its texts for what is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from clusterstate.errors import ConfigError
from kubecel.api_names import go_quote
from kubescheduler.live.flags.flag_kinds import ALONE, COLLECTING, FlagKind, read_value


class Flag(msgspec.Struct, frozen=True):
    """One flag."""

    name: str
    kind: FlagKind
    default: Any
    """Durations are nanoseconds, several texts a tuple, pairs a mapping."""
    help: str
    deprecated: bool = False
    """Whether help says so; nothing is said where it is used."""
    short: str = ""
    """One letter."""
    section: str = ""
    """Under which help lists it: ``Misc``, ``Secure serving`` and so on."""
    idle: bool = False
    """Whether it is read, and has no effect here."""


class FlagValues(msgspec.Struct, frozen=True, eq=False):
    """What a command line says."""

    values: Mapping[str, Any]
    """Flag → its value, or its default."""
    given: tuple[str, ...]
    """The flags that are on the command line, those given last at the end."""
    arguments: tuple[str, ...]
    """What is no flag."""

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def get(self, name: str) -> Any:
        """The value of a flag; None where the release does not have it."""
        return self.values.get(name)

    def said(self, name: str) -> Any:
        """The value on the command line; None when it is not there."""
        return self.values[name] if name in self.given else None


class FlagError(ConfigError):
    """A command line that cannot be read; one text, pflag's."""


def parse_flags(table: Iterable[Flag], arguments: Sequence[str]) -> FlagValues:
    """Reads a command line. Raises FlagError at the first fault, as pflag does."""
    flags = {flag.name: flag for flag in table}
    shorts = {flag.short: flag for flag in flags.values() if flag.short}
    values = {name: flag.default for name, flag in flags.items()}
    given: dict[str, None] = {}
    left, rest = list(arguments), []
    while left:
        word = left.pop(0)
        if word == "--":
            rest += left
            break
        if not word.startswith("-") or word == "-":
            rest.append(word)
            continue
        flag, text = _flag(word, flags, shorts)
        if text is None:
            text = _next(flag, word, left)
        value = _value(flag, text)
        again = flag.name in given and flag.kind in COLLECTING
        values[flag.name] = _joined(values[flag.name], value) if again else value
        given.pop(flag.name, None)
        given[flag.name] = None
    return FlagValues(values, tuple(given), tuple(rest))


def _flag(word: str, flags: Mapping[str, Flag], shorts: Mapping[str, Flag]) -> tuple[Flag, str | None]:
    """(the flag of a word, its value where that stands behind the equals sign)."""
    name, equals, text = word.lstrip("-").partition("=")
    if word.startswith("--"):
        flag = flags.get(name.replace("_", "-"))
        if flag is None:
            raise FlagError(f"unknown flag: --{name}")
        return flag, text if equals else None
    flag = shorts.get(word[1:2])
    if flag is None:
        raise FlagError(f"unknown shorthand flag: {_letter(word[1:2])} in {word}")
    value = word[2:].removeprefix("=")
    return flag, value or None


def _letter(letter: str) -> str:
    return f"'{letter}'"


def _next(flag: Flag, word: str, left: list[str]) -> str:
    """The value of a flag that has none behind an equals sign."""
    if flag.kind in ALONE:
        return ALONE[flag.kind]
    if not left:
        raise FlagError(
            f"flag needs an argument: {word if word.startswith('--') else _letter(word[1:]) + ' in ' + word}"
        )
    return left.pop(0)


def _joined(before: Any, more: Any) -> Any:
    return {**before, **more} if isinstance(before, dict) else (*before, *more)


def _value(flag: Flag, text: str) -> Any:
    """What a text says. Raises FlagError with pflag's text."""
    try:
        return read_value(flag.kind, text)
    except ValueError as error:
        shown = f"-{flag.short}, --{flag.name}" if flag.short else f"--{flag.name}"
        raise FlagError(f"invalid argument {go_quote(text)} for {go_quote(shown)} flag: {error}") from None
