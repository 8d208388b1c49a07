"""Scenes of what the real kube-scheduler was recorded on, and the same as files for the command line."""

from __future__ import annotations

import gzip
import json
import random
from functools import cache
from pathlib import Path
from typing import Any

import attrs

from kubescheduler.api.cluster import Cluster
from kubescheduler.engine.engine_flags import gates_text
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.lab.scene.scene import Scene
from tests.support.releases_tried import vectors_dir

TEXT_OF = {"policy": "--policy-config-file", "componentConfig": "--config"}
"""Key of a query → the option that takes it as a file."""


@attrs.frozen
class RecordedScene:
    """One query of one scenario."""

    name: str
    """``1.36/mixed/s003/q01``."""
    release: str
    manifests: list[dict[str, Any]]
    """The cluster as an API server stored it."""
    pod: dict[str, Any]
    """The pod that is asked about."""
    query: dict[str, Any]
    """What else the query says: a provider, a policy or a component configuration."""
    gates: dict[str, bool]
    """Feature gates."""

    def arguments(self, folder: Path) -> list[str]:
        """Writes the files, and gives the arguments of ``kubescheduler schedule`` that name them."""
        files = {"cluster.json": {"kind": "List", "items": self.manifests}, "pod.json": self.pod}
        out = [str(folder / "cluster.json"), "--pod", str(folder / "pod.json"), "--release", self.release]
        for key, option in TEXT_OF.items():
            if key in self.query:
                files[f"{key}.json"] = self.query[key]
                out += [option, str(folder / f"{key}.json")]
        if "provider" in self.query and self.release != "1.36":
            out += ["--algorithm-provider", self.query["provider"]]
        for name, content in files.items():
            (folder / name).write_text(json.dumps(content))
        gates = ["--feature-gates", gates_text(self.gates)] if self.gates else []
        return [*out, *gates, "--no-defaulting", "--validate", "ignore"]

    def scene(self) -> Scene:
        """The same as a scene."""
        cluster = Cluster(self.manifests, release=self.release, defaulting=False, validate="ignore", gates=self.gates)
        spec = EngineSpec(
            self.release,
            provider=self.query.get("provider") if self.release != "1.36" else None,
            policy=self.query.get("policy"),
            component=self.query.get("componentConfig"),
            feature_gates=gates_text(self.gates),
        )
        return Scene.opened(cluster, pods=[self.pod], sides=[spec])


@cache
def _lines(release: str) -> tuple[tuple[str, bytes], ...]:
    """(theme, scenario) of every recording without extenders."""
    out: list[tuple[str, bytes]] = []
    for path in sorted((vectors_dir() / release).glob("*.jsonl.gz")):
        if not path.name.startswith("extender"):
            theme = path.name.removesuffix(".jsonl.gz")
            out += ((theme, line) for line in gzip.decompress(path.read_bytes()).splitlines())
    return tuple(out)


def drawn_scenes(release: str, count: int = 20, seed: int = 12) -> list[RecordedScene]:
    """A query of each of some scenarios, the same each time; of a pod that names no node, as that runs in a scene."""
    rng = random.Random(seed)
    lines = list(_lines(release))
    rng.shuffle(lines)
    out: list[RecordedScene] = []
    for theme, line in lines:
        scenario = json.loads(line)["scenario"]
        waiting = [query for query in scenario["queries"] if not query["pod"]["spec"].get("nodeName")]
        if waiting:
            out.append(_scene(release, theme, scenario, rng.choice(waiting)))
        if len(out) == count:
            break
    return out


def _scene(release: str, theme: str, scenario: dict[str, Any], query: dict[str, Any]) -> RecordedScene:
    return RecordedScene(
        name=f"{release}/{theme}/{scenario['id']}/{query['id']}",
        release=release,
        manifests=[each for entries in scenario["cluster"].values() for each in entries],
        pod={"apiVersion": "v1", "kind": "Pod", **query["pod"]},
        query=query,
        gates=scenario.get("featureGates") or {},
    )
