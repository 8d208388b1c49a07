from __future__ import annotations

from typing import Any

import pytest

from clusterstate.objects import LabelSelector
from kubescheduler.config.component import default_config
from kubescheduler.framework.plugins.node_resources_fit import NodeResourcesFitArgs
from kubescheduler.framework.plugins.plugin_record import args_errors
from kubescheduler.framework.plugins.pod_topology_spread import PodTopologySpreadArgs
from tests.support.configuring.component_build import NAME_RULE, constraint, format_of, spread

SPREADS: list[Any] = [
    pytest.param(
        spread(constraint(), kind="System"),
        ['defaultingType: Invalid value: "System": when .defaultConstraints are not empty'],
        id="system-with-constraints",
    ),
    pytest.param(
        spread(constraint(key="")), ["defaultConstraints[0].topologyKey: Required value: can not be empty"], id="no-key"
    ),
    pytest.param(
        spread(constraint(action="")),
        ["defaultConstraints[0].whenUnsatisfiable: Required value: can not be empty"],
        id="no-action",
    ),
    pytest.param(
        spread(constraint(key="a b")),
        [f'defaultConstraints[0].topologyKey: Invalid value: "a b": {NAME_RULE}'],
        id="key",
    ),
    pytest.param(
        spread(constraint(action="X")),
        [
            'defaultConstraints[0].whenUnsatisfiable: Unsupported value: "X": '
            'supported values: "DoNotSchedule", "ScheduleAnyway"'
        ],
        id="action",
    ),
    pytest.param(
        spread(constraint(label_selector=LabelSelector())),
        [
            "defaultConstraints[0].labelSelector: Forbidden: "
            "constraint must not define a selector, as they deduced for each pod"
        ],
        id="selector",
    ),
    pytest.param(
        spread(constraint(), constraint(action="ScheduleAnyway"), constraint(2)),
        ['defaultConstraints[2]: Duplicate value: "{zone, DoNotSchedule}"'],
        id="repeated",
    ),
    pytest.param(spread(constraint(), constraint(key="host")), [], id="fine"),
]
IGNORED: list[Any] = [
    pytest.param(
        NodeResourcesFitArgs(("a.b/c", "a b")),
        [f'ignoredResources[1]: Invalid value: "a b": {NAME_RULE}'],
        id="resource",
    ),
    pytest.param(
        NodeResourcesFitArgs((), ("a.b/c",)),
        ["ignoredResourceGroups[0]: Invalid value: \"a.b/c\": resource group name can't contain '/'"],
        id="group",
    ),
    pytest.param(
        NodeResourcesFitArgs((), ("a b",)),
        [f'ignoredResourceGroups[0]: Invalid value: "a b": {NAME_RULE}'],
        id="group-name",
    ),
    pytest.param(NodeResourcesFitArgs(("a.b/c",), ("a.b",)), [], id="ignored-fine"),
]


def texts(errors: list[Any]) -> list[str]:
    return [str(error) for error in errors]


@pytest.mark.parametrize(("args", "expected"), SPREADS)
def test_spread_of_both(args: PodTopologySpreadArgs, expected: list[str]) -> None:
    """Default constraints are checked alike."""
    assert texts(args_errors(format_of("1.20").plugins, "PodTopologySpread", args)) == expected
    assert texts(args_errors(format_of("1.36").plugins, "PodTopologySpread", args)) == expected


@pytest.mark.parametrize(("args", "expected"), IGNORED)
def test_ignored_of_both(args: NodeResourcesFitArgs, expected: list[str]) -> None:
    """Names of ignored resources are checked alike."""
    assert texts(args_errors(format_of("1.20").plugins, "NodeResourcesFit", args)) == expected
    assert texts(args_errors(format_of("1.36").plugins, "NodeResourcesFit", args)) == expected


@pytest.mark.parametrize("release", ["1.20", "1.36"])
def test_defaults_are_fine(release: str) -> None:
    """Default args have no fault."""
    for name, args in default_config(format_of(release)).profiles[0].plugin_config:
        assert args_errors(format_of(release).plugins, name, args) == [], name
