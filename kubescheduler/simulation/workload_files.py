"""Clusters and workloads from files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import IO

import msgspec

from clusterstate.errors import DecodeError
from clusterstate.manifests.documents import Item
from clusterstate.manifests.strictness import BY_ORIGIN, STRICT, Strictness
from clusterstate.objects import ClusterObject, Pod
from clusterstate.versions import DEFAULT_RELEASE
from kubescheduler.releases.daemon_controllers import DaemonController
from kubescheduler.releases.lookup import release_named
from kubescheduler.simulation.openb_trace import Trace, read_inputs_of
from kubescheduler.simulation.workload import Arrival, Workload
from kubescheduler.simulation.workload_manifests import WorkloadReader
from kubescheduler.sources.cluster_input import swapped
from kubescheduler.sources.cross_objects import repeated_names, uid_problems


def read_workload(  # noqa: PLR0913
    paths: Sequence[str],
    cluster: Iterable[ClusterObject],
    *,
    stdin: IO[bytes] | None = None,
    defaulting: bool = True,
    pending: bool = False,
    release: str = DEFAULT_RELEASE,
    strictness: Strictness = STRICT,
    daemons: DaemonController | None = None,
    running: bool = False,
) -> tuple[Workload, list[str]]:
    """The workload of files, and notes on what was left out.

    A ``.csv`` file, and CSV on standard input, is a trace of pods; all else are manifests: pods, controllers with a pod
    template, nodes that join, and other objects that are there from the start. A pod comes after
    ``kubescheduler/arrives-after`` if it is annotated so, else at its creationTimestamp, else at the start, which is
    the earliest creation; it runs for ``kubescheduler/duration``, or until its deletionTimestamp. Whether and where it
    ran before does not matter. pending: the pending pods of ``cluster`` come too, at the start, in queue order.
    strictness: what comes of fields that the API does not have; see ``Decoder``. daemons: what makes the pods of
    DaemonSets, by default the release's controller; see ``daemons_among``. running: a pod may run already, in
    ``cluster`` or as it is written: one that is written with a node of either is there, and has it.

    Raises DecodeError with every fault; a pod that runs in ``cluster`` already, or is there twice, is one.
    """
    read = read_inputs_of(paths, stdin)
    return workload_in(
        read.items,
        read.problems,
        cluster,
        traces=read.traces,
        name=", ".join(paths),
        defaulting=defaulting,
        pending=pending,
        release=release,
        strictness=strictness,
        daemons=daemons,
        running=running,
    )


def workload_in(  # noqa: PLR0913
    items: Sequence[Item],
    problems: list[str],
    cluster: Iterable[ClusterObject],
    *,
    traces: Sequence[Trace] = (),
    name: str = "workload",
    defaulting: bool = True,
    pending: bool = False,
    release: str = DEFAULT_RELEASE,
    strictness: Strictness = BY_ORIGIN,
    daemons: DaemonController | None = None,
    running: bool = False,
) -> tuple[Workload, list[str]]:
    """The workload of items that were read before and of traces; see ``read_workload``.

    problems: what is known to be wrong already; it is among the faults of the DecodeError. name: of all, in errors.
    """
    objects = list(cluster)
    record = release_named(release)
    reading = WorkloadReader(
        items, objects, record, problems, defaulting=defaulting, strictness=strictness, daemons=daemons, running=running
    )
    reading.run()
    for trace in traces:
        try:
            reading.add_trace(trace)
        except DecodeError as error:
            problems += error.problems
    waiting = [Arrival(pod) for pod in record.queue_order(objects)] if pending else []
    workload = reading.workload()
    workload = msgspec.structs.replace(workload, arrivals=(*waiting, *workload.arrivals))
    problems += _clashes(workload, objects, running=running)
    if not (problems or workload.arrivals or workload.controllers):
        fault = swapped((arrival.node for arrival in workload.nodes), objects)
        fault = fault or "no pods in it; give pods, a controller with a pod template, or a .csv trace"
        problems.append(f"{name}: {fault}")
    if problems:
        raise DecodeError(problems)
    return workload, reading.notes


def _clashes(workload: Workload, cluster: Iterable[ClusterObject], *, running: bool) -> Iterator[str]:
    there = [obj for obj in cluster if isinstance(obj, Pod) and obj.node_name]
    known = {pod.key: pod.node_name for pod in there if not running}
    pods = list(workload.pods())
    for key in dict.fromkeys(pod.key for pod in pods if pod.key in known):
        yield f"Pod {key}: it already runs on {known[key]}; rename it, or remove it from the cluster"
    yield from repeated_names((pod for pod in pods if pod.key not in known), "the workload")
    yield from dict.fromkeys(uid_problems([*there, *pods]))
