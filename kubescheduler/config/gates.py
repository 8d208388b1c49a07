"""Feature gates: what one is, which ones a release knows, and what they are set to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from clusterstate.errors import ConfigError
from clusterstate.objects import FrozenMap

Stage = Literal["alpha", "beta", "GA", "deprecated"]


class Gate(msgspec.Struct, frozen=True):
    """One feature gate of one release."""

    default: bool
    """What it is when nobody sets it."""
    stage: Stage
    """How far the feature has come."""
    locked: bool = False
    """It cannot be set to anything but its default."""


ALPHA = Gate(default=False, stage="alpha")
BETA = Gate(default=True, stage="beta")
BETA_OFF = Gate(default=False, stage="beta")
GA = Gate(default=True, stage="GA")
LOCKED = Gate(default=True, stage="GA", locked=True)
DEPRECATED = Gate(default=False, stage="deprecated")


ALL_ALPHA: dict[Stage, str] = {"alpha": "AllAlpha"}
"""Stage → the name that sets every gate of the stage that is not set by name, up to 1.16."""

ALL_ALPHA_AND_BETA: dict[Stage, str] = {**ALL_ALPHA, "beta": "AllBeta"}
"""The same from 1.20 on."""

_TRUE = frozenset({"1", "t", "T", "true", "True", "TRUE"})
_FALSE = frozenset({"0", "f", "F", "false", "False", "FALSE"})


class ReleaseGates(msgspec.Struct, frozen=True, eq=False):
    """The feature gates of one release that concern scheduling."""

    gates: Mapping[str, Gate]
    """Name → gate."""
    stages: Mapping[Stage, str]
    """Stage → the name that sets every gate of the stage that is not set by name."""
    idle: frozenset[str] = frozenset()
    """Gates of features that are not worked out here: setting them changes nothing."""
    elsewhere: Mapping[str, Gate] = msgspec.field(default_factory=dict)
    """Name → gate, of those that the release's process takes and no decision depends on."""
    needs: Mapping[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """Gate → those that have to be on where it is on."""

    def notes(self, values: Mapping[str, bool]) -> list[str]:
        """One for every gate that is set to something else than its default without having an effect."""
        why = dict.fromkeys(self.idle, "what it switches is not worked out")
        why |= dict.fromkeys(self.elsewhere, "no decision depends on it")
        return [
            f"feature gate {name}={str(value).lower()} has no effect here: {why[name]}"
            for name, value in values.items()
            if name in why and value != self.known(name).default
        ]

    def known(self, name: str) -> Gate:
        """The gate of a name. Raises KeyError for one that the release does not know."""
        return self.gates[name] if name in self.gates else self.elsewhere[name]

    def unmet(self, given: Mapping[str, bool]) -> list[str]:
        """The release's text for every gate that is on, by these values or by default, and needs one that is off.

        Upstream: 1.36 featureGate.Validate.
        """
        is_on = self._settled({**self.gates, **self.elsewhere}, given)
        missing = {
            name: [other for other in needed if not is_on.get(other, False)]
            for name, needed in sorted(self.needs.items())
            if is_on.get(name, False)
        }
        return [
            f"{name} is enabled, but depends on features that are disabled: [{' '.join(off)}]"
            for name, off in missing.items()
            if off
        ]

    def _settled(self, gates: Mapping[str, Gate], given: Mapping[str, bool]) -> dict[str, bool]:
        """Each gate by its name, by its stage's, or by default; a locked one stays as it is."""
        whole = {stage: given[name] for stage, name in self.stages.items() if name in given}
        return {
            name: gate.default if gate.locked else given.get(name, whole.get(gate.stage, gate.default))
            for name, gate in gates.items()
        }

    def parse(self, text: str) -> FrozenMap[str, bool]:
        """Every gate of the release after ``--feature-gates A=true,B=false``, and the given ones that no decision
        depends on; later pairs win.

        Raises ConfigError with every fault: a pair without value, a value that is no boolean, an unknown or locked
        gate; without those, a gate that is on and needs one that is off.
        """
        problems: list[str] = []
        values = _values(text, problems)
        resolved = self._resolve(values, "--feature-gates", problems)
        if unmet := self.unmet(values):
            raise ConfigError(f"--feature-gates: {problem}" for problem in unmet)
        return resolved

    def given(self, text: str) -> dict[str, bool]:
        """The pairs alone that ``parse`` reads. Raises ConfigError for one without a value, or with a wrong one."""
        problems: list[str] = []
        values = _values(text, problems)
        if problems:
            raise ConfigError(f"--feature-gates: {problem}" for problem in problems)
        return values

    def given_and_known(self, text: str) -> dict[str, bool]:
        """The pairs alone of ``--feature-gates``. Raises ConfigError as ``parse`` does."""
        self.parse(text)
        return self.given(text)

    def of_document(self, given: Mapping[str, Any]) -> FrozenMap[str, bool]:
        """Every gate of the release after a document's ``featureGates``; raises as ``parse`` does."""
        resolved = self.resolve(given)
        if unmet := self.unmet(given):
            raise ConfigError(f"featureGates: {problem}" for problem in unmet)
        return resolved

    def resolve(self, given: Mapping[str, Any]) -> FrozenMap[str, bool]:
        """Every gate of the release after some that are given, perhaps all of them as they were resolved before.

        Raises ConfigError as ``of_document`` does, except for gates that need others that are off.
        """
        problems = [
            f"{name}: expected true or false, found {value!r}"
            for name, value in given.items()
            if not isinstance(value, bool)
        ]
        booleans = {name: value for name, value in given.items() if isinstance(value, bool)}
        return self._resolve(booleans, "featureGates", problems)

    def _resolve(self, given: Mapping[str, bool], where: str, problems: list[str]) -> FrozenMap[str, bool]:
        from clusterstate.errors import nearest

        for name, value in given.items():
            gate = self.gates.get(name) or self.elsewhere.get(name)
            if gate is None:
                if name not in self.stages.values():
                    problems.append(
                        f"unrecognized feature gate: {name}{nearest(name, {**self.gates, **self.elsewhere}, 0.9)}"
                    )
            elif gate.locked and value != gate.default:
                locked, wanted = (str(flag).lower() for flag in (gate.default, value))
                problems.append(f"cannot set feature gate {name} to {wanted}, feature is locked to {locked}")
        if problems:
            raise ConfigError(f"{where}: {problem}" for problem in problems)
        beside = {name: value for name, value in given.items() if name in self.elsewhere}
        return FrozenMap(self._settled(self.gates, given) | beside)


def gate_pairs(text: str) -> list[tuple[str, str]]:
    """(name, value as it is written) of each pair of ``--feature-gates``."""
    pairs = (pair.partition("=") for pair in filter(None, (part.strip() for part in text.split(","))))
    return [(name.strip(), word.strip()) for name, _, word in pairs]


def _values(text: str, problems: list[str]) -> dict[str, bool]:
    """Name → value of ``A=true,B=false``; later pairs win."""
    given: dict[str, bool] = {}
    for name, word in gate_pairs(text):
        if not word:
            problems.append(f"missing bool value for {name}; write {name}=true or {name}=false")
        elif word in _TRUE or word in _FALSE:
            given[name] = word in _TRUE
        else:
            problems.append(f"invalid value of {name}={word}; write {name}=true or {name}=false")
    return given
