"""Changes of the configuration: a check switched off, a score weighed otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import msgspec
import numpy as np

from clusterstate.growable import IntArray
from kubescheduler.engine.engine_contract import Engine
from kubescheduler.engine.framework_engine import FrameworkEngine
from kubescheduler.engine.legacy_engine import LegacyEngine
from kubescheduler.framework.contract.profile import DEFAULT_SCHEDULER_NAME, Enabled, Point, Profile
from kubescheduler.hinting.proposals import CONFIGURATION, Proposal
from kubescheduler.hinting.trials import Trials

LARGEST_WEIGHT = 1_000_000
"""No weight above is proposed."""

ProfileEdit = Callable[[Profile], Profile]


def checks_off(trials: Trials) -> Iterator[Proposal]:
    """Without each check that refuses some node, unless the release insists on it."""
    insists = mandatory(trials.engine)
    for name, verdict in trials.thorough.verdicts:
        if name not in insists and any(mask.any() for mask in verdict.values()):
            legacy = isinstance(trials.engine, LegacyEngine)
            text = f"leave out the predicate {name}" if legacy else f"switch off the Filter plugin {name}"
            edit = _without_predicate if legacy else partial(_without_plugin, scheduler=scheduler_of(trials))
            yield Proposal("check", CONFIGURATION, name, text, 1.0, engine=partial(edit, name=name))


def mandatory(engine: Engine) -> frozenset[str]:
    """The predicates that a Policy cannot leave out."""
    return engine.algorithm.mandatory if isinstance(engine, LegacyEngine) else frozenset()


def scheduler_of(trials: Trials) -> str:
    """The name of the profile that decides on the pod."""
    return trials.pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME


def _without_predicate(engine: Engine, name: str) -> Engine:
    assert isinstance(engine, LegacyEngine)
    kept = tuple(predicate for predicate in engine.algorithm.predicates if predicate.name != name)
    return msgspec.structs.replace(engine, algorithm=msgspec.structs.replace(engine.algorithm, predicates=kept))


def _without_plugin(engine: Engine, name: str, scheduler: str) -> Engine:
    def edit(profile: Profile) -> Profile:
        plugins = dict(profile.plugins)
        for point in (Point.FILTER, Point.PRE_FILTER):
            plugins[point] = tuple(entry for entry in plugins.get(point, ()) if entry.name != name)
        return msgspec.structs.replace(profile, plugins=plugins)

    return _with_profile(engine, scheduler, edit)


def _with_profile(engine: Engine, scheduler: str, edit: ProfileEdit) -> Engine:
    assert isinstance(engine, FrameworkEngine)
    profiles = (edit(one) if one.scheduler_name == scheduler else one for one in engine.config.profiles)
    return msgspec.structs.replace(engine, config=msgspec.structs.replace(engine.config, profiles=tuple(profiles)))


# --- weights -------------------------------------------------------------------------------


def weights(trials: Trials) -> Iterator[Proposal]:
    """The nearest weight of each score with which the node that is wanted has the highest total.

    Totals are linear in each weight, so it follows from the scores.
    """
    decision, node = trials.thorough, trials.goal.node
    names = [decision.names[row] for row in decision.feasible.tolist()]
    if node not in names or not len(decision.totals):
        return
    at = names.index(node)
    last = np.array([name.encode() < node.encode() for name in names], np.int64)
    for name, weight in decision.weights.items():
        if name not in decision.scores:
            continue
        scores = np.zeros(len(names), np.int64) + decision.scores[name]
        nearest = winning_weight(scores, decision.totals - weight * scores, last, at, weight)
        if nearest is not None:
            size = abs(nearest - weight) / max(nearest, weight)
            text = f"weigh {name} {nearest} instead of {weight}"
            legacy = isinstance(trials.engine, LegacyEngine)
            edit = _weighed_priority if legacy else partial(_weighed_plugin, scheduler=scheduler_of(trials))
            yield Proposal("weight", CONFIGURATION, name, text, size, engine=partial(edit, name=name, weight=nearest))


def winning_weight(scores: IntArray, rest: IntArray, ahead: IntArray, at: int, weight: int) -> int | None:
    """The weight nearest to ``weight``, from 1 on, with which one node's total is the highest; None if none does.

    scores: (n,) by node. rest: (n,) the other parts of the totals. ahead: (n,) by how much the node ``at`` has to be
    ahead of each other one, which goes first where totals are equal.
    """
    others = np.arange(len(scores)) != at
    slope, start = (scores[at] - scores)[others], (rest[at] - rest - ahead)[others]  # slope * w + start >= 0
    if (start[slope == 0] < 0).any():
        return None
    up, down = slope > 0, slope < 0
    low = max([1, *(-(start[up] // slope[up])).tolist()])
    high = min([LARGEST_WEIGHT, *(start[down] // -slope[down]).tolist()])
    return None if low > high else min(max(weight, low), high)


def _weighed_priority(engine: Engine, name: str, weight: int) -> Engine:
    assert isinstance(engine, LegacyEngine)
    changed = tuple(
        msgspec.structs.replace(one, weight=weight) if one.config.name == name else one
        for one in engine.algorithm.priorities
    )
    return msgspec.structs.replace(engine, algorithm=msgspec.structs.replace(engine.algorithm, priorities=changed))


def _weighed_plugin(engine: Engine, name: str, weight: int, scheduler: str) -> Engine:
    def edit(profile: Profile) -> Profile:
        entries = profile.plugins.get(Point.SCORE, ())
        changed = tuple(Enabled(name, weight) if entry.name == name else entry for entry in entries)
        return msgspec.structs.replace(profile, plugins={**profile.plugins, Point.SCORE: changed})

    return _with_profile(engine, scheduler, edit)
