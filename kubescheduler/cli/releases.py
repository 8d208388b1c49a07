"""``kubescheduler releases``: which releases decide here, and what each changed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from kubescheduler.cli.common_options import ReleaseName, output_option
from kubescheduler.releases.names import RELEASE_NAMES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubescheduler.releases.release import Change, Release


@click.command(epilog="Exit status: 0 everything is listed, 2 wrong input or usage.")
@click.option(
    "--between",
    nargs=2,
    type=ReleaseName(RELEASE_NAMES),
    metavar="OLD NEW",
    help="The changes of every release after OLD up to NEW.",
)
@click.option("--about", metavar="TEXT", help="Only changes that have this in their name, text or kind.")
@output_option("table", "json", "yaml")
def releases(between: tuple[str, str] | None, about: str | None, output: str) -> int:
    """List the releases of kube-scheduler, or what they changed of one another.

    \b
    Examples:
      kubescheduler releases
      kubescheduler releases --between 1.18 1.31
      kubescheduler releases --about PodTopologySpread
    """
    from kubescheduler.cli.output import document_text

    if between is None and about is None:
        click.echo(releases_table() if output == "table" else document_text(releases_document(), output), nl=False)
        return 0
    from kubescheduler.releases.lookup import RELEASES, changes_between

    low, high = between or (RELEASE_NAMES[0], RELEASE_NAMES[-1])
    if RELEASE_NAMES.index(low) > RELEASE_NAMES.index(high):
        raise click.BadParameter(f"{low} came out after {high}; say the older release first", param_hint="--between")
    found = list(changes_between(low, high, about or ""))
    if output != "table":
        click.echo(document_text(changes_document(found), output), nl=False)
    elif found:
        click.echo(changes_table(found), nl=False)
    _tell_unlisted(low, high)
    if not found:
        said = f" about {about}" if about else ""
        click.echo(f"no change{said} is known after {low} up to {high} of {len(RELEASES)} releases", err=True)
    return 0


def _tell_unlisted(low: str, high: str) -> None:
    """Says on standard error of which releases the changes are not listed one by one."""
    from kubescheduler.releases.lookup import RELEASES
    from kubescheduler.releases.names import number

    for name, record in RELEASES.items():
        if record.made is None and number(low) < number(name) <= number(high):
            click.echo(f"note: the changes of {name} are not listed one by one: {record.summary}", err=True)


def releases_document() -> list[dict[str, Any]]:
    """Every release as data, oldest first."""
    from kubescheduler.releases.lookup import RELEASES

    return [
        {
            "release": name,
            "recorded": record.version,
            "decidesBy": "predicates and priorities" if record.framework is None else "plugins",
            "configuration": _versions(record),
            "policies": record.reads_policies,
            "runsAs": None if record.flags is None else record.flags()[0],
            "changes": len(record.changes),
        }
        for name, record in RELEASES.items()
    ]


def _versions(record: Release) -> list[str]:
    """The versions of a component configuration that a release reads, without their group, newest first."""
    if record.framework is not None:
        return [version.rpartition("/")[2] for version in record.framework.component.versions]
    reads = record.legacy is not None and record.legacy.read_component is not None
    return ["v1alpha1"] if reads else []


def releases_table() -> str:
    """The same for people."""
    from kubescheduler.cli.output import NONE, screen_of, table

    rows = [("RELEASE", "RECORDED", "DECIDES BY", "CONFIGURATION", "POLICIES", "RUNS AS")]
    for each in releases_document():
        versions = ", ".join(each["configuration"]) or NONE
        policies = "yes" if each["policies"] else "no"
        rows.append((each["release"], each["recorded"], each["decidesBy"], versions, policies, each["runsAs"] or NONE))
    return table(rows, screen_of(sys.stdout), keys=1) + "\n"


def changes_document(found: Sequence[tuple[Release, Change]]) -> list[dict[str, Any]]:
    """Changes as data, oldest first."""
    return [
        {"release": release.name, "change": each.name, "kind": each.kind.value, "text": each.text}
        | ({"source": each.source} if each.source else {})
        for release, each in found
    ]


def changes_table(found: Sequence[tuple[Release, Change]]) -> str:
    """The same for people."""
    from kubescheduler.cli.output import screen_of, table

    rows = [("RELEASE", "CHANGE", "KIND", "WHAT IS DIFFERENT")]
    rows += [(release.name, each.name, each.kind.value, each.text) for release, each in found]
    return table(rows, screen_of(sys.stdout), gives_way=3, keys=2) + "\n"
