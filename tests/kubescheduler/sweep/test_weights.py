"""Engines with other weights than their configuration says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clusterstate.cache import ClusterCache
from clusterstate.errors import ConfigError
from clusterstate.objects import Pod
from kubescheduler.core.decision import Decision
from kubescheduler.engine.framework_engine import FrameworkEngine
from kubescheduler.engine.legacy_engine import LegacyEngine
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.framework.contract.profile import Point
from kubescheduler.sweep.weights import weighted_engine
from tests.support.build import cache_of, make_node, make_pod


def engine(spec: str, **weights: int) -> LegacyEngine | FrameworkEngine:
    """The engine of a spec with weights; no notes."""
    made = weighted_engine(EngineSpec.parse(spec), weights, pytest.fail)
    assert isinstance(made, LegacyEngine | FrameworkEngine)
    return made


def weights_of(made: LegacyEngine | FrameworkEngine) -> dict[str, int]:
    """Name → weight of all that scores, as its scheduler has it."""
    if isinstance(made, LegacyEngine):
        return {entry.config.name: entry.weight for entry in made.algorithm.priorities}
    (framework,) = made.profiles(made.services(cache_of(view=made.view))).values()
    names = [entry.name for entry in framework.profile.plugins[Point.SCORE]]
    return {name: framework.score_weights[name] for name in names}


DEFAULTS = {
    "release=1.4": "LeastRequestedPriority",
    "release=1.16": "LeastRequestedPriority",
    "release=1.16,provider=ClusterAutoscalerProvider": "MostRequestedPriority",
    "release=1.20": "NodeResourcesLeastAllocated",
    "release=1.20,provider=ClusterAutoscalerProvider": "NodeResourcesMostAllocated",
    "release=1.36": "NodeResourcesFit",
}
"""Configuration → something that scores in it with weight 1."""


@pytest.mark.parametrize(("spec", "name"), DEFAULTS.items(), ids=list(DEFAULTS))
def test_weights(spec: str, name: str) -> None:
    """A weight is changed, or what it belongs to is taken out; all others stay."""
    plain = weights_of(engine(spec))
    assert weights_of(engine(spec, **{name: 7})) == {**plain, name: 7}
    assert weights_of(engine(spec, **{name: 0})) == {key: value for key, value in plain.items() if key != name}


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("release=1.4", "MostRequestedPriority"),
        ("release=1.16", "MostRequestedPriority"),
        ("release=1.20", "NodeResourcesMostAllocated"),
        ("release=1.20,provider=ClusterAutoscalerProvider", "NodeResourcesLeastAllocated"),
    ],
)
def test_what_is_not_configured_is_added(spec: str, name: str) -> None:
    """A weight for what the configuration leaves out adds it; 0 changes nothing."""
    plain = weights_of(engine(spec))
    assert weights_of(engine(spec, **{name: 3})) == {**plain, name: 3}
    assert weights_of(engine(spec, **{name: 0})) == plain


def decision(made: LegacyEngine | FrameworkEngine, pod: Pod) -> Decision:
    nodes = [make_node("n1", {"zone": "a"}), make_node("n2", unschedulable=True), make_node("n3", {"zone": "b"})]
    return made.scheduler(ClusterCache.of(nodes, EngineSpec(release=made.release).release_view())).decide(pod)


@pytest.mark.parametrize(("spec", "name"), DEFAULTS.items(), ids=list(DEFAULTS))
def test_the_same_weights_decide_the_same(spec: str, name: str) -> None:
    """Saying the weight there is anyway changes nothing in a decision."""
    pod = make_pod("web", {"app": "web"})
    plain, said = decision(engine(spec), pod), decision(engine(spec, **{name: 1}), pod)
    assert said.reasons() == plain.reasons()
    assert (said.host, said.message) == (plain.host, plain.message)
    assert dict(zip(said.feasible, said.totals, strict=True)) == dict(zip(plain.feasible, plain.totals, strict=True))


@pytest.mark.parametrize("suffix", ["json", "toml"])
def test_policies(tmp_path: Path, suffix: str) -> None:
    """The entries of a policy file keep their arguments; one that names no priorities has the default ones."""
    label = {"name": "Rack", "weight": 2, "argument": {"labelPreference": {"label": "rack", "presence": True}}}
    texts = {
        "json": json.dumps({"kind": "Policy", "apiVersion": "v1", "priorities": [label]}),
        "toml": 'kind = "Policy"\napiVersion = "v1"\n',
    }
    path = tmp_path / f"policy.{suffix}"
    path.write_text(texts[suffix])
    spec = f"release=1.16,policy={path}"
    plain = weights_of(engine(spec))
    name = next(iter(plain))
    assert weights_of(engine(spec, **{name: 9})) == {**plain, name: 9}


def test_policies_of_config_maps(tmp_path: Path) -> None:
    """A ConfigMap's policy is changed like a file's."""
    path = tmp_path / "map.json"
    policy = {"kind": "Policy", "apiVersion": "v1", "priorities": [{"name": "EqualPriority", "weight": 1}]}
    path.write_text(json.dumps({"kind": "ConfigMap", "data": {"policy.cfg": json.dumps(policy)}}))
    assert weights_of(engine(f"policy-configmap={path}", EqualPriority=4)) == {"EqualPriority": 4}
    with pytest.raises(ConfigError, match=r"reads no ConfigMap"):
        engine(f"release=1.4,policy-configmap={path}", EqualPriority=4)


def test_policies_of_1_20(tmp_path: Path) -> None:
    """In 1.20 the weights of a policy are those of the plugins that it becomes."""
    path = tmp_path / "policy.json"
    policy = {"kind": "Policy", "apiVersion": "v1", "priorities": [{"name": "LeastRequestedPriority", "weight": 2}]}
    path.write_text(json.dumps(policy))
    made = engine(f"release=1.20,policy={path}", NodeResourcesLeastAllocated=6)
    assert weights_of(made)["NodeResourcesLeastAllocated"] == 6


def test_profiles(tmp_path: Path) -> None:
    """The weights hold in every profile, also against multiPoint."""
    path = tmp_path / "config.yaml"
    path.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n"
        "- schedulerName: a\n  plugins: {multiPoint: {enabled: [{name: ImageLocality, weight: 4}]}}\n"
        "- schedulerName: b\n  plugins: {score: {disabled: [{name: ImageLocality}]}}\n"
    )
    made = engine(f"release=1.36,config={path}", ImageLocality=8)
    assert isinstance(made, FrameworkEngine)
    frameworks = made.profiles(made.services(cache_of(view=made.view)))
    assert {name: frame.score_weights["ImageLocality"] for name, frame in frameworks.items()} == {"a": 8, "b": 8}
    off = engine(f"release=1.36,config={path}", ImageLocality=0)
    assert isinstance(off, FrameworkEngine)
    for frame in off.profiles(off.services(cache_of(view=off.view))).values():
        assert "ImageLocality" not in [entry.name for entry in frame.profile.plugins[Point.SCORE]]


@pytest.mark.parametrize(
    ("spec", "name", "problem"),
    [
        ("release=1.16", "LeastRequested", "weights.LeastRequested: release 1.16 has no priority of that name; did"),
        ("release=1.36", "NodeResourcesFit2", "weights.NodeResourcesFit2: release 1.36 has no Score plugin of that"),
        ("release=1.20", "NodeResourcesFit", "weights.NodeResourcesFit: release 1.20 has no Score plugin of that name"),
        (
            "release=1.4,config=c.yaml",
            "LeastRequestedPriority",
            "--config: release 1.4 reads no component configuration",
        ),
    ],
    ids=["priority", "plugin", "filters-only", "no-profiles"],
)
def test_names_that_score_nowhere(spec: str, name: str, problem: str) -> None:
    """A name that is not there is refused whatever its weight."""
    for weight in (0, 1):
        with pytest.raises(ConfigError) as error:
            engine(spec, **{name: weight})
        assert error.value.problems[0].startswith(problem)
