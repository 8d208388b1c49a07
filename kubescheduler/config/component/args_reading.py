"""The args of one entry of pluginConfig: decoded, or why not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from kubescheduler.config.component.decode_texts import strict_text, unknown_fields
from kubescheduler.config.component.type_meta import (
    group_kind,
    is_registered,
    not_registered,
    type_fault,
    without_type,
)
from kubescheduler.config.go_decoding import GoDecoder, UnknownKey

if TYPE_CHECKING:
    from kubescheduler.config.component.component_format import ComponentFormat
    from kubescheduler.config.component.written_config import PluginConfig
    from kubescheduler.config.go_decoding import Path
    from kubescheduler.framework.args.document_schema import Struct


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


def read_args(entry: PluginConfig, keys: Struct | None, path: Path, form: ComponentFormat, version: str) -> ArgsReading:
    """keys: those of the plugin's args, None for a plugin without args of its own type. path: of the args."""
    if keys is None:
        return ArgsReading(entry.args)
    decoder = GoDecoder(outer=len(path))
    given = entry.args if isinstance(entry.args, Mapping) else {}
    is_mapping = entry.args is None or isinstance(entry.args, Mapping)
    record = decoder.decode(keys, without_type(given) if is_mapping else entry.args, path)
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
    strict = form.unknown_text is None and not decoder.faults
    return ArgsReading(record, decoder, None, strict_text([text]) if strict else text, strict)


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
