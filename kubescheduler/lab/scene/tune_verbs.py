"""The verbs ``tune``, ``tuneText`` and ``thresholds``, and the edits of a side's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterstate.errors import ConfigError, InputError
from kubescheduler.framework.contract.profile import DEFAULT_SCHEDULER_NAME
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.scene_state import Side
from kubescheduler.lab.scene.verb_contract import Change, Edit, Verb, verb
from kubescheduler.lab.tuning.form_rows import PROVIDER, Form, SideKind, SideText
from kubescheduler.lab.tuning.text_patches import placed_problems
from kubescheduler.lab.tuning.tuning_edits import argued, form_of, toggled, weighed, written_out
from kubescheduler.lab.tuning.winning_weights import winning_ranges

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


VERBS: Mapping[str, Verb] = {"tune": tune, "tuneText": tune_text, "thresholds": thresholds}
EDITS: Mapping[str, Edit] = {"weights": weights, "toggle": toggle, "args": args, "configure": configure}
"""``do`` → the edit."""
