"""A configuration's text with its content changed: what somebody wrote stays as it is wherever that is possible."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from clusterstate.errors import ConfigError
from kubescheduler.config.config_text import document_format, parse_first_document
from kubescheduler.lab.tuning.text_patches import Patch, patches
from kubescheduler.sources.foreign_text import json_text, yaml_dumper

NORMALISED = "the text was written anew: comments and layout could not be kept"


class Rewritten(msgspec.Struct, frozen=True):
    """A text with other content."""

    text: str
    """The text."""
    kept: bool
    """Whether everything that did not change stands as it was written, with its comments."""


def rewritten(text: str, change: Callable[[dict[str, Any]], Mapping[str, Any]]) -> Rewritten:
    """The text of a document, changed. change: is given a copy of the content that it may alter.

    A YAML or JSON text is altered in place; where that does not give the wanted content, as with aliases or TOML, the
    document is written anew. Raises ConfigError for text that cannot be read.
    """
    before = dict(parse_first_document(text, "text"))
    after = dict(change(dict(parse_first_document(text, "text"))))
    if after == before:
        return Rewritten(text, kept=True)
    form = document_format(text, "text")
    if text.strip() and form != "TOML":
        patched = _patched(text, before, after)
        if patched is not None:
            return Rewritten(patched, kept=True)
    fresh = json_text(after, indent=2) + "\n" if text.strip() and form == "JSON" else yaml_dumper()(after)
    return Rewritten(fresh, kept=not text.strip())


def _patched(text: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> str | None:
    """The text altered in place; None where that is not possible."""
    found: list[Patch] | None = patches(text, before, after)
    if found is None:
        return None
    out = text
    for start, end, replacement in sorted(found, reverse=True):
        out = f"{out[:start]}{replacement}{out[end:]}"
    try:
        return out if dict(parse_first_document(out, "text")) == after else None
    except ConfigError:
        return None
