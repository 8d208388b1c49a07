"""PreScore and Score, as plugins and the Handle run them: all plugins over exactly the nodes that fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clusterstate.errors import SchedulingError
from clusterstate.growable import IntArray
from clusterstate.objects import Pod
from clusterstate.snapshot import Snapshot
from clusterstate.usage import wrap
from kubescheduler.core.status import Status, is_success
from kubescheduler.framework.contract.custom_answers import refuse_score
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.error_texts import failed, out_of_range, score_failed
from kubescheduler.framework.contract.plugin import Plugin, score_fault
from kubescheduler.framework.contract.points import Point
from kubescheduler.framework.contract.runner_results import PluginScores, ScoreOutcome
from kubescheduler.framework.deciding.adapters import ask_pre_score, normalize_rows, score_rows
from kubescheduler.framework.running.profile_plugins import ProfilePlugins
from priorities.types import MAX_NODE_SCORE


def pre_score(framework: ProfilePlugins, state: CycleState, pod: Pod, feasible: Snapshot) -> Status | None:
    """Where the release knows Skip, a plugin that answers it gives no score."""
    for plugin in framework.at(Point.PRE_SCORE):
        status, _ = framework.watch.plugin("PreScore", plugin.name, state, ask_pre_score, plugin, state, pod, feasible)
        if status is None or is_success(status):
            continue
        if status.code not in framework.reactions.pre_score_skips:
            return failed("PreScore", plugin.name, status)
        state.skip_score.add(plugin.name)
    return None


def score(framework: ProfilePlugins, state: CycleState, pod: Pod, feasible: Snapshot) -> ScoreOutcome:
    """Scores, normalises, checks the range and weighs."""
    plugins = [plugin for plugin in framework.at(Point.SCORE) if plugin.name not in state.skip_score]
    scores: dict[str, PluginScores] = {}
    try:
        raws = [_raw(framework, plugin, state, pod, feasible) for plugin in plugins]
        for plugin, raw in zip(plugins, raws, strict=True):
            scores[plugin.name] = _normalized(framework, plugin, state, pod, feasible, raw)
    except SchedulingError as error:
        return ScoreOutcome(Status.failure(str(error)))
    by_name = {plugin.name: plugin for plugin in plugins}
    totals = [0] * len(feasible)
    for name, given in scores.items():
        for at, value in enumerate(given.normalized.tolist()):
            if not 0 <= value <= MAX_NODE_SCORE:
                refuse_score(by_name[name], pod.key, feasible.names[at], out_of_range(name, value))
                return ScoreOutcome(Status.failure(out_of_range(name, value)).by(name))
            totals[at] += value * given.weight
    return ScoreOutcome(None, scores, np.array([wrap(total) for total in totals], np.int64))


def _raw(framework: ProfilePlugins, plugin: Plugin, state: CycleState, pod: Pod, feasible: Snapshot) -> IntArray:
    fault = score_fault(plugin, framework.names(Point.PRE_SCORE))
    if fault is not None:
        raise SchedulingError(score_failed(plugin.name, fault))
    return _watched(framework, "Score", plugin, state, score_rows, plugin, state, pod, feasible)


def _normalized(
    framework: ProfilePlugins, plugin: Plugin, state: CycleState, pod: Pod, feasible: Snapshot, raw: IntArray
) -> PluginScores:
    normalized = _watched(
        framework, "ScoreExtensionNormalize", plugin, state, normalize_rows, plugin, state, pod, raw, feasible
    )
    return PluginScores(raw, normalized, framework.score_weights[plugin.name])


def _watched(
    framework: ProfilePlugins, point: str, plugin: Plugin, state: CycleState, call: Callable[..., IntArray], *args: Any
) -> IntArray:
    status, scores = framework.watch.plugin(point, plugin.name, state, _caught, call, *args)
    if scores is None:
        raise SchedulingError("" if status is None else status.error_text)
    return scores


def _caught(call: Callable[..., IntArray], *args: Any) -> tuple[Status | None, IntArray | None]:
    try:
        return None, call(*args)
    except SchedulingError as error:
        return Status.failure(str(error)), None
