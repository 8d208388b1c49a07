"""``kubescheduler schedule``: the main job."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kubescheduler.cli.options import PLUGIN, RELEASE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterstate.objects import Pod
    from kubescheduler.core.decision import Decision
    from kubescheduler.core.scheduler import GenericScheduler
    from kubescheduler.core.selection import TieBreak


@click.command(epilog="Exit status: 0 every pod has a node, 1 some pod fits nowhere, 2 wrong input or usage.")
@click.argument("cluster", nargs=-1, required=True)
@click.option("--pod", "pod_files", multiple=True, metavar="FILE", help="A file with pods to schedule.  [repeatable]")
@click.option("--pending", is_flag=True, help="Schedule every pending pod of the cluster, in queue order.")
@RELEASE
@click.option("--algorithm-provider", metavar="NAME", help="A provider.  [default: DefaultProvider]")
@click.option("--policy-config-file", metavar="FILE", help="A Policy: JSON, YAML or TOML.")
@click.option("--policy-configmap", metavar="FILE", help="A ConfigMap manifest with the Policy under policy.cfg.")
@click.option("--feature-gates", metavar="A=true,B=false", default="", help="As kube-scheduler takes them.")
@click.option("--hard-pod-affinity-symmetric-weight", type=int, default=1, show_default=True, metavar="1-100")
@click.option(
    "--percentage-of-nodes-to-score",
    type=click.IntRange(0, 100),
    default=100,
    show_default=True,
    help="Below 100 stop looking once enough nodes fit; 0 is upstream's adaptive share.",
)
@click.option(
    "--tie-break",
    type=click.Choice(["first", "random", "upstream"]),
    default="first",
    show_default=True,
    help="Among equal totals: the first by name, any, or as the release does it.",
)
@click.option("--seed", type=int, help="Makes random and upstream ties repeatable.")
@click.option("--no-defaulting", is_flag=True, help="Take manifests as they are, as an API server stored them.")
@PLUGIN
@click.option(
    "-o", "--output", type=click.Choice(["table", "wide", "json", "yaml", "name"]), default="table", show_default=True
)
@click.option("--explain", is_flag=True, help="Show the checks and scores of every node.")
@click.option("--save", metavar="FILE", help="Write the cluster with the pods bound (.json, .yaml, .gz of them).")
def schedule(
    cluster: tuple[str, ...],
    pod_files: tuple[str, ...],
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

    Several pods are one run: each is bound before the next is decided.

    \b
    Examples:
      kubescheduler schedule cluster.yaml --pod pod.yaml
      kubescheduler schedule nodes.json pods.json --pending -o wide
      kubescheduler schedule cluster.yaml --pod web.yaml --policy-config-file policy.json --explain
      kubectl get nodes,pods,services -A -o json | kubescheduler schedule - --pending --save after.yaml
    """
    from clusterstate.cache import ClusterCache
    from kubescheduler.cli.inputs import read_inputs
    from kubescheduler.cli.output import render
    from kubescheduler.cli.plugins import load_plugins
    from kubescheduler.cli.save import save_cluster
    from kubescheduler.config.algorithm import AlgorithmOptions, algorithm_from_files
    from kubescheduler.config.gates import parse_gates
    from kubescheduler.core.scheduler import GenericScheduler

    if bool(pod_files) == pending:
        raise click.UsageError("say which pods to schedule: either --pod FILE or --pending")
    load_plugins(plugin)
    options = AlgorithmOptions(
        release=release,
        feature_gates=parse_gates(release, feature_gates),
        hard_pod_affinity_symmetric_weight=hard_pod_affinity_symmetric_weight,
        percentage_of_nodes_to_score=percentage_of_nodes_to_score,
    )
    algorithm = algorithm_from_files(options, algorithm_provider, policy_config_file, policy_configmap, notice)
    inputs = read_inputs(cluster, pod_files, pending=pending, defaulting=not no_defaulting, keep=save is not None)
    for note in inputs.notes:
        notice(note)
    scheduler = GenericScheduler(algorithm, ClusterCache.of(inputs.objects), _tie_break(tie_break, seed))
    decisions = _decide(scheduler, inputs.pods)
    if save is not None:
        save_cluster(save, inputs.objects, decisions)
    click.echo(render(decisions, output, explain=explain))
    return 0 if all(decision.scheduled for decision in decisions) else 1


def notice(text: str) -> None:
    """A remark that is no error, on standard error."""
    click.echo(f"note: {text}", err=True)


def _tie_break(name: str, seed: int | None) -> TieBreak:
    import random

    from kubescheduler.core.selection import FirstByName, RandomTie, ReservoirTie

    if name == "first":
        return FirstByName()
    return (RandomTie if name == "random" else ReservoirTie)(random.Random(seed))


def _decide(scheduler: GenericScheduler, pods: Sequence[Pod]) -> list[Decision]:
    """One decision per pod, each bound before the next; with a progress bar on a terminal."""
    import sys

    decisions = []
    shown = len(pods) > 200 and sys.stderr.isatty()
    with click.progressbar(pods, label="scheduling", file=sys.stderr, hidden=not shown) as bar:
        for pod in bar:
            decision = scheduler.schedule(pod)
            if decision.host is not None:
                scheduler.cache.assume_pod(pod, decision.host)
            decisions.append(decision)
    return decisions
