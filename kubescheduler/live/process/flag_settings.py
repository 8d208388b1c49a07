"""What single flags say of records of the configuration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from clusterstate.errors import ConfigError
from kubescheduler.config.gates import ReleaseGates
from kubescheduler.live.flags.flag_kinds import FlagKind, read_value
from kubescheduler.live.flags.flag_parsing import FlagValues

ELECTION = {
    "leader-elect": "leader_elect",
    "leader-elect-lease-duration": "lease_duration_ns",
    "leader-elect-renew-deadline": "renew_deadline_ns",
    "leader-elect-retry-period": "retry_period_ns",
    "leader-elect-resource-lock": "resource_lock",
    "leader-elect-resource-name": "resource_name",
    "leader-elect-resource-namespace": "resource_namespace",
    "lock-object-name": "resource_name",
    "lock-object-namespace": "resource_namespace",
}
"""Flag → the field of LeaderElection. The last flag of a field counts (1.16 and 1.20: two write the same one)."""
CONNECTION = {
    "kubeconfig": "kubeconfig",
    "kube-api-content-type": "content_type",
    "kube-api-qps": "qps",
    "kube-api-burst": "burst",
}
"""Flag → the field of ClientConnection."""
PROFILING = {"profiling": "enable_profiling", "contention-profiling": "enable_contention_profiling"}
"""Flag → the field of the configuration."""

COMPONENT = "kube:"
"""What may stand before the name of a gate (1.36)."""


def overridden(record: Any, fields: Mapping[str, str], flags: FlagValues) -> Any:
    """A record with what the command line says of it."""
    said = {fields[name]: flags[name] for name in flags.given if name in fields}
    return msgspec.structs.replace(record, **said)


def ignored_beside_file(flags: FlagValues, names: Iterable[str]) -> list[str]:
    """One sentence that names the given flags that a configuration file replaces; none where there are none."""
    found = [f"--{name}" for name in names if name in flags.given]
    return [f"{', '.join(found)} {'has' if len(found) == 1 else 'have'} no effect beside --config"] if found else []


def gates_of(flags: FlagValues, gates: ReleaseGates) -> tuple[dict[str, bool], list[str]]:
    """(the gates that are set, notes on those without effect). Raises ConfigError with upstream's text."""
    given = flags["feature-gates"]
    if not isinstance(given, Mapping):
        given = gates_of_texts(given)
    beside = {name: on for name, on in given.items() if name in gates.elsewhere}
    notes = [
        f"feature gate {name} has no effect here" for name, on in beside.items() if on != gates.known(name).default
    ]
    stages = set(gates.stages.values())
    for name, on in given.items():
        gate = gates.gates.get(name) or gates.elsewhere.get(name)
        if gate is None and name not in stages:
            raise ConfigError(f"unrecognized feature gate: {name}")
        if gate is not None and gate.locked and on != gate.default:
            texts = (str(value).lower() for value in (on, gate.default))
            raise ConfigError("cannot set feature gate {} to {}, feature is locked to {}".format(name, *texts))
    if unmet := gates.unmet(given):
        raise ConfigError(unmet)
    return {name: on for name, on in given.items() if name not in beside}, notes


def gates_of_texts(texts: Iterable[str]) -> dict[str, bool]:
    """The pairs ``name=value``, each perhaps with its component before. Raises ConfigError with upstream's text."""
    found: dict[str, bool] = {}
    for text in texts:
        try:
            found |= read_value(FlagKind.PAIRS, text.removeprefix(COMPONENT))
        except ValueError as error:
            raise ConfigError(str(error)) from None
    return found
