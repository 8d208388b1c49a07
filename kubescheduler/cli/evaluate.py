"""``kubescheduler evaluate``: the protocol by which other programs ask for decisions."""

from __future__ import annotations

import sys

import click

from kubescheduler.cli.common_options import FEATURE_GATES, RELEASE
from kubescheduler.cli.help_groups import CheckedCommand


@click.command(
    cls=CheckedCommand,
    short_help="Answer scenarios, given as JSON Lines, with decisions.",
    epilog="Exit status: 0 every line has its answer, or an error in place of it: see the member error; 2 wrong usage.",
)
@RELEASE
@FEATURE_GATES
def evaluate(release: str, feature_gates: str) -> None:
    """Answer scenarios (JSON Lines on standard input) with one JSON line per query.

    Objects are taken as an API server stores them: nothing is defaulted. A bad query is answered with its error.

    \b
    Example:
      kubescheduler evaluate --release 1.16 < scenarios.jsonl
    """
    from clusterstate.errors import InputError
    from kubescheduler.engine.evaluate_protocol import evaluate as answers
    from kubescheduler.sources.files import text_lines
    from kubescheduler.sources.untrusted import TooLongError, json_text

    out = sys.stdout.buffer
    try:
        for result in answers(text_lines(sys.stdin.buffer), release, feature_gates or ""):
            out.write(json_text(result).encode() + b"\n")
            out.flush()
    except TooLongError as error:
        raise InputError(f"standard input: {error}") from None
