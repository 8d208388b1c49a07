"""The flags of an older kube-scheduler: what they say as a configuration, and what a later release still has."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from clusterstate.errors import ConfigError
from kubescheduler.config.gates import ReleaseGates
from kubescheduler.translate.translation_model import Note, NoteKind
from kubescheduler.translate.upgrade.gate_notes import gate_notes, staying_gates
from kubescheduler.translate.upgrade.target_process import LOGGING, TargetProcess

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
        gates = staying_gates(self.get("feature-gates") or "", target)
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


def flag_notes(flags: ProcessFlags, before: ReleaseGates, target: TargetProcess, *, configured: bool) -> Iterator[Note]:
    """What becomes of each flag. configured: there is a ``--config`` beside them, which most had no effect beside.

    before: the gates of the release that was started with them.
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
    yield Note(NoteKind.CHECK, "command line", text, "FILE is this configuration")


def _plain_http_note(path: str, target: TargetProcess) -> Note:
    if target.plain_http:
        return Note(NoteKind.EXACT, path, "it is healthzBindAddress and metricsBindAddress in the configuration")
    text = f"{target.name} has no such flag: it serves no plain HTTP, /healthz and /metrics are on --secure-port alone"
    return Note(NoteKind.LOST, path, text, "point probes and Prometheus at https and port 10259")
