"""``kubescheduler explain``: the page of a rule, by its name or by a reason that it gives."""

from __future__ import annotations

import click

from kubescheduler.cli.terminal.empty_values import CheckedCommand
from kubescheduler.cli.terminal.known_names import Completions, beginning

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
def explain(rule: tuple[str, ...]) -> int:
    """Say what a predicate, priority or plugin does, in every release that has it.

    A reason that a scheduler gives, or a whole message of one, leads to the rules that give it.

    \b
    Examples:
      kubescheduler explain PodFitsResources
      kubescheduler explain NodeResourcesFit
      kubescheduler explain Insufficient cpu
      kubescheduler explain "node(s) had untolerated taint(s)"
    """
    import sys

    from clusterstate.errors import InputError, nearest
    from kubescheduler.cli.explaining.rule_page_text import shown_page
    from kubescheduler.cli.terminal.screen import Screen, screen_of
    from kubescheduler.report.rule_pages import all_pages, pages_about

    wanted, pages = " ".join(rule).strip(), all_pages()
    found = pages_about(wanted, pages) if wanted else []
    if not found:
        names = sorted({page.name for page in pages})
        raise InputError(f"no predicate, priority, plugin or reason is {wanted!r}{nearest(wanted, names)}")
    shown_on = screen_of(sys.stdout)
    screen = Screen(min(shown_on.width or LINE, LINE), shown_on.colour)
    click.echo("\n\n\n".join(shown_page(page, screen) for page in found))
    return 0
