"""Faults of a configuration that the releases find only when they build the plugins, reported with all the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from clusterstate.errors import nearest
from kubescheduler.config.component.written_config import MULTI_POINT
from kubescheduler.config.policy.policy_1_20_names import plugin_name_hint
from kubescheduler.framework.contract.profile import Point

if TYPE_CHECKING:
    from kubescheduler.config.component.component_format import ComponentFormat
    from kubescheduler.config.component.written_config import WrittenProfile
    from kubescheduler.framework.contract.profile import Profile
    from kubescheduler.framework.profiles.default_plugins import PluginPoints


def construction_problems(
    written: Sequence[WrittenProfile],
    completed: Sequence[Profile],
    points: PluginPoints,
    form: ComponentFormat,
    reported: Collection[str] = (),
) -> Iterator[str]:
    """written, completed: the same profiles, as written and after merging. points: of all plugins there are.

    reported: unknown plugins that are reported elsewhere.
    """
    for at, (before, after) in enumerate(zip(written, completed, strict=True)):
        path = f"profiles[{at}]"
        problems = _enabled_problems(before, path, points, form)
        yield from (problem for name, problem in problems if name not in reported)
        yield from form.construction_problems(form, before, after, path)
        yield from _list_problems(after, path)


def _enabled_problems(
    profile: WrittenProfile, path: str, points: PluginPoints, form: ComponentFormat
) -> Iterator[tuple[str, str]]:
    for member, plugins in (profile.plugins or {}).items():
        for at, plugin in enumerate(plugins.enabled):
            where = f"{path}.plugins.{member}.enabled[{at}].name"
            known = points.get(plugin.name)
            if known is None:
                yield plugin.name, f"{where}: {_unknown(plugin.name, points, form)}"
            elif member != MULTI_POINT and Point(member) not in known:
                there = ", ".join(point.value for point in Point if point in known)
                kind = Point(member).kind.removesuffix("Plugin")
                yield (
                    plugin.name,
                    f"{where}: plugin {plugin.name} does not extend {kind} plugin; it takes part in {there}",
                )


def _unknown(name: str, known: Collection[str], form: ComponentFormat) -> str:
    own = "; one of your own comes by --plugin"
    renamed = f"; {form.gone[name]}" if name in form.gone else plugin_name_hint(name, known, form.gone)
    hint = renamed or nearest(name, known) + own
    return f"there is no plugin {name or 'without a name'}{hint}"


def _list_problems(profile: Profile, path: str) -> Iterator[str]:
    for point, plugins in profile.plugins.items():
        for name, times in Counter(plugin.name for plugin in plugins).items():
            if times > 1:
                hint = "disable it there before you enable it, or take one of them out"
                yield f"{path}.plugins.{point.value}: plugin {name} is listed {times} times, defaults included; {hint}"
    sorts = profile.plugins.get(Point.QUEUE_SORT, ())
    if (count := len({plugin.name for plugin in sorts})) != 1:
        yield f"{path}.plugins.queueSort: exactly one queue sort plugin is needed, found {count}"
    if not profile.plugins.get(Point.BIND):
        yield f"{path}.plugins.bind: at least one bind plugin is needed; enable DefaultBinder"


def unused_notes(written: Sequence[WrittenProfile], completed: Sequence[Profile]) -> Iterator[str]:
    """Args of plugins that do not run."""
    for at, (before, after) in enumerate(zip(written, completed, strict=True)):
        running = {plugin.name for plugins in after.plugins.values() for plugin in plugins}
        for number, entry in enumerate(before.plugin_config):
            if entry.name not in running:
                hint = nearest(entry.name, running)
                where = f"profiles[{at}].pluginConfig[{number}]"
                yield f"{where}: {entry.name} is not enabled; its args have no effect{hint}"
