"""Pods that a controller has made, for tests of what becomes of them when they have to leave."""

from __future__ import annotations

from typing import Any

import kubescheduler as ks

GROUPS = {"Job": "batch/v1", "Node": "v1", "ReplicationController": "v1"}


def owned(
    kind: str,
    owner: str,
    name: str,
    *,
    status: dict[str, Any] | None = None,
    spec: dict[str, Any] | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """The manifest of a pod of a controller; fields: those of ``kubescheduler.pod``; spec: more of its spec."""
    manifest = dict(ks.pod(name, **fields))
    manifest["spec"] = {**manifest["spec"], **(spec or {})}
    reference = {"apiVersion": GROUPS.get(kind, "apps/v1"), "kind": kind, "name": owner, "uid": f"uid of {owner}"}
    manifest["metadata"] = {**manifest["metadata"], "ownerReferences": [{**reference, "controller": True}]}
    return manifest if status is None else {**manifest, "status": status}
