"""``kubescheduler why``: why a pod is where it is, or nowhere. As ``kubectl-why`` also a plugin of kubectl."""

from __future__ import annotations

import os
import sys
import time
from functools import partial
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from kubescheduler.cli.cluster_options import ClusterPlace, ServerCluster, check_standard_input, cluster_options
from kubescheduler.cli.common_options import FOREIGN_STATUS, ReleaseName, answer_option, number_option, server_version
from kubescheduler.cli.engine_options import EngineOptions, question_options, remark, remarks
from kubescheduler.cli.help_groups import GroupedCommand
from kubescheduler.releases.names import RELEASE_NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kubescheduler.api.why import Why

    Answered = tuple[Why, list[str]]
    """An answer, with what every output has to say of it."""


def pod_names(context: click.Context, _: click.Parameter, begun: str) -> list[str]:
    """Names of the server's pods, for a shell that completes POD."""
    given = context.params
    namespace, slash, name = begun.rpartition("/")
    server = ServerCluster(given.get("kubeconfig") or "", given.get("context"))
    names = server.pod_names(namespace or given.get("namespace"))
    return [f"{namespace}{slash}{each}" for each in names if each.startswith(name)]


@click.command(
    cls=GroupedCommand,
    short_help="Say why a pod is where it is, or nowhere.",
    epilog="Exit status: 0 the pod has a node or would get one, 1 it fits nowhere unless others are evicted, "
    f"{FOREIGN_STATUS}",
)
@click.argument("pod", shell_complete=pod_names)
@partial(cluster_options, required=False)
@click.option(
    "-n", "--namespace", metavar="NAME", help="The pod's namespace.  [default: the context's; of files default]"
)
@question_options
@number_option("--top", default=10, help="Show so many of each.")
@click.option(
    "-w", "--watch", is_flag=True, help="Ask the API server again every 5 seconds, say what is new, end with a node."
)
@answer_option()
def why(
    pod: str,
    cluster: tuple[ClusterPlace, ...],
    namespace: str | None,
    engine: EngineOptions,
    top: int,
    watch: bool,
    output: str,
) -> int:
    """Say why POD of CLUSTER is where it is, or nowhere.

    POD is NAME, or NAMESPACE/NAME. CLUSTER is files, folders, or - for standard input; without it the cluster is read
    as kubectl does, and its server's release decides. A pending pod is decided on as things are, with what would have
    to be evicted for it and what would make it fit; a running one is decided anew in the cluster without it: whether it
    would go there again, what else would be as good, and by which scores.

    \b
    Examples:
      kubescheduler why web-1 cluster.yaml
      kubescheduler why shop/web-1 --context prod
      kubectl why web-1 -n shop --watch
    """
    from kubescheduler.cli.decision_output import exit_status
    from kubescheduler.cli.output import echo
    from kubescheduler.core.decision import undecided

    check_standard_input(cluster)
    if watch and output == "html":
        raise click.UsageError("--watch says one answer after another: -o html is a page of one")
    if not cluster and pod.endswith((".yaml", ".yml", ".json")) and os.path.exists(pod):
        raise click.UsageError(f"{pod} is a file: say of which pod, as in why web-1 {pod}")
    places = cluster or (ServerCluster(),)
    if isinstance(places[0], ServerCluster):
        engine = _as_the_server(engine, places[0])
        namespace = namespace or places[0].namespace()
    elif watch:
        raise click.UsageError("--watch asks an API server: name no files")
    asked = partial(_asked, pod, places, namespace or "default", engine, top)
    for answer, notes in followed(asked, time.sleep) if watch else (asked(),):
        echo(_rendered(answer, output, top, notes, engine.release))
    errors = [(answer.pod.key, answer.decision.message)] if undecided(answer.decision) else []
    return exit_status(errors, fine=answer.placed)


def _asked(pod: str, places: tuple[ClusterPlace, ...], namespace: str, engine: EngineOptions, top: int) -> Answered:
    """Of the cluster as it is now. Raises InputError."""
    from kubescheduler.api.why import named_pod, why_of
    from kubescheduler.cli.cluster_files import notes_on_cluster, read_question

    configured, there = read_question(engine, places, keep_manifests=True)
    asked = named_pod(there, pod, namespace)
    remarks(notes_on_cluster(there))
    tie_break = engine.ties(configured)
    return why_of(configured, there, asked, tie_break, top=top), engine.notes(configured)


SECONDS = 5.0
"""Between one reading of the cluster and the next."""


def followed(ask: Callable[[], Answered], wait: Callable[[float], object]) -> Iterator[Answered]:
    """The answers that say something new, until the pod has a node. Raises what asking raises: a pod may be deleted."""
    said: list[str] = []
    while True:
        answer, notes = ask()
        if answer.sentences() != said:
            said = answer.sentences()
            yield answer, notes
        if answer.pod.node_name:
            return
        wait(SECONDS)


def _as_the_server(engine: EngineOptions, server: ServerCluster) -> EngineOptions:
    """By the release of the API server, where no option says by which: the pod is where that one's scheduler put it."""
    context = click.get_current_context()
    if context.get_parameter_source("release") is not ParameterSource.DEFAULT:
        return engine
    version = server_version(*server)
    release = ReleaseName(RELEASE_NAMES).convert(version, None, context)
    remark(f"the API server is of {version}: release {release} decides")
    return engine._replace(said={**engine.said, "release": release})


def _rendered(answer: Why, output: str, top: int, notes: list[str], release: str) -> Iterator[str]:
    from kubescheduler.cli.decision_output import would_evict
    from kubescheduler.cli.explanation import candidates, refusals, score_section, scores
    from kubescheduler.cli.hint import hint_section
    from kubescheduler.cli.output import headed, rendered_answer, screen_of
    from kubescheduler.report.single_file import Section

    decision, (first, *rest) = answer.decision, answer.sentences()

    def sections() -> Iterator[Section]:
        yield from (Section(texts=[text]) for text in (*rest, would_evict(decision)) if text)
        if output == "html":
            yield score_section(decision, top)
        else:
            yield Section(laid_out=scores(decision, screen_of(sys.stdout), top))
        yield from (refusals(decision, top), candidates(decision))
        if answer.hints is not None:
            yield hint_section(answer.hints)

    return rendered_answer(
        *("why", f"release {release}", first, sections(), notes, output),
        document=lambda: headed("Why", notes, **answer.to_dict()),
    )
