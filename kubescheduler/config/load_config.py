"""The ways to a completed configuration, from a file, from a document, from nothing, and back to a document.

A document is first decoded, as strictly as the release decodes it, which is below; then completed and checked.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from clusterstate.errors import ConfigError, nearest
from kubescheduler.config.component_format import ComponentFormat, DocumentRules, complete
from kubescheduler.config.config_schema import (
    API_VERSIONS,
    KIND,
    MULTI_POINT,
    OLDEST,
    PARTNERS,
    V1ALPHA1,
    PluginConfig,
    Written,
    WrittenProfile,
    configuration_without,
)
from kubescheduler.config.config_text import read_configuration
from kubescheduler.config.go_decoding import (
    GoDecoder,
    KeyPath,
    UnknownKey,
    behind_notes,
    not_registered,
    refused_key,
    show_path,
    text_problems,
    twice_problems,
    unknown_problem,
)
from kubescheduler.config.policy_1_20_plugins import plugin_name_hint
from kubescheduler.config.policy_model import comes_of
from kubescheduler.framework.contract.profile import ALL, PluginSet, Point, Profile, SchedulerConfig
from kubescheduler.framework.document_schema import FieldError, Struct, aggregate, written
from kubescheduler.framework.plugins.plugin_record import (
    DEFAULT_PROVIDER,
    InTreePlugin,
    PluginPoints,
    args_keys,
    args_types,
    points_by_plugin,
)
from kubescheduler.sources.yaml_stream import yaml_dumper


def read_component_config(
    path: Path,
    form: ComponentFormat,
    *,
    provider: str = DEFAULT_PROVIDER,
    points: PluginPoints | None = None,
    feature_gates: Mapping[str, bool] | None = None,
    strict: bool = False,
) -> SchedulerConfig:
    """The configuration in a file, or in a ConfigMap there; as ``component_config_from`` with all problems.

    Raises ConfigError also when the file cannot be read, and for keys that are set twice. Of several documents the
    first is read, with a note; strict: they are a fault.
    """
    document, source = read_configuration(path)
    lenient = str(document.get("apiVersion")) in form.lifts
    if problems := text_problems(document) if strict else () if lenient else twice_problems(document):
        raise ConfigError(f"{source}: {problem}" for problem in problems)
    return component_config_from(
        document,
        form,
        provider=provider,
        all_problems=True,
        source=source,
        points=points,
        feature_gates=feature_gates,
        strict=strict,
    )


def component_config_from(
    document: Mapping[str, Any],
    form: ComponentFormat,
    *,
    provider: str = DEFAULT_PROVIDER,
    all_problems: bool,
    source: str = "",
    points: PluginPoints | None = None,
    feature_gates: Mapping[str, bool] | None = None,
    strict: bool = False,
) -> SchedulerConfig:
    """The completed configuration of a document.

    provider: 1.20: the algorithm provider whose plugins the profiles start from, unless the document names one. points:
    of every plugin there is, by default of the release's own. feature_gates: gates that are not named have the
    release's default. source: where the document comes from, put before every problem. strict: what the release ignores
    of an older apiVersion is a fault. A policy that the document names elsewhere does not count here.

    Raises ConfigError: with every fault and its path when ``all_problems``, those that the release finds only when it
    builds the plugins among them; else with the release's own text for the faults it reports at once.
    """
    lifted = None
    try:
        version = version_of(document, form, all_problems=all_problems)
        if version in form.lifts:
            lifted = form.lifts[version](document, form.release, strict=strict)
            document, version, provider = lifted.document, form.native, lifted.provider or provider
        known = points_by_plugin(form.plugins) if points is None else points
        rules = DocumentRules(form, version, provider, known, feature_gates or {})
        decoded = read_written(document, form, version, args_keys(form.plugins, rules.gates))
        config = _checked(decoded, rules) if all_problems else _as_released(decoded, rules)
    except ConfigError as error:
        named = error.problems if lifted is None or not all_problems else map(lifted.own, error.problems)
        raise ConfigError(f"{source}: {problem}" if source else problem for problem in named) from error
    profiles = decoded.written.profiles
    notes = (*behind_notes(document), *_unused_notes(profiles, config.profiles[: len(profiles)], known, form))
    if lifted is not None:
        notes = (*lifted.notes, *map(lifted.own, notes))
    written = msgspec.structs.replace(form, native=version)
    return msgspec.structs.replace(config, notes=notes, document=component_document(config, written))


def default_config(
    form: ComponentFormat,
    feature_gates: Mapping[str, bool] | None = None,
    provider: str = DEFAULT_PROVIDER,
    *,
    points: PluginPoints | None = None,
) -> SchedulerConfig:
    """The configuration of a scheduler that is given none. Raises ConfigError for an unknown provider."""
    known = points_by_plugin(form.plugins) if points is None else points
    rules = DocumentRules(form, form.native, provider, known, feature_gates or {})
    config = form.finish(rules, _complete(Written(), rules))
    return msgspec.structs.replace(config, document=component_document(config, form))


def _complete(written: Written, rules: DocumentRules) -> SchedulerConfig:
    """As it is validated."""
    return rules.form.merge(rules, complete(written, rules.form))


def _as_released(decoded: DecodedConfig, rules: DocumentRules) -> SchedulerConfig:
    if decoded.text is not None:
        raise ConfigError(decoded.text)
    config = _complete(decoded.written, rules)
    if errors := rules.form.errors(rules.form, decoded.written, config, rules.version):
        raise ConfigError(aggregate(errors))
    return rules.form.finish(rules, config)


# --- every fault ------------------------------------------------------------------------------


def _checked(decoded: DecodedConfig, rules: DocumentRules) -> SchedulerConfig:
    problems = list(decoded.problems)
    if error := rules.form.provider_problem(rules.form, rules.provider):
        problems.append(error)
        rules = msgspec.structs.replace(rules, provider=DEFAULT_PROVIDER)
    config = _complete(decoded.written, rules)
    found = [*rules.form.errors(rules.form, decoded.written, config, rules.version), *_args_errors(config, rules.form)]
    found = [_as_written(error, decoded.written.profiles, config) for error in found]
    problems += (error.problem for error in found if not comes_of(error.path, decoded.faulty))
    try:
        finished = rules.form.finish(rules, config)
    except ConfigError as error:
        raise ConfigError([*problems, *error.problems]) from error
    written = decoded.written.profiles
    completed = finished.profiles[: len(written)]
    problems += _construction_problems(written, completed, rules.points, rules.form)
    if problems:
        raise ConfigError(dict.fromkeys(problems))
    return finished


def _args_errors(config: SchedulerConfig, form: ComponentFormat) -> Iterator[FieldError]:
    """What the release checks only when it builds the plugins."""
    kinds = {name: kind for name, kind in args_types(form.plugins).items() if not kind.checked_with_config}
    for at, profile in enumerate(config.profiles):
        for number, (name, args) in enumerate(profile.plugin_config):
            if name in kinds and args is not None:
                path = f"profiles[{at}].pluginConfig[{number}].args"
                yield from (error.under(path) for error in kinds[name].errors(args))


_ENABLED = re.compile(r"profiles\[(\d+)]\.plugins\.(\w+)\.enabled\[(\d+)]")


def _as_written(error: FieldError, written: Sequence[WrittenProfile], config: SchedulerConfig) -> FieldError:
    """With an entry's place in the document: in the merged set defaults stand before it."""
    place = _ENABLED.fullmatch(error.path)
    if place is None or int(place[1]) >= len(written):
        return error
    at, member, merged = int(place[1]), place[2], int(place[3])
    name = config.profiles[at].sets[member].enabled[merged].name
    own = [each.name for each in (written[at].plugins or {}).get(member, PluginSet()).enabled]
    path = f"profiles[{at}].plugins.{member}.enabled[{own.index(name)}]" if name in own else error.path
    return msgspec.structs.replace(error, path=path)


# --- faults that the releases find only when they build the plugins ---------------------------


def _construction_problems(
    written: Sequence[WrittenProfile],
    completed: Sequence[Profile],
    points: PluginPoints,
    form: ComponentFormat,
) -> Iterator[str]:
    """written, completed: the same profiles, as written and after merging. points: of all plugins there are."""
    for at, (before, after) in enumerate(zip(written, completed, strict=True)):
        path = f"profiles[{at}]"
        yield from _enabled_problems(before, path, points, form)
        yield from form.construction_problems(form, before, after, path)
        yield from _list_problems(after, path)


def _enabled_problems(profile: WrittenProfile, path: str, points: PluginPoints, form: ComponentFormat) -> Iterator[str]:
    for member, plugins in (profile.plugins or {}).items():
        for at, plugin in enumerate(plugins.enabled):
            where = f"{path}.plugins.{member}.enabled[{at}].name"
            known = points.get(plugin.name)
            if known is None:
                yield f"{where}: {_unknown(plugin.name, points, form)}"
            elif member != MULTI_POINT and Point(PARTNERS.get(member, member)) not in known:
                there = ", ".join(point.value for point in Point if point in known)
                kind = f"{member[0].upper()}{member[1:]}"
                yield f"{where}: plugin {plugin.name} does not extend {kind} plugin; it takes part in {there}"
        for at, name in enumerate(plugins.disabled):
            if not name:
                yield f"{path}.plugins.{member}.disabled[{at}].name: missing; {ALL} disables all"


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


# --- notes ------------------------------------------------------------------------------------


def _unused_notes(
    written: Sequence[WrittenProfile], completed: Sequence[Profile], points: PluginPoints, form: ComponentFormat
) -> Iterator[str]:
    """Plugins that are disabled and are not there, and args of plugins that do not run."""
    for at, (before, after) in enumerate(zip(written, completed, strict=True)):
        for member, plugins in (before.plugins or {}).items():
            for number, name in enumerate(plugins.disabled):
                if name != ALL and name not in points:
                    where = f"profiles[{at}].plugins.{member}.disabled[{number}].name"
                    yield f"{where}: nothing is disabled: {_unknown(name, points, form)}"
        running = {plugin.name for plugins in after.plugins.values() for plugin in plugins}
        for number, entry in enumerate(before.plugin_config):
            if entry.name not in running:
                hint = nearest(entry.name, running)
                where = f"profiles[{at}].pluginConfig[{number}]"
                yield f"{where}: {entry.name} is not enabled; its args have no effect{hint}"


def component_document(config: SchedulerConfig, form: ComponentFormat) -> dict[str, Any]:
    """The configuration with everything said; reading it gives the same configuration."""
    keys = configuration_without(form.native, form.later)
    said = {field.attribute: getattr(config, field.attribute) for field in keys.fields}
    said["profiles"] = [_profile(profile, config, form) for profile in config.profiles]
    return {"apiVersion": form.native, "kind": KIND, **written(keys, said)}


def _profile(profile: Profile, config: SchedulerConfig, form: ComponentFormat) -> WrittenProfile:
    sets = profile.sets or form.written_sets(form, profile)
    return WrittenProfile(
        profile.scheduler_name,
        {member: plugins for member, plugins in sets.items() if plugins != PluginSet()},
        tuple(
            PluginConfig(name, written_args(args, form.plugins, form.native))
            for name, args in form.written_args(profile, config.extenders)
        ),
        profile.percentage_of_nodes_to_score,
    )


def written_args(args: Any, plugins: Mapping[str, InTreePlugin], version: str) -> Any:
    """Args with their kind and apiVersion; args of a plugin without a type of its own as they are."""
    kind = next((kind for kind in args_types(plugins).values() if kind.record is type(args)), None)
    if kind is None:
        return args
    return {"apiVersion": version, "kind": kind.record.__name__, **kind.document(args)}


def write_component_config(config: SchedulerConfig, form: ComponentFormat) -> str:
    """``component_document`` as YAML, keys in order."""
    return document_yaml(component_document(config, form))


def document_yaml(document: Mapping[str, Any]) -> str:
    """A document as YAML, keys in order."""
    return yaml_dumper(sort_keys=True, width=80)(dict(document))


class DecodedConfig(msgspec.Struct, frozen=True):
    """A decoded document, and what is wrong with it."""

    written: Written
    problems: tuple[str, ...] = ()
    """Every fault with its path."""
    faulty: tuple[str, ...] = ()
    """The paths of values that could not be read."""
    text: str | None = None
    """The release's own text; None without a fault."""


_REMOVED = {
    "healthzBindAddress": "no such address since v1beta3: health is served on the secure port; leave it out",
    "metricsBindAddress": "no such address since v1beta3: metrics are served on the secure port; leave it out",
    "algorithmSource": "not part of a profile configuration; give --algorithm-provider or --policy-config-file",
}
"""Keys of other versions → what to do instead."""


def read_written(
    document: Mapping[str, Any], form: ComponentFormat, version: str, args_keys: Mapping[str, Struct]
) -> DecodedConfig:
    """Decodes a document whose kind and version are known to be right.

    args_keys: plugin → the keys of its args; args of other plugins stay as they are written.
    """
    body = without_type(document)
    decoder = GoDecoder(outer=0)
    written: Written = decoder.decode(configuration_without(version, form.later), body)
    args = _all_args(written, form, version, args_keys)
    problems = [
        *_problems(decoder),
        *(problem for path, reading in args.items() for problem in _args_problems(reading, path)),
    ]
    decoders = (decoder, *(reading.decoder for reading in args.values()))
    return DecodedConfig(
        written=_with_args(written, args),
        problems=tuple(problems),
        faulty=tuple(show_path(fault.path) for one in decoders for fault in one.faults),
        text=_text(document, decoder, args, form, version),
    )


def _all_args(
    written: Written, form: ComponentFormat, version: str, args_keys: Mapping[str, Struct]
) -> dict[KeyPath, _ArgsReading]:
    """The args of every entry of every profile, by path."""
    readings: dict[KeyPath, _ArgsReading] = {}
    for at, profile in enumerate(written.profiles):
        for number, entry in enumerate(profile.plugin_config):
            path: KeyPath = ("profiles", at, "pluginConfig", number, "args")
            readings[path] = _read_args(entry, args_keys.get(entry.name), path, form, version)
    return readings


def _with_args(written: Written, args: Mapping[KeyPath, _ArgsReading]) -> Written:
    profiles = tuple(
        msgspec.structs.replace(
            profile,
            plugin_config=tuple(
                PluginConfig(entry.name, args["profiles", at, "pluginConfig", number, "args"].args)
                for number, entry in enumerate(profile.plugin_config)
            ),
        )
        for at, profile in enumerate(written.profiles)
    )
    return msgspec.structs.replace(written, profiles=profiles)


# --- what is reported -------------------------------------------------------------------------


def _problems(decoder: GoDecoder) -> list[str]:
    return [*map(str, decoder.faults), *map(_unknown_problem, decoder.unknown)]


def _args_problems(reading: _ArgsReading, path: KeyPath) -> list[str]:
    typed = [] if reading.type_problem is None else [f"{show_path(path)}.kind: {reading.type_problem}"]
    return [*typed, *_problems(reading.decoder)]


def _unknown_problem(key: UnknownKey) -> str:
    name = str(key.path[-1])
    if name in _REMOVED and len(key.path) == 1:
        return f"{name}: {_REMOVED[name]}"
    return unknown_problem(key)


def _text(
    document: Mapping[str, Any],
    decoder: GoDecoder,
    args: Mapping[KeyPath, _ArgsReading],
    form: ComponentFormat,
    version: str,
) -> str | None:
    """The release's text: of the first value of a wrong type, else of unknown keys."""
    if decoder.faults:
        return form.fault_text(decoder.faults[0])
    if decoder.unknown and form.unknown_text is not None:
        return form.unknown_text(document, decoder.unknown[0], configuration_without(version, form.later), version)
    faults = {f"decoding .{show_path(path[:-1])}": reading for path, reading in args.items() if reading.text}
    for place, reading in faults.items():
        if not reading.strict:
            return f"{place}: {reading.text}"
    strict = [*_unknown_fields(decoder.unknown), *(f"{place}: {reading.text}" for place, reading in faults.items())]
    return _strict_text(strict) if strict else None


def _strict_text(errors: Iterable[str]) -> str:
    """Release 1.36."""
    return f"strict decoding error: {', '.join(errors)}"


def _unknown_fields(unknown: Iterable[UnknownKey]) -> list[str]:
    """Release 1.36: each as it is reported."""
    return [f'unknown field "{show_path(key.path)}"' for key in unknown]


def unknown_text_1_20(document: Mapping[str, Any], key: UnknownKey, struct: Struct, version: str) -> str:
    """Release 1.20 of the first key it does not know."""
    from kubescheduler.config.policy_1_20 import behind_key

    package = version.rpartition("/")[2]
    text = msgspec.json.encode(dict(document)).decode()
    found = refused_key(key, struct, lambda each: f"{package}.{each.name}")
    return f"strict decoder error for {text}: {found}{behind_key(document, key)}"


# --- args -------------------------------------------------------------------------------------


class _ArgsReading(msgspec.Struct, frozen=True):
    """The args of a plugin as they were read."""

    args: Any
    """The record, or what is written for a plugin without args of its own type."""
    decoder: GoDecoder = msgspec.field(default_factory=GoDecoder)
    """Has the faults and unknown keys."""
    type_problem: str | None = None
    """What is wrong with kind and apiVersion."""
    text: str | None = None
    """The release's own text; None without a fault."""
    strict: bool = False
    """Whether the text is for unknown keys only (1.36)."""


def _read_args(  # noqa: PLR0911  one after the other, as the release looks
    entry: PluginConfig, keys: Struct | None, path: KeyPath, form: ComponentFormat, version: str
) -> _ArgsReading:
    """keys: those of the plugin's args, None for a plugin without args of its own type. path: of the args."""
    if keys is None:
        return _ArgsReading(entry.args)
    decoder = GoDecoder(outer=len(path))
    given = entry.args if isinstance(entry.args, Mapping) else {}
    is_mapping = entry.args is None or isinstance(entry.args, Mapping)
    record = decoder.decode(keys, without_type(given) if is_mapping else entry.args, path)
    if form.reads_any_args:
        return _leniently(entry, record, decoder, form)
    if problem := _type_fault(given, version=version, kind=keys.name):
        return _ArgsReading(record, decoder, problem, f"decoding args for plugin {entry.name}: {problem}")
    found_version, found_kind = given.get("apiVersion") or version, given.get("kind") or keys.name
    if not _is_registered(found_version, found_kind, form):
        problem = not_registered(found_kind, found_version, form.scheme)
        return _ArgsReading(record, decoder, problem, f"decoding args for plugin {entry.name}: {problem}")
    if found_kind != keys.name:
        wanted, got = _group_kind(version, keys.name), _group_kind(found_version, found_kind)
        text = f"args for plugin {entry.name} were not of type {wanted}, got {got}"
        return _ArgsReading(record, decoder, f"expected {keys.name}, found {found_kind}", text)
    reason = _decoding_text(decoder, given, keys, form, version)
    if reason is None:
        return _ArgsReading(record, decoder)
    text = f"decoding args for plugin {entry.name}: {reason}"
    strict = form.unknown_text is None and form.nests_strict_errors and not decoder.faults
    return _ArgsReading(record, decoder, None, _strict_text([text]) if strict else text, strict)


def _leniently(entry: PluginConfig, record: Any, decoder: GoDecoder, form: ComponentFormat) -> _ArgsReading:
    """Only values of a wrong type are faults."""
    decoder.unknown.clear()
    fault = form.fault_text(decoder.faults[0]) if decoder.faults else None
    return _ArgsReading(record, decoder, None, fault and f"decoding args for plugin {entry.name}: {fault}")


def _decoding_text(
    decoder: GoDecoder, given: Mapping[str, Any], keys: Struct, form: ComponentFormat, version: str
) -> str | None:
    if decoder.faults:
        return form.fault_text(decoder.faults[0])
    if not decoder.unknown:
        return None
    below = [UnknownKey(key.path[decoder.outer :], key.known) for key in decoder.unknown]
    if form.unknown_text is not None:
        return form.unknown_text(given, below[0], keys, version)
    return _strict_text(_unknown_fields(below))


# --- kind and apiVersion ----------------------------------------------------------------------


TYPE_KEYS = ("kind", "apiVersion")

_OTHER_DOCUMENTS = {
    "Policy": "this is a policy: give the file as --policy-config-file",
    "ConfigMap": "this is a ConfigMap: give the file as --policy-configmap, or the text of its entry as --config",
}


def version_of(document: Mapping[str, Any], form: ComponentFormat, *, all_problems: bool) -> str:
    """The document's apiVersion. Raises ConfigError when the release does not read such a document."""
    error = _error(document, form)
    if error is None:
        return str(document["apiVersion"])
    if not all_problems:
        raise ConfigError(error)
    raise ConfigError(type_problems(document, form.release, form.versions) or error)


def _is_registered(version: str, kind: str, form: ComponentFormat) -> bool:
    """Whether the release knows a type of this version and kind."""
    if (version, kind) in form.registered:
        return True
    names = (KIND, *(args.record.__name__ for args in args_types(form.plugins).values()))
    return version in form.versions and kind in names


def _group_kind(version: str, kind: str) -> str:
    """``Kind.group``."""
    group, slash, _ = version.partition("/")
    return f"{kind}.{group}" if slash else kind


def _type_fault(document: Mapping[str, Any], *, version: str = "", kind: str = "") -> str | None:
    """What is wrong with ``kind`` and ``apiVersion`` themselves; ``version`` and ``kind`` stand in for absent ones."""
    for key, default in (("apiVersion", version), ("kind", kind)):
        value = document.get(key)
        if value is not None and not isinstance(value, str):
            return f"couldn't get version/kind; json parse error: {key} is not a string"
        if not value and not default:
            name = "Kind" if key == "kind" else key
            return f"Object '{name}' is missing in '{msgspec.json.encode(dict(document)).decode()}'"
    if (found := document.get("apiVersion") or version).count("/") > 1:
        return f"unexpected GroupVersion string: {found}"
    return None


def _error(document: Mapping[str, Any], form: ComponentFormat) -> str | None:
    if error := _type_fault(document):
        return error
    version, kind = document["apiVersion"], document["kind"]
    if not _is_registered(version, kind, form):
        return not_registered(kind, version, form.scheme)
    if kind == KIND:
        return None
    group_version = version if "/" in version else f"/{version}"
    return f"couldn't decode as {KIND}, got {group_version}, Kind={kind}: "


def type_problems(document: Mapping[str, Any], release: str, versions: Sequence[str]) -> list[str]:
    """What is wrong with kind and apiVersion for a release that reads ``versions``, and what to do."""
    kind, version = document.get("kind"), document.get("apiVersion")
    wanted = f"a configuration of release {release} begins with apiVersion: {versions[0]} and kind: {KIND}"
    if isinstance(kind, str) and kind in _OTHER_DOCUMENTS:
        return [f"kind: {kind} is no {KIND}; {_OTHER_DOCUMENTS[kind]}"]
    problems = []
    if kind != KIND:
        hint = nearest(str(kind), [KIND]) or f"; {wanted}"
        problems.append(f"kind: {'it is missing' if kind is None else f'{kind} is no {KIND}'}{hint}")
    if version not in versions:
        found = "it is missing" if version is None else f"release {release} does not read {version}"
        problems.append(f"apiVersion: {found}; {_version_hint(str(version), release, versions)}")
    return problems


def _version_hint(version: str, release: str, versions: Sequence[str]) -> str:
    """What to do with a document of an apiVersion that is not among those that the release reads."""
    if version == OLDEST:
        what = "write that" if V1ALPHA1 in versions else "kubescheduler migrate makes what it reads from this"
        return f"it is called {V1ALPHA1} now; {what}"
    if version not in API_VERSIONS:
        return f"write {versions[0]}"
    reads = f"{release} reads {' and '.join(each.rpartition('/')[2] for each in versions)}"
    if API_VERSIONS.index(version) < min(map(API_VERSIONS.index, versions)):
        return f"{reads}; kubescheduler migrate makes it from this"
    return f"{reads}; this is for a later --release"


def without_type(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document without apiVersion and kind."""
    return {key: value for key, value in document.items() if key not in TYPE_KEYS}
