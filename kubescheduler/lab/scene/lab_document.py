"""A scene as a document: a ``.lab.json`` file, the text of a link, and what a tab can open.

Plugins are not in it, and extenders are not asked by it.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec

from clusterstate.errors import InputError
from kubescheduler.api.cluster import Cluster
from kubescheduler.engine.engine_flags import gates_text
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.engine.spec_fields import BESIDES
from kubescheduler.extender.access import PASS
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.scene_state import SIDE_IDS, SceneFault, SceneState, Side
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


LONGEST = 8192
"""Characters of a link's text."""

MOST_BYTES = 4 * 1024 * 1024
"""What a text may be when it is inflated."""

UNREADABLE = "share: the text of the link cannot be read; was it cut off?"


def share_text(state: SceneState) -> str:
    """The text of a state, however long it is."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = packer.compress(msgspec.json.encode(lab_document(state))) + packer.flush()
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def shared_document(text: str) -> Mapping[str, Any]:
    """The document of a text. Raises SceneFault for one that is none, or that would become too large."""
    if len(text) > LONGEST:
        raise SceneFault(f"share: the text has more than {LONGEST:,} characters")
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        packed = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        found = unpacker.decompress(packed, MOST_BYTES + 1)
        if len(found) > MOST_BYTES:
            raise SceneFault(f"share: the scene has more than {MOST_BYTES:,} bytes")
        if not unpacker.eof:
            raise SceneFault(UNREADABLE)
        document = msgspec.json.decode(found)
    except (binascii.Error, ValueError, zlib.error, msgspec.DecodeError, RecursionError) as error:
        if isinstance(error, SceneFault):
            raise
        raise SceneFault(UNREADABLE) from error
    if not isinstance(document, dict):
        raise SceneFault(UNREADABLE)
    return document


START, BUNDLED = "start", "bundled"


class SceneOpenings(msgspec.Struct, frozen=True):
    """Makes the scene of a tab. Only ``start`` has the user's plugins, and extenders that are asked."""

    start: Callable[[], Scene]
    """What the command line named."""
    bundled: Callable[[], Scene]
    """The cluster that comes with the package."""
    exercise: Callable[[str], Scene]
    """The exercise of that name that comes with the package. Raises InputError for a name that there is not."""

    def __call__(self, asked: Mapping[str, Any]) -> Scene:
        """The scene that ``from`` says. Raises InputError."""
        unknown = sorted(asked.keys() - {"from"})
        if unknown:
            raise InputError(f"{key}: unknown; there is from" for key in unknown)
        source = asked.get("from", START)
        if source == START:
            return self.start()
        if source == BUNDLED:
            return self.bundled()
        if isinstance(source, Mapping) and len(source) == 1:
            [(what, given)] = source.items()
            if what == "exercise" and isinstance(given, str):
                return self.exercise(given)
            if what == "share" and isinstance(given, str):
                return Scene(opened_document(shared_document(given)))
            if what == "lab" and isinstance(given, Mapping):
                return Scene(opened_document(given))
        raise InputError(
            f'from: must be {START}, {BUNDLED}, {{"exercise": its name}}, {{"share": text}} or {{"lab": scene}}'
        )
