"""The changes of a hint made in a scene: in manifests, of running pods, and in a side's configuration."""

from __future__ import annotations

import attrs
import msgspec

from clusterstate.objects import Pod
from kubescheduler.api.cluster import Cluster
from kubescheduler.engine.engine_contract import Engine
from kubescheduler.engine.framework_engine import FrameworkEngine
from kubescheduler.engine.legacy_engine import LegacyEngine
from kubescheduler.framework.contract.points import Point
from kubescheduler.framework.contract.profile import DEFAULT_SCHEDULER_NAME
from kubescheduler.hinting.changed_manifests import manifests_of
from kubescheduler.hinting.proposals import Hint, Proposal
from kubescheduler.lab.scene.families.tune_verbs import side_text
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.scene_state import SceneState
from kubescheduler.lab.tuning.profile_changes import as_config
from kubescheduler.lab.tuning.side_text import POLICY, SideText
from kubescheduler.lab.tuning.tuning_edits import toggled, weighed


def applied(scene: Scene, side: str, hint: Hint, pod: Pod) -> SceneState:
    """The state in which a hint's changes are made; evicted pods wait for another node.

    pod: as it was asked about, waiting. Raises InputError for changes that cannot be written.
    """
    state = scene.state
    cluster = state.cluster
    if evicted := [gone.key for change in hint.changes for gone in change.evicted]:
        cluster = cluster.unbound(*evicted)
    written = tuple(change for change in hint.changes if change.pod or change.node or change.added)
    if written:
        cluster = _with_manifests(scene, side, cluster, attrs.evolve(hint, changes=written), pod)
    state = msgspec.structs.replace(state, cluster=cluster)
    configured = [change for change in hint.changes if change.engine is not None and change.kind in ("check", "weight")]
    if configured:
        described = scene.side(side)
        text = side_text(described)
        for change in configured:
            text = _configured(text, change, scene.engine(side), pod)
        state = state.with_side(described.with_document(text.kind, text.text))
    return state


def _with_manifests(scene: Scene, side: str, cluster: Cluster, hint: Hint, pod: Pod) -> Cluster:
    """The cluster with the changed pod and nodes, as the side's release writes them."""
    nodes = {node.name: node for node in scene.cluster(side).nodes}
    for manifest in manifests_of(hint, pod, nodes):
        kind, name = manifest["kind"], manifest["metadata"]["name"]
        key = name if kind == "Node" else f"{pod.metadata.namespace}/{name}"
        if kind == "Node" and name not in nodes:
            cluster = cluster.add(manifest)
        else:
            cluster = cluster.with_manifest(kind, key, manifest)
    return cluster


def _configured(text: SideText, change: Proposal, engine: Engine, pod: Pod) -> SideText:
    """A side's text with a check switched off, or another weight."""
    scheduler = pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME
    if change.kind == "check":
        if text.kind == POLICY and isinstance(engine, FrameworkEngine):
            text = as_config(text)  # one predicate of a Policy stands for several plugins, of which one goes
        return toggled(text, change.name, on=False, point="filter", scheduler=scheduler)
    assert change.engine is not None
    return weighed(text, {change.name: _weight(change.engine(engine), change.name, scheduler)}, scheduler)


def _weight(engine: Engine, rule: str, scheduler: str) -> int:
    """The weight of a rule in a changed engine."""
    if isinstance(engine, LegacyEngine):
        return next(one.weight for one in engine.algorithm.priorities if one.config.name == rule)
    assert isinstance(engine, FrameworkEngine)
    profile = next(one for one in engine.config.profiles if one.scheduler_name == scheduler)
    return next(entry.weight for entry in profile.plugins[Point.SCORE] if entry.name == rule)
