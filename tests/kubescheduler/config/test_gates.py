from __future__ import annotations

from typing import Any

import pytest

from clusterstate.errors import ConfigError
from kubescheduler.releases.lookup import RELEASES
from kubescheduler.releases.names import LEGACY_RELEASES

DEFAULTS = {name: gate.default for name, gate in RELEASES["1.16"].gates.gates.items()}


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("", {}),
        (",", {}),
        ("EvenPodsSpread=true", {"EvenPodsSpread": True}),
        (" EvenPodsSpread = T , TaintNodesByCondition=0", {"EvenPodsSpread": True, "TaintNodesByCondition": False}),
        ("EvenPodsSpread=true,EvenPodsSpread=false", {}),
        ("PodPriority=true", {}),
        ("AllAlpha=false", {}),
    ],
    ids=["none", "comma", "one", "spaces", "last-wins", "locked-default", "all-alpha-off"],
)
def test_parse_gates(text: str, changed: dict[str, bool]) -> None:
    """The flag changes just the gates it names."""
    assert RELEASES["1.16"].gates.parse(text) == {**DEFAULTS, **changed}


def test_all_alpha() -> None:
    """AllAlpha turns on every alpha gate but those set by name."""
    gates = RELEASES["1.16"].gates.parse("AllAlpha=true,EvenPodsSpread=false")
    assert gates["ResourceLimitsPriorityFunction"]
    assert not gates["EvenPodsSpread"]
    assert all(gates[name] for name, default in DEFAULTS.items() if default)


@pytest.mark.parametrize(
    ("release", "text", "on", "off"),
    [
        ("1.20", "AllBeta=true", ["CSIMigrationAWS", "PodOverhead"], ["CSIStorageCapacity"]),
        ("1.20", "AllBeta=false", ["EvenPodsSpread"], ["PodOverhead", "DefaultPodTopologySpread"]),
        ("1.20", "AllAlpha=true,AllBeta=false", ["CSIStorageCapacity"], ["PodOverhead"]),
        ("1.36", "AllAlpha=true,WorkloadAwarePreemption=false", ["GangScheduling"], ["WorkloadAwarePreemption"]),
        ("1.36", "AllBeta=true", ["SchedulerAsyncAPICalls"], ["GenericWorkload"]),
    ],
)
def test_switches_of_a_stage(release: str, text: str, on: list[str], off: list[str]) -> None:
    """They set what is not set by name, and nothing that is locked."""
    gates = RELEASES[release].gates.parse(text)
    assert [gates[name] for name in (*on, *off)] == [True] * len(on) + [False] * len(off)


@pytest.mark.parametrize(("release", "on", "off"), [("1.20", 7, 7), ("1.36", 23, 12)])
def test_defaults_of_the_framework_releases(release: str, on: int, off: int) -> None:
    """So many gates are on, and so many off."""
    values = list(RELEASES[release].gates.resolve({}).values())
    assert (values.count(True), values.count(False)) == (on, off)


@pytest.mark.parametrize(
    ("release", "text", "noted"),
    [
        ("1.16", "CSINodeInfo=false,PodOverhead=true,CSIMigration=true", ["CSINodeInfo=false"]),
        ("1.20", "PodOverhead=false,CSIStorageCapacity=true", []),
        ("1.36", "SchedulerAsyncPreemption=false,DRADeviceTaints=false", ["SchedulerAsyncPreemption=false"]),
        ("1.36", "OpportunisticBatching=false", []),
        ("1.4", "", []),
    ],
)
def test_gates_without_effect_are_noted(release: str, text: str, noted: list[str]) -> None:
    """Only those that are set to something else than their default."""
    gates = RELEASES[release].gates
    assert gates.notes(gates.parse(text)) == [
        f"feature gate {pair} has no effect here: what it switches is not worked out" for pair in noted
    ]


def test_only_gates_that_there_are_have_no_effect() -> None:
    """And none that cannot be set."""
    for release in RELEASES.values():
        assert release.gates.idle <= release.gates.gates.keys()


def test_all_beta_is_younger_than_1_16() -> None:
    """Older releases do not know it."""
    with pytest.raises(ConfigError, match="unrecognized feature gate: AllBeta"):
        RELEASES["1.16"].gates.parse("AllBeta=true")


def test_every_fault_of_the_flag() -> None:
    """Each fault is told, with the nearest name."""
    with pytest.raises(ConfigError) as caught:
        RELEASES["1.16"].gates.parse("EvenPodSpread=true,PodPriority=false,CSIMigration,PodOverhead=on")
    assert caught.value.problems == (
        "--feature-gates: missing bool value for CSIMigration; write CSIMigration=true or CSIMigration=false",
        "--feature-gates: invalid value of PodOverhead=on; write PodOverhead=true or PodOverhead=false",
        "--feature-gates: unrecognized feature gate: EvenPodSpread; did you mean EvenPodsSpread?",
        "--feature-gates: cannot set feature gate PodPriority to false, feature is locked to true",
    )


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"EvenPodsSpread": "true"}, "featureGates: EvenPodsSpread: expected true or false, found 'true'"),
        ({"Nonsense": True}, "featureGates: unrecognized feature gate: Nonsense"),
    ],
)
def test_gates_of_a_document(given: dict[str, Any], problem: str) -> None:
    """A document's gates have to be known and boolean."""
    with pytest.raises(ConfigError) as caught:
        RELEASES["1.16"].gates.resolve(given)
    assert caught.value.problems == (problem,)
    assert RELEASES["1.16"].gates.resolve({"PodOverhead": True}) == {**DEFAULTS, "PodOverhead": True}


def test_the_registry_reads_known_gates() -> None:
    """Every gate a registry reads is known here, with the same default."""
    for release in LEGACY_RELEASES:
        known, gated = RELEASES[release].gates.gates, RELEASES[release].legacy_rules.algorithms().gated
        assert {name: known[name].default for name in gated} == {name: gate.default for name, gate in gated.items()}
