"""A witness of each change: a small cluster and a pod that the releases on both sides answer differently for it alone.

They are data, ``witnesses/<release>.yaml``: change → what is asked, where the answers differ, both answers. Clusters,
pods and answers are those of the evaluate protocol. A change that no single decision shows says why in their place.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import yaml

from kubescheduler.releases.names import TAKEN_BACK

FOLDER = Path(__file__).parent / "witnesses"


class Witness(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """What shows a change."""

    pod: dict[str, Any]
    """The pod that is decided."""
    differs: tuple[str, ...]
    """Where the answers differ: the keys that lead to the place in a result."""
    cluster: dict[str, list[dict[str, Any]]] = {}
    before: Any = None
    """What the older release answers there; None for nothing."""
    after: Any = None
    """What the newer one does."""
    provider: str | None = None
    policy: dict[str, Any] | None = None
    component_config: dict[str, Any] | None = None
    feature_gates: dict[str, bool] = {}
    preempt: bool = False
    """Whether preemption is asked for."""
    beside: tuple[str, ...] = ()
    """Other changes of the release that show in the rest of the answer."""
    recorded: str = ""
    """A recorded scenario and query that both releases answer differently for this change alone; empty where there is
    none, and the witness is ours only."""

    def scenario(self) -> dict[str, Any]:
        """One scenario of the evaluate protocol."""
        query = {"id": "q", "pod": self.pod, "preempt": self.preempt}
        how = {"provider": self.provider, "policy": self.policy, "componentConfig": self.component_config}
        query |= {key: value for key, value in how.items() if value is not None}
        cluster = {**self.cluster, "pods": [_with_uid(pod) for pod in self.cluster.get("pods", [])]}
        return {"id": "witness", "cluster": cluster, "featureGates": self.feature_gates, "queries": [query]}

    def alone(self, release: str) -> str:
        """The name of the newer release without the other changes that show."""
        return TAKEN_BACK.join((release, *self.beside))


class NoWitness(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What stands in place of a witness."""

    none: str
    """Why no single decision shows the change."""


def _with_uid(pod: dict[str, Any]) -> dict[str, Any]:
    """A running pod as the API server stores it; its name stands for its uid."""
    return {**pod, "metadata": {"uid": pod["metadata"]["name"], **pod["metadata"]}}


@cache
def witnesses(release: str) -> dict[str, Witness | NoWitness]:
    """Change → what shows it, of the changes of a release; empty where nothing was written down."""
    path = FOLDER / f"{release}.yaml"
    found = yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader) if path.exists() else {}
    return {name: _entry(said) for name, said in found.items()}


def _entry(said: dict[str, Any]) -> Witness | NoWitness:
    return msgspec.convert(said, NoWitness) if "none" in said else msgspec.convert(said, Witness)
