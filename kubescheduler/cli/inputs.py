"""Clusters and pods from the command line's arguments."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import compress
from typing import TypeVar

import attrs
import click

from clusterstate.errors import DecodeError, InputError
from clusterstate.manifests.documents import Item
from clusterstate.objects import ClusterObject, Pod, PriorityClass
from clusterstate.release_names import DEFAULT_RELEASE
from kubescheduler.cli.progress import progress
from kubescheduler.engine.releases import release_named
from kubescheduler.queue.priority_queue_1_16 import queue_order
from kubescheduler.sources.cluster_input import ClusterInput, check_references, read_cluster, read_pods

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
    cluster: Sequence[str],
    pod_files: Sequence[str],
    *,
    pending: bool,
    defaulting: bool,
    keep_items: bool,
    release: str = DEFAULT_RELEASE,
) -> Inputs:
    """Reads everything a command names; a progress bar on a terminal. Raises DecodeError with every fault."""
    problems: list[str] = []
    found = attempt(problems, lambda: _cluster(cluster, release, defaulting, keep_items))
    pods: list[Pod] | None = []
    if pending:
        pods = None if found is None else queue_order(found.objects)
    else:
        pods = attempt(problems, lambda: _pods(pod_files, found, release, defaulting))
    if found is None or pods is None:
        raise DecodeError(problems)
    if not pending:
        found = _without(found, {pod.key for pod in pods}, problems)
    running = [obj for obj in found.objects if isinstance(obj, Pod)]
    problems += _uid_faults(running if pending else [*running, *pods])
    if problems:
        raise DecodeError(problems)
    return Inputs(found.objects, pods, found.notes, found.items)


def _cluster(paths: Sequence[str], release: str, defaulting: bool, keep_items: bool) -> ClusterInput:
    with progress("reading", sys.stderr, smallest=LONG) as tell:
        found = read_cluster(
            paths,
            stdin=sys.stdin.buffer,
            defaulting=defaulting,
            keep_items=keep_items,
            progress=tell,
            filling=release_named(release).filling,
        )
    if problems := check_references(found.with_sources()):
        raise DecodeError(problems)
    return found


def _pods(paths: Sequence[str], cluster: ClusterInput | None, release: str, defaulting: bool) -> list[Pod]:
    """The pods to schedule. Without a cluster just what is wrong with them alone: nothing is defaulted."""
    if cluster is None:
        return read_pods(paths, stdin=sys.stdin.buffer, defaulting=False)
    classes = [obj for obj in cluster.objects if isinstance(obj, PriorityClass)]
    filling = release_named(release).filling
    return read_pods(paths, stdin=sys.stdin.buffer, defaulting=defaulting, priority_classes=classes, filling=filling)


def _uid_faults(pods: Iterable[Pod]) -> Iterator[str]:
    """Pods are told apart by uid; one that is copied from another has to lose the other's."""
    seen: dict[str, Pod] = {}
    for pod in pods:
        first = seen.setdefault(pod.metadata.uid, pod)
        if not pod.metadata.uid:
            yield f"Pod {pod.key}: metadata.uid: missing; give it one, or leave out --no-defaulting"
        elif first is not pod:
            yield f"Pod {pod.key}: metadata.uid: it is that of Pod {first.key}; remove it"


def _without(cluster: ClusterInput, keys: Container[str], problems: list[str]) -> ClusterInput:
    """The cluster without the pods that are to be scheduled; that one of them runs already is a fault."""
    again = {at for at, obj in enumerate(cluster.objects) if isinstance(obj, Pod) and obj.key in keys}
    for at in sorted(again):
        pod = cluster.objects[at]
        if isinstance(pod, Pod) and pod.node_name:
            where = f"{cluster.sources[at]}: Pod {pod.key}: spec.nodeName"
            problems.append(f"{where}: it runs on {pod.node_name}; remove it there, or give the pod another name")
    if not again:
        return cluster
    kept = [at not in again for at in range(len(cluster.objects))]
    return ClusterInput(
        objects=list(compress(cluster.objects, kept)),
        notes=cluster.notes,
        sources=list(compress(cluster.sources, kept)),
        items=list(compress(cluster.items, kept)),
    )


def attempt(problems: list[str], action: Callable[[], T]) -> T | None:
    """What ``action`` returns; None if its input is wrong, and ``problems`` then has its faults too."""
    try:
        return action()
    except InputError as error:
        problems += error.problems
        return None


@contextmanager
def nothing_collected() -> Iterator[None]:
    """No garbage collection while many objects are made that stay; until the command ends these are not looked at."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
        gc.freeze()
        click.get_current_context().call_on_close(gc.unfreeze)
    finally:
        if enabled:
            gc.enable()
