"""``kubescheduler hint``: what would make a pod fit, or go to a node."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kubescheduler.cli.cluster_access.cluster_options import check_standard_input, cluster_options
from kubescheduler.cli.common_options import ERROR_STATUS, NO_DEFAULTING, VALIDATE, OneOf, pod_files_option
from kubescheduler.cli.engine_options import EngineOptions, engine_options, remark
from kubescheduler.cli.terminal.help_groups import GroupedCommand

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clusterstate.manifests.strictness import Judgement
    from clusterstate.objects import Pod
    from kubescheduler.cli.cluster_access.server_cluster import ClusterPlace
    from kubescheduler.cli.inputs import Inputs
    from kubescheduler.engine.engine_contract import Engine
    from kubescheduler.hinting.proposals import PodHints


@click.command(
    cls=GroupedCommand,
    short_help="What would make a pod fit, or go to a node.",
    epilog=f"Exit status: 0 a hint for each pod that needs one, 1 none for some pod, {ERROR_STATUS}",
)
@cluster_options
@pod_files_option("pod", "--pod", "Pods to ask about: manifests, controllers with a pod template, or a .csv trace.")
@click.option("--pending", is_flag=True, help="Ask about every pending pod of the cluster, in queue order.")
@click.option("--node", metavar="NAME", help="What would make each pod go to this node.")
@engine_options
@click.option(
    "--top", type=click.IntRange(min=1), default=10, show_default=True, metavar="NUMBER", help="Show so many of each."
)
@click.option("--pairs/--no-pairs", default=True, show_default=True, help="Also two changes at a time.")
@click.option(
    "--apply",
    "applied",
    type=click.IntRange(min=1),
    metavar="NUMBER",
    help="Only write the changed manifests of the hint of this number, as YAML or with -o json as JSON.",
)
@NO_DEFAULTING
@VALIDATE
@click.option("-o", "--output", type=OneOf(["table", "json", "yaml"]), default="table", show_default=True)
def hint(
    cluster: tuple[ClusterPlace, ...],
    pod: tuple[str, ...],
    pending: bool,
    node: str | None,
    engine: EngineOptions,
    top: int,
    pairs: bool,
    applied: int | None,
    no_defaulting: bool,
    validate: Judgement | None,
    output: str,
) -> int:
    """What would make pods fit in CLUSTER: files, folders, or - for standard input.

    Each hint is a change, or two, with which the pod was decided again and then fits; the smallest comes first. Several
    pods are one run: those that fit are bound before the next is asked about. With --node each is asked about alone.

    \b
    Examples:
      kubescheduler hint cluster.yaml --pod web.yaml
      kubescheduler hint cluster.yaml --pending --release 1.36 -o json
      kubescheduler hint cluster.yaml --pod web.yaml --node worker-3
      kubescheduler hint cluster.yaml --pod web.yaml --apply 1 > changed.yaml
    """
    from clusterstate.errors import InputError
    from kubescheduler.cli.inputs import attempt, nothing_collected, read_inputs

    if bool(pod) == pending:
        raise click.UsageError("say which pods to ask about: either --pod FILE or --pending")
    check_standard_input(cluster, pod)
    problems: list[str] = []

    def read() -> Inputs:
        return read_inputs(
            cluster,
            pod,
            pending=pending,
            defaulting=not no_defaulting,
            keep_manifests=False,
            release=engine.release,
            validate=validate,
            gates=engine.gates,
        )

    with nothing_collected():
        configured = attempt(problems, engine.engine)
        inputs = attempt(problems, read)
    if configured is None or inputs is None or problems:
        raise InputError(problems)
    for note in inputs.notes:
        remark(note)
    found = list(_asked(configured, inputs, node=node or "", top=max(top, applied or 0), pairs=pairs))
    return _printed(found, inputs, output, applied, engine.notes(configured))


def _printed(found: Sequence[PodHints], inputs: Inputs, output: str, applied: int | None, notes: Sequence[str]) -> int:
    """The exit status. applied: the number of the hints whose manifests are written; None: all are shown."""
    from kubescheduler.cli.hint.hint_output import applied_text, rendered_hints
    from kubescheduler.cli.terminal.failed_pods import given_up

    if applied is None:
        pieces = rendered_hints(found, output, notes)
    else:
        pieces = applied_text(found, applied, inputs.cluster.nodes, output)
    for piece in pieces:
        click.echo(piece, nl=False)
    if errors := [(one.pod.key, text) for one in found for text in one.errors]:
        return given_up(errors)
    return 0 if all(one.hints or one.reached for one in found) else 1


def _asked(engine: Engine, inputs: Inputs, *, node: str, top: int, pairs: bool) -> Iterator[PodHints]:
    """The hints for each pod; one that fits is bound before the next, unless it is asked about a node.

    Replicas that come one after the other are asked about once, by the first that does not fit.
    """
    from itertools import groupby

    from kubescheduler.engine.engine_contract import cache_for
    from kubescheduler.hinting.hint_search import HintSearch

    search = HintSearch(engine, cache_for(engine, inputs.cluster.objects))
    for _, alike in groupby(inputs.pods, key=_workload):
        pods = list(alike)
        for at, pod in enumerate(pods):
            found = search.hints(pod, node=node, top=top, pairs=pairs, others=pods[at + 1 :])
            yield found
            if not found.reached:
                break
            if found.host is not None and not node:
                search.cache.assume_pod(pod, found.host)


def _workload(pod: Pod) -> object:
    """What replicas have in common; a pod without a controller is alone."""
    owners = pod.metadata.owner_references
    return (pod.spec, pod.metadata.labels, pod.metadata.namespace, owners) if owners else pod.metadata.uid
