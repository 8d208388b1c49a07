"""``kubescheduler hint``: what would make a pod fit, or go to a node."""

from __future__ import annotations

import sys
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

import click

from kubescheduler.cli.cluster_options import ClusterPlace, check_standard_input, cluster_options
from kubescheduler.cli.common_options import FOREIGN_STATUS, number_option, output_option, pod_files_option
from kubescheduler.cli.engine_options import EngineOptions, question_options, remarks
from kubescheduler.cli.help_groups import GroupedCommand

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from clusterstate.objects import Node, Pod
    from kubescheduler.cli.cluster_files import Inputs
    from kubescheduler.cli.output import Screen
    from kubescheduler.engine.spec import Engine
    from kubescheduler.hinting.proposals import PodHints
    from kubescheduler.report.single_file import Section


@click.command(
    cls=GroupedCommand,
    short_help="What would make a pod fit, or go to a node.",
    epilog=f"Exit status: 0 a hint for each pod that needs one, 1 none for some pod, {FOREIGN_STATUS}",
)
@cluster_options
@pod_files_option("pod", "--pod", "Pods to ask about: manifests, controllers with a pod template, or a .csv trace.")
@click.option("--pending", is_flag=True, help="Ask about every pending pod of the cluster, in queue order.")
@click.option("--node", metavar="NAME", help="What would make each pod go to this node.")
@question_options
@number_option("--top", default=10, help="Show so many of each.")
@click.option("--pairs/--no-pairs", default=True, show_default=True, help="Also two changes at a time.")
@number_option(
    "--apply",
    "applied",
    help="Only write the changed manifests of the hint of this number, as YAML or with -o json as JSON.",
)
@output_option("table", "json", "yaml")
def hint(
    cluster: tuple[ClusterPlace, ...],
    pod: tuple[str, ...],
    pending: bool,
    node: str | None,
    engine: EngineOptions,
    top: int,
    pairs: bool,
    applied: int | None,
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
    from clusterstate.errors import both
    from kubescheduler.cli.cluster_files import nothing_collected, read_inputs
    from kubescheduler.cli.decision_output import exit_status
    from kubescheduler.cli.output import echo

    if bool(pod) == pending:
        raise click.UsageError("say which pods to ask about: either --pod FILE or --pending")
    check_standard_input(cluster, pod)
    read = partial(read_inputs, cluster, pod, pending=pending, keep_manifests=False, **engine.reading)
    with nothing_collected():
        configured, inputs = both(engine.engine, read)
    remarks(inputs.notes)
    found = list(_asked(configured, inputs, node=node or "", top=max(top, applied or 0), pairs=pairs))
    if applied is None:
        echo(_rendered(found, output, engine.notes(configured)))
    else:
        echo(_applied(found, applied, inputs.cluster.nodes, output))
    tried = [one for one in found if not one.foreign]
    errors = [(one.pod.key, text) for one in found for text in one.errors]
    if not (pending and tried):
        errors += ((one.pod.key, one.message) for one in found if one.foreign)
    return exit_status(errors, fine=all(one.hints or one.reached for one in tried))


def _asked(engine: Engine, inputs: Inputs, *, node: str, top: int, pairs: bool) -> Iterator[PodHints]:
    """The hints for each pod; one that fits is bound before the next, unless it is asked about a node.

    Replicas that come one after the other are asked about once, by the first that does not fit.
    """
    from kubescheduler.engine.spec import cache_for, place
    from kubescheduler.hinting.hint_search import HintSearch

    search = HintSearch(engine, cache_for(engine, inputs.cluster.objects))
    for _, alike in groupby(inputs.pods, key=_workload):
        pods = list(alike)
        for at, pod in enumerate(pods):
            answer = search.hints(pod, node=node, top=top, pairs=pairs, others=pods[at + 1 :])
            yield answer
            if not answer.reached:
                break
            if answer.host is not None and not node:
                place(search.scheduler, pod, answer.host)


def _workload(pod: Pod) -> object:
    """What replicas have in common; a pod without a controller is alone."""
    owners = pod.metadata.owner_references
    return (pod.spec, pod.metadata.labels, pod.metadata.namespace, owners) if owners else pod.metadata.uid


def _rendered(found: Iterable[PodHints], output: str, notes: Sequence[str]) -> Iterator[str]:
    """The hints in pieces; output: table, json or yaml."""
    from kubescheduler.cli.output import headed, list_document, noted, screen_of

    if output != "table":
        yield from list_document(headed("HintList", notes), (one.to_dict() for one in found), output)
        return
    screen = screen_of(sys.stdout)
    yield noted(notes, screen)
    for number, one in enumerate(found):
        yield "\n" if number else ""
        yield from _of_pod(one, screen)


def _of_pod(one: PodHints, screen: Screen) -> Iterator[str]:
    if one.reached:
        yield f"{screen.filled(f'{one.pod.key}: goes to {one.host}; nothing needs to change')}\n"
        return
    from kubescheduler.cli.output import section_text

    message = " ".join(one.message.split()) or f"goes to {one.host}, not to {one.goal.node}"
    alike = f" and {len(one.others)} more alike" if one.others else ""
    yield f"{screen.filled(f'{one.pod.key}{alike}: {message}')}\n"
    yield section_text(hint_section(one), screen) + "\n"


def hint_section(one: PodHints, title: str = "Hints") -> Section:
    """The hints for one pod, a row each, or that there are none."""
    from kubescheduler.cli.output import ERROR, NONE
    from kubescheduler.report.single_file import Section

    if not one.hints:
        text = f"{ERROR}: see below" if one.errors else f"{NONE}: {one.none}"
        return Section(title, texts=[text])
    rows = [(str(at), hint.text, hint.host, hint.effect) for at, hint in enumerate(one.hints, 1)]
    left_out = [f"! {one.left_out}"] if one.left_out else []
    return Section(title, [("#", "CHANGE", "THEN GOES TO", "AND"), *rows], left_out, gives_way=1, keys=1)


def _applied(found: Sequence[PodHints], number: int, nodes: Iterable[Node], output: str) -> Iterator[str]:
    """The changed manifests of each pod's hint of a number, from 1. Raises InputError where there is no such hint."""
    from clusterstate.errors import InputError
    from kubescheduler.cli.output import document_text
    from kubescheduler.hinting.proposals import manifests_of

    by_name = {node.name: node for node in nodes}
    needing = [one for one in found if not one.reached]
    if problems := [
        f"{one.pod.key}: there are {len(one)} hints, none is {number}" for one in needing if len(one) < number
    ]:
        raise InputError(problems)
    documents = [each for one in needing for each in manifests_of(one[number - 1], one.pod, by_name)]
    for at, document in enumerate(documents):
        yield ("---\n" if at and output != "json" else "") + document_text(document, output)
