"""Extenders of a policy as extenders of a configuration."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from typing import Any

from kubescheduler.extender.config import ExtenderConfig, TLSConfig
from kubescheduler.framework.contract.go_durations import format_duration
from kubescheduler.releases.release import Release
from kubescheduler.translate.notes import EXTENDER_SCALE
from kubescheduler.translate.translation_model import Note, NoteKind, WithOrigin


def written_extenders(extenders: Sequence[ExtenderConfig]) -> list[WithOrigin]:
    """As a configuration has them; what is at its default is left out."""
    return [
        WithOrigin(_extender(extender), f"from extenders[{at}] {extender.name}")
        for at, extender in enumerate(extenders)
    ]


def _extender(extender: ExtenderConfig) -> dict[str, Any]:
    timeout = extender.http_timeout_ns
    fields: dict[str, Any] = {
        "urlPrefix": extender.url_prefix,
        "filterVerb": extender.filter_verb,
        "preemptVerb": extender.preempt_verb,
        "prioritizeVerb": extender.prioritize_verb if extender.weight else "",
        "weight": extender.weight,
        "bindVerb": extender.bind_verb,
        "enableHTTPS": extender.enable_https,
        "tlsConfig": _tls(extender.tls),
        "httpTimeout": WithOrigin(format_duration(timeout), f"{timeout} nanoseconds in the policy")
        if timeout
        else None,
        "nodeCacheCapable": extender.node_cache_capable,
        "managedResources": [
            {"name": managed.name, **({"ignoredByScheduler": True} if managed.ignored_by_scheduler else {})}
            for managed in extender.managed_resources
        ],
        "ignorable": extender.ignorable,
    }
    return {key: value for key, value in fields.items() if value or key == "urlPrefix"}


def _tls(tls: TLSConfig) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "insecure": tls.insecure,
        "serverName": tls.server_name,
        "certFile": tls.cert_file,
        "keyFile": tls.key_file,
        "caFile": tls.ca_file,
        "certData": base64.b64encode(tls.cert_data).decode(),
        "keyData": base64.b64encode(tls.key_data).decode(),
        "caData": base64.b64encode(tls.ca_data).decode(),
    }
    return {key: value for key, value in fields.items() if value}


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
