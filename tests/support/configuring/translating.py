"""Policies in short, and what a translation makes of them."""

from __future__ import annotations

from typing import Any

from kubescheduler.releases.lookup import RELEASES
from kubescheduler.translate.translating import Translation, policy_source, translate


def policy(**members: Any) -> dict[str, Any]:
    """A policy with these members."""
    return {"kind": "Policy", "apiVersion": "v1", **members}


def predicates(*entries: str | dict[str, Any]) -> list[dict[str, Any]]:
    """Names, or entries as they are."""
    return [{"name": entry} if isinstance(entry, str) else entry for entry in entries]


def priorities(**weights: int) -> list[dict[str, Any]]:
    """Names and weights."""
    return [{"name": name, "weight": weight} for name, weight in weights.items()]


def label_presence(name: str, *labels: str, presence: bool = True) -> dict[str, Any]:
    return {"name": name, "argument": {"labelsPresence": {"labels": list(labels), "presence": presence}}}


def label_preference(name: str, weight: int, label: str, *, presence: bool = True) -> dict[str, Any]:
    argument = {"labelPreference": {"label": label, "presence": presence}}
    return {"name": name, "weight": weight, "argument": argument}


def anti_affinity(name: str, weight: int, label: str) -> dict[str, Any]:
    return {"name": name, "weight": weight, "argument": {"serviceAntiAffinity": {"label": label}}}


def ratio(name: str, weight: int, *shape: tuple[int, int], **resources: int) -> dict[str, Any]:
    """requestedToCapacityRatioArguments; shape: (utilization, score) points."""
    argument: dict[str, Any] = {"shape": [{"utilization": at, "score": score} for at, score in shape]}
    if resources:
        argument["resources"] = [{"name": key, "weight": value} for key, value in resources.items()]
    return {"name": name, "weight": weight, "argument": {"requestedToCapacityRatioArguments": argument}}


def translated(document: dict[str, Any], to: str, release: str = "1.16", *, keep_emphasis: bool = False) -> Translation:
    """The policy as ``release`` reads it, for ``to``."""
    gates = {} if release == "1.4" else RELEASES[release].gates.resolve({})
    return translate(policy_source(document, release, gates, "policy.json"), to, keep_emphasis=keep_emphasis)


def told(translation: Translation) -> set[tuple[str, str]]:
    """(kind, path) of every note."""
    return {(note.kind.value, note.path) for note in translation.notes}


def about(translation: Translation, path: str) -> set[str]:
    """The kinds of the notes whose path begins with this."""
    return {kind for kind, where in told(translation) if where.startswith(path)}


# --- documents -----------------------------------------------------------------------------


def plugins(translation: Translation) -> dict[str, Any]:
    """What the profile says of plugins."""
    found: dict[str, Any] = translation.plain()["profiles"][0]["plugins"]
    return found


def enabled(translation: Translation, point: str) -> dict[str, int]:
    """Plugin → weight, 0 where there is none, at a point or at multiPoint."""
    return {entry["name"]: entry.get("weight", 0) for entry in plugins(translation)[point].get("enabled", ())}


def disabled(translation: Translation, point: str) -> set[str]:
    """What is disabled at a point."""
    return {entry["name"] for entry in plugins(translation).get(point, {}).get("disabled", ())}


def args(translation: Translation, plugin: str) -> Any:
    """The args of a plugin, None if there are none."""
    config = translation.plain()["profiles"][0].get("pluginConfig", ())
    return next((entry["args"] for entry in config if entry["name"] == plugin), None)
