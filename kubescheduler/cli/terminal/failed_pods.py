"""Pods whose attempts an error ended: nobody knows where they would go, and no command says that it does."""

from __future__ import annotations

from collections.abc import Iterable

import click

from kubescheduler.sources.foreign_text import shown

NAMED = 3
"""Pods that a message names."""
SHOWN = 5
"""Texts of errors that are shown; further ones are counted."""

EXIT_ERROR = 2


def given_up(failed: Iterable[tuple[str, str]]) -> int:
    """Says on standard error what ended the attempts of which pods, each text once; the exit status.

    failed: (namespace/name of the pod, text of the error).
    """
    pods: dict[str, list[str]] = {}
    for pod, text in failed:
        pods.setdefault(text, []).append(pod)
    for text, names in list(pods.items())[:SHOWN]:
        named = ", ".join(dict.fromkeys(names[:NAMED]))
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        click.echo(f"error: no decision on {shown(named)}{more}: {shown(text)}", err=True)
    if len(pods) > SHOWN:
        click.echo(f"error: {len(pods) - SHOWN} more errors ended attempts", err=True)
    return EXIT_ERROR
