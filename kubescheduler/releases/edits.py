"""What the file of a release lists: its changes, each with the edits that it makes of the release before it.

An edit is a function of a release that gives the same with something else in it; several are one by ``together``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from kubescheduler.releases.gate_history import gates_elsewhere
from kubescheduler.releases.names import TAKEN_BACK
from kubescheduler.releases.release import Change, ChangeKind, Edit, Release

if TYPE_CHECKING:
    from algorithmprovider.registry import Algorithms
    from kubescheduler.config.gates import Gate
    from kubescheduler.framework.contract.profile import Point
    from kubescheduler.framework.plugins.plugin_record import InTreePlugin
    from predicates.types import FitPredicateFactory
    from priorities.types import PriorityConfigFactory


def change(name: str, text: str, kind: ChangeKind, *edits: Edit, source: str = "") -> Change:
    """One thing that a release does otherwise than the one before it; see ``Change``. edits: made in their order."""
    return Change(name, text, kind, together(*edits), source)


def after(
    older: Release, name: str, changes: tuple[Change, ...], *, version: str = "", summary: str = "", **fields: Any
) -> Release:
    """The release that follows another: its changes, one after the other, then ``fields`` that are no change.

    version: the one whose answers were recorded. summary: of the changes, in a few words.
    """
    said = {"version": version or name, "summary": summary, **fields}
    named = replace(component(release=name)(older), name=name)
    if named.framework is not None and named.framework.policies is not None:
        named = policies(release=name)(named)
    changed = together(*(change.edit for change in changes))(named)
    real, _, lacks = name.partition(TAKEN_BACK)
    elsewhere = {gate: what for gate, what in gates_elsewhere(real) if gate not in changed.gates.gates}
    gates = replace(changed.gates, elsewhere=elsewhere, needs={} if lacks else changed.gates.needs)
    made = partial(after, older, **said)
    return replace(changed, gates=gates, **said, changes=changes, made=made)


# --- of a release and its plugins ----------------------------------------------------------------


def together(*edits: Edit) -> Edit:
    """Several edits as one, made in their order."""
    return lambda release: reduce(lambda made, edit: edit(made), edits, release)


def release_fields(**fields: Any) -> Edit:
    """Fields of the release itself."""
    return lambda release: replace(release, **fields)


def reads(**fields: str) -> Edit:
    """Fields of pods that it looks at from now on, with dots as __, and the gate of each; empty for none."""
    named = {name.replace("__", "."): gate for name, gate in fields.items()}
    return lambda release: replace(release, reads={**release.reads, **named})


def framework(**fields: Any) -> Edit:
    """Fields of how it decides by plugins."""
    return lambda release: replace(release, framework=replace(release.framework_rules, **fields))


Late = Callable[[], Mapping[str, Any]]
"""Gives fields whose values are imported when a loop asks."""


def _when_asked(rules: str, edit: Callable[..., Edit], field: str, change: Callable[[Any], Any]) -> Edit:
    """A field whose value a function makes when somebody asks, of the rules that ``edit`` changes."""

    def made(release: Release) -> Release:
        older = getattr(getattr(release, rules), field)
        return edit(**{field: lambda: change(older())})(release)

    return made


def queueing(late: Late = dict, **fields: Any) -> Edit:
    """Fields of how pods wait to be tried."""
    return _when_asked("framework_rules", framework, "queue", lambda older: replace(older, **late(), **fields))


def cycling(late: Late = dict, **fields: Any) -> Edit:
    """Fields of what happens between choosing a node and binding to it."""
    return _when_asked("framework_rules", framework, "cycle", lambda older: replace(older, **late(), **fields))


def deciding(**fields: Any) -> Edit:
    """Fields of how an attempt goes, apart from plugins."""
    return lambda release: framework(deciding=replace(release.framework_rules.deciding, **fields))(release)


def component(**fields: Any) -> Edit:
    """Fields of how component configurations are read; nothing for a release that has none."""

    def edit(release: Release) -> Release:
        if release.framework is None:
            return release
        return framework(component=replace(release.framework.component, **fields))(release)

    return edit


def without_later(*keys: str) -> Edit:
    """Keys of configurations that are there from now on."""

    def edit(release: Release) -> Release:
        return component(later=release.framework_rules.component.later - {*keys})(release)

    return edit


def policies(**fields: Any) -> Edit:
    """Fields of how policies and names of providers are read, of a release with plugins."""
    return lambda release: framework(policies=replace(release.framework_rules.policy_rules, **fields))(release)


def wire(**fields: Any) -> Edit:
    """Fields of how extenders are called."""
    return lambda release: replace(release, wire=replace(release.wire, **fields))


def viewing(**fields: Any) -> Edit:
    """Fields of how objects are read, whatever the feature gates."""

    def edit(release: Release) -> Release:
        older = release.view
        return replace(release, view=lambda gates: replace(older(gates), **fields))

    return edit


def gates(known: Mapping[str, Gate] = {}, *, gone: Iterable[str] = (), idle: Iterable[str] = (), **fields: Any) -> Edit:
    """Feature gates that are new or have another default, that are gone, and that have no effect here; other fields."""

    def edit(release: Release) -> Release:
        before, lost = release.gates, frozenset(gone)
        kept = {name: gate for name, gate in {**before.gates, **known}.items() if name not in lost}
        idle_now = (before.idle | {*idle}) - lost - {name for name, gate in known.items() if gate.locked}
        return replace(release, gates=replace(before, gates=kept, idle=idle_now, **fields))

    return edit


# --- predicates and priorities -----------------------------------------------------------------


def legacy(**fields: Any) -> Edit:
    """Fields of how it decides by predicates and priorities."""
    return lambda release: replace(release, legacy=replace(release.legacy_rules, **fields))


def behaviour(**fields: Any) -> Edit:
    """Fields of how an attempt goes, apart from predicates and priorities."""
    return lambda release: legacy(behaviour=replace(release.legacy_rules.behaviour, **fields))(release)


def algorithms(change: Callable[[Algorithms], Algorithms]) -> Edit:
    """What is registered; made when somebody asks."""
    return _when_asked("legacy_rules", legacy, "algorithms", change)


def predicates(known: Mapping[str, FitPredicateFactory]) -> Edit:
    """Predicates that are new, or another rule than before."""
    return algorithms(lambda older: replace(older, predicates={**older.predicates, **known}))


def priorities(known: Mapping[str, PriorityConfigFactory]) -> Edit:
    """Priorities that are new, or another rule than before."""
    return algorithms(lambda older: replace(older, priorities={**older.priorities, **known}))


def arguments(**fields: Any) -> Edit:
    """What becomes of policy entries with an argument."""
    return algorithms(lambda older: replace(older, arguments=replace(older.arguments, **fields)))


# --- plugins -----------------------------------------------------------------------------------


def plugin(name: str, **fields: Any) -> Edit:
    """Fields of the record of a plugin that stays."""

    def edit(release: Release) -> Release:
        plugins = release.framework_rules.plugins
        return component(plugins={**plugins, name: replace(plugins[name], **fields)})(release)

    return edit


def plugins(*records: InTreePlugin) -> Edit:
    """Whole records, of plugins that are new or quite different."""
    new = {record.name: record for record in records}
    return lambda release: component(plugins={**release.framework_rules.plugins, **new})(release)


def provider_lists(edit: Callable[[Point, tuple[str, ...]], tuple[str, ...]]) -> Edit:
    """The plugins of every provider at a point, in the order they run."""

    def whole(release: Release) -> Release:
        older = release.framework_rules.component.providers
        newer = {name: {point: edit(point, names) for point, names in lists.items()} for name, lists in older.items()}
        return component(providers=newer)(release)

    return whole


def providers_run(at: Point, *names: str) -> Edit:
    """What every provider runs at a point."""

    def edit(release: Release) -> Release:
        providers = release.framework_rules.component.providers
        return component(providers={name: {**lists, at: names} for name, lists in providers.items()})(release)

    return edit


def at_every_point(*records: InTreePlugin) -> Edit:
    """New plugins, last in the default list."""

    def edit(release: Release) -> Release:
        listed = (*release.framework_rules.component.multi_point, *(record.name for record in records))
        return component(multi_point=listed)(plugins(*records)(release))

    return edit


def without_plugins(*names: str) -> Edit:
    """Plugins that are gone, from the default lists too."""

    def edit(release: Release) -> Release:
        form = release.framework_rules.component
        kept = {name: record for name, record in form.plugins.items() if name not in names}
        everywhere = tuple(name for name in form.multi_point if name not in names)
        return component(plugins=kept, multi_point=everywhere)(release)

    return together(provider_lists(lambda _, listed: tuple(name for name in listed if name not in names)), edit)
