"""A scene as a ``.lab.json`` document, and back. Plugins are not in it, and extenders are not asked by it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from kubescheduler.api.cluster import Cluster
from kubescheduler.api.engine_choice import gates_text
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.engine.spec_fields import BESIDES
from kubescheduler.extender.access import PASS
from kubescheduler.lab.scene.scene_faults import SceneFault
from kubescheduler.lab.scene.scene_side import SIDE_IDS, Side
from kubescheduler.lab.scene.scene_state import SceneState
from kubescheduler.releases.lookup import release_named

KIND = "LabScene"
PLUGINS_NOTE = "side {}: its own plugins {} are not in a shared scene; give the lab the file with --plugin"


class LabSide(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", omit_defaults=True):
    """One scheduler."""

    id: Literal["a", "b", "c", "d"]
    release: str
    name: str = ""
    kind: Literal["provider", "policy", "config"] = "provider"
    text: str = ""
    """The provider's name, or the document as it was written."""
    feature_gates: str = ""
    hard_pod_affinity_symmetric_weight: int | None = None
    percentage_of_nodes_to_score: int = 100
    scheduler_name: str | None = None
    tie_break: Literal["first", "random", "upstream"] = "first"
    seed: int | None = None
    plugins: tuple[str, ...] = ()
    """The names of plugins that are missing here."""


class LabScene(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", omit_defaults=True):
    """A whole scene."""

    kind: Literal["LabScene"]
    version: Literal[1]
    sides: tuple[LabSide, ...]
    manifests: tuple[dict[str, Any], ...]
    """Every object, in order."""
    release: str
    """Of the cluster."""
    title: str = ""
    asked: str | None = None
    notes: tuple[str, ...] = ()


def lab_document(state: SceneState) -> dict[str, Any]:
    """The document of a state, as plain data."""
    scene = LabScene(
        kind="LabScene",
        version=1,
        title=state.title,
        release=state.cluster.release,
        asked=state.asked,
        sides=tuple(map(_side, state.sides)),
        manifests=tuple(state.cluster.manifests()),
        notes=state.notes,
    )
    found: dict[str, Any] = msgspec.to_builtins(scene)
    return {"kind": KIND, "version": 1, **found}


def _side(side: Side) -> LabSide:
    spec = side.spec
    return LabSide(
        id=side.id,  # type: ignore[arg-type]
        release=spec.release,
        name=side.name,
        kind=side.kind,
        text=(spec.provider or "") if side.kind == "provider" else side.text,
        tie_break=side.tie_break,  # type: ignore[arg-type]
        seed=side.seed,
        plugins=tuple(option.name for option in spec.plugins),
        **{**_besides(spec), "feature_gates": gates_text(spec.feature_gates)},
    )


def _besides(given: EngineSpec | LabSide) -> dict[str, Any]:
    """What is said besides the provider or the document."""
    return {field: getattr(given, field) for field in BESIDES.values() if field in LabSide.__struct_fields__}


def opened_document(document: Mapping[str, Any]) -> SceneState:
    """The state of a document. Raises InputError with what is wrong with it.

    Plugins are not loaded, and extenders are not asked, whatever the document says.
    """
    try:
        found = msgspec.convert(document, LabScene)
    except msgspec.ValidationError as error:
        raise SceneFault(f"scene: {error}") from error
    ids = [side.id for side in found.sides]
    if not ids or len(ids) > len(SIDE_IDS) or len(set(ids)) < len(ids):
        raise SceneFault(f"scene: sides: expected one to {len(SIDE_IDS)} with ids of their own, found {', '.join(ids)}")
    release = found.release
    cluster = Cluster(*found.manifests, release=release) if found.manifests else Cluster(release=release)
    if found.asked is not None and cluster.find_pod(found.asked) is None:
        raise SceneFault(f"scene: asked: there is no pod {found.asked}")
    missing = [PLUGINS_NOTE.format(side.id, ", ".join(side.plugins)) for side in found.sides if side.plugins]
    notes = tuple(dict.fromkeys((*found.notes, *missing)))
    return SceneState(cluster, found.asked, tuple(map(_opened_side, found.sides)), found.title, notes)


def _opened_side(given: LabSide) -> Side:
    spec = EngineSpec(given.release, extenders=PASS, **_besides(given))
    release_named(given.release)
    side = Side(given.id, given.name, spec, tie_break=given.tie_break, seed=given.seed)
    return side.with_document(given.kind, given.text)
