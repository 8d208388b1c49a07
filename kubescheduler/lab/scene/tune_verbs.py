"""The verbs ``tune``, ``tuneText``, ``thresholds`` and ``hints``, and the edits of a side's configuration.

A configuration, however it is described, is shown as a form, and its changes are made in the text that was written:
``form_rows`` has what a form is made of, ``policy_form`` and ``profile_form`` the two kinds there are, ``text_patches``
how a text becomes another; what is asked of either kind comes together at the end.

Thresholds are the weights of a rule with which a node wins: exact, as totals are linear in each weight. Hints are
changes that would help, which the edit ``hint`` makes, in the cluster or in a side's configuration.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs
import msgspec
import numpy as np

from clusterstate.errors import ConfigError, InputError
from clusterstate.growable import IntArray
from clusterstate.objects import Pod
from kubescheduler.api.cluster import Cluster
from kubescheduler.core.decision import Decision
from kubescheduler.engine.framework_engine import FrameworkEngine
from kubescheduler.engine.legacy_engine import LegacyEngine
from kubescheduler.engine.spec import Engine, cache_for
from kubescheduler.framework.contract.profile import DEFAULT_SCHEDULER_NAME, Point
from kubescheduler.hinting.hint_search import HintSearch
from kubescheduler.hinting.proposals import TARGETS, Hint, PodHints, Proposal, manifests_of
from kubescheduler.lab.form_rows import CONFIG, POLICY, PROVIDER, Form, SideKind, SideText
from kubescheduler.lab.policy_form import (
    ELSEWHERE,
    argued_policy,
    as_policy,
    policy_form,
    toggled_policy,
    weighed_policy,
)
from kubescheduler.lab.profile_form import (
    REFUSING,
    SCORING,
    argued_plugin,
    as_config,
    profile_form,
    toggled_plugin,
    weighed_profile,
)
from kubescheduler.lab.scene.scene import Change, Edit, KeptValues, Scene, Verb, verb
from kubescheduler.lab.scene.scene_state import SceneFault, SceneState, Side
from kubescheduler.lab.text_patches import placed_problems

LARGEST_TOTAL = 2**63 - 1


class WinningRange(msgspec.Struct, frozen=True):
    """The whole numbers from ``low`` to ``high``: with any of them as its weight the node wins, with no other one."""

    rule: str
    """The rule whose weight is looked at, the others unchanged."""
    node: str
    low: int | None
    """The smallest such weight; None when the node wins with none."""
    high: int | None
    """The largest one that was looked at."""
    now: int
    """The weight as it is."""
    most: int
    """The largest weight that was looked at: what the release takes, and no total exceeds 64 bits."""

    @property
    def wins_now(self) -> bool:
        """Whether the node wins as things are."""
        return self.low is not None and self.high is not None and self.low <= self.now <= self.high

    @property
    def text(self) -> str:
        """In words, as ``NodeResourcesFit ≥ 4 makes worker-3 win``."""
        if self.low is None or self.high is None:
            return f"no weight of {self.rule} makes {self.node} win"
        if self.low == 1 and self.high == self.most:
            return f"{self.node} wins with any weight of {self.rule}"
        if self.high == self.most:
            return f"{self.rule} ≥ {self.low} makes {self.node} win"
        if self.low == 1:
            return f"{self.rule} ≤ {self.high} makes {self.node} win"
        if self.low == self.high:
            return f"{self.rule} = {self.low} makes {self.node} win"
        return f"{self.rule} from {self.low} to {self.high} makes {self.node} win"

    def to_dict(self) -> dict[str, object]:
        """Plain data, for JSON. ``to`` is None where every larger weight does it too."""
        return {
            "rule": self.rule,
            "node": self.node,
            "from": self.low,
            "to": None if self.high == self.most else self.high,
            "now": self.now,
            "wins": self.wins_now,
            "text": self.text,
        }


def winning_ranges(
    decision: Decision, most: Mapping[str, int], nodes: Sequence[str] | None = None
) -> Iterator[WinningRange]:
    """By rule, each node's range of weights; the first name wins a tie.

    decision: a scored one (``Decision.thorough``). most: rule → the largest weight that the release takes. nodes: those
    that are asked about, None: those that win with some weight. A rule that is not in ``most`` is passed over.
    """
    names = [decision.names[row] for row in decision.feasible.tolist()]
    if not len(decision.totals):
        return
    order = np.argsort(np.array([name.encode() for name in names], dtype=object), kind="stable")
    places = np.empty(len(names), np.int64)
    places[order] = np.arange(len(names))
    for rule, now in decision.weights.items():
        if rule not in most:
            continue
        scores = np.zeros(len(names), np.int64) + decision.scores.get(rule, 0)
        rest = decision.totals - now * scores
        largest = min(most[rule], _safe_weight(scores, rest))
        found = dict(_envelope(scores, rest, places, largest))
        for name in nodes if nodes is not None else [names[at] for at in found]:
            low, high = found.get(names.index(name), (None, None)) if name in names else (None, None)
            yield WinningRange(rule, name, low, high, now, largest)


def _safe_weight(scores: IntArray, rest: IntArray) -> int:
    """The largest weight with which no total exceeds 64 bits."""
    room, highest = LARGEST_TOTAL - max(0, int(np.abs(rest).max())), int(np.abs(scores).max())
    return LARGEST_TOTAL if highest == 0 else max(1, room // highest)


def _envelope(scores: IntArray, rest: IntArray, places: IntArray, most: int) -> Iterator[tuple[int, tuple[int, int]]]:
    """(node's position, (first, last weight with which it wins)), weights rising from 1 to ``most``.

    scores: (n,) what the weight multiplies. rest: (n,) the other parts of the totals. places: (n,) order of names.
    """
    weight = 1
    while weight <= most:
        at = _best(rest + weight * scores, places)
        until = min(most, _last(scores, rest, places, at, most))
        yield at, (weight, until)
        weight = until + 1


def _best(totals: IntArray, places: IntArray) -> int:
    tied = np.flatnonzero(totals == totals.max())
    return int(tied[places[tied].argmin()])


def _last(scores: IntArray, rest: IntArray, places: IntArray, at: int, most: int) -> int:
    """The last weight with which a node that wins wins still."""
    steeper = scores > scores[at]
    if not steeper.any():
        return most
    rise = (scores - scores[at])[steeper]
    lead = (rest[at] - rest)[steeper] - (places[steeper] < places[at])  # it loses as soon as rise * weight > lead
    return int((lead // rise).min())


MOST_THRESHOLDS = 500
"""Ranges that one answer has at most."""


@verb
def tune(scene: Scene, side: str = "a") -> dict[str, Any]:
    """A side's configuration as a form, and its text."""
    return _form_answer(scene, side_text(scene.side(side)))


@verb
def tune_text(scene: Scene, text: str, side: str = "a", kind: SideKind | None = None) -> dict[str, Any]:
    """What ``tune`` would say of a text, which is not kept. kind: what it is; None: what it was."""
    now = side_text(scene.side(side))
    return _form_answer(scene, now.saying(kind or _written(now).kind, text))


@verb
def thresholds(
    scene: Scene, side: str = "a", pod: str | None = None, nodes: tuple[str, ...] | None = None
) -> dict[str, Any]:
    """With which weights of each rule, the others unchanged, a node wins.

    pod: ``namespace/name``; by default the pod that is asked about. nodes: whose weights are asked for; None: the nodes
    that win with some weight.
    """
    decides = scene.side(side)
    decision = scene.decision(side, pod).thorough()
    form = form_of(side_text(decides), scheduler_of(scene, pod))
    most = {
        row.plugin or row.id: row.most
        for row in form.rules
        if row.most is not None and row.on and row.weight == decision.weights.get(row.plugin or row.id)
    }
    found = [one.to_dict() for one in winning_ranges(decision, most, nodes)]
    return {
        "pod": decision.pod.key,
        "host": decision.host,
        "scored": bool(len(decision.totals)),
        "thresholds": found[:MOST_THRESHOLDS],
        "more": max(0, len(found) - MOST_THRESHOLDS),
        "text": "" if len(decision.totals) else "No weight matters: no node was scored.",
        "ties": "" if decides.tie_break == "first" else "Of equal nodes the first by name is taken here.",
    }


def scheduler_of(scene: Scene, pod: str | None = None) -> str:
    """The name of the scheduler that a pod asks for, by default that of the pod that is asked about."""
    found = scene.state.cluster.find_pod(pod or scene.state.asked or "")
    return (found.spec.scheduler_name if found is not None else "") or DEFAULT_SCHEDULER_NAME


def side_text(side: Side) -> SideText:
    """A side as what can be tuned."""
    return SideText(side.spec, side.kind, (side.spec.provider or "") if side.kind == PROVIDER else side.text)


def _form_answer(scene: Scene, side: SideText) -> dict[str, Any]:
    problems: tuple[str, ...] = ()
    try:
        form = form_of(side, scheduler_of(scene))
        written = _written(side)
    except InputError as error:
        form, written, problems = Form(), side, error.problems
    return {
        "kind": side.kind,
        "release": side.release,
        "provider": (side.text or "DefaultProvider") if side.kind == PROVIDER else None,
        "writes": written.kind,
        "text": written.text,
        **form.to_dict(),
        "problems": [one.to_dict() for one in placed_problems(side.text, problems)],
    }


def _written(side: SideText) -> SideText:
    """With a provider written as the document that says the same."""
    try:
        return written_out(side)
    except ConfigError:
        return side


# --- edits -----------------------------------------------------------------------------------


def _tuned(scene: Scene, side: Side, changed: SideText, text: str) -> Change:
    """The state with a side's other text, of which an engine was made."""
    notes = f" ({'; '.join(changed.notes)})" if changed.notes else ""
    named = f" on side {side.id}" if len(scene.state.sides) > 1 else ""
    other = side.with_document(changed.kind, changed.text)
    return f"{text}{named}{notes}", scene.state.with_side(other)


@verb
def weights(scene: Scene, weights: Mapping[str, int], side: str = "a") -> Change:
    """Gives rules other weights."""
    before = scene.side(side)
    changed = weighed(side_text(before), weights, scheduler_of(scene))
    said = ", ".join(f"{rule} {weight}" for rule, weight in weights.items())
    return _tuned(scene, before, changed, f"Weighed {said}")


@verb
def toggle(scene: Scene, rule: str, on: bool, side: str = "a", point: str = "") -> Change:
    """Switches a rule on or off. point: of a plugin, ``score``, ``filter`` or another extension point; empty: all."""
    before = scene.side(side)
    changed = toggled(side_text(before), rule, on=on, point=point, scheduler=scheduler_of(scene))
    where = f" at {point}" if point else ""
    return _tuned(scene, before, changed, f"Switched {rule} {'on' if on else 'off'}{where}")


@verb
def args(scene: Scene, rule: str, args: Mapping[str, Any], side: str = "a") -> Change:
    """Gives a rule other arguments."""
    before = scene.side(side)
    changed = argued(side_text(before), rule, args, scheduler_of(scene))
    return _tuned(scene, before, changed, f"Gave {rule} other arguments")


@verb
def configure(scene: Scene, kind: SideKind, text: str, side: str = "a") -> Change:
    """Describes a side by another provider, Policy or configuration."""
    before = scene.side(side)
    changed = side_text(before).saying(kind, text).checked()
    return _tuned(scene, before, changed, f"Described the scheduler by another {kind}")


def applied(scene: Scene, side: str, hint: Hint, pod: Pod) -> SceneState:
    """The state in which a hint's changes are made; evicted pods wait for another node.

    pod: as it was asked about, waiting. Raises InputError for changes that cannot be written.
    """
    state = scene.state
    cluster = state.cluster
    if evicted := [gone.key for change in hint.changes for gone in change.evicted]:
        cluster = cluster.unbound(*evicted)
    if made := [each for change in hint.changes for each in change.created]:
        cluster = cluster.add(*made)
    written = tuple(
        attrs.evolve(change, created=()) for change in hint.changes if change.pod or change.node or change.added
    )
    if written:
        cluster = _with_manifests(scene, side, cluster, attrs.evolve(hint, changes=written), pod)
    state = msgspec.structs.replace(state, cluster=cluster)
    configured = [change for change in hint.changes if change.engine is not None and change.kind in ("check", "weight")]
    if configured:
        described = scene.side(side)
        text = side_text(described)
        for change in configured:
            text = _configured(text, change, scene.engine(side), pod)
        state = state.with_side(described.with_document(text.kind, text.text))
    return state


def _with_manifests(scene: Scene, side: str, cluster: Cluster, hint: Hint, pod: Pod) -> Cluster:
    """The cluster with the changed pod and nodes, as the side's release writes them."""
    nodes = {node.name: node for node in scene.cluster(side).nodes}
    for manifest in manifests_of(hint, pod, nodes):
        kind, name = manifest["kind"], manifest["metadata"]["name"]
        key = name if kind == "Node" else f"{pod.metadata.namespace}/{name}"
        if kind == "Node" and name not in nodes:
            cluster = cluster.add(manifest)
        else:
            cluster = cluster.with_manifest(kind, key, manifest)
    return cluster


def _configured(text: SideText, change: Proposal, engine: Engine, pod: Pod) -> SideText:
    """A side's text with a check switched off, or another weight."""
    scheduler = pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME
    if change.kind == "check":
        if text.kind == POLICY and isinstance(engine, FrameworkEngine):
            text = as_config(text)  # one predicate of a Policy stands for several plugins, of which one goes
        return toggled(text, change.name, on=False, point="filter", scheduler=scheduler)
    assert change.engine is not None
    return weighed(text, {change.name: _weight(change.engine(engine), change.name, scheduler)}, scheduler)


def _weight(engine: Engine, rule: str, scheduler: str) -> int:
    """The weight of a rule in a changed engine."""
    if isinstance(engine, LegacyEngine):
        return next(one.weight for one in engine.algorithm.priorities if one.config.name == rule)
    assert isinstance(engine, FrameworkEngine)
    profile = next(one for one in engine.config.profiles if one.scheduler_name == scheduler)
    return next(entry.weight for entry in profile.plugins[Point.SCORE] if entry.name == rule)


KEPT = "hints"
"""The key under which a scene keeps hints."""
SEARCHES = "hint searches"
"""The key under which it keeps searches, each with a cache of the cluster."""


@verb
def hints(
    scene: Scene, side: str = "a", pod: str | None = None, node: str = "", top: int = 10, pairs: bool = True
) -> dict[str, Any]:
    """What would make a pod fit, or go to a node: the smallest change first, each tried by deciding.

    pod: ``namespace/name``; by default the pod that is asked about. node: where it is to go; empty: anywhere. top: at
    most so many hints. pairs: also two changes at a time.
    """
    found = _found(scene, side, pod, node, pairs=pairs)
    key = found.pod.key
    edit = {"do": "hint", "side": side, "pod": key, "node": node, "pairs": pairs}
    return {
        "pod": key,
        "node": node or None,
        "goal": found.goal.text,
        "host": found.host,
        "reached": found.reached,
        "hints": [_entry(at, hint, edit) for at, hint in enumerate(found.hints[: max(0, top)], 1)],
        "more": max(0, len(found.hints) - max(0, top)),
        "searched": list(TARGETS),
        "decisions": found.decisions,
        "leftOut": found.left_out,
        "errors": list(found.errors),
        "text": _text(found),
    }


@verb
def hint(scene: Scene, pod: str, text: str, side: str = "a", node: str = "", pairs: bool = True) -> Change:
    """Makes the changes of a hint that ``hints`` answered. Raises SceneFault for one that there is not any more.

    text: its words, by which it is found.
    """
    found = _found(scene, side, pod, node, pairs=pairs)
    chosen = next((one for one in found.hints if one.text == text), None)
    if chosen is None:
        raise SceneFault(f"hint: there is none any more: {text}")
    state = applied(scene, side, chosen, found.pod)
    done = f"Applied the hint for {found.pod.key}: {chosen.text}"
    return done, msgspec.structs.replace(state, asked=scene.pod_key(pod))


def _entry(rank: int, found: Hint, edit: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "rank": rank,
        "size": round(sum(change.size for change in found.changes), 6),
        "text": found.text,
        "changes": [
            {"kind": change.kind, "target": change.target, "name": change.name, "text": change.text}
            for change in found.changes
        ],
        "host": found.host,
        "effect": found.effect,
        "victims": list(found.victims),
        "moves": dict(found.moves),
        "alike": list(found.alike),
        "edit": {**edit, "text": found.text},
    }


def _text(found: PodHints) -> str:
    if found.reached:
        return f"{found.pod.key} goes to {found.host} as things are."
    if found.hints:
        return ""
    return f"Nothing that was tried makes {found.pod.key} reach its goal ({found.goal.text}): {found.message}".rstrip()


# --- searching -------------------------------------------------------------------------------


def _found(scene: Scene, side: str, pod: str | None, node: str, *, pairs: bool) -> PodHints:
    """All hints, remembered as long as neither the cluster nor the side changes.

    A search changes its cache while it tries, and puts it back; one that was stopped on the way is thrown away.
    """
    key = scene.pod_key(pod)
    searches: KeptValues = scene.extra.setdefault(SEARCHES, KeptValues(2))
    kept: KeptValues = scene.extra.setdefault(KEPT, KeptValues(8))
    of = (scene.state.cluster, scene.side(side))
    try:
        search, waiting = searches.value(of, lambda: _search(scene, side, key), key if _runs(scene, key) else "")
        pod_there = waiting or scene.cluster(side).find_pod(key)
        assert pod_there is not None
        return kept.value(of, lambda: search.hints(pod_there, node=node, pairs=pairs), key, node, pairs)
    except BaseException:
        scene.extra.pop(SEARCHES, None)
        raise


def _runs(scene: Scene, key: str) -> bool:
    found = scene.state.cluster.find_pod(key)
    return found is not None and bool(found.node_name)


def _search(scene: Scene, side: str, key: str) -> tuple[HintSearch, Pod | None]:
    """A search over a cache of its own, and the pod if it runs now and is looked at as if it waited."""
    cluster, engine, waiting = scene.cluster(side), scene.engine(side), None
    if _runs(scene, key):
        cluster = cluster.unbound(key)
        waiting = cluster.find_pod(key)
    return HintSearch(engine, cache_for(engine, cluster.objects)), waiting


VERBS: Mapping[str, Verb] = {"tune": tune, "tuneText": tune_text, "thresholds": thresholds, "hints": hints}
EDITS: Mapping[str, Edit] = {"weights": weights, "toggle": toggle, "args": args, "configure": configure, "hint": hint}
"""``do`` → the edit."""


def form_of(side: SideText, scheduler: str = "") -> Form:
    """Everything that can be changed. scheduler: the profile that is shown, by default the first one.

    Raises ConfigError with every problem of the text.
    """
    return policy_form(side) if has_policy_form(side) else profile_form(side, scheduler)


def has_policy_form(side: SideText) -> bool:
    """Whether it is predicates and priorities that are chosen, and not plugins."""
    return side.flags.record.framework is None or side.kind == POLICY


def written_out(side: SideText) -> SideText:
    """A provider as the Policy or the configuration that says the same; itself where it is one already.

    Raises ConfigError with every problem.
    """
    if side.text.strip() and side.kind != PROVIDER:
        return side
    return as_policy(side, set()) if has_policy_form(side) else as_config(side)


def weighed(side: SideText, weights: Mapping[str, int], scheduler: str = "") -> SideText:
    """With other weights of rules that score, the engine made and looked at.

    Raises ConfigError for a rule that does not score, and for a weight that the release does not take.
    """
    _refuse_fixed(side)
    if problems := [
        f"{name}: the weight has to be 1 or more, found {weights[name]}" for name in weights if weights[name] < 1
    ]:
        raise ConfigError(problems)
    return weighed_policy(side, weights) if has_policy_form(side) else weighed_profile(side, weights, scheduler)


def toggled(side: SideText, rule: str, *, on: bool, point: str = "", scheduler: str = "") -> SideText:
    """With a predicate, priority or plugin selected or not.

    point: of a plugin, ``score`` (and preScore), ``filter`` (and preFilter) or another extension point; empty: all.
    Raises ConfigError for a rule that there is not, or that has to stay.
    """
    _refuse_fixed(side)
    if has_policy_form(side):
        return toggled_policy(side, rule, on=on)
    return toggled_plugin(side, rule, _points(point), on=on, scheduler=scheduler)


def argued(side: SideText, rule: str, args: Mapping[str, Any], scheduler: str = "") -> SideText:
    """With other values in a rule's arguments, each by its path as the form has it; None: not said.

    Raises ConfigError for a rule that there is not, and for the arguments.
    """
    _refuse_fixed(side)
    if has_policy_form(side):
        return argued_policy(side, rule, args)
    return argued_plugin(side, rule, args, scheduler)


def _refuse_fixed(side: SideText) -> None:
    if side.flags.record.framework is None and side.kind == CONFIG and side.text.strip():
        raise ConfigError(ELSEWHERE)


def _points(name: str) -> tuple[Point, ...]:
    known = {point.value: (point,) for point in Point} | {"score": SCORING, "filter": REFUSING, "": ()}
    if name not in known:
        raise ConfigError(f"point: there is no extension point {name}")
    return known[name]
