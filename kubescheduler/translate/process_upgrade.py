"""What a target release's process has of locks, addresses, flags and gates, and what becomes of the older one's."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from clusterstate.errors import ConfigError
from kubescheduler.config.config_schema import CONFIGURATION
from kubescheduler.config.gates import Gate, ReleaseGates, gate_pairs
from kubescheduler.releases.lookup import release_named
from kubescheduler.releases.release import Release
from kubescheduler.translate.translation_model import (
    Note,
    NoteKind,
    Translation,
    WithOrigin,
    between,
    since,
    without_origin,
)

LOGGING = (
    "logtostderr",
    "alsologtostderr",
    "log-dir",
    "log-file",
    "log-file-max-size",
    "stderrthreshold",
    "log-backtrace-at",
    "skip-headers",
    "skip-log-headers",
    "add-dir-header",
    "experimental-logging-sanitization",
)
"""Flags of the logging library that later releases no longer have."""


class TargetProcess(msgspec.Struct, frozen=True, eq=False):
    """How a target release is run."""

    name: str
    version: str
    """The last part of the apiVersion of its configuration."""
    locks: tuple[str, ...]
    """What leader election may lock on; the first is the default."""
    plain_http: bool
    """Whether it serves health and metrics without TLS, at the addresses of its configuration."""
    flags: frozenset[str]
    """Every flag that it knows."""
    gates: ReleaseGates
    """The feature gates that concern scheduling."""
    keys: frozenset[str]
    """The keys at the top of its configuration."""
    recorded: str = ""
    """The release whose flags these are, where those of the target were not recorded."""


def target_process(release: str) -> TargetProcess:
    """How a release with profiles is run. Raises ConfigError for any other."""
    record = release_named(release)
    form = record.framework_rules.component
    assert record.flags is not None, "every release with profiles runs"
    recorded, known = record.flags()
    flags = frozenset(flag.name for flag in known)
    return TargetProcess(
        name=record.name,
        version=form.native.rpartition("/")[2],
        locks=form.locks,
        plain_http="port" in flags,
        flags=flags,
        gates=record.gates,
        keys=frozenset(field.key for field in CONFIGURATION[form.native].fields),
        recorded="" if recorded == record.name else recorded,
    )


LEFT_OUT = "it is left out"
"""How the notes end on gates that a release does not take."""


def known_gates(text: str, gates: ReleaseGates) -> str:
    """The pairs of ``--feature-gates`` that a release with this table starts with and decides by.

    Others are of components that have nothing to do with pods. Raises ConfigError for no boolean.
    """
    names = {*gates.gates, *gates.stages.values()}
    pairs = (f"{name}={word}" for name, word in gate_pairs(text) if name in names)
    locked = locked_gates(text, gates)
    return ",".join(pair for pair in pairs if pair not in locked)


def staying_gates(text: str, gates: ReleaseGates) -> str:
    """The pairs that a release with this table still takes, as its ``--feature-gates``; empty for none."""
    kept = []
    for name, word in gate_pairs(text):
        gate = _gate(name, gates)
        if name in gates.stages.values() or (gate is not None and not gate.locked):
            kept.append(f"{name}={word}")
    return ",".join(kept)


def _gate(name: str, gates: ReleaseGates) -> Gate | None:
    return gates.gates.get(name) or gates.elsewhere.get(name)


def locked_gates(text: str, gates: ReleaseGates) -> dict[str, Gate]:
    """``name=value`` of each pair with which a release does not start, as it has the gate locked → that gate."""
    found = ((name, word, _gate(name, gates)) for name, word in gate_pairs(text))
    given = gates.given(text)
    return {
        f"{name}={word}": gate
        for name, word, gate in found
        if gate is not None and gate.locked and given[name] != gate.default
    }


def gate_notes(text: str, before: str, target: TargetProcess) -> Iterator[Note]:
    """One for each gate: whether the target has it still, and with what default; where it has not, since when.

    before: the release that was started with them. Raises ConfigError for no boolean.
    """
    known, after = release_named(before).gates, target.gates
    for name, value in known.given(text).items():
        path = f"--feature-gates {name}={str(value).lower()}"
        if name in {*known.stages.values(), *after.stages.values()}:
            yield _of_stage(name, path, target)
        elif (gate := _gate(name, after)) is not None:
            yield _of_gate(name, value, path, before, gate, target)
        elif _gate(name, known) is not None:
            always = _stayed_on(name, before, target.name)
            gone = since(before, target.name, partial(_lacks, name))
            text = f"{gone} has no such gate, and its feature is {'always on' if always else 'gone'}; it is left out"
            yield Note(NoteKind.EXACT if value is always else NoteKind.LOST, path, text)
        else:
            yield Note(
                NoteKind.CHECK, path, f"{target.name} has no such gate and does not start with it; it is left out"
            )


def _of_stage(name: str, path: str, target: TargetProcess) -> Note:
    kept = name in target.gates.stages.values()
    text = f"{target.name} has other gates of that stage" if kept else f"{target.name} has no such name; it is left out"
    return Note(NoteKind.CHECK, path, text, "name the gates that you want instead")


def _of_gate(name: str, value: bool, path: str, before: str, after: Gate, target: TargetProcess) -> Note:
    said, default = str(value).lower(), str(after.default).lower()
    older = _gate(name, release_named(before).gates)
    if after.locked:
        locked = since(before, target.name, partial(_is_locked, name)) or target.name
        text = f"{locked} has it locked to {default}; it is left out"
        return Note(NoteKind.EXACT if value == after.default else NoteKind.LOST, path, text)
    changed = older is not None and older.default != after.default
    text = f"{target.name} has it still, {'now ' if changed else ''}{default} by default"
    if value == after.default:
        return Note(NoteKind.EXACT, path, f"{text}, so it need not be said")
    return Note(NoteKind.CHECK, path, f"{text}: {said} is kept", f"see whether {said} is still what you want")


def _lacks(name: str, record: Release) -> bool:
    return _gate(name, record.gates) is None


def _stayed_on(name: str, before: str, to: str) -> bool:
    """Of a gate that is gone: whether its feature is there all the same."""
    records = (release_named(before), *between(before, to))
    last = [gate for record in records if (gate := _gate(name, record.gates)) is not None][-1]
    return last.default and last.stage != "deprecated"


def _is_locked(name: str, record: Release) -> bool:
    gate = _gate(name, record.gates)
    return gate is not None and gate.locked


PROGRAM, HYPERKUBE = "kube-scheduler", "hyperkube"
_TRUE = ("true", "1", "t")


def _bool(text: str) -> bool:
    return text.lower() in _TRUE


AS_KEYS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "leader-elect": ("leaderElection.leaderElect", _bool),
    "leader-elect-lease-duration": ("leaderElection.leaseDuration", str),
    "leader-elect-renew-deadline": ("leaderElection.renewDeadline", str),
    "leader-elect-retry-period": ("leaderElection.retryPeriod", str),
    "leader-elect-resource-lock": ("leaderElection.resourceLock", str),
    "leader-elect-resource-name": ("leaderElection.resourceName", str),
    "leader-elect-resource-namespace": ("leaderElection.resourceNamespace", str),
    "lock-object-name": ("leaderElection.lockObjectName", str),
    "lock-object-namespace": ("leaderElection.lockObjectNamespace", str),
    "kubeconfig": ("clientConnection.kubeconfig", str),
    "kube-api-content-type": ("clientConnection.contentType", str),
    "kube-api-qps": ("clientConnection.qps", float),
    "kube-api-burst": ("clientConnection.burst", int),
    "profiling": ("enableProfiling", _bool),
    "contention-profiling": ("enableContentionProfiling", _bool),
    "scheduler-name": ("schedulerName", str),
}
"""Flag → the key that says the same, and how its value is read."""

SOURCE = (
    "config",
    "algorithm-provider",
    "policy-config-file",
    "policy-configmap",
    "policy-configmap-namespace",
    "use-legacy-policy-config",
    "hard-pod-affinity-symmetric-weight",
    "feature-gates",
    "write-config-to",
)
"""Flags that say what is translated, and how it is read."""
PLAIN_HTTP = {"address": "0.0.0.0", "port": "10251"}
"""Flag → its default."""
GONE = {
    "failure-domains": "every topologyKey has to be named now",
    "bind-pods-qps": "it had no effect",
    "bind-pods-burst": "it had no effect",
}


class ProcessFlags(msgspec.Struct, frozen=True):
    """The flags of a process, without dashes; the last of a name counts."""

    values: Mapping[str, str]

    def get(self, name: str) -> str | None:
        """The value, None when the flag is not given or empty."""
        return self.values.get(name) or None

    def settings(self) -> dict[str, Any]:
        """What they say, as the top-level keys of a configuration. Raises ConfigError for a value of a wrong type."""
        found: dict[str, Any] = {}
        for name, (path, read) in AS_KEYS.items():
            if name in self.values:
                *above, key = path.split(".")
                place = found
                for step in above:
                    place = place.setdefault(step, {})
                try:
                    place[key] = read(self.values[name])
                except ValueError as error:
                    raise ConfigError(f"--{name}: {self.values[name]!r} is no number") from error
        return found | self.addresses()

    def addresses(self) -> dict[str, str]:
        """Where ``--address`` and ``--port`` have plain HTTP served, as keys of a configuration; none without them."""
        if not any(self.values.get(name) for name in PLAIN_HTTP):
            return {}
        address, port = (self.values.get(name) or default for name, default in PLAIN_HTTP.items())
        place = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
        return {"healthzBindAddress": place, "metricsBindAddress": place}

    def staying(self, target: TargetProcess) -> list[str]:
        """The flags with which the target is started besides ``--config``."""
        kept = [f"--{name}={value}" for name, value in self.values.items() if _stays(name, target)]
        gates = staying_gates(self.get("feature-gates") or "", target.gates)
        return [*kept, f"--feature-gates={gates}"] if gates else kept


def _stays(name: str, target: TargetProcess) -> bool:
    """Whether a target still has a flag that means what it meant before, also beside ``--config``."""
    return name in target.flags and name not in (*SOURCE, *AS_KEYS, *PLAIN_HTTP, *GONE)


def flags_in(command: Sequence[Any]) -> ProcessFlags | None:
    """The flags of a command line that starts kube-scheduler, also by a shell; None for any other."""
    words = [str(word) for word in command]
    if len(words) >= 3 and words[0].rpartition("/")[2] in ("sh", "bash", "ash") and words[1].startswith("-"):
        try:
            words = shlex.split(words[2])
        except ValueError:
            words = words[2].split()
    names = [word.rpartition("/")[2] for word in words]
    starts = [
        at
        for at, name in enumerate(names)
        if name == PROGRAM or (name == "scheduler" and at and names[at - 1] == HYPERKUBE)
    ]
    return flags_of_words(words[starts[0] + 1 :]) if starts else None


def flags_of_words(words: Sequence[str]) -> ProcessFlags:
    """``--name=value``, ``--name value`` or ``--name``; what else there is (redirections) is passed over."""
    found: dict[str, str] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if not word.startswith("-") or word == "--":
            continue
        name, equals, value = word.lstrip("-").partition("=")
        name = name.replace("_", "-")
        if not equals:
            takes = bool(rest) and not rest[0].startswith("-") and name not in ("leader-elect", "profiling")
            value = rest.pop(0) if takes else "true"
        found[name] = value
    return ProcessFlags(found)


def flag_notes(flags: ProcessFlags, before: str, target: TargetProcess, *, configured: bool) -> Iterator[Note]:
    """What becomes of each flag. configured: there is a ``--config`` beside them, which most had no effect beside.

    before: the release that was started with them.
    """
    for name in flags.values:
        path = f"--{name}"
        if configured and (name in AS_KEYS or (name in PLAIN_HTTP and target.plain_http)):
            yield Note(NoteKind.EXACT, path, "it had no effect beside --config, and is left out")
        elif name in AS_KEYS:
            yield Note(NoteKind.EXACT, path, f"it is {AS_KEYS[name][0]} in the configuration")
        elif name in PLAIN_HTTP:
            yield _plain_http_note(path, target)
        elif name in LOGGING and name not in target.flags:
            text = f"{target.name} has no such flag: it logs to standard error"
            yield Note(NoteKind.LOST, path, text, "redirect it if needed")
        elif name in GONE:
            yield Note(NoteKind.EXACT, path, f"{target.name} has no such flag: {GONE[name]}")
        elif name not in SOURCE and name not in target.flags:
            yield Note(
                NoteKind.CHECK, path, f"{target.name} has no such flag and does not start with it; it is left out"
            )
    yield from gate_notes(flags.get("feature-gates") or "", before, target)
    started = " ".join(["--config=FILE", *flags.staying(target)])
    text = f"start kube-scheduler {target.name} with {started}"
    advice = "FILE is this configuration"
    if target.recorded:
        advice += f"; which flags {target.name} has is taken from {target.recorded}, the nearest that was recorded"
    yield Note(NoteKind.CHECK, "command line", text, advice)


def _plain_http_note(path: str, target: TargetProcess) -> Note:
    if target.plain_http:
        return Note(NoteKind.EXACT, path, "it is healthzBindAddress and metricsBindAddress in the configuration")
    text = f"{target.name} has no such flag: it serves no plain HTTP, /healthz and /metrics are on --secure-port alone"
    return Note(NoteKind.LOST, path, text, "point probes and Prometheus at https and port 10259")


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
OF_V1ALPHA2 = ("disablePreemption", "bindTimeoutSeconds")
"""Keys that later versions say in profiles."""
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
    for key in (key for key in OF_V1ALPHA2 if key in target.keys and given.get(key)):
        top[key] = WithOrigin(given.pop(key), origin(key))
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
