"""What is written about flags: help, the values of a run, and those without effect."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from kubecel.api_names import go_quote
from kubescheduler.live.flags.flag_kinds import FlagKind, written_value
from kubescheduler.live.flags.flag_parsing import Flag, FlagValues

SECTIONS = (
    "Misc",
    "Secure serving",
    "Insecure serving",
    "Authentication",
    "Authorization",
    "Deprecated",
    "Leader election",
    "Feature gate",
    "Metrics",
    "Logs",
    "Global",
)
"""In the order in which help lists them."""

WIDTH, INDENT = 80, " " * 10
"""Columns of help, and what stands before the meaning of a flag."""


def usage(table: Iterable[Flag]) -> str:
    """All flags of a table, section by section, each with its type, its meaning and its default."""
    flags = sorted(table, key=lambda flag: flag.name)
    lines = ["Usage:\n  kube-scheduler [flags]\n"]
    for section in SECTIONS:
        found = [flag for flag in flags if flag.section == section]
        if found:
            lines.append(f"\n{section} flags:\n\n")
            lines += map(_line, found)
    return "".join(lines)


def _line(flag: Flag) -> str:
    name = f"-{flag.short}, --{flag.name}" if flag.short else f"    --{flag.name}"
    head = f"  {name} {flag.kind.value}".rstrip()
    idle = " No effect here." if flag.idle else ""
    text = textwrap.fill(
        f"{flag.help}{idle}{_default(flag)}",
        WIDTH,
        initial_indent=INDENT,
        subsequent_indent=INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return f"{head}\n{text}\n"


def _default(flag: Flag) -> str:
    if not flag.default or flag.kind is FlagKind.VERSION:
        return ""
    text = written_value(flag.kind, flag.default)
    return f" (default {go_quote(text) if flag.kind is FlagKind.TEXT else text})"


def flag_lines(table: Iterable[Flag], values: FlagValues) -> list[str]:
    """``FLAG: --name="value"`` for every flag, by name: what upstream logs at verbosity 1."""
    flags = sorted(table, key=lambda flag: flag.name)
    return [f"FLAG: --{flag.name}={go_quote(written_value(flag.kind, values[flag.name]))}" for flag in flags]


def no_effect_notes(table: Iterable[Flag], values: FlagValues) -> list[str]:
    """One sentence that names the given flags without effect; none where there are none."""
    idle = [f"--{flag.name}" for flag in table if flag.idle and flag.name in values.given]
    if not idle:
        return []
    return [f"{', '.join(idle)} {'has' if len(idle) == 1 else 'have'} no effect here"]
