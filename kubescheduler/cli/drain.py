"""``kubescheduler drain``: what happens when nodes are drained, and in which order they can be."""

from __future__ import annotations

import functools
import os
import sys
from itertools import chain
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from kubescheduler.cli.cluster_options import CONTEXT, KUBECONFIG, ClusterPlace, ServerCluster, check_standard_input
from kubescheduler.cli.common_options import CI_OUTPUT, ERROR_STATUS, FILE, file_option, number_option, with_options
from kubescheduler.cli.engine_options import EngineOptions, question_options, remark, remarks
from kubescheduler.cli.help_groups import GroupedCommand

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kubescheduler.planning.drain_order import Drain
    from kubescheduler.report.ci_results import CiCase


def _cluster_and_nodes(command: Callable[..., int]) -> Callable[..., int]:
    """Gives a command ``cluster`` and ``nodes``: what is named is files first, as far as there are some, then nodes."""

    @functools.wraps(command)
    def called(*, kubeconfig: str | None, context: str | None, names: tuple[str, ...], **given: Any) -> int:
        said = click.get_current_context().get_parameter_source
        by_server = any(said(name) is ParameterSource.COMMANDLINE for name in ("kubeconfig", "context"))
        files = 0
        while not by_server and files < len(names) and (names[files] == "-" or os.path.exists(names[files])):
            files += 1
        server = kubeconfig is not None or context is not None
        if not files and not server and given.get("write_config_to") is None:
            named = f": there is no file {names[0]}" if names else ""
            raise click.UsageError(f"say where the cluster is: CLUSTER, --kubeconfig or --context{named}")
        places: tuple[ClusterPlace, ...] = names[:files] or (ServerCluster(kubeconfig or "", context),)
        return command(cluster=places, nodes=names[files:], **given)

    argument = click.argument("names", nargs=-1, type=FILE, metavar="CLUSTER NODE...")
    return with_options(called, (argument, KUBECONFIG, CONTEXT))


@click.command(
    cls=GroupedCommand,
    short_help="Say what happens when nodes are drained, and in which order they can be.",
    epilog=f"Exit status: 0 all pods that come back run again, 1 one fits nowhere, or a budget blocks, {ERROR_STATUS}",
)
@_cluster_and_nodes
@click.option("--node", "named", multiple=True, metavar="NODE", help="A node by its name, as NODE.  [repeatable]")
@click.option("-l", "--selector", metavar="SELECTOR", help="Also the nodes with these labels: pool=old,zone!=a.")
@click.option("--ignore-daemonsets", is_flag=True, help="Leave pods of DaemonSets alone; without it they are an error.")
@click.option("--delete-emptydir-data", is_flag=True, help="Also evict pods with emptyDir volumes.")
@click.option("--force", is_flag=True, help="Also evict pods of no controller, which nobody makes anew.")
@click.option("--disable-eviction", is_flag=True, help="Delete pods, so that no disruption budget protects them.")
@click.option("--pod-selector", metavar="SELECTOR", help="Only pods with these labels leave.")
@click.option(
    "--grace-period", type=int, metavar="SECONDS", help="Taken as kubectl takes it; here pods end at once all the same."
)
@click.option(
    "--order",
    is_flag=True,
    help="Find an order in which budgets hold and every pod runs again before the next nodes.",
)
@number_option("--batch", help="With --order: at most so many nodes at once.  [default: 1]")
@number_option("--surge", help="With --order: so many nodes of --shape come first; can they go again at the end?")
@file_option(
    "--shape",
    help="With --surge: of what kind: a Node manifest, or an entry with cpu and memory, as nodes --shapes reads it.",
)
@click.option(
    "--kubernetes-upgrade",
    metavar="A:B",
    help="With --order: after its step a node comes back under its name, its kubelet of version B instead of A.",
)
@question_options
@CI_OUTPUT
def drain(
    cluster: tuple[ClusterPlace, ...],
    nodes: tuple[str, ...],
    named: tuple[str, ...],
    selector: str | None,
    pod_selector: str | None,
    grace_period: int | None,
    order: bool,
    batch: int | None,
    surge: int | None,
    shape: str | None,
    kubernetes_upgrade: str | None,
    engine: EngineOptions,
    output: str,
    **evicts: bool,
) -> int:
    """Say what happens when the NODEs of CLUSTER are drained, as kubectl drain does it.

    CLUSTER is files, folders, or - for standard input. The nodes are cordoned, then their pods are evicted as far as
    disruption budgets allow it, again and again as they run elsewhere. What controllers make anew goes through the
    scheduler's own queue and cycle, preemption included. Each pod is shown with where it was and where it is then, or
    why it fits nowhere and what would help, or which budget keeps it.

    \b
    Examples:
      kubescheduler drain cluster.yaml node-1 --ignore-daemonsets
      kubescheduler drain cluster.yaml -l pool=old --ignore-daemonsets --order --batch 2
      kubescheduler drain cluster.yaml -l pool=old --order --surge 1 --shape node.yaml
      kubescheduler drain --context prod node-1 node-2 --ignore-daemonsets
    """
    from clusterstate.errors import both
    from kubescheduler.api.disruptions import drain_of, flags_for, named_nodes, order_options
    from kubescheduler.cli.cluster_files import notes_on_cluster, read_question
    from kubescheduler.cli.decision_output import displaced_status
    from kubescheduler.cli.output import echo
    from kubescheduler.given import read_paths

    said = {"--batch": batch, "--surge": surge, "--shape": shape, "--kubernetes-upgrade": kubernetes_upgrade}
    if not order and (of_order := [name for name, value in said.items() if value is not None]):
        raise click.UsageError(f"{', '.join(of_order)}: this is said of an order: give --order as well")
    if (surge is None) != (shape is None):
        raise click.UsageError("--surge says how many nodes come first, --shape of what kind: give both")
    check_standard_input(cluster, () if shape is None else (shape,))
    of_shape = None if shape is None else functools.partial(read_paths, [shape], sys.stdin.buffer)
    order_asked = (batch or 1, surge or 0, of_shape, kubernetes_upgrade, engine.release, "--kubernetes-upgrade")
    wanted, (configured, there) = both(
        functools.partial(order_options, *order_asked),
        functools.partial(read_question, engine, cluster, keep_manifests=True),
    )
    names = named_nodes(there, [*nodes, *named], selector)
    flags = flags_for(there, None if wanted.upgrade is not None else names, pod_selector, **evicts)
    remarks(notes_on_cluster(there, reads_daemon_sets=surge is not None))
    if grace_period is not None:
        remark(f"--grace-period {grace_period}: pods end at once here, however long they may take")
    answer = drain_of(configured, there, names, flags, engine.ties(configured), wanted if order else None)
    echo(_rendered(answer, output, [*engine.notes(configured), *answer.notes], configured.release))
    return displaced_status([answer], fine=answer.fine)


def _rendered(answer: Drain, output: str, notes: list[str], release: str) -> Iterator[str]:
    """The answer in pieces; a table or page has the order, if one was asked for, then a line for every pod."""
    from kubescheduler.cli.explanation import evidence_of_displaced
    from kubescheduler.cli.output import rendered_answer
    from kubescheduler.report.single_file import drain_sections

    if output in ("junit", "github"):
        from kubescheduler.report.ci_results import Suite, rendered_results

        suite = Suite(", ".join(answer.asked), list(_cases(answer)), notes)
        return rendered_results("kubescheduler drain", [suite], output)
    sections = chain(drain_sections(answer), evidence_of_displaced(answer.nowhere) if output == "html" else ())
    return rendered_answer(
        *("drain", f"release {release}", answer.summary(), sections, notes, output),
        document=lambda: {"kind": "Drain", "release": release, **answer.to_dict(), "notes": notes},
    )


def _cases(answer: Drain) -> Iterator[CiCase]:
    from kubescheduler.report.ci_results import CiCase, Standing, displaced_cases

    kept = [(each.pod, "blocked", f"{each.refusal}; {each.why}") for each in answer.blocked]
    yield from displaced_cases(kept, answer.moved, answer.hints, lost_fails=False)
    if answer.order is not None:
        steps = "\n".join(f"step {at}: {', '.join(batch)}" for at, batch in enumerate(answer.order.batches, 1))
        ways = "\n".join(map(str, answer.order.obstacles))
        standing = Standing.PASSED if answer.order.complete else Standing.FAILED
        yield CiCase("drain", "order", standing, "order", ways and answer.order.sentence(), ways or steps)
    for name, each in {"surge": answer.surge, "kubernetes-upgrade": answer.upgrade}.items():
        if each is not None:
            yield CiCase("drain", name, message=each.sentence(), text=each.sentence())
