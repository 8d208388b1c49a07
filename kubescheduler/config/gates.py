"""Feature gates: which ones a release knows, and what they are set to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import attrs

from clusterstate.errors import ConfigError
from clusterstate.objects import FrozenMap

Stage = Literal["alpha", "beta", "GA"]

ALL_ALPHA = "AllAlpha"
"""Sets every alpha gate that is not set by name."""

_TRUE = frozenset({"1", "t", "T", "true", "True", "TRUE"})
_FALSE = frozenset({"0", "f", "F", "false", "False", "FALSE"})


@attrs.frozen
class Gate:
    default: bool
    stage: Stage
    locked: bool = False


_ALPHA = Gate(default=False, stage="alpha")
_BETA = Gate(default=True, stage="beta")

GATES: dict[str, dict[str, Gate]] = {
    "1.4": {},
    "1.16": {
        "TaintNodesByCondition": _BETA,
        "AttachVolumeLimit": _BETA,
        "CSINodeInfo": _BETA,
        "BlockVolume": _BETA,
        "StorageObjectInUseProtection": Gate(default=True, stage="GA"),
        "PodPriority": Gate(default=True, stage="GA", locked=True),
        "EvenPodsSpread": _ALPHA,
        "ResourceLimitsPriorityFunction": _ALPHA,
        "BalanceAttachedNodeVolumes": _ALPHA,
        "PodOverhead": _ALPHA,
        "NonPreemptingPriority": _ALPHA,
        "CSIMigration": _ALPHA,
        "CSIMigrationAWS": _ALPHA,
        "CSIMigrationAzureDisk": _ALPHA,
        "CSIMigrationAzureFile": _ALPHA,
        "CSIMigrationGCE": _ALPHA,
        "CSIMigrationOpenStack": _ALPHA,
    },
}
"""Release → the gates that concern scheduling."""


def parse_gates(release: str, text: str) -> FrozenMap[str, bool]:
    """Every gate of the release after ``--feature-gates A=true,B=false``; later pairs win.

    Raises ConfigError with every fault: a pair without value, a value that is no boolean, an unknown or locked gate.
    """
    given: dict[str, bool] = {}
    problems = []
    for pair in filter(None, text.split(",")):
        name, equals, word = (part.strip() for part in pair.partition("="))
        if not equals:
            problems.append(f"missing bool value for {name}; write {name}=true or {name}=false")
        elif word in _TRUE or word in _FALSE:
            given[name] = word in _TRUE
        else:
            problems.append(f"invalid value of {name}={word}; write {name}=true or {name}=false")
    return _resolve(release, given, "--feature-gates", problems)


def gates_from(release: str, given: Mapping[str, Any]) -> FrozenMap[str, bool]:
    """Every gate of the release after a document's ``featureGates``; raises as ``parse_gates`` does."""
    problems = [
        f"{name}: expected true or false, found {value!r}"
        for name, value in given.items()
        if not isinstance(value, bool)
    ]
    booleans = {name: value for name, value in given.items() if isinstance(value, bool)}
    return _resolve(release, booleans, "featureGates", problems)


def _resolve(release: str, given: Mapping[str, bool], where: str, problems: list[str]) -> FrozenMap[str, bool]:
    from algorithmprovider.registry import nearest

    if release not in GATES:
        raise ConfigError(f"{where}: release {release} is not known; known are {', '.join(GATES)}")
    gates = GATES[release]
    for name, value in given.items():
        gate = gates.get(name)
        if gate is None:
            if name != ALL_ALPHA:
                problems.append(f"unrecognized feature gate: {name}{nearest(name, gates)}")
        elif gate.locked and value != gate.default:
            locked, wanted = (str(flag).lower() for flag in (gate.default, value))
            problems.append(f"cannot set feature gate {name} to {wanted}, feature is locked to {locked}")
    if problems:
        raise ConfigError(f"{where}: {problem}" for problem in problems)
    all_alpha = given.get(ALL_ALPHA, False)
    return FrozenMap(
        {name: given.get(name, gate.default or (all_alpha and gate.stage == "alpha")) for name, gate in gates.items()}
    )
