"""Extenders of a policy as extenders of a configuration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from kubescheduler.config.component.config_schema import COMPONENT_EXTENDER
from kubescheduler.extender.config import ExtenderConfig
from kubescheduler.framework.args.document_schema import written
from kubescheduler.releases.release import Release
from kubescheduler.translate.translation_model import EXTENDER_SCALE, Note, NoteKind, WithOrigin


def written_extenders(extenders: Sequence[ExtenderConfig]) -> list[WithOrigin]:
    """As a configuration has them; what is at its default is left out."""
    return [
        WithOrigin(_extender(extender), f"from extenders[{at}] {extender.name}")
        for at, extender in enumerate(extenders)
    ]


def _extender(extender: ExtenderConfig) -> dict[str, Any]:
    timeout = extender.http_timeout_ns
    if not extender.weight:
        extender = msgspec.structs.replace(extender, prioritize_verb="")
    said: dict[str, Any] = written(COMPONENT_EXTENDER, extender)
    if timeout:
        said["httpTimeout"] = WithOrigin(said["httpTimeout"], f"{timeout} nanoseconds in the policy")
    return said


# --- notes ---------------------------------------------------------------------------------


def extender_notes(extenders: Sequence[ExtenderConfig], before: Release, after: Release) -> Iterator[Note]:
    """What changes for the extenders of a policy of one release in another, which reads configurations."""
    if (
        any(extender.prioritize_verb and extender.weight for extender in extenders)
        and before.top_score < after.top_score
    ):
        yield EXTENDER_SCALE
    for at, extender in enumerate(extenders):
        path = f"extenders[{at}] {extender.name}"
        if before.wire.url is not after.wire.url:
            text = f"its calls go to {extender.name.rstrip('/')}/VERB, not //VERB, and have capitalised keys"
            yield Note(
                NoteKind.APPROXIMATE, path, text, "see that the extender takes both, and answers with status 200"
            )
        if extender.prioritize_verb and not extender.weight:
            text = "with weight 0 its scores count nothing, so its prioritizeVerb is left out"
            yield Note(NoteKind.EXACT, path, text)
        empties = after.framework_rules.deciding.empties
        if empties and extender.filter_verb and not extender.node_cache_capable:
            text = f"{after.name} scores nodes that a filter sends back as objects as if they were empty"
            yield Note(NoteKind.APPROXIMATE, path, text, "answer with node names, and set nodeCacheCapable: true")
