"""A profile as a form: plugins that score, that refuse nodes, and the others, with their args."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

import msgspec

from clusterstate.cache import ClusterCache
from kubescheduler.engine.spec import EngineSpec, no_notice
from kubescheduler.framework.args.document_schema import INT32
from kubescheduler.framework.contract.points import Point
from kubescheduler.framework.contract.profile import DEFAULT_SCHEDULER_NAME
from kubescheduler.framework.running.framework_runtime import Framework
from kubescheduler.lab.tuning.argument_schema import plugin_fields
from kubescheduler.lab.tuning.form_rows import CUSTOM_PAGE, Form, Row, RuleArguments, first_sentence
from kubescheduler.lab.tuning.side_text import SideText
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
    """The names of all profiles."""


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
        CUSTOM_PAGE if record is None else f"docs/reference/plugins.md#{plugin.lower()}",
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
    config = spec.component_config(no_notice)
    chosen = next(one for one in config.profiles if one.scheduler_name == profile)
    given, records = dict(chosen.plugin_config), spec.record.framework_rules.plugins
    for plugin in sorted(plugins):
        args = records[plugin].args if plugin in records else None
        if args is None:
            continue
        now = given.get(plugin)
        value = args.document(args.keys(spec.gates).build() if now is None else now)
        yield RuleArguments(plugin, tuple(plugin_fields(args, spec.gates, value)), args.description.strip())
