"""The verb ``sides``: the same pods decided by every side, and why they go elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from clusterstate.errors import InputError, listed
from clusterstate.objects import Pod
from kubescheduler.api.cluster import Cluster
from kubescheduler.api.whole_runs import without
from kubescheduler.comparison.comparing import compare
from kubescheduler.comparison.comparison import Comparison
from kubescheduler.comparison.headline import headline
from kubescheduler.comparison.outcomes import MEANINGS, Cause, Outcome, PodComparison
from kubescheduler.comparison.running_pods import ALL, RunningPods, running_pods
from kubescheduler.engine.engine_flags import newest_gates
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.verb_parameters import Parameters, parameters
from kubescheduler.releases.lookup import newest

MOST_COMPARED = 500
"""Pods that are compared at once, in the order of the queue."""


class SidesParameters(Parameters, frozen=True):
    """Of ``sides``."""

    mode: Literal["independent", "sequence"] = "independent"
    """Each pod on the cluster as it is, or each scheduler going on from its own choices."""
    pods: Literal["asked", "pending", "running"] = "pending"
    """The pod that is asked about, all that wait, or all that run, each taken out of the cluster and decided anew."""
    of: str = ALL
    """Of the running ones those that this selector picks; see ``running_pods``."""
    preempt: bool = False
    """Whether a pod that fits nowhere takes the place of lower ones."""


def sides(scene: Scene, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Where each side places the pods, and the cause where another side than the first does otherwise."""
    want = parameters(SidesParameters, asked)
    state = scene.state
    ids = [side.id for side in state.sides]
    cluster = _read(scene)
    pods, left, notes = _asked(scene, cluster, want)
    if len(ids) < 2 or not pods:
        text = "There is one scheduler; add another side." if len(ids) < 2 else "; ".join(notes) or "No pod waits."
        return {"sides": ids, "pods": [], "more": 0, "summary": {}, "same": True, "notes": [], "text": text}
    specs, engines = [side.spec for side in state.sides], [scene.engine(letter) for letter in ids]
    found = compare(
        without(cluster, pods),
        pods,
        specs[0],
        specs[1:],
        mode=want.mode,
        names=ids,
        engines=engines,
        preempt=want.preempt,
    )
    return {
        "sides": ids,
        "pods": [_pod(ids, pod) for pod in found.pods],
        "more": left,
        "summary": _summary(found),
        "same": found.same,
        "notes": listed([*notes, *found.notes]),
        "text": _text(found, left),
    }


def _read(scene: Scene) -> Cluster:
    """The cluster as the newest of the releases stores it; the one that the scene keeps, where a side has its gates."""
    specs = [side.spec for side in scene.state.sides]
    release, gates = newest([spec.release for spec in specs]).name, newest_gates(specs)
    for side in scene.state.sides:
        if side.release == release and side.spec.gates == gates:
            return scene.cluster(side.id)
    return scene.state.cluster.for_release(release, gates)


def _asked(scene: Scene, cluster: Cluster, want: SidesParameters) -> tuple[list[Pod], int, tuple[str, ...]]:
    """The pods to compare, how many are left out, and why others are."""
    if want.pods == "asked":
        pod = cluster.find_pod(scene.pod_key())
        return ([] if pod is None else [pod]), 0, ()
    try:
        picked = running_pods(cluster.objects, want.of) if want.pods == "running" else RunningPods(cluster.pending())
    except InputError as error:
        return [], 0, error.problems
    return picked.pods[:MOST_COMPARED], max(0, len(picked.pods) - MOST_COMPARED), picked.notes


def _pod(ids: list[str], pod: PodComparison) -> dict[str, Any]:
    return {
        "pod": pod.pod,
        "workload": pod.workload,
        "runsOn": pod.runs_on,
        "hosts": {letter: outcome.host for letter, outcome in zip(ids, pod.outcomes, strict=True)},
        "outcomes": {letter: _outcome(outcome) for letter, outcome in zip(ids, pod.outcomes, strict=True)},
        "causes": [
            {"side": letter, "name": str(change.cause), "meaning": MEANINGS[change.cause], "text": change.text}
            for letter, change in zip(ids[1:], pod.changes, strict=True)
        ],
        "moved": pod.moved,
        "differs": pod.differs,
    }


def _outcome(outcome: Outcome) -> dict[str, Any]:
    return {
        "host": outcome.host,
        "total": outcome.total,
        "ties": len(outcome.tied),
        "fits": outcome.fits,
        "nodes": outcome.nodes,
        "message": outcome.message,
        "error": outcome.error,
        "evicts": list(outcome.evicts),
        "evictsFrom": outcome.evicts_from,
    }


def _summary(found: Comparison) -> dict[str, Any]:
    """By side but the first: how many pods have which cause."""
    return {
        name: [
            {"name": str(cause), "meaning": MEANINGS[cause], "pods": count}
            for cause, count in counts.items()
            if cause is not Cause.SAME
        ]
        for name, counts in zip(found.names[1:], found.summary, strict=True)
    }


def _text(found: Comparison, left: int) -> str:
    total = len(found.pods)
    said = f"{total} pod{'s' * (total != 1)}: all go to the same nodes" if found.same else headline(found)
    return f"{said}; {left} more were not compared." if left else f"{said}."


SIDE_VERBS = {"sides": sides}
