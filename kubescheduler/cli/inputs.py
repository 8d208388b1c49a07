"""Clusters and pods from the command line's arguments."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import attrs
import click

from clusterstate.errors import DecodeError
from clusterstate.objects import Pod, PriorityClass
from kubescheduler.sources import check_references, read_cluster, read_pods

FINISHED = ("Succeeded", "Failed")


@attrs.frozen
class Inputs:
    """objects: the cluster, in order of the input. pods: what to schedule, in order."""

    objects: list[Any]
    pods: list[Pod]
    notes: list[str]


def read_inputs(
    cluster: Sequence[str], pod_files: Sequence[str], *, pending: bool, defaulting: bool, keep: bool
) -> Inputs:
    """Reads everything a command names; a progress bar on a terminal. Raises DecodeError with every fault."""
    stdin = sys.stdin.buffer
    with click.progressbar(
        length=1, label="reading", file=sys.stderr, hidden=not sys.stderr.isatty(), show_pos=False
    ) as bar:

        def progress(done: int, total: int) -> None:
            bar.length = max(total, 1)
            bar.update(done - bar.pos)

        found = read_cluster(cluster, stdin=stdin, defaulting=defaulting, keep_manifests=keep, progress=progress)
    if problems := check_references(found.with_sources()):
        raise DecodeError(problems)
    if pending:
        return Inputs(found.objects, queued(found.objects), found.notes)
    classes = [obj for obj in found.objects if isinstance(obj, PriorityClass)]
    pods = read_pods(pod_files, stdin=stdin, defaulting=defaulting, priority_classes=classes)
    running = {obj.metadata.uid: obj for obj in found.objects if isinstance(obj, Pod) and obj.node_name}
    twice = [pod for pod in pods if pod.metadata.uid in running]
    if twice:
        raise DecodeError(
            f"Pod {pod.key}: it already runs on {running[pod.metadata.uid].node_name}; remove it from the cluster first"
            for pod in twice
        )
    return Inputs(found.objects, pods, found.notes)


def queued(objects: Sequence[Any]) -> list[Pod]:
    """The pending pods in queue order: higher priority first, then older, then as they were read.

    Upstream: 1.16 activeQComp; pods that are being deleted are skipped.
    """
    waiting = [
        obj
        for obj in objects
        if isinstance(obj, Pod)
        and not obj.node_name
        and obj.phase not in FINISHED
        and obj.metadata.deletion_timestamp is None
    ]
    return sorted(waiting, key=lambda pod: (-pod.priority, pod.metadata.creation_timestamp or ""))
