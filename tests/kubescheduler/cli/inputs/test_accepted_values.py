"""Values that the API server of one release takes and another refuses, as every command judges them."""

from __future__ import annotations

from pathlib import Path

import pytest

import kubescheduler as ks
from clusterstate.errors import DecodeError
from tests.kubescheduler.cli.conftest import Run, pod
from tests.support.releases_tried import RELEASES_TRIED

GATE = "TaintTolerationComparisonOperators=true"
WHERE = 'Pod default/web: spec.tolerations[0].operator: "{}" is not one of Exists, Equal'
CAME = "(comparing values came with 1.35)"
GATED = "(comparing values takes the feature gate TaintTolerationComparisonOperators)"


def comparing(operator: str = "Lt") -> str:
    """The manifest of a pod that tolerates taints by comparing their values."""
    return pod("web", spec=f", tolerations: [{{key: a, operator: {operator}, value: '5'}}]")


@pytest.fixture(autouse=True)
def _pod(folder: Path) -> None:
    (folder / "pod.yaml").write_text(comparing())


@pytest.mark.parametrize("command", ["schedule", "capacity", "simulate", "compare"])
@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_tolerations_that_compare(kubescheduler: Run, command: str, release: str) -> None:
    """A fault as usual and when strict, a note for a warning, nothing when ignored."""
    asked = {"simulate": ["--workload", "pod.yaml"]}.get(command, ["--pod", "pod.yaml"])
    sides = ["--old", f"release={release}", "--new", f"release={release}"] if command == "compare" else []
    options = [command, "cluster.yaml", *asked, *(sides or ["--release", release])]
    text = f"{WHERE.format('Lt')} {GATED if release == '1.36' else CAME}"
    for judged in ([], ["--validate", "strict"]):
        outcome = kubescheduler(*options, *judged)
        assert (outcome.status, outcome.out) == (2, "")
        assert outcome.err == f"error: pod.yaml: {text}\n"
    outcome = kubescheduler(*options, "--validate", "warn")
    assert outcome.status == 0
    assert f"pod.yaml: {text}".replace("default/", "") in outcome.err
    outcome = kubescheduler(*options, "--validate", "ignore")
    assert (outcome.status, outcome.err.count("tolerations[")) == (0, 0)


@pytest.mark.parametrize("operator", ["Lt", "Gt"])
@pytest.mark.parametrize("command", ["schedule", "capacity", "simulate", "compare"])
def test_with_the_gate(kubescheduler: Run, command: str, operator: str) -> None:
    """1.36 takes them once the gate is on."""
    Path("pod.yaml").write_text(comparing(operator))
    asked = {"simulate": ["--workload", "pod.yaml"]}.get(command, ["--pod", "pod.yaml"])
    options = ["--release", "1.36", "--feature-gates", GATE]
    if command == "compare":
        options = ["--old", "release=1.16", "--new", f"release=1.36,feature-gates={GATE}"]
    outcome = kubescheduler(command, "cluster.yaml", *asked, *options, "--validate", "strict")
    assert (outcome.status, "tolerations" in outcome.err) == (0, False)


def test_what_is_misspelt_is_still_that(schedule: Run) -> None:
    """A value that no release has is told from one that this release does not take."""
    Path("pod.yaml").write_text(comparing("Equals"))
    err = schedule("--pod", "pod.yaml").err
    assert err == f"error: pod.yaml: {WHERE.format('Equals')}; did you mean Equal?\n"


def test_a_gate_that_is_not_known_is_reported_once(schedule: Run) -> None:
    """Beside the fault in the manifest."""
    err = schedule("--pod", "pod.yaml", "--release", "1.36", "--feature-gates", "No=true").err
    assert err.count("No") == 1
    assert GATED in err


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_other_values(release: str) -> None:
    """Volumes for single pods came with 1.22, SCTP with 1.12; fields that came later are read in every release."""
    claim = {"metadata": {"name": "c"}, "spec": {"accessModes": ["ReadWriteOncePod"]}}
    ports = [{"containerPort": 1, "protocol": "SCTP"}]
    spec = {"containers": [{"name": "c", "ports": ports, "resizePolicy": []}], "schedulingGates": []}
    documents = [
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **claim},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": spec},
    ]
    faults = []
    try:
        ks.Cluster(documents, release=release)
    except DecodeError as error:
        faults = [problem.partition(": spec.")[2] for problem in error.problems]
    single = (
        'accessModes[0]: "ReadWriteOncePod" is not one of ReadWriteOnce, ReadOnlyMany, ReadWriteMany '
        "(ReadWriteOncePod came with 1.22)"
    )
    sctp = 'containers[0].ports[0].protocol: "SCTP" is not one of TCP, UDP (SCTP came with 1.12)'
    assert faults == {"1.4": [single, sctp], "1.16": [single], "1.20": [single], "1.36": []}[release]


@pytest.mark.parametrize(
    ("release", "default", "gated"),
    [("1.21", False, None), ("1.22", False, True), ("1.25", False, True), ("1.27", True, False), ("1.29", True, None)],
)
def test_volumes_for_single_pods(release: str, default: bool, gated: bool | None) -> None:
    """They take their feature gate, as long as there is one, which is off by default up to 1.26."""
    claim = {"metadata": {"name": "c"}, "spec": {"accessModes": ["ReadWriteOncePod"]}}
    document = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **claim}
    for taken, gates in ((default, {}), (gated, {"ReadWriteOncePod": bool(gated)})):
        if taken:
            ks.Cluster([document], release=release, gates=gates)
        elif taken is False:
            text = "came with 1.22" if release == "1.21" else "takes the feature gate ReadWriteOncePod"
            with pytest.raises(DecodeError, match=rf"\(ReadWriteOncePod {text}\)"):
                ks.Cluster([document], release=release, gates=gates)


@pytest.mark.parametrize(("release", "text"), [("1.30", "came with 1.35"), ("1.35", "takes the feature gate")])
def test_the_gate_is_named_where_there_is_one(release: str, text: str) -> None:
    """Before, there is nothing that could be turned on."""
    with pytest.raises(DecodeError, match=rf"\(comparing values {text}"):
        ks.Cluster(release=release).add(comparing())


def test_python() -> None:
    """A cluster is told the gates of its API server, also when it is read for another release."""
    gates = {"TaintTolerationComparisonOperators": True}
    cluster = ks.Cluster(release="1.36", gates=gates).node("a").add(comparing())
    assert ks.Scheduler(cluster, gates=gates).decide("web").host == "a"
    assert [each.key for each in cluster.pods_from(comparing("Gt").replace("web", "x"), validate="strict")] == [
        "default/x"
    ]
    with pytest.raises(DecodeError, match="takes the feature gate"):
        ks.Cluster(release="1.36").add(comparing())
    with pytest.raises(DecodeError, match=r"came with 1\.35"):
        cluster.for_release("1.16")
    assert ks.Cluster(comparing(), validate="ignore").for_release("1.36", gates).release == "1.36"
