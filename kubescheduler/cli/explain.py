"""``kubescheduler explain``: the page of a rule, by its name or by a reason that it gives."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

import click

from kubescheduler.cli.common_options import Completions, ReleaseName, beginning
from kubescheduler.cli.help_groups import CheckedCommand
from kubescheduler.releases.names import RELEASE_NAMES, place, spoken

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kubescheduler.cli.output import Screen
    from kubescheduler.report.rule_pages import RulePage

LINE = 100
"""Columns of a page where there is room, as of ``--help``."""


def rules_and_reasons(_: click.Context, __: click.Parameter, begun: str) -> Completions:
    """Names of predicates, priorities and plugins; once they begin like nothing, reasons."""
    from kubescheduler.report.rule_pages import all_pages

    pages = all_pages()
    names = beginning(begun, sorted({page.name for page in pages}))
    return names or beginning(begun, sorted({reason for page in pages for reason in page.reasons}))


@click.command(
    cls=CheckedCommand,
    short_help="Say what a predicate, priority or plugin does, or where a reason comes from.",
    epilog="Exit status: 0 the page is shown, 2 there is no such rule or reason, or wrong usage.",
)
@click.argument("rule", nargs=-1, required=True, metavar="RULE|REASON", shell_complete=rules_and_reasons)
@click.option(
    "--release",
    type=ReleaseName(RELEASE_NAMES),
    help="Say what it does in this release, and what changed of it before and after.",
)
def explain(rule: tuple[str, ...], release: str | None) -> int:
    """Say what a predicate, priority or plugin does, in every release that has it.

    A reason that a scheduler gives, or a whole message of one, leads to the rules that give it.

    \b
    Examples:
      kubescheduler explain PodFitsResources
      kubescheduler explain NodeResourcesFit
      kubescheduler explain Insufficient cpu
      kubescheduler explain "node(s) had untolerated taint(s)"
      kubescheduler explain PodTopologySpread --release 1.26
    """
    from clusterstate.errors import InputError, nearest
    from kubescheduler.cli.output import Screen, screen_of
    from kubescheduler.report.rule_pages import all_pages, of_release, pages_about

    wanted, pages = " ".join(rule).strip(), all_pages()
    matching = pages_about(wanted, pages) if wanted else []
    if not matching:
        names = sorted({page.name for page in pages})
        raise InputError(f"no predicate, priority, plugin or reason is {wanted!r}{nearest(wanted, names)}")
    shown_on = screen_of(sys.stdout)
    screen = Screen(min(shown_on.width or LINE, LINE), shown_on.colour)
    shown = matching if release is None else [own for page in matching if (own := of_release(page, release))]
    if not shown:
        others = "; ".join(f"{page.name} is a {page.kind} of {spoken(page.releases)}" for page in matching)
        raise InputError(f"release {release} has no such rule: {others}")
    more = {page.name: _history(page.name, release, screen) if release else () for page in shown}
    click.echo("\n\n\n".join(_shown_page(page, screen, more[page.name]) for page in shown))
    return 0


def _history(name: str, release: str, screen: Screen) -> list[str]:
    """What changed of a rule up to a release, and what after it."""
    from kubescheduler.releases.lookup import changes_of_rule

    found = [
        (place(record.name), f"{record.name} {change.name}: {change.text}") for record, change in changes_of_rule(name)
    ]
    until = [text for at, text in found if at <= place(release)]
    since = [text for at, text in found if at > place(release)]
    return [
        "\n".join((title, *(screen.filled(text, "  ") for text in texts or ["no change that is listed"])))
        for title, texts in ((f"What changed up to {release}:", until), (f"What changed after {release}:", since))
    ]


def _shown_page(page: RulePage, screen: Screen, more: Sequence[str]) -> str:
    """What there is to know of a rule, filled to the screen's width. more: paragraphs that stand at the end."""
    from kubescheduler.report.rule_pages import by_range

    head = f"{page.name}: {page.kind} of {spoken(page.releases)}"
    parts = [screen.paint(screen.filled(head), "head"), *_paragraphs(page.text, screen)]
    parts += ["\n".join(screen.filled(fact) for fact in page.facts)] if page.facts else []
    parts += [screen.filled(f"In {releases}: {said}") for releases, said in by_range(page.differs) if said]
    if page.reasons:
        lines = (screen.filled(f"{text} ({code})" if code else text, "  ") for text, code in page.reasons.items())
        parts.append("\n".join(("Reasons:", *lines)))
    return "\n\n".join([*parts, *more, screen.filled(f"The documentation has this in {page.page}.")])


def _paragraphs(text: str, screen: Screen) -> Iterator[str]:
    """Markdown as text: formulas stay as they are, everything else is filled."""
    from kubescheduler.report.rule_pages import in_one_line

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
