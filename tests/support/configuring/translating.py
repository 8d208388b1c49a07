"""Policies in short, and what a translation makes of them."""

from __future__ import annotations

import json
from typing import Any

import yaml

from kubescheduler.releases.lookup import RELEASES
from kubescheduler.translate.migration import MigrationOptions, migrated
from kubescheduler.translate.policy_source import policy_source
from kubescheduler.translate.translating import translate
from kubescheduler.translate.translation_model import Translation


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


GROUP = "kubescheduler.config.k8s.io"
POLICY = json.dumps(
    {
        "kind": "Policy",
        "apiVersion": "v1",
        "predicates": [{"name": "PodFitsResources"}],
        "priorities": [{"name": "MostRequestedPriority", "weight": 3}],
    }
)


def configuration(version: str, **keys: Any) -> dict[str, Any]:
    """A KubeSchedulerConfiguration."""
    return {"apiVersion": f"{GROUP}/{version}", "kind": "KubeSchedulerConfiguration", **keys}


def configmap(name: str, **data: str) -> dict[str, Any]:
    """A ConfigMap; ``__`` in a key stands for a dot."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "kube-system"},
        "data": {key.replace("__", "."): text for key, text in data.items()},
    }


def deployment(*flags: str, mounts: dict[str, str] | None = None, shell: bool = False) -> dict[str, Any]:
    """A Deployment of kube-scheduler; ``mounts``: where → the ConfigMap's name."""
    command = ["kube-scheduler", *flags]
    container = {
        "name": "kube-scheduler",
        "image": "registry.k8s.io/kube-scheduler:v1.16.15",
        "command": ["/bin/sh", "-c", f"/usr/local/bin/{' '.join(command)} 1>>/var/log/s.log 2>&1"]
        if shell
        else command,
        "volumeMounts": [{"name": name, "mountPath": place} for place, name in (mounts or {}).items()],
    }
    volumes = [{"name": name, "configMap": {"name": name}} for name in (mounts or {}).values()]
    spec = {"template": {"spec": {"containers": [container], "volumes": volumes}}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "my-scheduler"}, "spec": spec}


def moved(*documents: dict[str, Any], to: str = "1.36", release: str | None = "1.16", **more: Any) -> Translation:
    """The migration of documents that are in one file."""
    text = "---\n".join(yaml.safe_dump(document) for document in documents)
    return migrated([("input.yaml", text)], MigrationOptions(release, to, **more))


def told_of(translation: Translation, path: str) -> list[str]:
    """The kinds of the notes on a path."""
    return [note.kind.value for note in translation.notes if path in note.path]
