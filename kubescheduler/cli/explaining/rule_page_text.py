"""The page of a rule as text for a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from kubescheduler.cli.terminal.screen import Screen
from kubescheduler.report.rule_pages import RulePage, in_one_line


def shown_page(page: RulePage, screen: Screen) -> str:
    """What there is to know of a rule, filled to the screen's width."""
    head = f"{page.name}: {page.kind} of {_listed(page.releases)}"
    parts = [screen.paint(screen.filled(head), "head"), *_paragraphs(page.text, screen)]
    parts += ["\n".join(screen.filled(fact) for fact in page.facts)] if page.facts else []
    parts += [screen.filled(f"In {release}: {said}") for release, said in page.differs.items() if said]
    if page.reasons:
        lines = (screen.filled(f"{text} ({code})" if code else text, "  ") for text, code in page.reasons.items())
        parts.append("\n".join(("Reasons:", *lines)))
    return "\n\n".join([*parts, screen.filled(f"The documentation has this in {page.page}.")])


def _paragraphs(text: str, screen: Screen) -> Iterator[str]:
    """Markdown as text: formulas stay as they are, everything else is filled."""
    for block in re.split(r"\n\s*\n", text.strip()):
        lines = block.splitlines()
        for formula, group in _runs(lines):
            yield "\n".join(group) if formula else screen.filled(in_one_line(" ".join(group)))


def _runs(lines: Iterable[str]) -> Iterator[tuple[bool, list[str]]]:
    """Lines that follow one another and are all indented, or all not."""
    runs: list[tuple[bool, list[str]]] = []
    for line in lines:
        formula = line.startswith("    ")
        if not runs or runs[-1][0] != formula:
            runs.append((formula, []))
        runs[-1][1].append(line)
    yield from runs


def _listed(names: Iterable[str]) -> str:
    return " and ".join(names)
