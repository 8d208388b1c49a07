"""What to do about a comparison that differs: accept it, a weight that brings pods back, what to read on.

A weight is worked out from the terms of the pods that go elsewhere, and tried: the pods are compared again with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import Any

import msgspec

from clusterstate.errors import InputError
from clusterstate.objects import ClusterObject, Pod
from kubescheduler.api.whole_runs import migrate
from kubescheduler.comparison.comparing import compare
from kubescheduler.comparison.comparison import Comparison
from kubescheduler.comparison.outcomes import TOLERABLE, Cause, Contribution, HostChange
from kubescheduler.engine.spec import Engine, EngineSpec, no_notice
from kubescheduler.sweep.weights import weighted_engine

MOST_TRIED = 500
"""Pods that are compared again with another weight."""
TRIALS = 3
"""Weights that are tried for a column."""
HIGHEST = 100
"""A weight above this is no advice."""
MOST_NOTES = 3
"""Notes of ``migrate`` that are quoted."""


class ComparisonInputs(msgspec.Struct, frozen=True, eq=False):
    """What a comparison was made of."""

    objects: Sequence[ClusterObject]
    pods: Sequence[Pod]
    specs: Sequence[EngineSpec]
    engines: Sequence[Engine]
    asked: dict[str, Any]
    """Mode and preemption, as ``compare`` takes them."""
    cluster: str = "CLUSTER"
    """How a command names the cluster."""


def what_now(found: Comparison, tolerated: Collection[Cause], made: ComparisonInputs) -> tuple[str, ...]:
    """One line for each thing that can be done; nothing where nothing differs."""
    causes = {cause for pod in found.pods for cause in pod.causes} & {*TOLERABLE} - {*tolerated}
    if not causes:
        return ()
    names = ",".join(sorted({*map(str, causes), *map(str, tolerated)}))
    lines = [f"to accept what differs: --tolerate {names}"]
    for column in range(len(found.titles) - 1):
        lines += islice(_weights(found, column, made), 1)
        lines += _hints(found, column, made)
        lines += _notes(found, column, made)
    return tuple(dict.fromkeys(lines))


# --- weights -----------------------------------------------------------------------------------


def _weights(found: Comparison, column: int, made: ComparisonInputs) -> Iterator[str]:
    """The weight that brings back most pods, by trial."""
    tried = []
    pods = made.pods[:MOST_TRIED]
    before = [pod.changes[column].cause is Cause.SAME for pod in found.pods[:MOST_TRIED]]
    spec = made.specs[column + 1]
    for (name, weight, now), _ in _candidates(found, column).most_common(TRIALS):
        try:
            engine = weighted_engine(spec, {name: weight}, no_notice)
        except InputError:  # a name of the policy's own, which no list of weights takes
            continue
        engines = [made.engines[0], engine]
        again = compare(made.objects, pods, made.specs[0], [spec], names=("old", "new"), engines=engines, **made.asked)
        same = [pod.cause is Cause.SAME for pod in again.pods]
        back = sum(now_same and not was for was, now_same in zip(before, same, strict=True))
        away = sum(was and not now_same for was, now_same in zip(before, same, strict=True))
        if back > away:
            tried.append((away - back, name, weight, now, back, away))
    differing = len(before) - sum(before)
    for _, name, weight, now, back, away in sorted(tried):
        others = f", and moves {away} {'other' if away == 1 else 'others'}" if away else ""
        few = f" of the first {MOST_TRIED} pods" if len(found.pods) > MOST_TRIED else ""
        how = f"weight {weight} of {name} (now {now})" if weight else f"{name} switched off (weight {now} now)"
        yield f"{found.titles[column + 1]}: {how} brings {back} of {differing}{few} back{others}; tried"


def _candidates(found: Comparison, column: int) -> Counter[tuple[str, int, int]]:
    """(plugin, weight, its weight now) → how many pods it may bring back, by what both hosts score."""
    needed: dict[tuple[str, int], list[int]] = {}
    for pod in found.pods[:MOST_TRIED]:
        change = pod.changes[column]
        for part in change.contributions if change.new_difference is not None else ():
            weight = _enough(change, part)
            if weight is not None and part.new_name is not None and part.new_weight is not None:
                needed.setdefault((part.new_name, part.new_weight), []).append(weight)
    counts: Counter[tuple[str, int, int]] = Counter()
    for (name, now), weights in needed.items():
        for weight in {min(weights), max(weights), sorted(weights)[len(weights) // 2]}:
            between = [one for one in weights if now < one <= weight or weight <= one < now]
            counts[name, weight, now] = len(between)
    return counts


def _enough(change: HostChange, part: Contribution) -> int | None:
    """The nearest weight of a plugin with which the old host is ahead of the new one; None: there is none."""
    if part.new_scores is None or part.new_weight is None or change.new_difference is None:
        return None
    each = part.new_scores[1] - part.new_scores[0]
    if not each:
        return None
    others = change.new_difference - each * part.new_weight
    weight = others // -each + 1 if each < 0 else (-others - 1) // each
    return weight if 0 <= weight <= HIGHEST and weight != part.new_weight else None


# --- what to read on ---------------------------------------------------------------------------


def _hints(found: Comparison, column: int, made: ComparisonInputs) -> Iterator[str]:
    """How to ask what would let a pod back to a node that refuses it now."""
    refused = [pod for pod in found.pods if pod.changes[column].cause is Cause.FILTERED_NOW and pod.outcomes[0].host]
    if refused:
        pod, spec = refused[0], made.specs[column + 1]
        more = f" ({len(refused) - 1} more are refused)" if len(refused) > 1 else ""
        options = "".join(
            f" {option} {value}"
            for option, value in (
                ("--release", spec.release),
                ("--algorithm-provider", spec.provider),
                ("--policy-config-file", spec.policy_file),
                ("--config", spec.config_file),
            )
            if value is not None
        )
        yield (
            f"what would let {pod.pod} stay on {pod.outcomes[0].host}{more}: "
            f"kubescheduler hint {made.cluster} --pod POD.yaml --node {pod.outcomes[0].host}{options}"
        )


def _notes(found: Comparison, column: int, made: ComparisonInputs) -> Iterator[str]:
    """What ``migrate`` says of the rules that decide, where the old configuration becomes one of the new release:
    whatever that is configured by here."""
    old, new = made.specs[0], made.specs[column + 1]
    names = Counter(
        name
        for pod in found.pods
        if pod.changes[column].cause in TOLERABLE
        for part in pod.changes[column].contributions
        if part.old or part.new
        for name in (*part.old_names, part.new_name or "")
    )
    names.update(check for pod in found.pods for check in pod.changes[column].reasons)
    if old.release == new.release or new.record.framework is None or not names:
        return
    source = next(iter(old.files.values()), None)
    asked: dict[str, Any] = {"release": old.release, "to": new.release, "gates": old.feature_gates or None}
    try:
        told = migrate(source, **asked) if source else migrate(provider=old.provider or "DefaultProvider", **asked)
    except InputError:
        return
    about = [(sum(names[name] for name in names if name and name in f"{n.path} {n.text}"), n) for n in told.notes]
    for count, note in sorted(about, key=lambda one: -one[0])[:MOST_NOTES]:
        if count:
            yield f"migrate says of {found.titles[0]} for {new.release}: {note}"
