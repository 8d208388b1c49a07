"""A document in, a ``Written`` configuration with decoded args out, decoded as strictly as the releases decode it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from kubescheduler.config.component.args_reading import read_args
from kubescheduler.config.component.config_schema import CONFIGURATION
from kubescheduler.config.component.decode_texts import strict_text, unknown_fields
from kubescheduler.config.component.type_meta import without_type
from kubescheduler.config.component.written_config import PluginConfig
from kubescheduler.config.go_decoding import GoDecoder, show_path
from kubescheduler.config.policy.unread_keys import unknown_problem

if TYPE_CHECKING:
    from kubescheduler.config.component.args_reading import ArgsReading
    from kubescheduler.config.component.component_format import ComponentFormat
    from kubescheduler.config.component.written_config import Written
    from kubescheduler.config.go_decoding import Path, UnknownKey
    from kubescheduler.framework.args.document_schema import Struct

REMOVED = {
    "healthzBindAddress": "no such address since v1beta3: health is served on the secure port; leave it out",
    "metricsBindAddress": "no such address since v1beta3: metrics are served on the secure port; leave it out",
    "algorithmSource": "not part of a profile configuration; give --algorithm-provider or --policy-config-file",
}
"""Keys of other versions → what to do instead."""


class DecodedConfig(msgspec.Struct, frozen=True):
    """A decoded document, and what is wrong with it."""

    written: Written
    problems: tuple[str, ...] = ()
    """Every fault with its path."""
    faulty: tuple[str, ...] = ()
    """The paths of values that could not be read."""
    text: str | None = None
    """The release's own text; None without a fault."""


def read_written(
    document: Mapping[str, Any], form: ComponentFormat, version: str, args_keys: Mapping[str, Struct]
) -> DecodedConfig:
    """Decodes a document whose kind and version are known to be right.

    args_keys: plugin → the keys of its args; args of other plugins stay as they are written.
    """
    body = without_type(document)
    decoder = GoDecoder(outer=0)
    written: Written = decoder.decode(CONFIGURATION[version], body)
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
        text=_text(body, decoder, args, form, version),
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


# --- what is reported ------------------------------------------------------------------------


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
    body: Mapping[str, Any], decoder: GoDecoder, args: Mapping[Path, ArgsReading], form: ComponentFormat, version: str
) -> str | None:
    """The release's text: of the first value of a wrong type, else of unknown keys."""
    if decoder.faults:
        return form.fault_text(decoder.faults[0])
    if decoder.unknown and form.unknown_text is not None:
        return form.unknown_text(body, decoder.unknown[0], CONFIGURATION[version], version)
    faults = {f"decoding .{show_path(path[:-1])}": reading for path, reading in args.items() if reading.text}
    for place, reading in faults.items():
        if not reading.strict:
            return f"{place}: {reading.text}"
    strict = [*unknown_fields(decoder.unknown), *(f"{place}: {reading.text}" for place, reading in faults.items())]
    return strict_text(strict) if strict else None
