"""The verbs ``tune``, ``tuneText`` and ``thresholds``, and the edits of a side's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from clusterstate.errors import ConfigError, InputError
from kubescheduler.framework.contract.profile import DEFAULT_SCHEDULER_NAME
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.scene_state import Side
from kubescheduler.lab.scene.verb_contract import Change, Edit, SideParameters, Verb, parameters
from kubescheduler.lab.tuning.form_rows import PROVIDER, Form, SideText
from kubescheduler.lab.tuning.text_patches import placed_problems
from kubescheduler.lab.tuning.tuning_edits import argued, form_of, toggled, weighed, written_out
from kubescheduler.lab.tuning.winning_weights import winning_ranges

MOST_THRESHOLDS = 500
"""Ranges that one answer has at most."""


class TextParameters(SideParameters, frozen=True, kw_only=True):
    """Of ``tuneText``."""

    text: str
    kind: Literal["provider", "policy", "config"] | None = None
    """What the text is; None: what it was."""


class ThresholdParameters(SideParameters, frozen=True, kw_only=True):
    """Of ``thresholds``."""

    pod: str | None = None
    """``namespace/name``; by default the pod that is asked about."""
    nodes: tuple[str, ...] | None = None
    """Whose weights are asked for; None: the nodes that win with some weight."""


class WeightParameters(SideParameters, frozen=True, kw_only=True):
    """Of the edit ``weights``."""

    weights: Mapping[str, int]


class ToggleParameters(SideParameters, frozen=True, kw_only=True):
    """Of the edit ``toggle``."""

    rule: str
    on: bool
    point: str = ""
    """Of a plugin: ``score``, ``filter`` or another extension point; empty: all."""


class ArgsParameters(SideParameters, frozen=True, kw_only=True):
    """Of the edit ``args``."""

    rule: str
    args: Mapping[str, Any]


class ConfigureParameters(SideParameters, frozen=True, kw_only=True):
    """Of the edit ``configure``."""

    kind: Literal["provider", "policy", "config"]
    text: str


def tune(scene: Scene, asked: Mapping[str, Any]) -> dict[str, Any]:
    """A side's configuration as a form, and its text."""
    side = scene.side(parameters(SideParameters, asked).side)
    return _form_answer(scene, side_text(side))


def tune_text(scene: Scene, asked: Mapping[str, Any]) -> dict[str, Any]:
    """What ``tune`` would say of a text, which is not kept."""
    want = parameters(TextParameters, asked)
    side = side_text(scene.side(want.side))
    return _form_answer(
        scene, msgspec.structs.replace(side, kind=want.kind or _written(side).kind, text=want.text, notes=())
    )


def thresholds(scene: Scene, asked: Mapping[str, Any]) -> dict[str, Any]:
    """With which weights of each rule, the others unchanged, a node wins."""
    want = parameters(ThresholdParameters, asked)
    side = scene.side(want.side)
    decision = scene.decision(want.side, want.pod).thorough()
    form = form_of(side_text(side), scheduler_of(scene, want.pod))
    most = {
        row.plugin or row.id: row.most
        for row in form.rules
        if row.most is not None and row.on and row.weight == decision.weights.get(row.plugin or row.id)
    }
    found = [one.to_dict() for one in winning_ranges(decision, most, want.nodes)]
    return {
        "pod": decision.pod.key,
        "host": decision.host,
        "scored": bool(len(decision.totals)),
        "thresholds": found[:MOST_THRESHOLDS],
        "more": max(0, len(found) - MOST_THRESHOLDS),
        "text": "" if len(decision.totals) else "No weight matters: no node was scored.",
        "ties": "" if side.tie_break == "first" else "Of equal nodes the first by name is taken here.",
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


def weights(scene: Scene, asked: Mapping[str, Any]) -> Change:
    """Gives rules other weights."""
    want = parameters(WeightParameters, asked)
    side = scene.side(want.side)
    changed = weighed(side_text(side), want.weights, scheduler_of(scene))
    said = ", ".join(f"{rule} {weight}" for rule, weight in want.weights.items())
    return _tuned(scene, side, changed, f"Weighed {said}")


def toggle(scene: Scene, asked: Mapping[str, Any]) -> Change:
    """Switches a rule on or off."""
    want = parameters(ToggleParameters, asked)
    side = scene.side(want.side)
    changed = toggled(side_text(side), want.rule, on=want.on, point=want.point, scheduler=scheduler_of(scene))
    where = f" at {want.point}" if want.point else ""
    return _tuned(scene, side, changed, f"Switched {want.rule} {'on' if want.on else 'off'}{where}")


def args(scene: Scene, asked: Mapping[str, Any]) -> Change:
    """Gives a rule other arguments."""
    want = parameters(ArgsParameters, asked)
    side = scene.side(want.side)
    changed = argued(side_text(side), want.rule, want.args, scheduler_of(scene))
    return _tuned(scene, side, changed, f"Gave {want.rule} other arguments")


def configure(scene: Scene, asked: Mapping[str, Any]) -> Change:
    """Describes a side by another provider, Policy or configuration."""
    want = parameters(ConfigureParameters, asked)
    side = scene.side(want.side)
    changed = side_text(side).saying(want.kind, want.text).checked()
    return _tuned(scene, side, changed, f"Described the scheduler by another {want.kind}")


VERBS: Mapping[str, Verb] = {"tune": tune, "tuneText": tune_text, "thresholds": thresholds}
EDITS: Mapping[str, Edit] = {"weights": weights, "toggle": toggle, "args": args, "configure": configure}
"""``do`` → the edit."""
