"""Policies of release 1.20, and what is said of faulty ones."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from clusterstate.errors import ConfigError
from kubescheduler.config.policy_1_20 import checked_policy_config_1_20, policy_config_1_20
from kubescheduler.config.policy_1_20_plugins import profile_for_provider_1_20
from kubescheduler.releases import v1_20
from kubescheduler.releases.lookup import RELEASES

policy_config = partial(policy_config_1_20, plugins=v1_20.PLUGINS)
checked_policy_config = partial(checked_policy_config_1_20, plugins=v1_20.PLUGINS)
profile_for_provider = partial(profile_for_provider_1_20, providers=v1_20.PROVIDERS, plugins=v1_20.PLUGINS)

GATES = RELEASES["1.20"].gates.resolve({})
POLICY = {"kind": "Policy", "apiVersion": "v1"}
FROM_POLICY = "couldn't create scheduler from policy: "
LABELS = {"labelsPresence": {"labels": ["x"], "presence": True}}
PREFERENCE = {"labelPreference": {"label": "x", "presence": True}}
ANTI_AFFINITY = {"serviceAntiAffinity": {"label": "x"}}
RATIO = {"requestedToCapacityRatioArguments": {"shape": [{"utilization": 0, "score": 0}]}}


def error(document: dict[str, Any]) -> str:
    """The release's own text."""
    with pytest.raises(ConfigError) as raised:
        policy_config(document, GATES)
    return "\n".join(raised.value.problems)


def problems(document: dict[str, Any]) -> list[str]:
    """What a person is told."""
    with pytest.raises(ConfigError) as raised:
        checked_policy_config(document, GATES, notice=lambda _: None)
    return list(raised.value.problems)


def notes(document: dict[str, Any]) -> list[str]:
    """What a person is told of a policy without fault."""
    told: list[str] = []
    checked_policy_config(document, GATES, notice=told.append)
    return told


def named(kind: str, *names: str, **more: Any) -> dict[str, Any]:
    """A policy with entries of some names."""
    return {**POLICY, kind: [{"name": name, **more} for name in names]}
