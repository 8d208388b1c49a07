"""``kubescheduler compare``: who goes elsewhere with another configuration or release, and why."""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from kubescheduler.cli.cluster_options import MIRROR, ClusterPlace, check_mirror, check_standard_input, cluster_options
from kubescheduler.cli.common_options import (
    EXTENDERS,
    NO_DEFAULTING,
    PLUGIN,
    PREEMPT,
    RUNNING,
    VALIDATE,
    choice_option,
    number_option,
    output_option,
    pod_files_option,
    specs,
)
from kubescheduler.cli.engine_options import Reading, remark, remarks
from kubescheduler.cli.help_groups import GroupedCommand
from kubescheduler.releases.names import DEFAULT_RELEASE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clusterstate.manifests.fields import Judgement
    from clusterstate.objects import ClusterObject, Pod
    from kubescheduler.comparison.comparison import Comparison
    from kubescheduler.comparison.outcomes import Cause
    from kubescheduler.engine.spec import Engine, EngineSpec

MANY = 200
"""Pods that take long enough to compare for a progress bar."""


class PodOptions(NamedTuple):
    """Which pods of which cluster are asked about, and how they are read: what options of compare and upgrade say."""

    cluster: tuple[ClusterPlace, ...]
    pod_files: tuple[str, ...]
    pending: bool
    running: str | None
    """What picks running pods; None: these are not asked about."""
    limit: int | None
    no_defaulting: bool
    validate: Judgement | None

    @property
    def named(self) -> int:
        """In how many ways pods are named."""
        return [bool(self.pod_files), self.pending, self.running is not None].count(True)

    def reading(self, specs: Sequence[EngineSpec]) -> Reading:
        """How the cluster and its pods are read for schedulers: as the newest of their releases does."""
        from kubescheduler.engine.engine_flags import newest_gates
        from kubescheduler.releases.lookup import newest

        release = newest([spec.release for spec in specs] or [DEFAULT_RELEASE]).name
        return Reading(
            release=release, defaulting=not self.no_defaulting, validate=self.validate, gates=newest_gates(specs)
        )

    def read(self, specs: Sequence[EngineSpec]) -> tuple[list[ClusterObject], list[Pod]]:
        """The cluster and the pods; what was left out of them is told. Raises InputError with every fault."""
        from kubescheduler.cli.cluster_files import notes_on_cluster, read_asked, read_shown
        from kubescheduler.comparison.running_pods import asked_pods
        from kubescheduler.releases.lookup import daemons_among

        reading, given = self.reading(specs), None
        if self.pod_files:
            daemons = daemons_among([spec.release for spec in specs] or [DEFAULT_RELEASE])
            there, given = read_asked(self.cluster, self.pod_files, daemons=daemons, **reading)
        else:
            there = read_shown(self.cluster, **reading)
        found = asked_pods(there, there.release, given, running=self.running or False)
        remarks([*notes_on_cluster(there), *found.notes])
        return found.objects, found.pods


SPEC = "KEY=VALUE,…"
STEPS_SHOWN = ("table", "json", "yaml", "html")


@click.command(
    cls=GroupedCommand,
    short_help="Say which pods go elsewhere, and why.",
    epilog="Exit status: 0 nothing differs but for tolerated causes, 1 something does, 2 an error: wrong input or "
    "usage, or one that kept a pod from being compared.",
)
@cluster_options
@pod_files_option(
    "pod_files", "--pods", "Pods to compare: manifests, controllers with a pod template, or a .csv trace."
)
@MIRROR
@click.option("--pending", is_flag=True, help="Compare every pending pod of the cluster, in queue order.")
@RUNNING
@number_option("--limit", help="Only so many pods, the first ones.")
@click.option(
    "--old",
    "--old-spec",
    shell_complete=specs,
    default=f"release={DEFAULT_RELEASE}",
    show_default=True,
    metavar=SPEC,
    help="A configuration, as policy=policy.json.",
)
@click.option(
    "--new",
    "--new-spec",
    multiple=True,
    required=True,
    shell_complete=specs,
    metavar=SPEC,
    help="Another one, for a column.  [repeatable]",
)
@choice_option(
    "--mode",
    choices=["independent", "sequence"],
    help="Each pod on the same cluster, or each scheduler going on from its own earlier choices.",
)
@choice_option(
    "--tie-break",
    choices=["first", "upstream"],
    help="Among equal totals the first by name; upstream: also how often a pod moves when each release draws.",
)
@click.option("--seeds", "runs", type=int, metavar="NUMBER", help="Runs with --tie-break upstream.  [default: 10]")
@choice_option(
    "--ties",
    choices=["loose", "strict"],
    help="strict: a pod that stays by name differs if other nodes have the highest total too.",
)
@click.option(
    "--steps",
    is_flag=True,
    help="Also by every release between, and say at which step each pod moves and by which change.",
)
@PREEMPT
@click.option("--tolerate", metavar="CAUSE,CAUSE", default="", help="Causes that are no difference.")
@NO_DEFAULTING
@EXTENDERS
@VALIDATE
@PLUGIN
@output_option(
    *("table", "wide", "json", "yaml", "html", "junit", "github"),
    help="wide says why in a sentence; json and yaml have every priority's part; junit and github are for CI.",
)
def compare(
    mirror: str | None,
    old: str,
    new: tuple[str, ...],
    mode: str,
    tie_break: str,
    runs: int | None,
    ties: str,
    steps: bool,
    preempt: bool,
    tolerate: str,
    extenders: str,
    plugin: tuple[str, ...],
    output: str,
    **named: Any,
) -> int:
    """Decide pods in CLUSTER by two configurations or more, and explain every one that goes elsewhere.

    CLUSTER are files, folders, .csv files of nodes, or - for standard input. A configuration is written as
    release=1.16,policy=policy.json with the keys release, provider, policy, policy-configmap, config, feature-gates
    (separated by ;), hard-pod-affinity-symmetric-weight, percentage-of-nodes-to-score, scheduler-name and
    extenders.

    Causes: filtered-now, no-longer-filtered, score-resolution, changed-weight, changed-formula, added-priority,
    removed-priority, normalisation, extender-scaling, own-constraints, tie-break, could-have-been, earlier-choices,
    different-reasons, different-ties, different-victims, no-start-times, not-tried, kept-ranking; and error, which
    is no answer and cannot be tolerated.

    \b
    Examples:
      kubescheduler compare cluster.yaml --pending --old policy=policy.json --new release=1.36,config=sched.yaml
      kubescheduler compare cluster.yaml --pods web.yaml --new release=1.20 --new release=1.36 -o wide
      kubescheduler compare cluster.yaml --running app=web --new release=1.36
      kubescheduler compare cluster.yaml --running --old release=1.18 --new release=1.31 --steps
      kubescheduler compare openb_nodes.csv --pods openb_pods.csv --limit 2000 --new release=1.36 --mode sequence
      kubescheduler compare cluster.yaml --pending --new release=1.36 --tie-break upstream --seeds 50
      kubescheduler compare --mirror day.jsonl.gz --mode sequence --old release=1.20 --new release=1.36
      kubescheduler compare cluster.yaml --pending --new release=1.36 --tolerate tie-break,score-resolution -o junit
    """
    from clusterstate.errors import InputError, attempt
    from kubescheduler.cli.cluster_files import nothing_collected
    from kubescheduler.cli.compare_output import rendered_comparison
    from kubescheduler.cli.decision_output import exit_status
    from kubescheduler.cli.output import echo, screen_of
    from kubescheduler.comparison.comparing import faults_of_seeds
    from kubescheduler.comparison.outcomes import Cause

    pods = PodOptions(**named)
    check_mirror(mirror, pods.cluster, pods.pod_files)
    if mirror is None or pods.running is not None:
        if mirror is not None or pods.named != 1:
            raise click.UsageError("say which pods to compare: one of --pods FILE, --pending and --running")
        check_standard_input(pods.cluster, pods.pod_files)
    if steps:
        _check_steps(new, mode, tie_break, output, mirror, ties, tolerate)
    problems = list(faults_of_seeds(tie_break, runs))
    with nothing_collected():
        tolerated = attempt(problems, _causes, tolerate)
        sides = attempt(problems, _engines_of, old, new, plugin, extenders)
        specs = [spec for spec, _ in sides or ()]
        inputs = attempt(problems, pods.read if mirror is None else partial(_mirrored, mirror, pods), specs)
        if sides is None or inputs is None or tolerated is None or problems:
            raise InputError(problems)
    remarks(_on_sameness(specs))
    objects, compared = inputs[0], inputs[1][: pods.limit]
    if steps:
        return _steps(objects, compared, specs, preempt=preempt, output=output)
    how = {"mode": mode, "preempt": preempt, "ties": ties}
    more = {"tie_break": tie_break, "seeds": runs, "evidence": output in ("json", "yaml", "html")}
    comparison = _compared(objects, compared, sides, **how, **more)
    advice: tuple[str, ...] = ()
    if output in ("table", "wide", "html") and comparison.differs(tolerated) and not comparison.errors:
        from kubescheduler.sweep.what_now import ComparisonInputs, what_now

        place = " ".join(each if isinstance(each, str) else "CLUSTER" for each in pods.cluster) or "CLUSTER"
        engines = [engine for _, engine in sides]
        advice = what_now(comparison, tolerated, ComparisonInputs(objects, compared, specs, engines, how, place))
    echo(rendered_comparison(comparison, output, tolerated, screen_of(sys.stdout), advice))
    failed = [(pod.pod, one.text) for pod in comparison.errors for one in pod.changes if one.cause is Cause.ERROR]
    return exit_status(failed, fine=not comparison.differs(tolerated))


def _check_steps(
    new: tuple[str, ...], mode: str, tie_break: str, output: str, mirror: str | None, ties: str, tolerate: str
) -> None:
    """What has no meaning, or is not there, where steps are asked for."""
    refused = {
        "one --new: the steps lead to one release": len(new) != 1,
        "no --mode sequence: earlier choices would move pods, not the changes of a step": mode != "independent",
        "no --tie-break upstream: chance would move pods, not the changes of a step": tie_break != "first",
        "no --ties strict: a pod moves where its node is another": ties != "loose",
        "no --tolerate: every pod that moves counts, whatever the cause": bool(tolerate),
        f"no -o {output}: steps are shown as table, json, yaml or html": output not in STEPS_SHOWN,
        "no --mirror: the cluster of a recorded day changes, steps need one that stays": mirror is not None,
    }
    if problems := [text for text, wrong in refused.items() if wrong]:
        raise click.UsageError("\n".join(f"with --steps, {problem}" for problem in problems))


def _steps(
    objects: Sequence[ClusterObject], pods: Sequence[Pod], specs: Sequence[EngineSpec], *, preempt: bool, output: str
) -> int:
    """Shows at which step each pod moves; the exit status."""
    from kubescheduler.cli.compare_output import rendered_timeline
    from kubescheduler.cli.decision_output import exit_status
    from kubescheduler.cli.output import screen_of
    from kubescheduler.cli.progress import progress
    from kubescheduler.comparison.release_steps import timeline

    with progress("comparing", sys.stderr, smallest=MANY) as tell:
        found = timeline(objects, pods, specs[0], specs[1], preempt=preempt, progress=tell, notice=remark)
    click.echo(rendered_timeline(found, output, screen_of(sys.stdout)), nl=False)
    return exit_status(found.errors, fine=not found.moved)


def _compared(
    objects: Sequence[ClusterObject], pods: Sequence[Pod], sides: Sequence[tuple[EngineSpec, Engine]], **asked: Any
) -> Comparison:
    """The comparison, with a bar on a terminal if there are many pods. asked: see ``compare`` of comparing."""
    from kubescheduler.cli.progress import progress
    from kubescheduler.comparison.comparing import compare as run

    old, *new = (spec for spec, _ in sides)
    with progress("comparing", sys.stderr, smallest=MANY) as tell:
        return run(objects, pods, old, new, engines=[engine for _, engine in sides], progress=tell, **asked)


def _engines_of(
    old: str, new: Sequence[str], plugins: Sequence[str] = (), extenders: str = "live"
) -> list[tuple[EngineSpec, Engine]]:
    """Every configuration, with what the environment says and custom plugins, and its engine.

    Raises ConfigError with the faults of all.
    """
    import msgspec

    from clusterstate.errors import ConfigError, attempt, attempt_at
    from kubescheduler.engine.engine_flags import max_pd_volumes
    from kubescheduler.engine.plugin_options import plugins_for_all
    from kubescheduler.engine.spec import EngineSpec

    problems: list[str] = []
    volumes = max_pd_volumes(os.environ)
    own = attempt(problems, plugins_for_all, plugins) or ()

    def made(text: str) -> tuple[EngineSpec, Engine]:
        spec = EngineSpec.parse(text, max_pd_volumes=volumes).asking(extenders)
        spec = spec if spec.record.framework is None else msgspec.structs.replace(spec, plugins=own)
        return spec, spec.engine(remark)

    made_sides: list[tuple[EngineSpec, Engine]] = []
    for option, text in (("--old", old), *(("--new", text) for text in new)):
        side = attempt_at(option, problems, made, text)
        made_sides += [] if side is None else [side]
    if problems:
        raise ConfigError(problems)
    return made_sides


def _on_sameness(specs: Sequence[EngineSpec]) -> Iterator[str]:
    if all(spec == specs[0] for spec in specs):
        yield "the configurations are all the same: nothing but chance could move a pod"


def _causes(text: str) -> frozenset[Cause]:
    """Of ``tie-break,score-resolution``. Raises ConfigError with every name that is none."""
    from clusterstate.errors import ConfigError
    from kubescheduler.comparison.outcomes import Cause, faults_of_tolerated

    names = [name.strip() for name in text.split(",") if name.strip()]
    if faults := list(faults_of_tolerated(names)):
        raise ConfigError(f"--tolerate: {fault}" for fault in faults)
    return frozenset(map(Cause, names))


def _mirrored(path: str, pods: PodOptions, specs: Sequence[EngineSpec]) -> tuple[list[ClusterObject], list[Pod]]:
    """Every object that was there at some time, as it was first, and the pods that came. Raises DecodeError."""
    from clusterstate.objects import Node
    from kubescheduler.cli.cluster_files import mirrored_inputs
    from kubescheduler.simulation.timeline import came_later

    reading = pods.reading(specs)
    cluster, workload = mirrored_inputs(path, reading["release"], reading["gates"])
    objects = [*cluster.objects, *came_later(workload.updates, cluster.objects), *workload.accompanying()]
    nodes: dict[str, Node] = {}
    for obj in objects:
        if isinstance(obj, Node):
            nodes.setdefault(obj.name, obj)
    return [*nodes.values(), *(obj for obj in objects if not isinstance(obj, Node))], workload.in_order()
