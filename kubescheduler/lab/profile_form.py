"""A profile as a form: plugins that score, that refuse nodes, and the others, with their args."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from copy import deepcopy
from typing import Any

import msgspec

from algorithmprovider import DEFAULT_PROVIDER
from clusterstate.cache import ClusterCache
from clusterstate.errors import ConfigError, nearest
from kubescheduler.config.config_schema import KIND
from kubescheduler.config.load_config import component_document
from kubescheduler.engine.spec import EngineSpec, no_notice
from kubescheduler.framework.contract.profile import DEFAULT_SCHEDULER_NAME, Point
from kubescheduler.framework.document_schema import INT32, ArgsType
from kubescheduler.framework.framework_runtime import Framework
from kubescheduler.lab.form_rows import (
    CONFIG,
    POLICY,
    Form,
    Row,
    RuleArguments,
    SideText,
    first_sentence,
    plugin_fields,
    with_values,
)
from kubescheduler.lab.text_patches import rewritten
from kubescheduler.releases import v1_36

LARGEST_WEIGHT = 2 ** (INT32.bits - 1) - 1
"""The type of ``weight`` in a component configuration holds no more."""

NEEDED = {
    Point.QUEUE_SORT: "a profile needs exactly one plugin at queueSort",
    Point.BIND: "a profile needs a plugin at bind",
}
"""Point → why its last plugin cannot be switched off."""


class Running(msgspec.Struct, frozen=True):
    """What one profile runs."""

    weights: Mapping[str, int]
    """Plugin that scores → weight."""
    points: Mapping[str, frozenset[Point]]
    """Plugin → the points where it runs; only those that run."""
    able: Mapping[str, Collection[Point]]
    """Plugin → the points where it could run; every plugin there is."""
    profile: str
    """The profile's name."""
    profiles: tuple[str, ...]


def running(spec: EngineSpec, scheduler: str = "") -> Running:
    """What the profile of that name runs, by default the first one. Raises ConfigError with every problem."""
    engine = spec.framework_engine(no_notice)
    frames = engine.profiles(engine.services(ClusterCache(spec.release_view())))
    name = scheduler or DEFAULT_SCHEDULER_NAME
    frame: Framework = dict(frames.items()).get(name) or next(iter(frames.values()))
    points: dict[str, set[Point]] = {}
    for point, plugins in frame.plugins.items():
        for plugin in plugins:
            points.setdefault(plugin.name, set()).add(point)
    there = {plugin.name for plugin in frame.plugins.get(Point.SCORE, ())}
    return Running(
        {plugin: weight for plugin, weight in frame.score_weights.items() if plugin in there},
        {plugin: frozenset(found) for plugin, found in points.items()},
        spec.points(),
        frame.profile_name,
        tuple(name for name, _ in frames.items()),
    )


def profile_form(side: SideText, scheduler: str = "") -> Form:
    """The form of a component configuration, or of a provider of a release with plugins.

    scheduler: the profile that is shown, by default the first one. Raises ConfigError with every problem of the text.
    """
    spec = side.spec
    found = running(spec, scheduler)
    rules, checks, others = [], [], []
    for plugin in sorted(found.able):
        points = found.able[plugin]
        if Point.SCORE in points:
            rules.append(_row(spec, found, plugin, {Point.SCORE}, scores=True))
        if {Point.FILTER, Point.PRE_FILTER} & set(points):
            checks.append(_row(spec, found, plugin, {Point.FILTER, Point.PRE_FILTER}))
        if not {Point.SCORE, Point.FILTER, Point.PRE_FILTER} & set(points):
            others.append(_row(spec, found, plugin, set(points)))
    arguments = tuple(_arguments(spec, found.profile, found.points))
    return Form(tuple(rules), tuple(checks), tuple(others), arguments, found.profile, found.profiles)


def _row(spec: EngineSpec, found: Running, plugin: str, points: set[Point], *, scores: bool = False) -> Row:
    record = spec.record.framework_rules.plugins.get(plugin)
    here = found.points.get(plugin, frozenset())
    return Row(
        plugin,
        first_sentence(*(made.make for made in (v1_36.PLUGINS.get(plugin), record) if made is not None)),
        bool(points & here),
        _fixed(found, plugin),
        tuple(point.value for point in Point if point in found.able[plugin]),
        found.weights.get(plugin) if scores else None,
        LARGEST_WEIGHT if scores else None,
    )


def _fixed(found: Running, plugin: str) -> str:
    """Why a plugin cannot be switched off."""
    for point, why in NEEDED.items():
        there = [name for name, points in found.points.items() if point in points]
        if there == [plugin]:
            return why
    return ""


def _arguments(spec: EngineSpec, profile: str, plugins: Iterable[str]) -> Iterator[RuleArguments]:
    for plugin, (args, value) in _counting(spec, profile, sorted(plugins)):
        yield RuleArguments(plugin, tuple(plugin_fields(args, spec.gates, value)), args.description.strip())


def _counting(
    spec: EngineSpec, profile: str, plugins: Iterable[str]
) -> Iterator[tuple[str, tuple[ArgsType, Document]]]:
    """(plugin, (what its args are, what counts of them now)) of those that take some."""
    config = spec.component_config(no_notice)
    chosen = next(one for one in config.profiles if one.scheduler_name == profile)
    given, records = dict(chosen.plugin_config), spec.record.framework_rules.plugins
    for plugin in plugins:
        args = records[plugin].args if plugin in records else None
        if args is None:
            continue
        now = given.get(plugin)
        yield plugin, (args, args.document(args.keys(spec.gates).build() if now is None else now))


WRITTEN_OUT = "the {} is written as the configuration that says the same"
SCORING, REFUSING = (Point.SCORE, Point.PRE_SCORE), (Point.FILTER, Point.PRE_FILTER)

Document = dict[str, Any]


def weighed_profile(side: SideText, weights: Mapping[str, int], scheduler: str = "") -> SideText:
    """With other weights of plugins that score. Raises ConfigError for names and weights that cannot be."""
    side = as_config(side)
    found = running(side.spec, scheduler)
    if problems := [
        f"{name}: it does not score{nearest(name, found.weights)}" for name in weights.keys() - found.weights
    ]:
        raise ConfigError(problems)
    for name, weight in weights.items():
        if weight != found.weights[name]:
            side = _weighed(side, found.profile, name, weight)
    return side


def _weighed(side: SideText, profile: str, name: str, weight: int) -> SideText:
    """By the first way of saying it that the release understands so."""
    problems: tuple[str, ...] = ()
    for way in (_own_entry, _multipoint_entry, _new_entry, _exchanged_entry):
        document = side.document()
        if not way(_profile(document, profile), name, weight):
            continue
        out = side.changed(document)
        try:
            if running(out.spec, profile).weights.get(name) == weight:
                return out
        except ConfigError as error:
            problems = problems or error.problems
    raise ConfigError(problems or [f"{name}: the profile gives it its weight elsewhere; change it in the text"])


def _own_entry(profile: Document, name: str, weight: int) -> bool:
    return _set_weight(_list(profile, Point.SCORE.value, "enabled", make=False), name, weight)


def _multipoint_entry(profile: Document, name: str, weight: int) -> bool:
    return _set_weight(_list(profile, "multiPoint", "enabled", make=False), name, weight)


def _new_entry(profile: Document, name: str, weight: int) -> bool:
    _list(profile, Point.SCORE.value, "enabled").append({"name": name, "weight": weight})
    return True


def _exchanged_entry(profile: Document, name: str, weight: int) -> bool:
    _list(profile, Point.SCORE.value, "disabled").append({"name": name})
    return _new_entry(profile, name, weight)


def _set_weight(entries: Iterable[Any], name: str, weight: int) -> bool:
    found = [entry for entry in entries if isinstance(entry, dict) and entry.get("name") == name]
    for entry in found:
        entry["weight"] = weight
    return bool(found)


# --- where plugins run ---------------------------------------------------------------------


def toggled_plugin(side: SideText, name: str, points: Collection[Point], *, on: bool, scheduler: str = "") -> SideText:
    """With a plugin on or off at some points, those of them at which it can run; empty: at all.

    Raises ConfigError for a plugin that there is not, or that has to stay.
    """
    side = as_config(side)
    found = running(side.spec, scheduler)
    if name not in found.able:
        raise ConfigError(f"{name}: there is no such plugin{nearest(name, found.able)}")
    able = [point for point in Point if point in found.able[name] and (not points or point in points)]
    if not able:
        raise ConfigError(f"{name}: it cannot run at {' or '.join(point.value for point in points)}")
    document = side.document()
    for point in able:
        _toggle(side, document, found, name, point, on=on)
    out = side.changed(document)
    now = running(out.spec, found.profile).points.get(name, frozenset())
    if any((point in now) != on for point in able):
        raise ConfigError(f"{name}: the profile says otherwise elsewhere; change it in the text")
    return out


def _toggle(side: SideText, document: Document, found: Running, name: str, point: Point, *, on: bool) -> None:
    """First without what is said of it, then by saying it."""
    if (point in found.points.get(name, ())) == on:
        return
    if not on and point in NEEDED and [each for each, at in found.points.items() if point in at] == [name]:
        raise ConfigError(f"{name}: {NEEDED[point]}")
    profile = _profile(document, found.profile)
    _drop(profile, point, "disabled" if on else "enabled", name)
    if (name in _at(side, document, found.profile, point)) != on:
        _list(profile, point.value, "enabled" if on else "disabled").append({"name": name})


def _at(side: SideText, document: Document, profile: str, point: Point) -> list[str]:
    """The plugins that a document has at a point. Raises ConfigError."""
    config = msgspec.structs.replace(side.spec, component=deepcopy(document)).component_config(no_notice)
    chosen = next(one for one in config.profiles if one.scheduler_name == profile)
    return [entry.name for entry in chosen.plugins.get(point, ())]


def _drop(profile: Document, point: Point, key: str, name: str) -> None:
    entries = _list(profile, point.value, key, make=False)
    entries[:] = [entry for entry in entries if not isinstance(entry, dict) or entry.get("name") != name]
    plugins = profile.get("plugins") or {}
    member = plugins.get(point.value) or {}
    if key in member and not member[key]:
        del member[key]
    if point.value in plugins and not member:
        del plugins[point.value]
    if "plugins" in profile and not plugins:
        del profile["plugins"]


# --- args ----------------------------------------------------------------------------------


def argued_plugin(side: SideText, name: str, args: Mapping[str, Any], scheduler: str = "") -> SideText:
    """With other values in a plugin's args, by their paths; None: not said. An object that was not said begins as what
    counts instead of it, since a part of it alone may say something else.

    Raises ConfigError for a plugin that there is not, and for the args.
    """
    side = as_config(side)
    found = running(side.spec, scheduler)
    if name not in found.able:
        raise ConfigError(f"{name}: there is no such plugin{nearest(name, found.able)}")
    document = side.document()
    profile = _profile(document, found.profile)
    if not isinstance(profile.get("pluginConfig"), list):
        profile["pluginConfig"] = []
    entries = profile["pluginConfig"]
    there = next((entry for entry in entries if isinstance(entry, dict) and entry.get("name") == name), None)
    if there is None:
        entries.append(there := {"name": name})
    said, now = dict(there.get("args") or {}), dict(_counting(side.spec, found.profile, [name])).get(name)
    for path, value in args.items():
        key, dot, _ = path.partition(".")
        if dot and value is not None and key not in said and now is not None and isinstance(now[1].get(key), Mapping):
            said[key] = now[1][key]
    there["args"] = with_values(said, args)
    return side.changed(document).checked()


# --- the text ------------------------------------------------------------------------------


def as_config(side: SideText) -> SideText:
    """A provider, or a Policy of a release with plugins, as the component configuration that says the same.

    Raises ConfigError with every problem.
    """
    if side.kind == CONFIG and side.text.strip():
        return side
    spec, form = side.spec, side.spec.record.framework_rules.component
    provider = spec.provider or DEFAULT_PROVIDER
    document: Document = {"apiVersion": form.native, "kind": KIND}
    config = spec.component_config(no_notice)
    if provider == DEFAULT_PROVIDER and side.kind != POLICY:
        document["profiles"] = [{"schedulerName": profile.scheduler_name} for profile in config.profiles]
    else:
        whole = component_document(config, form)
        document |= {key: whole[key] for key in ("profiles", "extenders") if key in whole}
    named = f"provider {provider}" if spec.record.framework_rules.policies is not None else "default"
    what = "Policy" if side.kind == POLICY else named
    notes = () if side.kind == CONFIG else (WRITTEN_OUT.format(what),)
    return side.saying(CONFIG, rewritten("", document).text, *notes)


def _profile(document: Document, name: str) -> Document:
    """The profile of a name, made where the document leaves it to the defaults."""
    profiles = document.get("profiles")
    if not isinstance(profiles, list) or not profiles:
        profiles = document["profiles"] = [{"schedulerName": name}]
    found: Document = next(one for one in profiles if (one.get("schedulerName") or DEFAULT_SCHEDULER_NAME) == name)
    return found


def _list(profile: Document, member: str, key: str, *, make: bool = True) -> list[Any]:
    """``plugins.score.enabled`` and the like; made where it is not there, if it is to be."""
    place = profile
    for step in ("plugins", member):
        if not isinstance(place.get(step), dict):
            if not make:
                return []
            place[step] = {}
        place = place[step]
    if not isinstance(place.get(key), list):
        if not make:
            return []
        place[key] = []
    found: list[Any] = place[key]
    return found
