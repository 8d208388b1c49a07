from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pytest

import kubescheduler as ks
from clusterstate.cache import ClusterCache
from clusterstate.errors import ConfigError
from clusterstate.objects import FrozenMap
from kubescheduler.cli import run
from kubescheduler.config.gates import ReleaseGates
from kubescheduler.cycle.cycle_rules import NoPlugins
from kubescheduler.engine.evaluate_protocol import evaluate
from kubescheduler.engine.loop_parts import loop_parts
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.handle import Services
from kubescheduler.releases.lookup import RELEASES
from kubescheduler.releases.names import LEGACY_RELEASES
from kubescheduler.testing.named_inputs import SharedCluster
from kubescheduler.testing.placements import Placer
from tests.support.build import make_pod
from tests.support.releases_tried import RELEASES_TRIED

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


@pytest.mark.parametrize(
    ("release", "text", "on", "off"),
    [
        ("1.16", "AllAlpha=true,EvenPodsSpread=false", ["ResourceLimitsPriorityFunction"], ["EvenPodsSpread"]),
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


@pytest.mark.parametrize(
    ("release", "text", "noted"),
    [
        ("1.16", "CSINodeInfo=false,PodOverhead=true,CSIMigration=true", ["CSINodeInfo=false"]),
        ("1.20", "PodOverhead=false,CSIStorageCapacity=true", []),
        ("1.36", "SchedulerPopFromBackoffQ=false,DRADeviceTaints=false", ["SchedulerPopFromBackoffQ=false"]),
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


NAMING = {"TopologyAwareWorkloadScheduling"}
"""Gates that are asked for only to know whether plugins can be named; the plugins do nothing."""

NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n"},
    "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}},
}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "uid": "p"},
    "spec": {"containers": [{"name": "c"}]},
}


class Watched(FrozenMap[str, bool]):
    """Gates that remember which of them were asked for."""

    asked: ClassVar[set[str]] = set()

    def __getitem__(self, name: str) -> bool:
        Watched.asked.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        Watched.asked.add(name)
        return super().get(name, default)


def turned(release: str, gate: str) -> tuple[str, bool]:
    """(``Gate=value`` that is not the default, the value)."""
    value = not RELEASES[release].gates.gates[gate].default
    return f"{gate}={str(value).lower()}", value


def read_by(release: str) -> set[str]:
    """The gates that an engine of the release asks for: when it is made, in its loop, and when a pod is bound."""
    Watched.asked = set()
    record = RELEASES[release]
    gates = Watched(record.gates.resolve({}))
    engine = EngineSpec(release).engine(lambda _: None)
    parts = loop_parts(engine.scheduler(ClusterCache(engine.view)))
    if record.legacy is not None:
        record.legacy.registry(gates)
    record.accepted(gates)
    if record.framework is not None:
        services = Services(release, ClusterCache(engine.view), feature_gates=gates)
        parts.rules.pre_flight(NoPlugins(services), services, CycleState(), make_pod(), "n", False)
    return Watched.asked


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every set of gates remembers which were asked for."""
    resolve = ReleaseGates._resolve

    def watching(self: ReleaseGates, given: Mapping[str, bool], where: str, problems: list[str]) -> Watched:
        return Watched(resolve(self, given, where, problems))

    monkeypatch.setattr(ReleaseGates, "_resolve", watching)


@pytest.mark.parametrize("release", RELEASES_TRIED)
@pytest.mark.usefixtures("watched")
def test_a_gate_is_read_or_has_no_effect(release: str) -> None:
    """No gate is accepted in silence: whatever can be set is asked for somewhere, or noted as idle; not both."""
    gates = RELEASES[release].gates
    open_gates = {name for name, gate in gates.gates.items() if not gate.locked}
    read = read_by(release)
    assert open_gates - gates.idle - read == set()
    assert read & gates.idle <= NAMING


# --- doors -------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """(cluster, pod) as files."""
    cluster, pod = tmp_path / "cluster.json", tmp_path / "pod.json"
    cluster.write_text(json.dumps(NODE))
    pod.write_text(json.dumps(POD))
    return str(cluster), str(pod)


def command(*arguments: str) -> str:
    """What a command says on standard error."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        assert run(list(arguments)) == 0, said.getvalue()
    return said.getvalue()


def by_evaluate(release: str, gate: str, value: bool, _: tuple[str, str]) -> str:
    scenario = {"cluster": {"nodes": [NODE]}, "featureGates": {gate: value}, "queries": [{"pod": POD}]}
    return str(next(iter(evaluate([msgspec.json.encode(scenario)], release))).get("notes"))


def by_schedule(release: str, gate: str, value: bool, files: tuple[str, str]) -> str:
    return command("schedule", files[0], "--pod", files[1], *_flags(release, gate, value))


def by_simulate(release: str, gate: str, value: bool, files: tuple[str, str]) -> str:
    return command("simulate", files[0], "--pod", files[1], *_flags(release, gate, value))


def by_python(release: str, gate: str, value: bool, files: tuple[str, str]) -> str:
    return str(ks.Scheduler(ks.Cluster.read(files[0], release=release), gates={gate: value}).notes)


def by_pytest(release: str, gate: str, value: bool, files: tuple[str, str]) -> str:
    spec = EngineSpec(release, feature_gates=f"{gate}={str(value).lower()}")
    return str(Placer(spec, SharedCluster((files[0],))).notes)


def _flags(release: str, gate: str, value: bool) -> tuple[str, ...]:
    return "--release", release, "--feature-gates", f"{gate}={str(value).lower()}"


DOORS = (by_evaluate, by_schedule, by_simulate, by_python, by_pytest)


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
@pytest.mark.parametrize(("release", "gate"), [("1.16", "CSINodeInfo"), ("1.36", "GenericWorkload")])
def test_every_door_notes_a_gate_without_effect(door: Any, release: str, gate: str, files: tuple[str, str]) -> None:
    """By the same sentence."""
    pair, value = turned(release, gate)
    assert f"feature gate {pair} has no effect here" in door(release, gate, value, files)


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_no_door_notes_a_gate_that_works(door: Any, files: tuple[str, str]) -> None:
    """Nothing is said of it."""
    assert "has no effect here" not in door("1.16", "BalanceAttachedNodeVolumes", True, files)


GATES = RELEASES["1.36"].gates

READ_1_36 = {
    "GA locked on": "DRAAdminAccess DynamicResourceAllocation InPlacePodVerticalScaling SchedulerQueueingHints "
    "NodeInclusionPolicyInPodTopologySpread SidecarContainers VolumeAttributesClass",
    "GA on": "DRAPrioritizedList",
    "beta on": "ContainerRestartRules DRAConsumableCapacity DRADeviceBindingConditions DRADeviceTaints "
    "DRAExtendedResource DRAPartitionableDevices DRAResourceClaimDeviceStatus DRASchedulerFilterTimeout "
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
        ("MatchLabelKeysInPodTopologySpread=false", [off("MatchLabelKeysInPodTopologySpreadSelectorMerge",
         "MatchLabelKeysInPodTopologySpread")]),
        ("AllAlpha=true,GenericWorkload=false", [off(name, "GenericWorkload") for name in ("DRAWorkloadResourceClaims",
         "GangScheduling", "TopologyAwareWorkloadScheduling", "WorkloadWithJob")]),
        ("AllAlpha=true", []),
        ("AllBeta=false", []),
        ("AllBeta=false,PodLevelResources=true", []),
    ],
)  # fmt: skip
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


@pytest.mark.parametrize("release", ["1.35", "1.36"])
def test_what_is_needed_is_known(release: str) -> None:
    """Each name is a gate of a release that asks, and nothing is lacking by default."""
    gates = RELEASES[release].gates
    for names in ((name, *needed) for name, needed in gates.needs.items()):
        assert all(gates.known(name) for name in names)
    assert not gates.unmet({})


WHOLE_LISTS = {
    "1.20": 117, "1.21": 124, "1.22": 128, "1.23": 138, "1.24": 140, "1.25": 139, "1.26": 143, "1.27": 146, "1.28": 150,
    "1.29": 160, "1.30": 166, "1.31": 164, "1.32": 177, "1.33": 189, "1.34": 205, "1.35": 216, "1.36": 239,
}  # fmt: skip


@pytest.mark.parametrize(("release", "number"), WHOLE_LISTS.items())
def test_whole_lists(release: str, number: int) -> None:
    """Every gate of a process is known, those that decisions depend on once."""
    gates = RELEASES[release].gates
    assert gates.gates.keys().isdisjoint(gates.elsewhere)
    assert len(gates.gates) + len(gates.elsewhere) == number


@pytest.mark.parametrize(
    ("release", "text", "fault"),
    [
        ("1.16", "VolumeSnapshotDataSource=true", ""),
        ("1.20", "RemoveSelfLink=false", ""),
        ("1.21", "EvenPodsSpread=true", "unrecognized feature gate: EvenPodsSpread"),
        ("1.23", "csiMigrationRBD=true", ""),
        ("1.25", "CSIMigration=true", ""),
        ("1.25", "CSIMigration=false", "cannot set feature gate CSIMigration to false, feature is locked to true"),
        ("1.27", "CSIMigration=true", "unrecognized feature gate: CSIMigration"),
        ("1.27", "EventedPLEG=true", ""),
        ("1.32", "AllowServiceLBStatusOnNonLB=true", "cannot set feature gate AllowServiceLBStatusOnNonLB to true, "
         "feature is locked to false"),
        ("1.34", "GangScheduling=true", "unrecognized feature gate: GangScheduling"),
        ("1.35", "GangScheduling=true", "GangScheduling is enabled, but depends on features that are disabled: "
         "[GenericWorkload]"),
    ],
)  # fmt: skip
def test_gates_of_each_release(release: str, text: str, fault: str) -> None:
    """A gate without effect is taken where the release's process takes it, and refused in its words elsewhere."""
    gates = RELEASES[release].gates
    if fault:
        with pytest.raises(ConfigError, match=re.escape(f"--feature-gates: {fault}")):
            gates.parse(text)
    else:
        gates.parse(text)
