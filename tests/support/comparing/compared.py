"""Small clusters and configurations to compare."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import attrs

from clusterstate.objects import ClusterObject, Node, Pod
from kubescheduler.comparison.comparing import Comparison, HostChange, compare
from kubescheduler.engine.spec import EngineSpec
from tests.support.build import make_node, make_pod, resources

LEAST, MOST = "LeastRequestedPriority", "MostRequestedPriority"
GIB = 1 << 30


@attrs.frozen
class Policies:
    """Writes configurations into a folder."""

    folder: Path

    def policy(self, release: str = "1.16", *, checks: Sequence[str] = (), **weights: int) -> EngineSpec:
        """A policy with these predicates and priorities."""
        return self.written(
            release, predicates=[{"name": name} for name in checks], priorities=[*map(_priority, weights.items())]
        )

    def written(self, release: str = "1.16", **policy: Any) -> EngineSpec:
        """A policy as it is given."""
        return EngineSpec(release=release, policy_file=self._file({"kind": "Policy", "apiVersion": "v1", **policy}))

    def profile(self, args: dict[str, Any] | None = None, **weights: int) -> EngineSpec:
        """A configuration of 1.36 with these Score plugins and no others. args: plugin → its args."""
        score = {"disabled": [{"name": "*"}], "enabled": [{"name": n, "weight": w} for n, w in weights.items()]}
        given = [{"name": name, "args": value} for name, value in (args or {}).items()]
        document = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [{"plugins": {"score": score}, "pluginConfig": given}],
        }
        return EngineSpec(release="1.36", config_file=self._file(document))

    def _file(self, document: dict[str, Any]) -> str:
        path = self.folder / f"{len(list(self.folder.iterdir()))}.json"
        path.write_text(json.dumps(document))
        return str(path)


def _priority(item: tuple[str, int]) -> dict[str, Any]:
    """A name that is no priority's prefers nodes with a label of that name."""
    name, weight = item
    known = name.endswith(("Priority", "Allocation"))
    return {
        "name": name,
        "weight": weight,
        **({} if known else {"argument": {"labelPreference": {"label": name, "presence": True}}}),
    }


def node(name: str, cpu: int = 4000, memory: int = 8 * GIB, **label: str) -> Node:
    said = {"kubernetes.io/hostname": name, **label}
    return make_node(name, said, allocatable=resources(cpu=cpu, memory=memory, pods=110))


def pod(name: str, cpu: int = 100, memory: int = 256 << 20, *, on: str = "", **more: Any) -> Pod:
    return make_pod(name, node=on, requests=resources(cpu=cpu, memory=memory), **more)


def change(
    objects: Sequence[ClusterObject], old: EngineSpec, new: EngineSpec, one: Pod | None = None, **more: Any
) -> HostChange:
    """What changes for one pod."""
    return compare(objects, [one or pod("p")], old, [new], **more).pods[0].changes[0]


def _sum(amounts: Iterable[int | None]) -> int | None:
    """None if all are None; some of them may not be."""
    found = list(amounts)
    known = [amount for amount in found if amount is not None]
    assert len(known) in (0, len(found))
    return sum(known) if known else None


def check_sums(found: Comparison) -> int:
    """Holds every moved pod's contributions and steps to the totals' differences; how many were held."""
    held = 0
    for one in found.pods:
        for moved in one.changes:
            if moved.contributions:
                held += 1
                old, new = moved.old_difference, moved.new_difference
                assert _sum(part.old for part in moved.contributions) == old
                assert _sum(part.new for part in moved.contributions) == new
                assert (old is None or new is None) == (bool(moved.reasons) and not moved.as_if_passed)
                assert moved.as_if_passed or (old or 0) <= 0 <= (new or 0)
                lead = [step.lead for step in moved.steps]
                gains = [step.by for step in moved.steps]
                start = lead[0] - gains[0] if lead else 0
                assert [start + sum(gains[: at + 1]) for at in range(len(gains))] == lead
    return held
