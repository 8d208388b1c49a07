"""The gates of 1.36's scheduler, those that only other components read, and gates that need others."""

from __future__ import annotations

import re

import msgspec
import pytest

import kubescheduler as ks
from clusterstate.errors import ConfigError
from kubescheduler.engine.evaluate_protocol import evaluate
from kubescheduler.releases.lookup import RELEASES

GATES = RELEASES["1.36"].gates

READ_1_36 = {
    "GA locked on": "DRAAdminAccess DynamicResourceAllocation InPlacePodVerticalScaling SchedulerQueueingHints "
    "NodeInclusionPolicyInPodTopologySpread SidecarContainers VolumeAttributesClass",
    "GA on": "DRAPrioritizedList",
    "beta on": "DRAConsumableCapacity DRADeviceBindingConditions DRADeviceTaints DRAExtendedResource "
    "DRAPartitionableDevices DRAResourceClaimDeviceStatus DRASchedulerFilterTimeout "
    "InPlacePodLevelResourcesVerticalScaling MatchLabelKeysInPodTopologySpread NodeDeclaredFeatures "
    "NominatedNodeNameForExpectation OpportunisticBatching PodLevelResources SchedulerAsyncPreemption "
    "SchedulerPopFromBackoffQ",
    "beta off": "DRADeviceTaintRules SchedulerAsyncAPICalls",
    "alpha off": "DRAListTypeAttributes DRANodeAllocatableResources DRAWorkloadResourceClaims GangScheduling "
    "GenericWorkload StorageCapacityScoring TaintTolerationComparisonOperators TopologyAwareWorkloadScheduling "
    "VolumeLimitScaling WorkloadAwarePreemption",
}


def test_the_gates_of_the_scheduler() -> None:
    """Those that 1.36's scheduler reads, with their stages and defaults, and no other."""
    found: dict[str, set[str]] = {}
    for name, gate in GATES.gates.items():
        state = "on" if gate.default else "off"
        found.setdefault(f"{gate.stage}{' locked' * gate.locked} {state}", set()).add(name)
    assert found == {kind: set(names.split()) for kind, names in READ_1_36.items()}


@pytest.mark.parametrize(
    ("release", "pair", "noted"),
    [
        ("1.36", "SELinuxMount=true", True),
        ("1.36", "SELinuxMount=false", False),
        ("1.36", "ImageVolume=true", False),
        ("1.36", "CustomCPUCFSQuotaPeriod=false", True),
        ("1.20", "RotateKubeletServerCertificate=false", True),
        ("1.20", "CPUManager=true", False),
    ],
)
def test_gates_that_no_decision_depends_on(release: str, pair: str, noted: bool) -> None:
    """The process takes them; away from the default a note says that nothing comes of it."""
    gates = RELEASES[release].gates
    name = pair.partition("=")[0]
    parsed = gates.parse(pair)
    text = f"feature gate {pair} has no effect here: no decision depends on it"
    assert gates.notes(parsed) == ([text] if noted else [])
    assert {other: value for other, value in parsed.items() if other != name} == gates.parse("")


@pytest.mark.parametrize("name", ["ImageVolume", "StreamingCollectionEncodingToJSON"])
def test_locked_gates_of_other_components(name: str) -> None:
    """They stay on."""
    with pytest.raises(ConfigError, match=f"cannot set feature gate {name} to false, feature is locked to true"):
        GATES.parse(f"{name}=false")


def faults_of(text: str) -> tuple[str, ...]:
    try:
        GATES.parse(text)
    except ConfigError as error:
        return tuple(error.problems)
    return ()


def off(name: str, *needed: str) -> str:
    return f"{name} is enabled, but depends on features that are disabled: [{' '.join(needed)}]"


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("GangScheduling=true", [off("GangScheduling", "GenericWorkload")]),
        ("GangScheduling=true,GenericWorkload=true", []),
        ("PodLevelResources=false", [off("InPlacePodLevelResourcesVerticalScaling", "PodLevelResources")]),
        ("PodLevelResources=false,InPlacePodLevelResourcesVerticalScaling=false", []),
        (
            "MatchLabelKeysInPodTopologySpread=false",
            [off("MatchLabelKeysInPodTopologySpreadSelectorMerge", "MatchLabelKeysInPodTopologySpread")],
        ),
        (
            "AllAlpha=true,GenericWorkload=false",
            [
                off(name, "GenericWorkload")
                for name in (
                    "DRAWorkloadResourceClaims",
                    "GangScheduling",
                    "TopologyAwareWorkloadScheduling",
                    "WorkloadWithJob",
                )
            ],
        ),
        ("AllAlpha=true", []),
        ("AllBeta=false", []),
        ("AllBeta=false,PodLevelResources=true", []),
    ],
)
def test_gates_that_need_others(text: str, faults: list[str]) -> None:
    """1.36 refuses a gate that is on, by name or by default, while one that it needs is off."""
    assert faults_of(text) == tuple(f"--feature-gates: {fault}" for fault in faults)


@pytest.mark.parametrize(
    ("gates", "fault"),
    [
        ({"GangScheduling": True}, off("GangScheduling", "GenericWorkload")),
        ({"GangScheduling": True, "GenericWorkload": True}, None),
        ({"PodLevelResources": False}, off("InPlacePodLevelResourcesVerticalScaling", "PodLevelResources")),
        ({"AllAlpha": True}, None),
    ],
)
def test_gates_of_documents_and_dictionaries(gates: dict[str, bool], fault: str | None) -> None:
    """The same holds for `featureGates` of a scenario, and for `gates=` in Python."""
    scenario = {"cluster": {}, "featureGates": gates, "queries": [{"pod": {"metadata": {"name": "p"}}}]}
    (answer,) = evaluate([msgspec.json.encode(scenario)], "1.36")
    given = "" if fault is None else f"featureGates: {fault}"
    assert given in (answer["error"] or "")
    assert (fault is None) is ("featureGates" not in (answer["error"] or ""))
    if fault is None:
        ks.Scheduler(ks.Cluster(release="1.36"), gates=gates)
    else:
        with pytest.raises(ConfigError, match=re.escape(fault)):
            ks.Scheduler(ks.Cluster(release="1.36"), gates=gates)


def test_what_is_needed_is_known() -> None:
    """Each name is a gate of the release that can be set."""
    for names in ((name, *needed) for name, needed in GATES.needs.items()):
        assert not any(GATES.known(name).locked for name in names)
