"""Command lines and files that are refused, in which words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.live.process_settings import GROUP, a_file, fault, settings

PORT = "--secure-port 70000 must be between 1 and 65535, inclusive. It cannot be turned off with 0"
RANGE = "must be between 0 and 65535, inclusive"
FLAG_FAULTS = [
    ("1.16", "--secure-port=70000", PORT),
    ("1.20", "--secure-port=70000", PORT),
    ("1.36", "--secure-port=70000", PORT),
    ("1.36", "--secure-port=-1", f"--secure-port -1 {RANGE}. 0 for turning off secure port"),
    ("1.16", "--port=70000", f"--port 70000 {RANGE}. 0 for turning off insecure (HTTP) port"),
    ("1.20", "--port=70000", f"--port 70000 {RANGE}. 0 for turning off insecure (HTTP) port"),
    ("1.16", "--address=x", "--address x is an invalid IP address"),
    (
        "1.16",
        "--use-legacy-policy-config",
        "policyConfigFile: Required value: required when --use-legacy-policy-config is true",
    ),
    (
        "1.20",
        "--use-legacy-policy-config",
        "policyConfigFile: Required value: required when --use-legacy-policy-config is true",
    ),
    (
        "1.16",
        "--hard-pod-affinity-symmetric-weight=101",
        "hardPodAffinitySymmetricWeight: Invalid value: 101: not in valid range 0-100",
    ),
    (
        "1.20",
        "--hard-pod-affinity-symmetric-weight=101",
        "hardPodAffinitySymmetricWeight: Invalid value: 101: not in valid range [0-100]",
    ),
    (
        "1.20",
        "--show-hidden-metrics-for-version=1.30",
        "--show-hidden-metrics-for-version must be omitted or have the value '1.19'. "
        "Only the previous minor version is allowed",
    ),
    (
        "1.36",
        "--show-hidden-metrics-for-version=1.30",
        "metrics.showHiddenMetricsForVersion: Invalid value: \"1.30\": must be omitted or have the value '1.35'; "
        "only the previous minor version is allowed",
    ),
    (
        "1.36",
        "--show-hidden-metrics-for-version=1.30 --secure-port=70000",
        f"[{PORT}, metrics.showHiddenMetricsForVersion: Invalid value: \"1.30\": must be omitted or have the value "
        "'1.35'; only the previous minor version is allowed]",
    ),
    ("1.36", "--feature-gates=Foo=true", "unrecognized feature gate: Foo"),
    ("1.36", "--feature-gates=A", "missing bool value for A"),
    (
        "1.36",
        "--feature-gates=kube:SchedulerQueueingHints=false",
        "cannot set feature gate SchedulerQueueingHints to false, feature is locked to true",
    ),
    ("1.36", "--config=nosuch", "open nosuch: no such file or directory"),
    ("1.20", "--config=nosuch", "open nosuch: no such file or directory"),
    ("1.16", "--config=nosuch", "open nosuch: no such file or directory"),
    ("1.16", "--policy-config-file=nosuch", "missing policy config file nosuch"),
    ("1.20", "--policy-config-file=nosuch", "missing policy config file nosuch"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("release", "line", "text"), FLAG_FAULTS, ids=[f"{release} {line}" for release, line, _ in FLAG_FAULTS]
)
def test_faults_of_flags(release: str, line: str, text: str) -> None:
    """Upstream's texts, and its aggregate where there are several."""
    assert fault(release, "--master=x", *line.split()) == text


FILE_FAULTS: list[tuple[str, dict[str, Any], tuple[str, ...], str]] = [
    ("an unknown key", {"nosuch": 1}, (), 'strict decoding error: unknown field "nosuch"'),
    (
        "an unknown version",
        {"apiVersion": f"{GROUP}/v1beta1"},
        (),
        f'no kind "KubeSchedulerConfiguration" is registered for version "{GROUP}/v1beta1" '
        'in scheme "pkg/scheduler/apis/config/scheme/scheme.go:',
    ),
    ("parallelism", {"parallelism": 0}, (), "parallelism: Invalid value: 0: should be an integer value greater than"),
    (
        "two profiles of one name",
        {"profiles": [{"schedulerName": "a"}, {"schedulerName": "a"}]},
        (),
        "profiles[1].schedulerName: Duplicate value",
    ),
    (
        "a lease that is too short",
        {"leaderElection": {"leaseDuration": "5s"}},
        (),
        "leaderElection.leaseDuration: Invalid value: ",
    ),
    (
        "a flag beside it",
        {},
        ("--leader-elect-lease-duration=5s",),
        "leaderElection.leaseDuration: Invalid value: ",
    ),
    (
        "a lock that is gone",
        {},
        ("--leader-elect-resource-lock=endpoints",),
        'leaderElection.resourceLock: Invalid value: "endpoints": resourceLock value must be "leases"',
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "words", "text"), [row[1:] for row in FILE_FAULTS], ids=[row[0] for row in FILE_FAULTS]
)
def test_faults_of_files_of_1_36(tmp_path: Path, content: dict[str, Any], words: tuple[str, ...], text: str) -> None:
    """1.36's texts, with the flags that override the file."""
    assert text in fault("1.36", a_file(tmp_path, "1.36", **content), *words)


@pytest.mark.parametrize(
    "word", ["--leader-elect-lease-duration=5s", "--leader-elect-resource-lock=endpoints"], ids=["lease", "lock"]
)
def test_1_36_does_not_look_at_the_election_of_flags(word: str) -> None:
    """Without a file the elector finds such faults, later."""
    assert settings("1.36", "--master=x", word).election.leader_elect


@pytest.mark.parametrize("release", ["1.16", "1.20"])
def test_1_16_and_1_20_do(release: str) -> None:
    """They validate the defaults with the flags."""
    text = "leaderElection.leaseDuration: Invalid value: 10s: LeaseDuration must be greater than RenewDeadline"
    assert fault(release, "--master=x", "--leader-elect-lease-duration=5s") == text


def test_a_policy_beside_profiles(tmp_path: Path) -> None:
    """1.20 refuses a policy with a file whose profiles say something of plugins."""
    policy = tmp_path / "policy.json"
    policy.write_text('{"kind": "Policy", "apiVersion": "v1"}')
    file = a_file(tmp_path, "1.20", profiles=[{"plugins": {"score": {"disabled": [{"name": "*"}]}}}])
    assert fault("1.20", file, f"--policy-config-file={policy}") == "cannot set a Plugin config and Policy config"
