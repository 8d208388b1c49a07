"""The parts of the reference about plugins and component configurations, written from the code."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from kubescheduler.config.component_format import ComponentFormat
from kubescheduler.config.config_schema import CONFIGURATION, KIND, V1, V1BETA1, V1BETA2, V1BETA3
from kubescheduler.config.load_config import component_config_from, component_document, default_config
from kubescheduler.framework.contract.profile import Enabled, Point, Profile
from kubescheduler.framework.document_schema import Kind, ListOf, MapOf, Scalar, Struct
from kubescheduler.framework.plugins.plugin_record import (
    AUTOSCALER_PROVIDER,
    DEFAULT_PROVIDER,
    InTreePlugin,
    PluginReason,
    args_keys,
    args_types,
)
from kubescheduler.releases.lookup import RELEASES
from kubescheduler.releases.names import FRAMEWORK_RELEASES
from kubescheduler.report.rule_pages import rule_text
from kubescheduler.translate.translation_model import readers


def text_blocks(text: str) -> str:
    """Indented formulas as blocks."""
    return re.sub(r"(?m)(^    .+\n?)+", lambda m: "```text\n" + inspect.cleandoc(m[0]) + "\n```\n", text.strip())


def cell(text: str) -> str:
    """In a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def code_link(factory: Callable[..., Any]) -> str:
    """Where a rule or plugin is written."""
    path = factory.__module__.replace(".", "/") + ".py"
    return f"[`{path}`](../../{path})"


IN_TREE = {release: RELEASES[release].framework_rules.plugins for release in FRAMEWORK_RELEASES}
"""Release → its plugins."""


def format_of(release: str) -> ComponentFormat:
    """How a release reads, checks and writes configurations."""
    return RELEASES[release].framework_rules.component


NONE = "–"
OLD, NEW = "1.20", FRAMEWORK_RELEASES[-1]
ARGS_KEYS = {release: args_keys(format_of(release).plugins) for release in (OLD, NEW)}


def plugin_tables() -> dict[str, str]:
    """Name → Markdown."""
    return {
        "plugin overview": plugin_overview(),
        "default plugins of the providers": default_plugins(OLD),
        "default plugins of v1": default_plugins(NEW),
        "default plugins of older versions": version_differences(),
        "plugins": "\n\n".join(_sections()),
        "plugin args": "\n\n".join(_args_sections()),
        "configuration keys": configuration_keys(),
    }


# --- plugins ---------------------------------------------------------------------------------


def plugin_overview() -> str:
    """Where each plugin takes part."""
    rows = [f"| plugin | {OLD} | {NEW} |", "|---|---|---|"]
    for name in all_plugins():
        rows.append(f"| [{name}](#{name.lower()}) | {_points(OLD, name)} | {_points(NEW, name)} |")
    return "\n".join(rows)


def all_plugins() -> list[str]:
    return sorted({*IN_TREE[OLD], *IN_TREE[NEW]})


def _points(release: str, name: str) -> str:
    order = format_of(release).points
    taken = IN_TREE[release][name].points if name in IN_TREE[release] else ()
    return ", ".join(f"`{point.value}`" for point in order if point in taken) or NONE


def _sections() -> Iterator[str]:
    for name in all_plugins():
        text = text_blocks(rule_text(_newest(name).make))
        yield "\n\n".join(filter(None, (f"### {name}", text, _differing(name), _reasons(name), _footer(name))))


def _differing(name: str) -> str:
    """What the plugin does differently in the older release."""
    old, newest = IN_TREE[OLD].get(name), _newest(name)
    return f"In {OLD}: {text_blocks(rule_text(old.make))}" if old is not None and old.make is not newest.make else ""


def _newest(name: str) -> InTreePlugin:
    """The record of the newest release that has the plugin; its text is the one in full."""
    return IN_TREE[NEW].get(name) or IN_TREE[OLD][name]


def _reasons(name: str) -> str:
    """A table of the reasons with their points and codes in both releases."""
    by_text = {release: {r.text: r for r in reasons_of(release, name)} for release in (OLD, NEW)}
    if not by_text[OLD] and not by_text[NEW]:
        return ""
    rows = [f"| reason | at | {OLD} | {NEW} |", "|---|---|---|---|"]
    for text in merged(list(by_text[OLD]), list(by_text[NEW])):
        old, new = (by_text[release].get(text) for release in (OLD, NEW))
        rows.append(f"| `{text}` | {_at(old, new)} | {old.code if old else NONE} | {new.code if new else NONE} |")
    return "\n".join(rows)


def reasons_of(release: str, name: str) -> tuple[PluginReason, ...]:
    """The reasons of a plugin; none when the release does not have it."""
    plugin = IN_TREE[release].get(name)
    return plugin.reasons if plugin else ()


def merged(first: Sequence[str], second: Sequence[str]) -> list[str]:
    """Both lists in one, each in its own order, what both have once."""
    found: list[str] = []
    rest = list(second)
    for text in first:
        if text in rest:
            at = rest.index(text)
            found, rest = [*found, *rest[:at]], rest[at + 1 :]
        found.append(text)
    return [*found, *rest]


def _at(old: PluginReason | None, new: PluginReason | None) -> str:
    """Where a reason is given, of both releases if they differ."""
    points = list(dict.fromkeys(reason.point for reason in (old, new) if reason is not None))
    return points[0] if len(points) == 1 else f"{points[0]}; {NEW}: {points[1]}"


def _footer(name: str) -> str:
    """Where the plugin is written, and where its args are described."""
    code = dict.fromkeys(code_link(IN_TREE[release][name].make) for release in (OLD, NEW) if name in IN_TREE[release])
    args = f" [Its args](plugin-args.md#{name.lower()}args)." if _newest(name).args or name in ARGS_KEYS[OLD] else ""
    return f"Code: {', '.join(code)}.{args}"


# --- which of them run by default ------------------------------------------------------------


def default_plugins(release: str) -> str:
    """Point → its plugins in the order they run."""
    rows = ["| point | plugins in order |", "|---|---|"]
    profile = default_profile(release)
    points = format_of(release).points
    for point in points:
        listed = ", ".join(_shown(plugin, point, profile) for plugin in profile.plugins.get(point, ()))
        rows.append(f"| `{point.value}` | {listed or NONE} |")
    if release == OLD:
        other = default_profile(release, AUTOSCALER_PROVIDER)
        listed = ", ".join(_shown(plugin, Point.SCORE, other) for plugin in other.plugins[Point.SCORE])
        rows.append(f"| `score` of {AUTOSCALER_PROVIDER} | {listed} |")
    return "\n".join(rows)


def default_profile(release: str, provider: str = DEFAULT_PROVIDER) -> Profile:
    return default_config(format_of(release), provider=provider).profiles[0]


def _shown(plugin: Enabled, point: Point, profile: Profile) -> str:
    weights = {entry.name: entry.weight for entry in profile.multi_point}
    weight = plugin.weight or weights.get(plugin.name, 0) or 1
    return f"{plugin.name} {weight}" if point is Point.SCORE else plugin.name


def version_differences() -> str:
    """What each version with multiPoint enables by default in the last release that reads it."""
    rows = ["| version | read by | list | plugins |", "|---|---|---|---|"]
    for version in (V1, V1BETA3, V1BETA2):
        read_by = readers(version)
        document = {"apiVersion": version, "kind": KIND}
        config = component_config_from(document, format_of(read_by[-1]), all_problems=False)
        sets = {"multiPoint": config.profiles[0].multi_point} if version != V1BETA2 else config.profiles[0].plugins
        for member, plugins in sets.items():
            listed = ", ".join(f"{p.name} {p.weight}" if p.weight else p.name for p in plugins)
            where = member.value if isinstance(member, Point) else member
            short = version.rpartition("/")[2]
            rows.append(f"| `{short}` | {read_by[0]} to {read_by[-1]} | `{where}` | {listed} |")
    return "\n".join(rows)


# --- args ------------------------------------------------------------------------------------


def _args_sections() -> Iterator[str]:
    for name in sorted({*ARGS_KEYS[OLD], *ARGS_KEYS[NEW]}):
        keys = {
            release: _keys(ARGS_KEYS[release].get(name), default_args(release, name), skipped=_is_affinity)
            for release in (OLD, NEW)
        }
        kind = args_types(format_of(NEW).plugins).get(name) or args_types(format_of(OLD).plugins)[name]
        yield f"### {name}Args\n\n{text_blocks(kind.description)}\n\n{_beside(keys)}"


def _is_affinity(path: str) -> bool:
    """Terms are described where pods have them."""
    return path.startswith("addedAffinity.") and path.count(".") > 1


def default_args(release: str, name: str) -> Mapping[str, Any]:
    """The args of a plugin for which nothing is said, as a configuration writes them."""
    keys = ARGS_KEYS[release].get(name)
    if keys is None:
        return {}
    config = default_config(format_of(release))
    profile = msgspec.structs.replace(config.profiles[0], plugin_config=((name, keys.build()),))
    document = component_document(msgspec.structs.replace(config, profiles=(profile,)), format_of(release))
    args: Mapping[str, Any] = document["profiles"][0]["pluginConfig"][0]["args"]
    return args


def configuration_keys() -> str:
    """Every key of a KubeSchedulerConfiguration but those of plugin sets and args."""
    documents = {
        release: component_document(default_config(format_of(release)), format_of(release)) for release in (OLD, NEW)
    }
    return _beside(
        {
            OLD: _keys(CONFIGURATION[V1BETA1], documents[OLD], skipped=_is_spelled_out),
            NEW: _keys(CONFIGURATION[V1], documents[NEW], skipped=_is_spelled_out),
        }
    )


def _is_spelled_out(path: str) -> bool:
    """Keys of one plugin set stand for those of all."""
    return bool(re.match(r"profiles\[\]\.plugins\.(?!filter\b)\w+\.", path))


def _beside(keys: Mapping[str, Mapping[str, tuple[str, str]]]) -> str:
    """Path → (type, default), of both releases in one table."""
    rows = [f"| key | type | default in {OLD} | default in {NEW} |", "|---|---|---|---|"]
    for path in dict.fromkeys([*keys[NEW], *keys[OLD]]):
        kind = (keys[NEW].get(path) or keys[OLD][path])[0]
        defaults = [keys[release][path][1] if path in keys[release] else "no such key" for release in (OLD, NEW)]
        rows.append(f"| `{path}` | {kind} | {' | '.join(map(cell, defaults))} |")
    return "\n".join(rows)


def _keys(
    struct: Struct | None, defaults: Any, path: str = "", skipped: Callable[[str], bool] = lambda _: False
) -> dict[str, tuple[str, str]]:
    if struct is None:
        return {}
    return {key: entry for key, entry in _walk(struct, defaults, path) if not skipped(key)}


def _walk(struct: Struct, defaults: Any, path: str) -> Iterator[tuple[str, tuple[str, str]]]:
    for field in struct.fields:
        inner = f"{path}.{field.key}".removeprefix(".")
        given = defaults.get(field.key) if isinstance(defaults, Mapping) else None
        yield inner, (kind_name(field.kind), _default(field.kind, given))
        below, lists = field.kind, ""
        while isinstance(below, ListOf):
            below, lists = below.item, f"{lists}[]"
        if isinstance(below, Struct):
            yield from _walk(below, None if lists else given, inner + lists)


def _default(kind: Kind, given: Any) -> str:
    if isinstance(kind, Struct) or _is_long(given):
        return ""
    if given is None:
        return ""
    if isinstance(given, bool):
        return f"`{str(given).lower()}`"
    if isinstance(given, list):
        return ", ".join(map(_item, given))
    return f"`{given}`" if given != "" else '`""`'


def _is_long(given: Any) -> bool:
    return isinstance(given, list) and any(isinstance(item, Mapping) and "schedulerName" in item for item in given)


def _item(item: Any) -> str:
    return f"`{item['name']}: {item['weight']}`" if isinstance(item, Mapping) else f"`{item}`"


def kind_name(kind: Kind) -> str:
    if isinstance(kind, ListOf):
        return f"list of {_plural(kind_name(kind.item))}"
    if isinstance(kind, MapOf):
        return f"map of {_plural(kind_name(kind.item))}"
    if isinstance(kind, Struct):
        return "object"
    return kind.wanted.removeprefix("a ").removeprefix("an ") if isinstance(kind, Scalar) else "anything"


def _plural(name: str) -> str:
    return name if name.startswith(("list", "map")) else f"{name}s"
