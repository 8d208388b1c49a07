"""The verb ``hints``, and the edit ``hint``, which makes the changes of one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import msgspec

from clusterstate.objects import Pod
from kubescheduler.api.cluster import Cluster
from kubescheduler.engine.framework_engine import FrameworkEngine
from kubescheduler.engine.legacy_engine import LegacyEngine
from kubescheduler.engine.spec import Engine, cache_for
from kubescheduler.framework.contract.profile import DEFAULT_SCHEDULER_NAME, Point
from kubescheduler.hinting.hint_search import HintSearch
from kubescheduler.hinting.proposals import TARGETS, Hint, PodHints, Proposal, manifests_of
from kubescheduler.lab.scene.scene import Change, Edit, KeptValues, Scene, Verb, verb
from kubescheduler.lab.scene.scene_state import SceneFault, SceneState
from kubescheduler.lab.scene.tune_verbs import side_text
from kubescheduler.lab.tuning import toggled, weighed
from kubescheduler.lab.tuning.form_rows import POLICY, SideText
from kubescheduler.lab.tuning.profile_form import as_config


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


KEPT = "hints"
"""The key under which a scene keeps hints."""
SEARCHES = "hint searches"
"""The key under which it keeps searches, each with a cache of the cluster."""


@verb
def hints(
    scene: Scene, side: str = "a", pod: str | None = None, node: str = "", top: int = 10, pairs: bool = True
) -> dict[str, Any]:
    """What would make a pod fit, or go to a node: the smallest change first, each tried by deciding.

    pod: ``namespace/name``; by default the pod that is asked about. node: where it is to go; empty: anywhere. top: at
    most so many hints. pairs: also two changes at a time.
    """
    found = _found(scene, side, pod, node, pairs=pairs)
    key = found.pod.key
    edit = {"do": "hint", "side": side, "pod": key, "node": node, "pairs": pairs}
    return {
        "pod": key,
        "node": node or None,
        "goal": found.goal.text,
        "host": found.host,
        "reached": found.reached,
        "hints": [_entry(at, hint, edit) for at, hint in enumerate(found.hints[: max(0, top)], 1)],
        "more": max(0, len(found.hints) - max(0, top)),
        "searched": list(TARGETS),
        "decisions": found.decisions,
        "leftOut": found.left_out,
        "errors": list(found.errors),
        "text": _text(found),
    }


@verb
def hint(scene: Scene, pod: str, text: str, side: str = "a", node: str = "", pairs: bool = True) -> Change:
    """Makes the changes of a hint that ``hints`` answered. Raises SceneFault for one that there is not any more.

    text: its words, by which it is found.
    """
    found = _found(scene, side, pod, node, pairs=pairs)
    chosen = next((one for one in found.hints if one.text == text), None)
    if chosen is None:
        raise SceneFault(f"hint: there is none any more: {text}")
    state = applied(scene, side, chosen, found.pod)
    done = f"Applied the hint for {found.pod.key}: {chosen.text}"
    return done, msgspec.structs.replace(state, asked=scene.pod_key(pod))


def _entry(rank: int, found: Hint, edit: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "rank": rank,
        "size": round(sum(change.size for change in found.changes), 6),
        "text": found.text,
        "changes": [
            {"kind": change.kind, "target": change.target, "name": change.name, "text": change.text}
            for change in found.changes
        ],
        "host": found.host,
        "effect": found.effect,
        "victims": list(found.victims),
        "moves": dict(found.moves),
        "alike": list(found.alike),
        "verified": True,
        "edit": {**edit, "text": found.text},
    }


def _text(found: PodHints) -> str:
    if found.reached:
        return f"{found.pod.key} goes to {found.host} as things are."
    if found.hints:
        return ""
    return f"Nothing that was tried makes {found.pod.key} reach its goal ({found.goal.text}): {found.message}".rstrip()


# --- searching -------------------------------------------------------------------------------


def _found(scene: Scene, side: str, pod: str | None, node: str, *, pairs: bool) -> PodHints:
    """All hints, remembered as long as neither the cluster nor the side changes.

    A search changes its cache while it tries, and puts it back; one that was stopped on the way is thrown away.
    """
    key = scene.pod_key(pod)
    searches: KeptValues = scene.extra.setdefault(SEARCHES, KeptValues(2))
    kept: KeptValues = scene.extra.setdefault(KEPT, KeptValues(8))
    of = (scene.state.cluster, scene.side(side))
    try:
        search, waiting = searches.value(of, lambda: _search(scene, side, key), key if _runs(scene, key) else "")
        pod_there = waiting or scene.cluster(side).find_pod(key)
        assert pod_there is not None
        return kept.value(of, lambda: search.hints(pod_there, node=node, pairs=pairs), key, node, pairs)
    except BaseException:
        scene.extra.pop(SEARCHES, None)
        raise


def _runs(scene: Scene, key: str) -> bool:
    found = scene.state.cluster.find_pod(key)
    return found is not None and bool(found.node_name)


def _search(scene: Scene, side: str, key: str) -> tuple[HintSearch, Pod | None]:
    """A search over a cache of its own, and the pod if it runs now and is looked at as if it waited."""
    cluster, engine, waiting = scene.cluster(side), scene.engine(side), None
    if _runs(scene, key):
        cluster = cluster.unbound(key)
        waiting = cluster.find_pod(key)
    return HintSearch(engine, cache_for(engine, cluster.objects)), waiting


VERBS: Mapping[str, Verb] = {"hints": hints}
EDITS: Mapping[str, Edit] = {"hint": hint}
"""``do`` → the edit."""
