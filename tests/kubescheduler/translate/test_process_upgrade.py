"""Tests of what becomes of locks, addresses, flags and feature gates in each release that is migrated to."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from clusterstate.errors import ConfigError
from kubescheduler.config.load_config import component_config_from
from kubescheduler.framework.contract.profile import Point, SchedulerConfig
from kubescheduler.releases.lookup import release_named
from tests.support.configuring.translating import POLICY, configmap, configuration, deployment, moved, told_of

FLAGS = (
    *("--policy-configmap=p", "--leader-elect-resource-lock=endpoints", "--lock-object-name=mine"),
    *("--port=10252", "--logtostderr=true", "--bind-address=127.0.0.1", "--failure-domains=rack", "--v=2"),
)


def component(document: dict[str, Any], to: str) -> SchedulerConfig:
    """What the target release makes of a document."""
    form = release_named(to).framework_rules.component
    return component_config_from(document, form, all_problems=True)


def test_the_process_of_1_20() -> None:
    """1.20 keeps the old lock, plain HTTP and the flags for logging, which 1.36 has no more."""
    translation = moved(deployment(*FLAGS), configmap("p", policy__cfg=POLICY), to="1.20")
    document = translation.plain()
    assert document["apiVersion"] == "kubescheduler.config.k8s.io/v1beta1"
    assert document["leaderElection"] == {"resourceLock": "endpoints", "resourceName": "mine"}
    assert document["healthzBindAddress"] == document["metricsBindAddress"] == "0.0.0.0:10252"
    assert document["enableProfiling"] is False
    assert component(document, "1.20").leader_election.resource_lock == "endpoints"
    assert [told_of(translation, f"--{name}") for name in ("port", "logtostderr", "failure-domains")] == [
        ["exact"],
        [],
        ["exact"],
    ]
    assert told_of(translation, "resourceLock") == ["exact"]
    texts = " ".join(note.text for note in translation.notes)
    (line,) = (note.text for note in translation.notes if note.path == "command line")
    assert line == "start kube-scheduler 1.20 with --config=FILE --logtostderr=true --bind-address=127.0.0.1 --v=2"
    assert "1.36" not in texts


@pytest.mark.parametrize("to", ["1.20", "1.36"])
def test_v1alpha1_for_every_target(to: str) -> None:
    """What each release has a key for stays: the document is one that it accepts."""
    older = configuration(
        "v1alpha1",
        schedulerName="mine",
        disablePreemption=True,
        bindTimeoutSeconds=30,
        healthzBindAddress="0.0.0.0:10251",
        leaderElection={"lockObjectName": "mine", "resourceLock": "configmaps"},
    )
    translation = moved(older, to=to)
    config = component(translation.plain(), to)
    (found,) = config.profiles
    assert found.scheduler_name == "mine"
    assert "DefaultPreemption" not in {plugin.name for plugin in found.plugins.get(Point.POST_FILTER, ())}
    assert config.leader_election.resource_lock == {"1.20": "configmaps", "1.36": "leases"}[to]
    assert ("healthzBindAddress" in translation.plain()) == (to == "1.20")
    assert told_of(translation, "healthzBindAddress") == {"1.20": [], "1.36": ["lost"]}[to]


def test_defaults_of_the_source() -> None:
    """1.16 does not profile unless it is asked to, 1.4 and 1.20 do; 1.20 locks on leases already."""
    found = {release: moved(deployment(), to="1.36", release=release).plain() for release in ("1.4", "1.16", "1.20")}
    assert {release: document.get("enableProfiling") for release, document in found.items()} == {
        "1.4": None,
        "1.16": False,
        "1.20": None,
    }
    assert {release: document.get("leaderElection") for release, document in found.items()} == {
        "1.4": {"resourceLock": "leases"},
        "1.16": {"resourceLock": "leases"},
        "1.20": None,
    }


GATES = {
    "locked": ("1.16", "EvenPodsSpread=true", "1.20", "exact", "1.19 has it locked to true; it is left out", ""),
    "locked away": ("1.20", "EvenPodsSpread=true", "1.20", "exact", "1.20 has it locked to true", ""),
    "lost": ("1.16", "EvenPodsSpread=false", "1.20", "lost", "1.19 has it locked to true", ""),
    "removed": ("1.16", "TaintNodesByCondition=true", "1.36", "exact", "its feature is always on", ""),
    "removed, off": ("1.16", "TaintNodesByCondition=false", "1.36", "lost", "its feature is always on", ""),
    "given up": ("1.16", "ResourceLimitsPriorityFunction=true", "1.36", "lost", "its feature is gone", ""),
    "default": (*("1.16", "PodOverhead=true", "1.20", "exact", "1.20 has it still, now true by default, so"),
        "PodOverhead=true"),
    "kept": ("1.16", "PodOverhead=false", "1.20", "check", "now true by default: false is kept", "PodOverhead=false"),
    "same": (*("1.16", "BalanceAttachedNodeVolumes=1", "1.20", "check", "still, false by default"),
        "BalanceAttachedNodeVolumes=1"),
    "unknown": ("1.16", "Mine=true", "1.20", "check", "1.20 has no such gate and does not start with it", ""),
    "elsewhere": (*("1.16", "RotateKubeletServerCertificate=true", "1.20", "exact", "1.20 has it still, true by"),
        "RotateKubeletServerCertificate=true"),
    "elsewhere, kept": (*("1.20", "RotateKubeletServerCertificate=false", "1.36", "check", "false is kept"),
        "RotateKubeletServerCertificate=false"),
    "later": (*("1.20", "PodLevelResources=false", "1.36", "check", "true by default: false is kept"),
        "PodLevelResources=false"),
    "stage": ("1.16", "AllAlpha=true", "1.36", "check", "1.36 has other gates of that stage", "AllAlpha=true"),
}  # fmt: skip


@pytest.mark.parametrize(("release", "gate", "to", "kind", "text", "kept"), GATES.values(), ids=GATES.keys())
def test_feature_gates_of_a_manifest(release: str, gate: str, to: str, kind: str, text: str, kept: str) -> None:
    """Each gets a note; those that the target still takes are in the new command line."""
    translation = moved(deployment(f"--feature-gates={gate}"), to=to, release=release)
    (note,) = (note for note in translation.notes if "--feature-gates" in note.path)
    assert (note.kind.value, text in note.text) == (kind, True)
    (line,) = (note.text for note in translation.notes if note.path == "command line")
    assert line == f"start kube-scheduler {to} with --config=FILE{f' --feature-gates={kept}' if kept else ''}"


def test_several_feature_gates() -> None:
    """They stay in one flag; a value that is no boolean is an error."""
    gates = "PodOverhead=false,EvenPodsSpread=true, NonPreemptingPriority=true,Mine=true"
    translation = moved(deployment(f"--feature-gates={gates}"), to="1.20")
    assert len(told_of(translation, "--feature-gates")) == 4
    (line,) = (note.text for note in translation.notes if note.path == "command line")
    assert line.endswith("--feature-gates=PodOverhead=false,NonPreemptingPriority=true")
    with pytest.raises(ConfigError, match="invalid value of PodOverhead=maybe"):
        moved(deployment("--feature-gates=PodOverhead=maybe"))


def test_ports_beside_a_configuration() -> None:
    """They had no effect there; 1.36 serves no plain HTTP whatever they said, so the note stays."""
    manifest = deployment("--config=/etc/k/config.yaml", "--port=0", mounts={"/etc/k": "settings"})
    old = configmap("settings", config__yaml=yaml.safe_dump(configuration("v1alpha1")))
    assert told_of(moved(old, manifest, to="1.20"), "--port") == ["exact"]
    assert told_of(moved(old, manifest, to="1.36"), "--port") == ["lost"]
    assert "healthzBindAddress" not in moved(old, manifest, to="1.20").plain()
