"""The part of a scheduling attempt that HTTP extenders have."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from clusterstate.errors import SchedulingError
from clusterstate.growable import IntArray
from clusterstate.objects import Pod
from clusterstate.usage import wrap
from kubescheduler.core.algorithm import Extender
from kubescheduler.core.answer_rows import FilterAnswer, SnapshotRows
from kubescheduler.core.decision_records import ExtenderTrace


def heard(_: FilterAnswer) -> None:
    """Nothing more is made of an answer."""


def filter_with_extenders(
    pod: Pod,
    extenders: Sequence[Extender],
    places: SnapshotRows,
    feasible: IntArray,
    hear: Callable[[FilterAnswer], None] = heard,
) -> tuple[IntArray, tuple[ExtenderTrace, ...]]:
    """The rows that are left after every interested extender, in the order the last one gave, and the traces.

    Extenders are asked one after the other until no node is left; an ignorable one that fails changes nothing.
    ``places`` has the rows of the nodes that are answered; ``hear`` is called with every answer. Raises SchedulingError
    when an extender that is not ignorable fails. Upstream: 1.16 findNodesThatFit, later findNodesThatPassExtenders.
    """
    traces: list[ExtenderTrace] = []
    for extender in extenders:
        config = extender.config
        trace = ExtenderTrace(config.name, config.weight)
        if len(feasible) and config.filter_verb and extender.is_interested(pod):
            nodes = places.nodes(feasible)
            trace = msgspec.structs.replace(trace, filter_nodes=nodes)
            try:
                answer = extender.filter(pod, nodes, places.snapshot.known_names)
                places.read(answer)
            except SchedulingError as error:
                if not config.ignorable:
                    raise
                trace = msgspec.structs.replace(trace, filter_error=str(error))
            else:
                feasible = places.rows(answer)
                hear(answer)
                unresolvable = dict(answer.unresolvable) or None
                trace = msgspec.structs.replace(trace, failed=dict(answer.failed), unresolvable=unresolvable)
        traces.append(trace)
    return feasible, tuple(traces)


def score_with_extenders(
    pod: Pod,
    extenders: Sequence[Extender],
    traces: Sequence[ExtenderTrace],
    places: SnapshotRows,
    feasible: IntArray,
    scale: int = 1,
) -> tuple[IntArray, tuple[ExtenderTrace, ...]]:
    """((n,) int64 Σ weight·score·scale on the feasible rows, the traces completed).

    All calls run at once; one that fails adds nothing. Scores are used as they come, hosts that are not
    feasible are passed over. ``places`` has the node objects that are sent, as filters answered them. Upstream: 1.16
    PrioritizeNodes.
    """
    position: dict[str, list[int]] = {}
    for at, name in enumerate(places.names(feasible)):
        position.setdefault(name, []).append(at)
    nodes = places.nodes(feasible)
    asked = [bool(e.config.prioritize_verb) and e.is_interested(pod) for e in extenders]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(max(1, sum(asked))) as pool:
        calls = [
            pool.submit(e.prioritize, pod, nodes) if ask else None for e, ask in zip(extenders, asked, strict=True)
        ]
    sums, completed = [0] * len(feasible), []
    for extender, trace, call in zip(extenders, traces, calls, strict=True):
        if call is None:
            completed.append(trace)
            continue
        try:
            scores = call.result()
        except SchedulingError as error:
            completed.append(msgspec.structs.replace(trace, prioritize_nodes=nodes, prioritize_error=str(error)))
            continue
        by_host: dict[str, int] = {}
        for host, score in scores:
            by_host[host] = by_host.get(host, 0) + score
        for host, score in by_host.items():
            for at in position.get(host, ()):
                sums[at] += extender.config.weight * score * scale
        completed.append(msgspec.structs.replace(trace, prioritize_nodes=nodes, scores=tuple(scores)))
    return np.array([wrap(value) for value in sums], np.int64), tuple(completed)
