"""The flags of ``kubescheduler run``, all releases beside one another, as the process reads them."""

from __future__ import annotations

from docs.generate.writing import cell
from kubescheduler.live.flags import SECTIONS, Flag, FlagKind, written_value
from kubescheduler.releases.lookup import recorded_processes

NOT_THERE, EMPTY = "–", '""'
"""What stands for a flag that a release does not have, and for an empty default."""


def run_flag_tables() -> dict[str, str]:
    """Name → Markdown."""
    return {"run flags": "\n\n".join(filter(None, map(_section, SECTIONS)))}


def _section(section: str) -> str:
    """One section of help; a flag stands where the newest release that has it lists it."""
    newest = {flag.name: flag for live in recorded_processes().values() for flag in live.flags}
    names = sorted(name for name, flag in newest.items() if flag.section == section)
    if not names:
        return ""
    head = ["flag", "value", *recorded_processes(), "meaning"]
    rows = [f"### {section}\n", f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    rows += [_row(newest[name]) for name in names]
    return "\n".join(rows)


def _row(flag: Flag) -> str:
    tables = [{one.name: one for one in live.flags} for live in recorded_processes().values()]
    defaults = [_default(table[flag.name]) if flag.name in table else NOT_THERE for table in tables]
    name = f"`--{flag.name}`" + (f", `-{flag.short}`" if flag.short else "")
    idle = " **No effect here.**" if flag.idle else ""
    return f"| {name} | {flag.kind.value or 'bool'} | {' | '.join(defaults)} | {cell(flag.help)}{idle} |"


def _default(flag: Flag) -> str:
    text = written_value(flag.kind, flag.default)
    return (
        f"`{EMPTY if flag.kind is FlagKind.TEXT and not text else text}`"
        if text or flag.kind is FlagKind.TEXT
        else "none"
    )
