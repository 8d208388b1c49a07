"""``kubescheduler schedule``: the main job."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kubescheduler.cli.options import FEATURE_GATES, FILE, PLUGIN, RELEASE, OneOf

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from clusterstate.objects import Pod
    from kubescheduler.cli.inputs import Inputs
    from kubescheduler.core.algorithm import Algorithm
    from kubescheduler.core.decision import Decision
    from kubescheduler.core.scheduler import GenericScheduler
    from kubescheduler.core.selection import TieBreak

MANY = 200
"""Pods that take long enough to schedule for a progress bar."""


@click.command(epilog="Exit status: 0 every pod has a node, 1 some pod has none, 2 wrong input or usage.")
@click.argument("cluster", nargs=-1, required=True, type=FILE)
@click.option("--pod", multiple=True, metavar="FILE", type=FILE, help="Pods to schedule.  [repeatable]")
@click.option("--pending", is_flag=True, help="Schedule every pending pod of the cluster, in queue order.")
@RELEASE
@click.option("--algorithm-provider", metavar="NAME", help="A provider.  [default: DefaultProvider]")
@click.option("--policy-config-file", metavar="FILE", type=FILE, help="A Policy: JSON, YAML or TOML.")
@click.option(
    "--policy-configmap", metavar="FILE", type=FILE, help="A ConfigMap manifest with the Policy under policy.cfg."
)
@FEATURE_GATES
@click.option(
    "--hard-pod-affinity-symmetric-weight",
    type=int,
    default=1,
    show_default=True,
    metavar="1-100",
    help="What a running pod's required affinity to the new pod counts.",
)
@click.option(
    "--percentage-of-nodes-to-score",
    type=click.IntRange(0, 100),
    default=100,
    show_default=True,
    metavar="0-100",
    help="Below 100 stop looking once enough nodes fit; 0 is upstream's adaptive share.",
)
@click.option(
    "--tie-break",
    type=OneOf(["first", "random", "upstream"]),
    default="first",
    show_default=True,
    help="Among equal totals: the first by name, any, or as the release does it.",
)
@click.option("--seed", type=int, metavar="NUMBER", help="Makes random and upstream ties repeatable.")
@click.option("--no-defaulting", is_flag=True, help="Take manifests as they are, as an API server stored them.")
@PLUGIN
@click.option(
    "-o",
    "--output",
    type=OneOf(["table", "wide", "json", "yaml", "name"]),
    default="table",
    show_default=True,
    help="json and yaml hold everything --explain shows.",
)
@click.option("--explain", is_flag=True, help="Show the checks and scores of every node.")
@click.option(
    "--save", metavar="FILE", type=FILE, help="Write the cluster with the pods bound (.json, .yaml, .gz of them)."
)
def schedule(
    cluster: tuple[str, ...],
    pod: tuple[str, ...],
    pending: bool,
    release: str,
    algorithm_provider: str | None,
    policy_config_file: str | None,
    policy_configmap: str | None,
    feature_gates: str,
    hard_pod_affinity_symmetric_weight: int,
    percentage_of_nodes_to_score: int,
    tie_break: str,
    seed: int | None,
    no_defaulting: bool,
    plugin: tuple[str, ...],
    output: str,
    explain: bool,
    save: str | None,
) -> int:
    """Decide where pods go in CLUSTER: files, folders, or - for standard input.

    Files are JSON or YAML, also gzipped: what kubectl prints, manifests, or an export of kube-scheduler-simulator.
    Several pods are one run: each is bound before the next is decided.

    \b
    Examples:
      kubescheduler schedule cluster.yaml --pod pod.yaml
      kubescheduler schedule nodes.json pods.json --pending -o wide
      kubescheduler schedule cluster.yaml --pod web.yaml --policy-config-file policy.json --explain
      kubectl get nodes,pods,services -A -o json | kubescheduler schedule - --pending --save after.yaml
    """
    from algorithmprovider import reading as eyes
    from clusterstate.cache import ClusterCache
    from clusterstate.errors import InputError
    from kubescheduler.cli.inputs import attempt, nothing_collected, read_inputs
    from kubescheduler.cli.plugins import load_plugins
    from kubescheduler.cli.save import check_target
    from kubescheduler.config.gates import parse_gates
    from kubescheduler.core.scheduler import GenericScheduler

    _check_usage(cluster, pod, pending=pending, explained_names=explain and output == "name")
    load_plugins(plugin)
    flags = (release, feature_gates, hard_pod_affinity_symmetric_weight, percentage_of_nodes_to_score)
    policy = (algorithm_provider, policy_config_file, policy_configmap)
    reading = {"pending": pending, "defaulting": not no_defaulting, "keep_items": save is not None, "release": release}
    problems: list[str] = []
    with nothing_collected():
        algorithm = attempt(problems, lambda: _algorithm(*flags, *policy))
        inputs = attempt(problems, lambda: read_inputs(cluster, pod, **reading))
        attempt(problems, lambda: check_target(save))
        if algorithm is None or inputs is None or problems:
            raise InputError(problems)
        scheduler = GenericScheduler(
            algorithm,
            ClusterCache.of(inputs.objects, eyes(release, parse_gates(release, feature_gates))),
            _tie_break(tie_break, seed),
        )
    for note in inputs.notes:
        notice(note)
    return _run(scheduler, inputs, output, explain=explain, save=save)


def _run(scheduler: GenericScheduler, inputs: Inputs, output: str, *, explain: bool, save: str | None) -> int:
    """Schedules the pods, saves, prints. What is saved is saved even if nobody reads the output."""
    from kubescheduler.cli.output import rendered
    from kubescheduler.cli.save import save_cluster

    hosts: dict[str, str | None] = {}
    decisions = _decisions(scheduler, inputs.pods, hosts, bar=output in ("table", "wide") and not explain)
    pieces: Iterable[str] = rendered(decisions, output, explain=explain)
    if save is not None:
        pieces = list(pieces)
        save_cluster(save, zip(inputs.objects, inputs.items, strict=True), inputs.pods, hosts)
    for piece in pieces:
        click.echo(piece, nl=False)
    return 0 if None not in hosts.values() else 1


def notice(text: str) -> None:
    """A remark that is no error, on standard error."""
    click.echo(f"note: {text}", err=True)


def _check_usage(cluster: Sequence[str], pod_files: Sequence[str], *, pending: bool, explained_names: bool) -> None:
    if bool(pod_files) == pending:
        raise click.UsageError("say which pods to schedule: either --pod FILE or --pending")
    if (*cluster, *pod_files).count("-") > 1:
        raise click.UsageError("standard input can be read once: give - once")
    if explained_names:
        raise click.UsageError("-o name explains nothing: leave out --explain, or choose another output")


def _algorithm(
    release: str,
    feature_gates: str,
    hard_weight: int,
    percentage: int,
    provider: str | None,
    policy_file: str | None,
    policy_configmap: str | None,
) -> Algorithm:
    import os

    from kubescheduler.config.algorithm import AlgorithmOptions, algorithm_from_files, max_pd_volumes
    from kubescheduler.config.gates import parse_gates

    options = AlgorithmOptions(
        release=release,
        feature_gates=parse_gates(release, feature_gates),
        hard_pod_affinity_symmetric_weight=hard_weight,
        percentage_of_nodes_to_score=percentage,
        max_pd_volumes=max_pd_volumes(os.environ),
    )
    return algorithm_from_files(options, provider, policy_file, policy_configmap, notice)


def _tie_break(name: str, seed: int | None) -> TieBreak:
    import random

    from kubescheduler.core.selection import FirstByName, RandomTie, ReservoirTie

    if name == "first":
        return FirstByName()
    return (RandomTie if name == "random" else ReservoirTie)(random.Random(seed))


def _decisions(
    scheduler: GenericScheduler, pods: Sequence[Pod], hosts: dict[str, str | None], *, bar: bool
) -> Iterator[Decision]:
    """One decision per pod, each bound before the next; ``hosts`` is told of all. A bar would spoil what is streamed
    to the same terminal."""
    import sys

    from kubescheduler.cli.progress import progress

    if not pods:
        notice("no pending pods in the cluster")
    with progress("scheduling", sys.stderr, smallest=MANY, hidden=not bar and sys.stdout.isatty()) as tell:
        for done, pod in enumerate(pods):
            tell(done, len(pods))
            decision = scheduler.schedule(pod)
            if decision.host is not None:
                scheduler.cache.assume_pod(pod, decision.host)
            hosts[pod.key] = decision.host
            yield decision
        tell(len(pods), len(pods))
