"""How the time of a decision and the memory grow with the cluster.

    python benchmarks/scale.py --axis nodes --release 1.36 --plot growth.svg

Without options it measures all releases along all axes, in about six minutes of a machine that has nothing else to do.
Along each axis one count of the cluster grows: nodes, running pods, distinct classes of pods, services, apps with
affinity and spreading constraints. Every point is measured in a process of its own, in CPU time; all nodes are
scored. Ctrl-C ends it with what was measured by then. The exit status is 1 where time or memory grows worse than in
proportion, or a decision's time with the number of running pods; 2 where a point could not be measured, or there is
none; 130 after Ctrl-C.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import attrs
import click

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.child_process import MEBIBYTE, FailedError, measured_in_child
from benchmarks.growth import AXES, Axis, Judgement, Point, exponents, growth_chart, judgement, saved_points
from benchmarks.scale_point import ClusterSize, measure_point
from kubescheduler.releases.names import RELEASE_NAMES

QUICK_SIZE = 20_000
"""With ``--quick``, larger sizes are left out."""
MOST_DECISIONS = 3_000
"""Of a point; decisions that take long end after ``--seconds``."""


def measured(
    releases: Sequence[str], axes: Iterable[Axis], seconds: float, rounds: int, *, quick: bool
) -> Iterator[Point]:
    """The points, one after another; of several rounds, the one with the fastest decisions. A cluster that is on
    several axes is measured once for a release."""
    known: dict[tuple[str, ClusterSize], dict[str, Any]] = {}
    for release, axis in product(releases, axes):
        for size in axis.sizes:
            if quick and size > QUICK_SIZE:
                continue
            world = axis.world(size)
            if (release, world) not in known:
                click.echo(f"{release} {axis.name} {size} …", err=True)
                asked = {"world": attrs.asdict(world), "release": release, "seconds": seconds, "most": MOST_DECISIONS}
                found = [measured_in_child(measure_point, asked) for _ in range(rounds)]
                known[release, world] = min(found, key=lambda one: one["decision"])
            yield Point(release=release, axis=axis.name, size=size, **known[release, world])


def table(points: Sequence[Point]) -> Iterator[str]:
    """The lines of the table, with a judgement under every axis."""
    heads = f"{'µs':>8}{'per s':>8}{'exponent':>10}{'node ms':>9}{'build s':>9}{'MiB':>7}"
    yield f"{'release':8}{'axis':10}{'size':>9}{heads}"
    for release in dict.fromkeys(point.release for point in points):
        for axis in AXES.values():
            mine = [point for point in points if (point.release, point.axis) == (release, axis.name)]
            if not mine:
                continue
            yield from map(_line, mine, exponents(mine))
            yield f"        {judgement(axis, mine).text}"


def judgements(points: Sequence[Point]) -> Iterator[Judgement]:
    """Of every release along every axis that was measured."""
    for release in dict.fromkeys(point.release for point in points):
        for axis in AXES.values():
            yield judgement(axis, [point for point in points if (point.release, point.axis) == (release, axis.name)])


def _line(point: Point, power: float | None) -> str:
    grown = "" if power is None else f"{power:.2f}"
    times = f"{point.decision * 1e6:8.0f}{1 / point.decision:8.0f}{grown:>10}{point.node_event * 1e3:9.1f}"
    return f"{point.release:8}{point.axis:10}{point.size:9,}{times}{point.building:9.1f}{point.memory / MEBIBYTE:7.0f}"


@click.command(context_settings={"show_default": True})
@click.option("--release", "releases", type=click.Choice(RELEASE_NAMES), multiple=True, default=RELEASE_NAMES)
@click.option("--axis", "names", type=click.Choice(list(AXES)), multiple=True, help="All when none is named.")
@click.option("--seconds", type=float, default=1.0, help="CPU time of the decisions of a point.")
@click.option("--rounds", type=int, default=1, help="Measure every point so often; the fastest counts.")
@click.option("--quick", is_flag=True, help=f"No sizes beyond {QUICK_SIZE:,}, and a quarter of the decisions.")
@click.option("--plot", type=click.Path(path_type=Path), help="Draw the growth in this SVG file.")
@click.option("--save", type=click.Path(path_type=Path), help="Append every point to this file, as a line of JSON.")
@click.option("--saved", type=click.Path(exists=True, path_type=Path), help="Measure nothing: read such a file.")
def main(
    releases: tuple[str, ...],
    names: tuple[str, ...],
    seconds: float,
    rounds: int,
    quick: bool,
    plot: Path | None,
    save: Path | None,
    saved: Path | None,
) -> None:
    """Print how a decision's time and the memory grow, and whether they grow no faster than they may."""
    points = [] if saved is None else saved_points(saved)
    axes = [AXES[name] for name in names or AXES]
    status = 0
    try:
        seconds /= 4 if quick else 1
        for point in () if saved is not None else measured(releases, axes, seconds, rounds, quick=quick):
            points.append(point)
            if save is not None:
                with save.open("a") as file:
                    file.write(json.dumps(attrs.asdict(point)) + "\n")
    except FailedError as error:
        click.echo(f"not measured: {error}", err=True)
        status = 2
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
        status = 130
    if not (points or status):
        click.echo("nothing measured", err=True)
        status = 2
    for line in table(points):
        click.echo(line)
    if plot is not None:
        plot.write_text(growth_chart(points))
        click.echo(f"drawn: {plot}", err=True)
    sys.exit(status or (0 if all(found.holds for found in judgements(points)) else 1))


if __name__ == "__main__":
    main()
