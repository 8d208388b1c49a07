"""What a configuration says of the process rather than of plugins: leader election, client, addresses, profiling."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from kubescheduler.translate.translation_model import Note, NoteKind, Translation, WithOrigin
from kubescheduler.translate.upgrade.target_process import TargetProcess

CARRIED = (
    "parallelism",
    "clientConnection",
    "enableProfiling",
    "enableContentionProfiling",
    "percentageOfNodesToScore",
    "podInitialBackoffSeconds",
    "podMaxBackoffSeconds",
)
"""Keys that every version from v1beta1 on has with the same meaning."""
ADDRESSES = ("healthzBindAddress", "metricsBindAddress")
BIND_TIMEOUT = 600
PREEMPTION = "DefaultPreemption"
VOLUMES = "VolumeBinding"


class ProcessSettings(msgspec.Struct, frozen=True):
    """What is not of a profile's plugins, in the form of the target's version."""

    top: Mapping[str, WithOrigin] = msgspec.field(default_factory=dict)
    """Top-level key → its value."""
    scheduler_name: WithOrigin | None = None
    """The name of the only profile."""
    disable_preemption: WithOrigin | None = None
    """True where no pod may be evicted for another."""
    bind_timeout: WithOrigin | None = None
    """Seconds that binding of volumes may take."""
    notes: tuple[Note, ...] = ()


def settings_for(target: TargetProcess, written: Mapping[str, Any], origin: Callable[[str], str]) -> ProcessSettings:
    """The settings of an older document's top-level keys; ``origin`` says of a key where it comes from."""
    given = {key: value for key, value in written.items() if value is not None}
    top: dict[str, WithOrigin] = {}
    if election := _election(given.get("leaderElection") or {}, target):
        top["leaderElection"] = WithOrigin(election, origin("leaderElection"))
    for key in (*CARRIED, *(ADDRESSES if target.plain_http else ())):
        value = given.get(key)
        if isinstance(value, Mapping):
            value = {name: item for name, item in value.items() if item not in (None, "", 0)}
        if value is not None and value != {}:
            top[key] = WithOrigin(value, origin(key))
    timeout, disabled = given.get("bindTimeoutSeconds"), given.get("disablePreemption")
    return ProcessSettings(
        top,
        WithOrigin(name, origin("schedulerName")) if (name := given.get("schedulerName")) else None,
        WithOrigin(True, origin("disablePreemption")) if disabled else None,
        WithOrigin(timeout, origin("bindTimeoutSeconds")) if timeout not in (None, BIND_TIMEOUT) else None,
        tuple(_notes(given, target)),
    )


def _election(written: Mapping[str, Any], target: TargetProcess) -> dict[str, Any]:
    """With the lock and its name as the target has them; what is at its default is as well left out."""
    given = {key: value for key, value in written.items() if value not in (None, "")}
    for what in ("Name", "Namespace"):
        value = given.pop(f"lockObject{what}", None)
        if value is not None:
            given.setdefault(f"resource{what}", value)
    if given.get("resourceLock", target.locks[0]) not in target.locks:
        given["resourceLock"] = target.locks[0]
    return given


# --- notes ---------------------------------------------------------------------------------


def _notes(given: Mapping[str, Any], target: TargetProcess) -> Iterator[Note]:
    election = given.get("leaderElection") or {}
    lock = election.get("resourceLock") or target.locks[0]
    if lock != target.locks[0] and election.get("leaderElect", True):
        yield _lock_note(lock, target)
    for key in ("lockObjectName", "lockObjectNamespace"):
        if key in election:
            text = f"{target.version} spells it {key.replace('lockObject', 'resource')}"
            yield Note(NoteKind.EXACT, f"leaderElection.{key}", text)
    for key in () if target.plain_http else ADDRESSES:
        if given.get(key):
            text = (
                f"{target.name} serves no plain HTTP: /healthz, /livez, /readyz and /metrics are on --secure-port "
                "(10259) alone"
            )
            advice = "point probes and Prometheus at https and that port; --bind-address says where it listens"
            yield Note(NoteKind.LOST, key, text, advice)


def _lock_note(lock: str, target: TargetProcess) -> Note:
    path, leases = "leaderElection.resourceLock", target.locks[0]
    if lock in target.locks:
        text = f"{target.name} locks on {leases} by default; {lock}, which the old scheduler locks on, is kept"
        advice = f"go on to {leases} before the next release, by way of {lock}leases"
        return Note(NoteKind.EXACT, path, text, advice)
    text = f"{target.name} has no lock on {lock}: it becomes {leases}, which a scheduler with the old lock does not see"
    advice = "stop all old schedulers before the first new one starts, or give the old ones leases first"
    return Note(NoteKind.APPROXIMATE, path, text, advice)


# --- into a document -----------------------------------------------------------------------


def with_settings(translation: Translation, settings: ProcessSettings) -> Translation:
    """The translation with the settings in its document and their notes."""
    document = dict(translation.document.value)
    head = {key: document.pop(key) for key in ("apiVersion", "kind")}
    document["profiles"] = [_profile(profile, settings) for profile in without_origin(document["profiles"])]
    return msgspec.structs.replace(
        translation,
        document=WithOrigin({**head, **settings.top, **document}, translation.document.origin),
        notes=(*translation.notes, *settings.notes),
    )


def without_origin(value: Any) -> Any:
    """A value without its own origin; what is in it keeps its."""
    return value.value if isinstance(value, WithOrigin) else value


def _profile(profile: Any, settings: ProcessSettings) -> dict[str, Any]:
    changed = dict(without_origin(profile))
    if settings.scheduler_name is not None:
        changed["schedulerName"] = settings.scheduler_name
    if settings.disable_preemption is not None:
        changed["plugins"] = _without_preemption(
            without_origin(changed.get("plugins", {})), settings.disable_preemption.origin
        )
    if settings.bind_timeout is not None:
        changed["pluginConfig"] = _with_timeout(without_origin(changed.get("pluginConfig", [])), settings.bind_timeout)
    return changed


def _without_preemption(plugins: Mapping[str, Any], origin: str) -> dict[str, Any]:
    point = dict(without_origin(plugins.get("postFilter", {})))
    point["disabled"] = [*without_origin(point.get("disabled", [])), WithOrigin({"name": PREEMPTION}, origin)]
    point["enabled"] = [
        item for item in without_origin(point.get("enabled", [])) if without_origin(item)["name"] != PREEMPTION
    ]
    return {**plugins, "postFilter": {key: value for key, value in point.items() if value}}


def _with_timeout(config: list[Any], timeout: WithOrigin) -> list[Any]:
    kept = [item for item in config if without_origin(without_origin(item)["name"]) != VOLUMES]
    return [*kept, WithOrigin({"name": VOLUMES, "args": {"bindTimeoutSeconds": timeout}}, timeout.origin)]
