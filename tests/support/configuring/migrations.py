"""Configurations, ConfigMaps and manifests of older schedulers, and their migration."""

from __future__ import annotations

import json
from typing import Any

import yaml

from kubescheduler.translate.migration import MigrationOptions, migrated
from kubescheduler.translate.translation_model import Translation

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


def told(translation: Translation, path: str) -> list[str]:
    """The kinds of the notes on a path."""
    return [note.kind.value for note in translation.notes if path in note.path]
