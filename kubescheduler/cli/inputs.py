"""Clusters and pods from the command line's arguments."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import attrs

from clusterstate.documents import Item
from clusterstate.errors import DecodeError, InputError
from clusterstate.objects import ClusterObject, Pod, PriorityClass
from kubescheduler.cli.progress import progress
from kubescheduler.core.queue import queue_order
from kubescheduler.sources import ClusterInput, check_references, read_cluster, read_pods

LONG = 5000
"""Objects that take long enough to read for a progress bar."""

T = TypeVar("T")


@attrs.frozen
class Inputs:
    """objects: the cluster, in order of the input. pods: what to schedule, in order.

    items: what each object was read from, parallel to ``objects``; empty unless it was asked for.
    """

    objects: list[ClusterObject]
    pods: list[Pod]
    notes: list[str]
    items: list[Item]


def read_inputs(
    cluster: Sequence[str], pod_files: Sequence[str], *, pending: bool, defaulting: bool, keep_items: bool
) -> Inputs:
    """Reads everything a command names; a progress bar on a terminal. Raises DecodeError with every fault."""
    problems: list[str] = []
    found = attempt(problems, lambda: _cluster(cluster, defaulting, keep_items))
    pods: list[Pod] | None = []
    if pending:
        pods = None if found is None else queue_order(found.objects)
    else:
        pods = attempt(problems, lambda: _pods(pod_files, found, defaulting))
    if found is None or pods is None:
        raise DecodeError(problems)
    if not defaulting:
        problems += _without_uid([*(obj for obj in found.objects if isinstance(obj, Pod)), *pods])
    if not pending:
        problems += _running_already(found, pods)
    if problems:
        raise DecodeError(dict.fromkeys(problems))
    return Inputs(found.objects, pods, found.notes, found.items)


def _cluster(paths: Sequence[str], defaulting: bool, keep_items: bool) -> ClusterInput:
    with progress("reading", sys.stderr, smallest=LONG) as tell:
        found = read_cluster(
            paths, stdin=sys.stdin.buffer, defaulting=defaulting, keep_items=keep_items, progress=tell
        )
    if problems := check_references(found.with_sources()):
        raise DecodeError(problems)
    return found


def _pods(paths: Sequence[str], cluster: ClusterInput | None, defaulting: bool) -> list[Pod]:
    """The pods to schedule. Without a cluster just what is wrong with them alone: nothing is defaulted."""
    if cluster is None:
        return read_pods(paths, stdin=sys.stdin.buffer, defaulting=False)
    classes = [obj for obj in cluster.objects if isinstance(obj, PriorityClass)]
    return read_pods(paths, stdin=sys.stdin.buffer, defaulting=defaulting, priority_classes=classes)


def _without_uid(pods: Sequence[Pod]) -> Iterator[str]:
    for pod in pods:
        if not pod.metadata.uid:
            yield f"Pod {pod.key}: metadata.uid: missing; give it one, or leave out --no-defaulting"


def _running_already(cluster: ClusterInput, pods: Sequence[Pod]) -> Iterator[str]:
    wanted = {pod.key for pod in pods}
    for obj in cluster.objects:
        if isinstance(obj, Pod) and obj.node_name and obj.key in wanted:
            yield f"Pod {obj.key}: it already runs on {obj.node_name}; remove it from the cluster, or rename the other"


def attempt(problems: list[str], action: Callable[[], T]) -> T | None:
    """What ``action`` returns; None if its input is wrong, and ``problems`` then has its faults too."""
    try:
        return action()
    except InputError as error:
        problems += error.problems
        return None


@contextmanager
def nothing_collected() -> Iterator[None]:
    """No garbage collection while many objects are made that stay, and none of these objects later."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        if enabled:
            gc.enable()
