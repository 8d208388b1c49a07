"""A document in, a ``Written`` configuration with decoded args out, decoded as strictly as the releases decode it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from clusterstate.errors import ConfigError, nearest
from kubecel.api_names import go_quote
from kubescheduler.config.component.config_schema import API_VERSIONS, GROUP, KIND, PluginConfig, configuration_without
from kubescheduler.config.go_decoding import GoDecoder, UnknownKey, refused_key, show_path, unknown_problem
from kubescheduler.framework.args.document_schema import Struct
from kubescheduler.framework.plugins.plugin_record import args_types

if TYPE_CHECKING:
    from kubescheduler.config.component.component_format import ComponentFormat
    from kubescheduler.config.component.config_schema import Written
    from kubescheduler.config.go_decoding import Path


class DecodedConfig(msgspec.Struct, frozen=True):
    """A decoded document, and what is wrong with it."""

    written: Written
    problems: tuple[str, ...] = ()
    """Every fault with its path."""
    faulty: tuple[str, ...] = ()
    """The paths of values that could not be read."""
    text: str | None = None
    """The release's own text; None without a fault."""


REMOVED = {
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
) -> dict[Path, ArgsReading]:
    """The args of every entry of every profile, by path."""
    readings: dict[Path, ArgsReading] = {}
    for at, profile in enumerate(written.profiles):
        for number, entry in enumerate(profile.plugin_config):
            path: Path = ("profiles", at, "pluginConfig", number, "args")
            readings[path] = read_args(entry, args_keys.get(entry.name), path, form, version)
    return readings


def _with_args(written: Written, args: Mapping[Path, ArgsReading]) -> Written:
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


def _args_problems(reading: ArgsReading, path: Path) -> list[str]:
    typed = [] if reading.type_problem is None else [f"{show_path(path)}.kind: {reading.type_problem}"]
    return [*typed, *_problems(reading.decoder)]


def _unknown_problem(key: UnknownKey) -> str:
    name = str(key.path[-1])
    if name in REMOVED and len(key.path) == 1:
        return f"{name}: {REMOVED[name]}"
    return unknown_problem(key)


def _text(
    document: Mapping[str, Any],
    decoder: GoDecoder,
    args: Mapping[Path, ArgsReading],
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
    strict = [*unknown_fields(decoder.unknown), *(f"{place}: {reading.text}" for place, reading in faults.items())]
    return strict_text(strict) if strict else None


def strict_text(errors: Iterable[str]) -> str:
    """Release 1.36."""
    return f"strict decoding error: {', '.join(errors)}"


def unknown_fields(unknown: Iterable[UnknownKey]) -> list[str]:
    """Release 1.36: each as it is reported."""
    return [f'unknown field "{show_path(key.path)}"' for key in unknown]


def unknown_text_1_20(document: Mapping[str, Any], key: UnknownKey, struct: Struct, version: str) -> str:
    """Release 1.20 of the first key it does not know."""
    from kubescheduler.config.policy.policy_1_20 import behind_key

    package = version.rpartition("/")[2]
    text = msgspec.json.encode(dict(document)).decode()
    found = refused_key(key, struct, lambda each: f"{package}.{each.name}")
    return f"strict decoder error for {text}: {found}{behind_key(document, key)}"


# --- args -------------------------------------------------------------------------------------


class ArgsReading(msgspec.Struct, frozen=True):
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


def read_args(  # noqa: PLR0911  one after the other, as the release looks
    entry: PluginConfig, keys: Struct | None, path: Path, form: ComponentFormat, version: str
) -> ArgsReading:
    """keys: those of the plugin's args, None for a plugin without args of its own type. path: of the args."""
    if keys is None:
        return ArgsReading(entry.args)
    decoder = GoDecoder(outer=len(path))
    given = entry.args if isinstance(entry.args, Mapping) else {}
    is_mapping = entry.args is None or isinstance(entry.args, Mapping)
    record = decoder.decode(keys, without_type(given) if is_mapping else entry.args, path)
    if form.reads_any_args:
        return _leniently(entry, record, decoder, form)
    if problem := type_fault(given, version=version, kind=keys.name):
        return ArgsReading(record, decoder, problem, f"decoding args for plugin {entry.name}: {problem}")
    found_version, found_kind = given.get("apiVersion") or version, given.get("kind") or keys.name
    if not is_registered(found_version, found_kind, form):
        problem = not_registered(found_version, found_kind, form)
        return ArgsReading(record, decoder, problem, f"decoding args for plugin {entry.name}: {problem}")
    if found_kind != keys.name:
        wanted, got = group_kind(version, keys.name), group_kind(found_version, found_kind)
        text = f"args for plugin {entry.name} were not of type {wanted}, got {got}"
        return ArgsReading(record, decoder, f"expected {keys.name}, found {found_kind}", text)
    reason = _decoding_text(decoder, given, keys, form, version)
    if reason is None:
        return ArgsReading(record, decoder)
    text = f"decoding args for plugin {entry.name}: {reason}"
    strict = form.unknown_text is None and form.nests_strict_errors and not decoder.faults
    return ArgsReading(record, decoder, None, strict_text([text]) if strict else text, strict)


def _leniently(entry: PluginConfig, record: Any, decoder: GoDecoder, form: ComponentFormat) -> ArgsReading:
    """Only values of a wrong type are faults."""
    decoder.unknown.clear()
    fault = form.fault_text(decoder.faults[0]) if decoder.faults else None
    return ArgsReading(record, decoder, None, fault and f"decoding args for plugin {entry.name}: {fault}")


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
    return strict_text(unknown_fields(below))


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


def is_registered(version: str, kind: str, form: ComponentFormat) -> bool:
    """Whether the release knows a type of this version and kind."""
    if (version, kind) in form.registered:
        return True
    names = (KIND, *(args.record.__name__ for args in args_types(form.plugins).values()))
    return version in form.versions and kind in names


def not_registered(version: str, kind: str, form: ComponentFormat) -> str:
    """The release's text for a version and kind that it does not know."""
    internal = version in (f"{GROUP}/__internal", "/", "__internal")
    group = version.partition("/")[0] if "/" in version else ""
    registered = f"the internal version of group {go_quote(group)}" if internal else f"version {go_quote(version)}"
    return f"no kind {go_quote(kind)} is registered for {registered} in scheme {go_quote(form.scheme)}"


def group_kind(version: str, kind: str) -> str:
    """``Kind.group``."""
    group, slash, _ = version.partition("/")
    return f"{kind}.{group}" if slash else kind


def type_fault(document: Mapping[str, Any], *, version: str = "", kind: str = "") -> str | None:
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
    if error := type_fault(document):
        return error
    version, kind = document["apiVersion"], document["kind"]
    if not is_registered(version, kind, form):
        return not_registered(version, kind, form)
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
    if version not in API_VERSIONS:
        return f"write {versions[0]}"
    reads = f"{release} reads {' and '.join(each.rpartition('/')[2] for each in versions)}"
    if API_VERSIONS.index(version) < min(map(API_VERSIONS.index, versions)):
        return f"{reads}; kubescheduler migrate makes it from this"
    return f"{reads}; this is for a later --release"


def without_type(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document without apiVersion and kind."""
    return {key: value for key, value in document.items() if key not in TYPE_KEYS}
