"""The features that pods need of their nodes."""

from __future__ import annotations

from typing import Any

import pytest

from clusterstate.objects import Container
from predicates.node_identity import HOST_NETWORK_USERS, RESTART_ALL, needed_features
from tests.support.build import make_pod

RESTARTS = Container("c", restart_rule_actions=("Restart", "RestartAllContainers"))


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({}, set(), id="none"),
        pytest.param({"containers": (Container("a"), RESTARTS)}, {RESTART_ALL}, id="container"),
        pytest.param({"init_containers": (RESTARTS,)}, {RESTART_ALL}, id="init-container"),
        pytest.param({"containers": (Container("a", restart_rule_actions=("Restart",)),)}, set(), id="other-action"),
        pytest.param({"host_network": True, "host_users": False}, {HOST_NETWORK_USERS}, id="host-network"),
        pytest.param({"host_network": True, "host_users": True}, set(), id="host-users"),
        pytest.param({"host_network": True}, set(), id="host-users-by-default"),
        pytest.param({"host_users": False}, set(), id="own-network"),
        pytest.param(
            {"host_network": True, "host_users": False, "containers": (RESTARTS,)},
            {RESTART_ALL, HOST_NETWORK_USERS},
            id="both",
        ),
    ],
)
def test_features_follow_from_the_spec(fields: dict[str, Any], expected: set[str]) -> None:
    """Of two features, as far as scheduling infers any."""
    assert needed_features(make_pod(**fields).spec) == expected
