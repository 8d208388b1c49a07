"""``kubescheduler outage``: what happens when nodes are gone at once."""

from __future__ import annotations

import sys
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

import click

from kubescheduler.cli.cluster_options import ClusterPlace, check_standard_input, cluster_options
from kubescheduler.cli.common_options import CI_OUTPUT, ERROR_STATUS
from kubescheduler.cli.engine_options import EngineOptions, question_options, remarks
from kubescheduler.cli.help_groups import GroupedCommand

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kubescheduler.planning.outage import Outage, Outages
    from kubescheduler.report.ci_results import Suite
    from kubescheduler.report.single_file import Section

FEWEST = 2
"""Domains that take long enough for a progress bar."""


@click.command(
    cls=GroupedCommand,
    short_help="Say what happens when nodes, or a whole zone, are gone at once.",
    epilog=f"Exit status: 0 everything runs again, 1 something does not, {ERROR_STATUS}",
)
@cluster_options
@click.option("--zone", metavar="ZONE", help="The nodes of a zone.")
@click.option("-l", "--selector", metavar="SELECTOR", help="The nodes with these labels: pool=old,zone!=a.")
@click.option("--node", "names", multiple=True, metavar="NODE", help="A node by its name.  [repeatable]")
@click.option("--each", metavar="LABEL", help="Every domain in turn, the worst first: zone, region, hostname, a label.")
@click.option("--unreachable", is_flag=True, help="The nodes' objects stay; StatefulSets make no other pods then.")
@question_options
@CI_OUTPUT
def outage(
    cluster: tuple[ClusterPlace, ...],
    zone: str | None,
    selector: str | None,
    names: tuple[str, ...],
    each: str | None,
    unreachable: bool,
    engine: EngineOptions,
    output: str,
) -> int:
    """Say what happens when nodes of CLUSTER are gone at once: files, folders, or - for standard input.

    Nothing is evicted, and no disruption budget is asked. Once pods have tolerated for long enough that their node does
    not answer, their controllers make others, which go through the scheduler's own queue and cycle, preemption
    included. Shown are the workloads with fewer pods than before, and each pod with where it was and where it runs
    again, or why it fits nowhere and what would help.

    \b
    Examples:
      kubescheduler outage cluster.yaml --zone eu-1a
      kubescheduler outage cluster.yaml --each zone --release 1.36
      kubescheduler outage cluster.yaml -l rack=r7 --unreachable
      kubescheduler outage --context prod --each zone -o junit
    """
    from kubescheduler.api.disruptions import lost_nodes, outage_of, outages_of
    from kubescheduler.cli.cluster_files import notes_on_cluster, read_question
    from kubescheduler.cli.decision_output import displaced_status
    from kubescheduler.cli.output import echo
    from kubescheduler.cli.progress import progress

    if (each is not None) == (zone is not None or selector is not None or bool(names)):
        raise click.UsageError("say which nodes: --zone, --selector or --node, or else --each alone")
    check_standard_input(cluster)
    configured, there = read_question(engine, cluster)
    remarks(notes_on_cluster(there))
    ties = partial(engine.ties, configured)
    if each is None:
        name, nodes = lost_nodes(there, names, zone, selector)
        found: Outage | Outages = outage_of(configured, there, name, nodes, ties(), unreachable=unreachable)
    else:
        with progress("losing", sys.stderr, smallest=FEWEST) as tell:
            found = outages_of(configured, there, each, ties, unreachable=unreachable, progress=tell)
    echo(_rendered(found, output, [*engine.notes(configured), *found.notes], configured.release))
    return displaced_status(_each(found), fine=found.fine)


def _each(found: Outage | Outages) -> Sequence[Outage]:
    from kubescheduler.planning.outage import Outages

    return found.domains if isinstance(found, Outages) else (found,)


def _rendered(found: Outage | Outages, output: str, notes: Sequence[str], release: str) -> Iterator[str]:
    from kubescheduler.cli.output import rendered_answer

    if output in ("junit", "github"):
        from kubescheduler.report.ci_results import rendered_results

        suites = (_suite(one, notes if at == 0 else ()) for at, one in enumerate(_each(found)))
        return rendered_results("kubescheduler outage", suites, output)
    sections = _sections(found, paged=output == "html")
    return rendered_answer(
        *("outage", f"release {release}", found.summary(), sections, notes, output),
        document=lambda: {"kind": type(found).__name__, "release": release, **found.to_dict(), "notes": notes},
    )


def _sections(found: Outage | Outages, *, paged: bool) -> Iterator[Section]:
    """Of all domains a table; a page has the pods of each that does not survive too, and what refused them."""
    from kubescheduler.cli.explanation import MOST_EVIDENCE, evidence_of_displaced
    from kubescheduler.planning.outage import DOMAINS, Outages
    from kubescheduler.planning.rehearsal import HEADER
    from kubescheduler.report.single_file import Section, outage_sections

    if isinstance(found, Outages):
        yield Section("Domains", [DOMAINS, *found.rows()], gives_way=len(DOMAINS) - 1, keys=1)
        left = MOST_EVIDENCE
        for one in found.domains if paged else ():
            if not one.fine:
                yield Section(one.name, [HEADER, *one.rows()], one.quiet(), detail=True)
                shown = list(islice(evidence_of_displaced(one.nowhere, f"{one.name}: "), left))
                left -= len(shown)
                yield from shown
        return
    yield from outage_sections(found)
    if paged:
        yield from evidence_of_displaced(found.nowhere)


def _suite(one: Outage, notes: Sequence[str]) -> Suite:
    from kubescheduler.report.ci_results import Suite, displaced_cases

    kept = [(each.pod, "stays", each.why) for each in one.held]
    return Suite(one.name, list(displaced_cases(kept, one.moved, one.hints, lost_fails=True)), notes)
