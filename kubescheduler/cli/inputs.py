"""Clusters and pods from the command line's arguments."""

from __future__ import annotations

import gc
import sys
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import click
import msgspec

from clusterstate.errors import DecodeError, InputError, attempt
from clusterstate.manifests.decode import notes_on
from clusterstate.manifests.fields import STRICT, Accepted, Judgement, Strictness, strictness_of
from clusterstate.objects import Pod
from clusterstate.versions import DEFAULT_RELEASE
from kubescheduler.api.cluster import Cluster
from kubescheduler.cli.cluster_options import ClusterPlace, ServerCluster
from kubescheduler.cli.engine_options import EngineOptions, remarks
from kubescheduler.cli.progress import progress
from kubescheduler.engine.spec import Engine
from kubescheduler.simulation.pods_to_place import PodsToPlace, read_pods_to_place
from kubescheduler.simulation.workload import Workload
from kubescheduler.sources.cluster_input import uid_problems

LONG = 5000
"""Objects that take long enough to read for a progress bar."""


class Inputs(msgspec.Struct, frozen=True):
    """What a command names."""

    cluster: Cluster
    """The cluster, without the pods to schedule unless these wait in it."""
    pods: list[Pod]
    """What to schedule, in order."""
    notes: tuple[str, ...] = ()
    """What is to be said about what was read."""


def read_inputs(
    cluster: Sequence[ClusterPlace],
    pod_files: Sequence[str],
    *,
    pending: bool,
    defaulting: bool,
    keep_manifests: bool,
    release: str = DEFAULT_RELEASE,
    validate: Judgement | None = None,
    gates: Mapping[str, bool] | None = None,
) -> Inputs:
    """Reads everything a command names; a progress bar on a terminal. Raises DecodeError with every fault."""
    problems: list[str] = []

    how: dict[str, Any] = {"keep_manifests": keep_manifests, "validate": validate, "gates": gates}
    there = attempt(problems, read_shown, cluster, release, defaulting, **how)
    asked: PodsToPlace | None = None
    if not pending:
        asked = attempt(problems, read_pods_for, there, pod_files, release, defaulting, validate)
    elif there is not None:
        asked = PodsToPlace(there.pending())
    if there is None or asked is None:
        raise DecodeError(problems)
    if not pending:
        there = _without(there, {pod.key for pod in asked.pods}, problems)
    problems += uid_problems(there.pods if pending else [*there.pods, *asked.pods])
    if problems:
        raise DecodeError(problems)
    there = there.with_accompanying(asked.accompanying)
    none = ("no pending pods in the cluster",) if pending and not asked.pods else ()
    return Inputs(there, asked.pods, (*notes_on_cluster(there), *asked.notes, *asked.controllers, *none))


def notes_on_cluster(cluster: Cluster, *, reads_daemon_sets: bool = False) -> tuple[str, ...]:
    """What was noticed while reading it, and that it has no nodes. reads_daemon_sets: whether their manifests count."""
    notes = notes_where_daemons_count(cluster) if reads_daemon_sets else cluster.notes
    return notes if cluster.nodes else (*notes, "the cluster has no nodes")


def notes_where_daemons_count(cluster: Cluster) -> tuple[str, ...]:
    """What was noticed while reading a cluster whose manifests of DaemonSets are not left out for once."""
    left_out = notes_on({'"DaemonSet"': len(cluster.daemon_sets)})
    return tuple(note for note in cluster.notes if note not in left_out)


def read_shown(
    places: Sequence[ClusterPlace],
    release: str,
    defaulting: bool,
    *,
    keep_manifests: bool = False,
    validate: Judgement | None = None,
    gates: Mapping[str, bool] | None = None,
) -> Cluster:
    """A cluster, with a progress bar on a terminal. Raises InputError with every fault."""
    opened = [place.open() if isinstance(place, ServerCluster) else place for place in places]
    with progress("reading", sys.stderr, smallest=LONG) as tell:
        return Cluster.read(
            *opened,
            release=release,
            stdin=sys.stdin.buffer,
            defaulting=defaulting,
            keep_manifests=keep_manifests,
            progress=tell,
            validate=validate,
            gates=gates,
        )


def read_question(
    engine: EngineOptions, places: Sequence[ClusterPlace], *, keep_manifests: bool = False
) -> tuple[Engine, Cluster]:
    """(what decides, the cluster that it is asked about). Raises InputError with every fault of both."""
    problems: list[str] = []
    with nothing_collected():
        configured = attempt(problems, engine.engine)
        there = attempt(problems, read_shown, places, **engine.reading, keep_manifests=keep_manifests)
    if configured is None or there is None:
        raise InputError(problems)
    return configured, there


def read_pods_for(
    cluster: Cluster | None,
    paths: Sequence[str],
    release: str,
    defaulting: bool,
    validate: Judgement | None = None,
) -> PodsToPlace:
    """The pods to schedule. Without a cluster just what is wrong with them alone: nothing is defaulted."""
    return read_pods_to_place(
        paths,
        cluster,
        stdin=sys.stdin.buffer,
        defaulting=defaulting and cluster is not None,
        release=release,
        strictness=judged_like(cluster, validate),
    )


def judged_like(cluster: Cluster | None, validate: Judgement | None) -> Strictness:
    """How pods for a cluster are judged: strictly unless an option says otherwise, and for the same API server."""
    return strictness_of(validate, STRICT).under(Accepted() if cluster is None else cluster.strictness.accepted)


def _without(cluster: Cluster, keys: Container[str], problems: list[str]) -> Cluster:
    """The cluster without the pods that are to be scheduled; that one of them runs already is a fault."""
    again = []
    for entry in cluster.entries():
        pod = entry.obj
        if isinstance(pod, Pod) and pod.key in keys:
            again.append(pod.key.removeprefix("/"))
            if pod.node_name:
                where = f"{entry.source}: Pod {pod.key}: spec.nodeName"
                problems.append(f"{where}: it runs on {pod.node_name}; remove it there, or give the pod another name")
    return cluster.without_pod(*again) if again else cluster


@contextmanager
def nothing_collected() -> Iterator[None]:
    """No garbage collection while many objects are made that stay; these are not looked at until the command ends."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
        gc.freeze()
        click.get_current_context().call_on_close(gc.unfreeze)
    finally:
        if enabled:
            gc.enable()


def mirrored_inputs(path: str, release: str, gates: Mapping[str, bool] | None = None) -> tuple[Cluster, Workload]:
    """The cluster as it was at the start, and what came to it; notes go to standard error. Raises DecodeError."""
    from kubescheduler.simulation.mirrored_traffic import MirroredTraffic

    traffic = MirroredTraffic.read(path)
    cluster = Cluster(*traffic.start(), release=release, defaulting=False, validate="ignore", gates=gates)
    workload, notes = traffic.workload(cluster.objects)
    remarks(notes)
    return cluster, workload
