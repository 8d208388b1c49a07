"""Decisions per second of this project's scheduler, and all figures that its speed is judged by.

    python benchmarks/run.py --release 1.16 --workload SchedulingBasic --nodes 5000 --pods 5000 --json

Schedule and assume are timed, every node is scored, one process a row. Initial pods are placed before the clock starts,
pod k on node k mod N. A cluster without room for more pods of a workload is begun anew, untimed. ``--bulk`` places runs
of equal pods in one go; ``--release all`` measures one release after another, ``--before DIR`` another checkout in
turn, by the Python of its ``.venv``.

    python benchmarks/run.py --figures --before ../before --openb NODES.csv PODS.csv --save figures.jsonl

measures everything that speed is judged by, in about half an hour; ``--only 1.36`` those whose titles hold a text. It
is CPU time that counts, of the process that is measured; wall time stands beside it. Standard error has the progress.
Ctrl-C ends it with what was measured by then. "–" stands for what the other checkout lacks. The exit status is 2 where
a figure could not be measured, 130 after Ctrl-C.

    python benchmarks/run.py --against 1.16 --release 1.36 --workload SchedulingPodAntiAffinity --nodes 300 --pods 2000

compares two releases in a sequence, every pod with a label of its own; with ``--evidence`` as ``compare -o json`` does.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.child_process import MEBIBYTE
from benchmarks.figures import Course, all_figures
from benchmarks.samples import HEAD, Headline, Measured, Measurement, median_of, row, sample_workload, save
from benchmarks.workloads import WORKLOADS, measure_comparison
from kubescheduler.releases.names import DEFAULT_RELEASE, RELEASE_NAMES

ALL = "all"
"""Every release in turn."""


def of_workloads(
    release: str, names: Iterable[str], nodes: Iterable[int], init_pods: int | None, more: dict[str, Any]
) -> Iterator[Measurement]:
    """One figure for each workload and number of nodes. more: further arguments of ``sample_workload``."""
    for name in names or [name for name, workload in WORKLOADS.items() if workload.runs_on(release)]:
        for count in nodes:
            initial = WORKLOADS[name].begins_with(count) if init_pods is None else init_pods
            asked = {"name": name, "release": release, "nodes": count, "init_pods": initial, **more}
            yield Measurement(sample_workload, asked, (Headline(f"{release} {name} {count}"),))


def json_line(found: Measured) -> str:
    """One run as a JSON line."""
    asked = found.arguments
    seconds = median_of(found.here, "cpu") * asked["pods"]
    row = {key: asked[key] for key in ("release", "nodes", "init_pods", "pods", "bulk")}
    memory = round(median_of(found.here, "memory") / MEBIBYTE)
    more = {"seconds": round(seconds, 4), "decisions_per_second": round(asked["pods"] / seconds, 1), "scored": "all"}
    return json.dumps({"workload": asked["name"], **row, **more, "peak_mib": memory})


def print_comparisons(
    against: str, release: str, names: Iterable[str], nodes: Iterable[int], pods: int, evidence: bool
) -> None:
    """How long it takes to compare two releases."""
    for name in names or ["SchedulingBasic", "SchedulingPreferredPodAntiAffinity"]:
        for count in nodes:
            watch = measure_comparison(WORKLOADS[name], (against, release), count, pods, evidence=evidence)
            times = f"{watch.cpu:9.2f}{pods / watch.cpu:9.0f}"
            click.echo(f"compare {against} {release} {name:40}{count:7}{pods:7}{times}")


@click.command(context_settings={"show_default": True})
@click.option("--release", type=click.Choice([*RELEASE_NAMES, ALL]), default=DEFAULT_RELEASE)
@click.option("--workload", "names", type=click.Choice(list(WORKLOADS)), multiple=True, help="All when none is named.")
@click.option("--nodes", type=int, default=(5000,), multiple=True)
@click.option("--init-pods", type=int, help="By default as many as upstream's workload begins with.")
@click.option("--pods", type=int, default=5000)
@click.option("--nominated", type=int, help="Pods that wait nominated while others preempt; by default the workload's.")
@click.option("--bulk", is_flag=True, help="Place runs of equal pods in one go.")
@click.option("--figures", is_flag=True, help="Measure everything that speed is judged by.")
@click.option("--only", multiple=True, help="With --figures: those whose titles hold this text.")
@click.option(
    "--openb", type=click.Path(exists=True, path_type=Path), nargs=2, help="With --figures: openb's CSV files."
)
@click.option("--before", type=click.Path(exists=True, path_type=Path), help="Another checkout, measured in turn.")
@click.option("--rounds", type=int, help="Measure so often; medians count.  [5 with --before or --figures, else 1]")
@click.option("--minutes", type=float, default=120, help="No measurement is begun after so many minutes.")
@click.option(
    "--save", "save_to", type=click.Path(path_type=Path), help="Append each figure to this file, as a line of JSON."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON line per workload instead of a table.")
@click.option("--against", type=click.Choice(RELEASE_NAMES), help="Compare with this release, in a sequence, instead.")
@click.option("--evidence", is_flag=True, help="With --against: also what scores were made of.")
def main(
    release: str,
    names: tuple[str, ...],
    nodes: tuple[int, ...],
    init_pods: int | None,
    pods: int,
    nominated: int | None,
    bulk: bool,
    figures: bool,
    only: tuple[str, ...],
    openb: tuple[Path, Path] | None,
    before: Path | None,
    rounds: int | None,
    minutes: float,
    save_to: Path | None,
    as_json: bool,
    against: str | None,
    evidence: bool,
) -> None:
    """Print how many pods a second are decided and assumed, with CPU time, wall time and peak memory."""
    if against is not None:
        if release == ALL:
            raise click.UsageError("--against compares with one --release")
        print_comparisons(against, release, names, nodes, pods, evidence)
        return
    rounds = rounds or (5 if figures or before is not None else 1)
    before = None if before is None else before.resolve()
    with tempfile.TemporaryDirectory() as folder:
        if figures:
            asked = all_figures(Path(folder), openb, only)
            if not asked:
                raise click.UsageError(f"no figure's title holds {' or '.join(only)}; openb's need --openb")
        else:
            more = {"pods": pods, "bulk": bulk, "nominated": nominated}
            releases = RELEASE_NAMES if release == ALL else (release,)
            asked = [one for each in releases for one in of_workloads(each, names, nodes, init_pods, more)]
        course = Course(asked, before, rounds, minutes, lambda text: click.echo(text, err=True))
        print_course(course, as_json=as_json and not figures, kept=save_to)
    sys.exit(130 if course.interrupted else 2 if course.failed else 0)


def print_course(course: Course, *, as_json: bool, kept: Path | None) -> None:
    """Prints every figure as soon as it is measured, and saves it; at the end what could not be measured."""
    much, least = f"{len(course.measurements)} measurements, {course.rounds} rounds", math.ceil(course.expected() / 60)
    course.say(f"{much}: about {least} min where nothing else runs, no more than {course.minutes:g}")
    if not as_json:
        click.echo(HEAD)
    known: dict[str, Measured] = {}
    for found in course.results():
        known[found.headline.title] = found
        click.echo(json_line(found) if as_json else row(found, known))
        if kept is not None:
            save(kept, found)
    for text in course.failed:
        course.say(f"not measured: {text}")


if __name__ == "__main__":
    main()
