"""What releases do not look at of pods: dropped of those that somebody wrote, and noted once."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from clusterstate.manifests.api_checks import refused
from clusterstate.manifests.decode import Decoder, Item
from clusterstate.manifests.fields import BY_ORIGIN
from clusterstate.manifests.unread import FIELDS, PodField
from clusterstate.objects import Pod, PodSpec
from kubescheduler.releases.lookup import release_named
from kubescheduler.releases.names import RELEASE_NAMES

TERM = {
    "topologyKey": "zone",
    "labelSelector": {"matchLabels": {"app": "web"}},
    "namespaceSelector": {},
    "matchLabelKeys": ["rev"],
}
CONSTRAINT = {
    "maxSkew": 1,
    "topologyKey": "zone",
    "whenUnsatisfiable": "DoNotSchedule",
    "minDomains": 2,
    "nodeAffinityPolicy": "Ignore",
    "nodeTaintsPolicy": "Honor",
    "labelSelector": {"matchLabels": {"app": "web"}},
    "matchLabelKeys": ["rev"],
}
SPEC: dict[str, Any] = {
    "containers": [{"name": "c", "image": "i"}],
    "initContainers": [{"name": "s", "image": "i", "restartPolicy": "Always"}],
    "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]}},
    "tolerations": [{"operator": "Exists"}],
    "priority": 5,
    "preemptionPolicy": "Never",
    "overhead": {"cpu": "1"},
    "resources": {"limits": {"cpu": "9"}},
    "schedulingGates": [{"name": "g"}],
    "topologySpreadConstraints": [CONSTRAINT],
    "resourceClaims": [{"name": "c", "resourceClaimName": "d"}],
    "volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}],
}


def pod(name: str = "p", spec: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
    labels = {"app": "web", "rev": "2"}
    return {"kind": "Pod", "metadata": {"name": name, "labels": labels, **metadata}, "spec": spec or SPEC}


def decoder(release: str, gates: str = "", *, fills: bool = True) -> Decoder:
    record = release_named(release)
    prepare = record.filling.pods({}) if fills else None
    return Decoder(keep_manifests=True, prepare=prepare, strictness=BY_ORIGIN.under(record.accepted_values(gates)))


def read(by: Decoder, manifest: dict[str, Any]) -> PodSpec:
    found = by.decode_object(manifest)
    assert isinstance(found, Pod)
    return found.spec


def unread(release: str, gates: str = "") -> set[str]:
    return set(release_named(release).accepted_values(gates).unread)


@pytest.mark.parametrize("given", ["yaml", "json"])
@pytest.mark.parametrize("release", RELEASE_NAMES)
def test_each_is_noted_once_for_a_file(release: str, given: str) -> None:
    """Whether it is dropped or left, and however many pods have it."""
    reads = decoder(release)
    for source in ("a", "b"):
        for name in ("one", "two"):
            manifest = pod(name, {key: value for key, value in SPEC.items() if release != "1.4" or key != "resources"})
            whole = manifest if given == "yaml" else json.loads(json.dumps(manifest))
            reads.decode_item(Item(source, whole))
    names = [name for name in FIELDS if name in unread(release) and (release != "1.4" or name != "resources")]
    shown = {name if " " in name else f"spec.{name}" for name in names}
    notes = [note.partition(" of pods ignored: ")[0] for note in reads.warnings]
    assert sorted(notes) == sorted(f"{source}: {name}" for source in "ab" for name in shown)


def test_a_spec_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading fifty pods of one spec costs no more than reading one."""
    seen: list[PodSpec] = []
    monkeypatch.setitem(FIELDS, "overhead", PodField(lambda spec: bool(seen.append(spec) or spec.overhead)))
    reads = decoder("1.15")
    for at in range(50):
        text = json.dumps(pod(f"p{at}", uid=f"u{at}")).encode()
        reads.decode_item(Item("ab"[at % 2], msgspec.Raw(text), kind="Pod", api_version="v1"))
    assert len(seen) == 1
    assert sum("overhead" in note for note in reads.warnings) == 2


@pytest.mark.parametrize(
    ("release", "gates", "expected"),
    [
        ("1.16", "", "the feature gate EvenPodsSpread is off"),
        ("1.16", "EvenPodsSpread=true", None),
        ("1.15", "", "release 1.15 does not know it"),
        ("1.18", "", None),
        ("1.25", "", None),
    ],
)
def test_why(release: str, gates: str, expected: str | None) -> None:
    """A gate that is gone is on."""
    assert release_named(release).accepted_values(gates).unread.get("topologySpreadConstraints") == expected


@pytest.mark.parametrize(
    ("release", "gates", "field", "there"),
    [
        ("1.27", "", "initContainers.restartPolicy", False),
        ("1.28", "", "initContainers.restartPolicy", False),
        ("1.28", "SidecarContainers=true", "initContainers.restartPolicy", True),
        ("1.29", "", "initContainers.restartPolicy", True),
        ("1.20", "", "affinity.namespaceSelector", False),
        ("1.21", "", "affinity.namespaceSelector", False),
        ("1.21", "PodAffinityNamespaceSelector=true", "affinity.namespaceSelector", True),
        ("1.22", "", "affinity.namespaceSelector", True),
        ("1.25", "", "affinity.matchLabelKeys", False),
        ("1.29", "", "affinity.matchLabelKeys", False),
        ("1.29", "MatchLabelKeysInPodAffinity=true", "affinity.matchLabelKeys", True),
        ("1.31", "", "affinity.matchLabelKeys", True),
        ("1.31", "MatchLabelKeysInPodAffinity=false", "affinity.matchLabelKeys", False),
        ("1.36", "", "affinity.matchLabelKeys", True),
    ],
)
def test_what_is_dropped(release: str, gates: str, field: str, there: bool) -> None:
    """Of a pod that somebody wrote, so that neither rules nor what is filled in reads it; not of a stored one."""
    found, has = read(decoder(release, gates), pod()), FIELDS[field].has
    assert has(found) is there
    assert has(read(decoder(release, gates), pod(uid="u")))
    assert has(read(decoder(release, gates), pod(resourceVersion="1")))
    assert has(read(decoder(release, gates, fills=False), pod()))
    affinity: Any = found.affinity
    [term] = affinity.pod_anti_affinity.required
    assert bool(term.label_selector.match_expressions) is ("affinity.matchLabelKeys" not in unread(release, gates))


@pytest.mark.parametrize("field", ["initContainers.restartPolicy", "affinity.namespaceSelector"])
def test_running_pods(field: str) -> None:
    """A sidecar that runs was taken when its gate was on."""
    spec = {key: value for key, value in SPEC.items() if key != "schedulingGates"}
    found = read(decoder("1.21"), pod(spec={**spec, "nodeName": "a"}))
    assert FIELDS[field].has(found) is not FIELDS[field].of_running


def test_fields_beside_annotations() -> None:
    """1.4 has annotations for them; manifests of later releases are read by their fields there, so no note is true."""
    assert not unread("1.4") & {"affinity", "initContainers", "tolerations"}


@pytest.mark.parametrize("release", ["1.16", "1.25", "1.28", "1.33"])
def test_what_is_not_read_is_not_checked(release: str) -> None:
    """Its API server drops it before it checks anything."""
    spec = {"containers": [], "resourceClaims": [{"name": "g"}], "resources": {"limits": {"ephemeral-storage": "1"}}}
    accepted = release_named(release).accepted_values()
    assert refused("Pod", {"kind": "Pod", "spec": spec}, accepted.checks) == []
    assert len(refused("Pod", {"kind": "Pod", "spec": spec}, release_named("1.36").accepted_values().checks)) == 2
