"""What configures each release on the way from an old to a new one, where the old one's configuration goes along.

A configuration goes on as long as the releases take it; the first that does not gets what ``migrate`` makes of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from clusterstate.errors import ConfigError, InputError
from kubescheduler.config.config_text import read_text
from kubescheduler.engine.engine_flags import DEFAULTS
from kubescheduler.engine.spec import EngineSpec, no_notice
from kubescheduler.framework.plugins.plugin_record import DEFAULT_PROVIDER
from kubescheduler.releases.lookup import release_named
from kubescheduler.releases.names import RELEASE_NAMES, place
from kubescheduler.translate.migration import MigrationOptions, migrated
from kubescheduler.translate.policy_source import provider_source
from kubescheduler.translate.process_upgrade import LEFT_OUT, gate_notes, staying_gates, target_process
from kubescheduler.translate.translating import translate, translation_yaml
from kubescheduler.translate.translation_model import Note, NoteKind, Translation, has_provider

CONFIGURES = ("provider", "policy_file", "policy_configmap", "config_file", "policy", "component")
"""Fields of which one says what decides."""
OWN = "it is what the new scheduler is given"
OF_FLAGS = ("hard_pod_affinity_symmetric_weight", "use_legacy_policy_config", "scheduler_name", "failure_domains")
"""Fields that a configuration says instead."""


class ConfigurationStep(msgspec.Struct, frozen=True):
    """A release that is configured otherwise than the one before it."""

    release: str
    refused: str
    """Why it does not take what configured the one before."""
    by: str
    """What configures it."""
    translation: Translation | None = None
    """What ``migrate`` made for it; None where something else stands in its place."""
    gates: tuple[Note, ...] = ()
    """Of feature gates that it takes no more."""

    @property
    def notes(self) -> tuple[Note, ...]:
        """All that is to know."""
        return (*(self.translation.notes if self.translation else ()), *self.gates)

    @property
    def text(self) -> str:
        """In one line."""
        return f"from {self.release} on, {self.by} configures: {self.refused}"

    @property
    def yaml(self) -> str:
        """The configuration with its comments; empty where none was made."""
        return translation_yaml(self.translation) if self.translation else ""

    def document(self) -> dict[str, Any]:
        """As data; the configuration where one was made."""
        return {
            "release": self.release,
            "refused": self.refused,
            "by": self.by,
            "configuration": self.translation.plain() if self.translation else None,
            "notes": [note.document() for note in self.notes],
        }


class Carried(msgspec.Struct, frozen=True):
    """What configures every release from the old one to the new one."""

    specs: tuple[EngineSpec, ...]
    """Oldest first, without releases that nothing configures."""
    steps: tuple[ConfigurationStep, ...]
    """Where that changes."""
    left_out: tuple[str, ...]
    """Notes on releases that nothing configures."""

    @property
    def notes(self) -> tuple[str, ...]:
        """All of it in sentences."""
        return (*(step.text for step in self.steps), *self.left_out)


def carried(old: EngineSpec, new: EngineSpec) -> Carried:
    """What configures every release from the old one's to the new one's.

    The new one's own configuration, if it says one, stands in place of the old one as soon as that is not taken any
    more and this is. Raises ConfigError where the new release takes nothing of it.
    """
    specs, current = [old], old
    steps: list[ConfigurationStep] = []
    left_out: list[str] = []
    stands_by = new if configures(new) else None
    for name in RELEASE_NAMES[place(old.release) + 1 : place(new.release) + 1]:
        last = name == new.release
        spec = at_release(current, name)
        refused = _refused(spec)
        other = None if stands_by is None or current is new else at_release(new, name)
        if other is not None and (last or (refused and not _refused(other))):
            steps.append(ConfigurationStep(name, refused or OWN, new.text))
            spec, current = other, new
        elif refused:
            try:
                spec, step = _migrated(old, name, refused)
            except ConfigError as error:
                if last:
                    raise
                left_out.append(f"{name} is left out, as nothing configures it: {error.problems[0]}")
                continue
            steps.append(step)
            current = spec
        else:
            steps += _gates_gone(specs[-1], spec)
        specs.append(_with_flags_of(new, spec) if last else spec)
    return Carried(tuple(specs), tuple(steps), tuple(left_out))


def _with_flags_of(new: EngineSpec, spec: EngineSpec) -> EngineSpec:
    """What the new scheduler is started with besides, for one that is configured as ``spec`` says."""
    if configures(new):
        return new
    kept = {field: getattr(spec, field) for field in (*CONFIGURES, *OF_FLAGS)}
    return replace(new, **kept, feature_gates=new.feature_gates or spec.feature_gates)


def configures(spec: EngineSpec) -> bool:
    """Whether something is said that decides, beside the release."""
    return any(spec.said(field) is not None for field in CONFIGURES)


def at_release(spec: EngineSpec, release: str) -> EngineSpec:
    """What a spec says, for another release, with the feature gates that it still takes."""
    moved = replace(spec, release=release, feature_gates=staying_gates(_gates_text(spec), release_named(release).gates))
    return moved if release_named(release).framework is not None else replace(moved, plugins=())


def _gates_text(spec: EngineSpec) -> str:
    given = spec.feature_gates
    return given if isinstance(given, str) else ",".join(f"{name}={str(on).lower()}" for name, on in given.items())


def _refused(spec: EngineSpec) -> str:
    """The first fault for which a release does not take a configuration; empty if it does."""
    try:
        spec.engine(no_notice)
    except InputError as error:
        return error.problems[0]
    if spec.provider is not None and not has_provider(spec.record, spec.provider):
        return f"unknown flag: --algorithm-provider: release {spec.release} has none"
    return ""


def _gates_gone(before: EngineSpec, after: EngineSpec) -> Iterator[ConfigurationStep]:
    """A step at which feature gates go, and nothing else changes."""
    if before.record.framework is not None and (notes := _gate_notes(before, after.release)):
        refused = "; ".join(f"{note.path}: {note.text}" for note in notes)
        yield ConfigurationStep(after.release, refused, "the same without feature gates that are gone", gates=notes)


def _gate_notes(before: EngineSpec, release: str) -> tuple[Note, ...]:
    """On the feature gates of a scheduler that another release does not take."""
    notes = gate_notes(_gates_text(before), before.release, target_process(release))
    return tuple(note for note in notes if note.text.endswith(LEFT_OUT) and note.kind is not NoteKind.EXACT)


def _migrated(old: EngineSpec, release: str, refused: str) -> tuple[EngineSpec, ConfigurationStep]:
    """What ``migrate`` makes of the old configuration. Raises ConfigError where it makes nothing."""
    if release_named(release).framework is None:
        raise ConfigError(refused)
    translation = _translation(old, release)
    document = translation.plain()
    if old.scheduler_name:
        document["profiles"] = [{**document["profiles"][0], "schedulerName": old.scheduler_name}]
    cleared = {field: DEFAULTS[field] for field in (*CONFIGURES, *OF_FLAGS)}
    spec = replace(at_release(old, release), **{**cleared, "component": document})
    spec.engine(no_notice)
    by = f"what migrate makes of {_name(old)}"
    return spec, ConfigurationStep(release, refused, by, translation, _gate_notes(old, release))


def _translation(old: EngineSpec, to: str) -> Translation:
    options = MigrationOptions(
        old.release, to, _gates_text(old), old.hard_pod_affinity_symmetric_weight, plugins=old.plugins
    )
    if texts := list(_texts(old)):
        return migrated(texts, options)
    provider = old.provider or DEFAULT_PROVIDER
    return translate(provider_source(provider, old.release, options.gates(), options.hard_weight), to)


def _texts(old: EngineSpec) -> Iterator[tuple[str, str]]:
    """(name, text) of what configures the old scheduler, and of a policy that it names."""
    for document in (old.policy, old.component):
        if document is not None:
            yield "policy" if document is old.policy else "config", msgspec.json.encode(dict(document)).decode()
    for path in (old.policy_file, old.policy_configmap, old.config_file):
        if path is not None:
            yield path, read_text(Path(path))


def _name(old: EngineSpec) -> str:
    names = [Path(path).name for path in (old.policy_file, old.policy_configmap, old.config_file) if path]
    named = names or [f"provider {old.provider or DEFAULT_PROVIDER}"]
    if old.policy is not None or old.component is not None:
        return "the policy" if old.policy is not None else "the configuration"
    return named[0]
