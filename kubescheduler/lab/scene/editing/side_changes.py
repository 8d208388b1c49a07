"""Edits of the sides that there are and of their releases; their documents are edited in ``families.tune_verbs``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from clusterstate.errors import ConfigError
from clusterstate.versions import minor
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.extender.access import LIVE, PASS
from kubescheduler.lab.scene.editing.edit_contract import Change, Edit
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.scene_faults import SceneFault
from kubescheduler.lab.scene.scene_side import SIDE_IDS, Kind, Side, default_name
from kubescheduler.lab.scene.verb_parameters import Parameters, parameters
from kubescheduler.releases.lookup import release_named
from kubescheduler.releases.names import RELEASE_NAMES


class OfSide(Parameters, frozen=True):
    """Of an edit of one side."""

    side: str


class OfRelease(OfSide, frozen=True):
    """Of ``release``. migrated: with what migrating makes of the side's description."""

    release: str
    migrated: bool = False


class NewSide(Parameters, frozen=True):
    """Of ``addSide``: described anew, or as another side is. release: by default that of ``copy``."""

    release: str | None = None
    kind: Kind | None = None
    text: str = ""
    copy: str | None = None
    name: str = ""


class Name(OfSide, frozen=True):
    """Of ``nameSide``."""

    name: str


class Migration(Parameters, frozen=True, kw_only=True):
    """Of ``migrateSide``. to: a side, which becomes what the first one is in its own release, or a release."""

    from_: str = msgspec.field(name="from")
    to: str


class Asking(OfSide, frozen=True):
    """Of ``askExtenders``."""

    on: bool


def with_usable(scene: Scene, text: str, side: Side) -> Change:
    """The scene's state with a side in place of the one of its id. Raises SceneFault for one that cannot decide."""
    if problems := scene.made(side).problems:
        raise SceneFault(problems)
    return text, scene.state.with_side(side)


def _release(scene: Scene, asked: Mapping[str, Any]) -> Change:
    want = parameters(OfRelease, asked)
    side = scene.side(want.side)
    if want.migrated:
        name = "" if side.name == default_name(side.release) else side.name
        side = migrated_side(side, release_named(want.release).name, side.id, name)
    else:
        side = in_release(side, want.release)
    how = ", by what migrating makes of its configuration" if want.migrated else ""
    return with_usable(scene, f"Made side {side.id} decide as release {side.release} does{how}", side)


def in_release(side: Side, release: str) -> Side:
    """The side with another release; its name follows where it is the default. Raises ConfigError for an unknown
    release."""
    release = release_named(release).name
    name = default_name(release) if side.name == default_name(side.release) else side.name
    return msgspec.structs.replace(side, name=name, spec=msgspec.structs.replace(side.spec, release=release))


def _add_side(scene: Scene, asked: Mapping[str, Any]) -> Change:
    want = parameters(NewSide, asked)
    letter = free_letter(scene)
    if want.copy is not None:
        model = scene.side(want.copy)
        side = in_release(model, want.release or model.release)
        side = msgspec.structs.replace(side, id=letter, name=want.name or side.name)
    else:
        if want.release is None:
            raise SceneFault(f"release: which one? There are {', '.join(RELEASE_NAMES)}")
        release = release_named(want.release).name
        extenders = scene.state.sides[0].spec.extenders
        side = Side(letter, want.name or default_name(release), EngineSpec(release, extenders=extenders))
    if want.kind is not None:
        side = side.with_document(want.kind, want.text)
    return with_usable(scene, f"Added side {letter}, release {side.release}", side)


def free_letter(scene: Scene) -> str:
    """The id of another side. Raises SceneFault when there are as many as there may be."""
    taken = {side.id for side in scene.state.sides}
    free = [letter for letter in SIDE_IDS if letter not in taken]
    if not free:
        raise SceneFault(f"sides: there are {len(SIDE_IDS)} already; remove one first")
    return free[0]


def _remove_side(scene: Scene, asked: Mapping[str, Any]) -> Change:
    side = scene.side(parameters(OfSide, asked).side)
    left = tuple(each for each in scene.state.sides if each is not side)
    if not left:
        raise SceneFault("sides: it is the only one")
    return f"Removed side {side.id}", msgspec.structs.replace(scene.state, sides=left)


def _name_side(scene: Scene, asked: Mapping[str, Any]) -> Change:
    want = parameters(Name, asked)
    side = scene.side(want.side)
    if not want.name.strip():
        raise SceneFault("name: it is empty")
    named = msgspec.structs.replace(side, name=want.name.strip())
    return f"Called side {side.id} {named.name}", scene.state.with_side(named)


def _migrate(scene: Scene, asked: Mapping[str, Any]) -> Change:
    want = parameters(Migration, asked)
    source = scene.side(want.from_)
    if minor(want.to) is not None:
        letter, release, name = free_letter(scene), release_named(want.to).name, ""
    else:
        target = scene.side(want.to)
        letter, release, name = target.id, target.release, target.name
    side = migrated_side(source, release, letter, name)
    return with_usable(scene, f"Migrated side {source.id} to release {release}, on side {letter}", side)


def migrated_side(source: Side, release: str, letter: str, name: str = "") -> Side:
    """What makes another release decide as a side does, as far as it can; the notes are comments of its text.

    Raises ConfigError for a release that nothing is migrated to.
    """
    from kubescheduler.api.whole_runs import migrate
    from kubescheduler.translate.commented_yaml import translation_yaml

    spec = source.spec
    options: dict[str, Any] = {"release": spec.release, "to": release, "gates": spec.feature_gates or None}
    options["hard_pod_affinity_symmetric_weight"] = spec.hard_pod_affinity_symmetric_weight
    if source.kind == "provider":
        if spec.record.framework is not None and spec.record.framework_rules.policies is None:
            raise ConfigError(
                f"release {spec.release} has no provider to migrate; describe the side by a configuration"
            )
        found = migrate(provider=spec.provider or "DefaultProvider", **options)
    else:
        found = migrate(source.text if "\n" in source.text else f"{source.text}\n", **options)
    plugins = spec.plugins if spec.record.framework is not None else ()
    fresh = EngineSpec(release, extenders=spec.extenders, plugins=plugins, max_pd_volumes=spec.max_pd_volumes)
    side = Side(letter, name or default_name(release), fresh, tie_break=source.tie_break, seed=source.seed)
    return side.with_document("config", translation_yaml(found))


def _ask_extenders(scene: Scene, asked: Mapping[str, Any]) -> Change:
    want = parameters(Asking, asked)
    side = scene.side(want.side)
    spec = msgspec.structs.replace(side.spec, extenders=LIVE if want.on else PASS)
    text = f"Let side {side.id} {'ask' if want.on else 'pass over'} its extenders"
    return with_usable(scene, text, msgspec.structs.replace(side, spec=spec))


SIDE_EDITS: Mapping[str, Edit] = {
    "release": _release,
    "addSide": _add_side,
    "removeSide": _remove_side,
    "nameSide": _name_side,
    "migrateSide": _migrate,
    "askExtenders": _ask_extenders,
}
"""``do`` → the edit."""
