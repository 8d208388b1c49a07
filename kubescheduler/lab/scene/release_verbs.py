"""The verbs ``releases`` and ``releaseStep``: by which releases a side can decide, and whether the pod that is asked
about goes elsewhere from one of them to the next.

A page asks for one step at a time, so that whatever else is asked meanwhile waits for one step at most.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import msgspec

from clusterstate.errors import ConfigError
from kubescheduler.api.cluster import Cluster
from kubescheduler.api.whole_runs import without
from kubescheduler.comparison.release_steps import TimelineMove, timeline
from kubescheduler.engine.spec import no_notice
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.scene_state import SceneFault, Side
from kubescheduler.lab.scene.side_schedulers import KeptValues
from kubescheduler.lab.scene.side_verbs import in_release
from kubescheduler.lab.scene.verb_contract import Verb, verb
from kubescheduler.releases.lookup import release_named
from kubescheduler.releases.names import RELEASE_NAMES, place

KEPT = "releases"
"""Under which a scene keeps what was answered last."""


@attrs.define(eq=False)
class AskedReleases:
    """What was answered of one side's description, pod and cluster, whichever release decides now."""

    of: str
    """Another for other clusters, pods and descriptions."""
    problems: dict[str, str]
    """Release → why it cannot read what describes the side; empty if it can."""
    cluster: Cluster | None = None
    """As the newest release reads it that can decide: every step is decided on it."""
    steps: dict[tuple[str, str], dict[str, Any]] = attrs.field(factory=dict)
    """(release, next release) → the answer on the step."""


@verb
def releases(scene: Scene, side: str = "a") -> dict[str, Any]:
    """Every release, with why it cannot decide by what describes the side; ``of`` is another text for other steps."""
    kept = _kept(scene, scene.side(side))
    return {"of": kept.of, "releases": [{"release": name, "problem": why} for name, why in kept.problems.items()]}


def _problem(side: Side, release: str) -> str:
    try:
        in_release(side, release).spec.engine(no_notice)
    except ConfigError as error:
        return error.problems[0]
    return ""


@verb
def release_step(scene: Scene, before: str, release: str, side: str = "a") -> dict[str, Any]:
    """Where the pod that is asked about goes by each of two releases, and by which changes it goes elsewhere.

    Raises SceneFault where a release cannot read what describes the side, or the cluster.
    """
    decides = scene.side(side)
    names = release_named(before).name, release_named(release).name
    if place(names[0]) >= place(names[1]):
        raise SceneFault(f"release: {names[1]} is not later than {names[0]}")
    kept = _kept(scene, decides)
    if kept.cluster is None:
        last = max((name for name, why in kept.problems.items() if not why), key=place, default=decides.release)
        kept.cluster = scene.state.cluster.for_release(last, in_release(decides, last).spec.gates)
    if names not in kept.steps:
        kept.steps[names] = _step(kept.cluster, scene.pod_key(), decides, *names)
    return kept.steps[names]


def _step(cluster: Cluster, key: str, side: Side, before: str, release: str) -> dict[str, Any]:
    specs = [in_release(side, name).spec for name in (before, release)]
    pod = cluster.find_pod(key)
    assert pod is not None
    [found] = timeline(without(cluster, [pod]), [pod], *specs).pods
    old, new = found.outcomes[0], found.outcomes[-1]
    return {
        "pod": found.pod,
        "before": before,
        "release": release,
        "hosts": [old.host, new.host],
        "changes": [_change(move, name) for move in found.moves for name in move.changes],
        "text": "; ".join(f"{move.cause}: {move.text}" for move in found.moves),
    }


def _change(move: TimelineMove, name: str) -> dict[str, str]:
    text = next(change.text for change in release_named(move.release).changes if change.name == name)
    return {"name": name, "text": text}


def _kept(scene: Scene, side: Side) -> AskedReleases:
    """What was answered of the side as it is but for its release; begun anew where something else is asked about."""
    kept: KeptValues = scene.extra.setdefault(KEPT, KeptValues(4))
    described = msgspec.structs.asdict(side.spec)
    del described["release"]

    def made() -> AskedReleases:
        return AskedReleases(
            f"{scene.version} {side.id}", {release: _problem(side, release) for release in RELEASE_NAMES}
        )

    return kept.value((scene.state.cluster, *described.values()), made, scene.state.asked)


VERBS: Mapping[str, Verb] = {"releases": releases, "releaseStep": release_step}
