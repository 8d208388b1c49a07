"""Where release 1.20 takes its algorithm from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clusterstate.errors import ConfigError
from kubescheduler.config.policy.policy_1_20_plugins import (
    AlgorithmSource,
    algorithm_source_1_20,
    hard_weight_error_1_20,
    refuse_policy_beside,
)
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.inter_pod_affinity import InterPodAffinityArgs
from kubescheduler.releases.lookup import RELEASES
from tests.support.configuring.policies_1_20 import profile_for_provider

GATES = RELEASES["1.20"].gates.resolve({})


@pytest.mark.parametrize(
    ("flags", "source"),
    [
        ({}, AlgorithmSource(provider="DefaultProvider")),
        ({"provider": ""}, AlgorithmSource(provider="DefaultProvider")),
        ({"provider": "X"}, AlgorithmSource(provider="X")),
        ({"provider": "X", "policy_file": "f"}, AlgorithmSource(policy_file="f")),
        ({"policy_file": "f", "policy_configmap": "c"}, AlgorithmSource(policy_configmap="c")),
        (
            {"policy_file": "f", "policy_configmap": "c", "use_legacy_policy_config": True},
            AlgorithmSource(policy_file="f"),
        ),
    ],
    ids=["default", "empty", "provider", "file", "configmap", "legacy"],
)
def test_source(flags: dict[str, Any], source: AlgorithmSource) -> None:
    """The first that is given counts."""
    assert algorithm_source_1_20(**flags) == source


def test_legacy_flag_without_a_file() -> None:
    """It needs one."""
    with pytest.raises(ConfigError) as raised:
        algorithm_source_1_20(use_legacy_policy_config=True, policy_configmap="c")
    assert str(raised.value) == "policyConfigFile: Required value: required when --use-legacy-policy-config is true"


def test_reading(tmp_path: Path) -> None:
    """A provider has no document; policies are read from YAML or JSON, or out of a ConfigMap."""
    assert AlgorithmSource(provider="X").read_policy() is None
    policy = tmp_path / "policy.yaml"
    policy.write_text("kind: Policy\napiVersion: v1\n")
    assert AlgorithmSource(policy_file=str(policy)).read_policy() == {"kind": "Policy", "apiVersion": "v1"}
    configmap = tmp_path / "map.json"
    configmap.write_text('{"kind": "ConfigMap", "data": {"policy.cfg": "kind: Policy"}}')
    assert AlgorithmSource(policy_configmap=str(configmap)).read_policy() == {"kind": "Policy"}
    configmap.write_text('{"kind": "ConfigMap", "data": {}}')
    with pytest.raises(ConfigError, match=r'missing policy config map value at key "policy\.cfg"'):
        AlgorithmSource(policy_configmap=str(configmap)).read_policy()
    missing = tmp_path / "none.yaml"
    with pytest.raises(ConfigError, match=f"missing policy config file {missing}"):
        AlgorithmSource(policy_file=str(missing)).read_policy()


@pytest.mark.parametrize(
    ("configuration", "refused"),
    [
        ({}, False),
        ({"profiles": [{"schedulerName": "x", "pluginConfig": []}]}, False),
        ({"profiles": [{}, {}]}, True),
        ({"profiles": [{"plugins": {}}]}, True),
        ({"profiles": [{"pluginConfig": [{"name": "A"}]}]}, True),
    ],
    ids=["none", "name-alone", "two", "plugins", "args"],
)
def test_policy_beside_a_configuration(configuration: dict[str, Any], refused: bool) -> None:
    """A policy cannot be set with a profile that says something itself."""
    if not refused:
        refuse_policy_beside(configuration)
        return
    with pytest.raises(ConfigError, match=r"^cannot set a Plugin config and Policy config$"):
        refuse_policy_beside(configuration)


def test_hard_weight() -> None:
    """0 to 100."""
    assert hard_weight_error_1_20(0) is hard_weight_error_1_20(100) is None
    text = "hardPodAffinitySymmetricWeight: Invalid value: {}: not in valid range [0-100]"
    assert [hard_weight_error_1_20(weight) for weight in (-1, 101)] == [text.format(-1), text.format(101)]


def test_providers() -> None:
    """They differ in one plugin."""
    default, autoscaler = (
        profile_for_provider(name, GATES) for name in ("DefaultProvider", "ClusterAutoscalerProvider")
    )
    for point, plugins in default.plugins.items():
        other = autoscaler.plugins[point]
        changed = [(a.name, b.name) for a, b in zip(plugins, other, strict=True) if a != b]
        assert changed == (
            [("NodeResourcesLeastAllocated", "NodeResourcesMostAllocated")] if point is Point.SCORE else []
        )


def test_provider_without_the_gate() -> None:
    """SelectorSpread is appended."""
    found = profile_for_provider(
        "DefaultProvider", RELEASES["1.20"].gates.resolve({"DefaultPodTopologySpread": False}), "me"
    )
    assert found.plugins[Point.PRE_SCORE][-1].name == "SelectorSpread"
    assert (found.plugins[Point.SCORE][-1].name, found.plugins[Point.SCORE][-1].weight) == ("SelectorSpread", 1)
    assert found.scheduler_name == "me"


def test_provider_with_a_hard_weight() -> None:
    """The flag's weight becomes args."""
    found = profile_for_provider("DefaultProvider", GATES, hard_weight=7)
    assert found.plugin_config == (("InterPodAffinity", InterPodAffinityArgs(7)),)
    assert profile_for_provider("DefaultProvider", GATES).plugin_config == ()


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("DefaultProvide", "; did you mean DefaultProvider?"),
        ("x", "; there are DefaultProvider and ClusterAutoscalerProvider"),
    ],
)
def test_unknown_provider(name: str, hint: str) -> None:
    """The release's text, and for a person what to give instead."""
    text = f'couldn\'t create scheduler using provider "{name}": algorithm provider "{name}" is not registered'
    for hinted in (False, True):
        with pytest.raises(ConfigError) as raised:
            profile_for_provider(name, GATES, hint=hinted)
        assert str(raised.value) == text + hint * hinted
