"""Documents in short."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from clusterstate.errors import ConfigError
from clusterstate.objects import NodeSelectorTerm, PreferredSchedulingTerm, Requirement, TopologySpreadConstraint
from kubescheduler.config.component_format import ComponentFormat
from kubescheduler.config.load_config import component_config_from
from kubescheduler.framework.contract.profile import Enabled, PluginSet, Point, Profile, SchedulerConfig
from kubescheduler.framework.document_schema import CPU_AND_MEMORY
from kubescheduler.framework.plugins.node_affinity import AddedAffinity, NodeAffinityArgs
from kubescheduler.framework.plugins.node_resources_fit import NodeResourcesFitArgs, ScoringStrategy
from kubescheduler.framework.plugins.pod_topology_spread import PodTopologySpreadArgs
from kubescheduler.releases.lookup import release_named
from tests.support import name_rules

GROUP = "kubescheduler.config.k8s.io"


def format_of(release: str, version: str = "") -> ComponentFormat:
    """How a release reads, checks and writes configurations; 1.36, with a beta version, the last that read that."""
    release = {"v1beta2": "1.27", "v1beta3": "1.28"}.get(version, release)
    return release_named(release).framework_rules.component


NATIVE = {"1.18": "v1alpha2", "1.19": "v1beta1", "1.20": "v1beta1", "1.36": "v1"}


def document(release: str, version: str = "", **keys: Any) -> dict[str, Any]:
    version = version or NATIVE[release]
    return {"apiVersion": f"{GROUP}/{version}", "kind": "KubeSchedulerConfiguration", **keys}


def read(release: str, *, version: str = "", all_problems: bool = False, **keys: Any) -> SchedulerConfig:
    return component_config_from(
        document(release, version, **keys), format_of(release, version), all_problems=all_problems
    )


def error(release: str, *, version: str = "", **keys: Any) -> str:
    """The release's own text."""
    with pytest.raises(ConfigError) as caught:
        read(release, version=version, **keys)
    assert len(caught.value.problems) == 1
    return caught.value.problems[0]


def problems(release: str, *, version: str = "", **keys: Any) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        read(release, version=version, all_problems=True, **keys)
    return caught.value.problems


def plugin_set(*enabled: str | tuple[str, int], disabled: tuple[str, ...] = ()) -> PluginSet:
    entries = (Enabled(item) if isinstance(item, str) else Enabled(*item) for item in enabled)
    return PluginSet(tuple(entries), disabled)


def plugins(**sets: PluginSet) -> dict[str, Any]:
    """The member ``plugins`` of a profile."""
    return {
        member: {
            "enabled": [{"name": e.name, "weight": e.weight} if e.weight else {"name": e.name} for e in found.enabled],
            "disabled": [{"name": name} for name in found.disabled],
        }
        for member, found in sets.items()
    }


def names(profile: Profile, point: Point) -> list[str]:
    return [plugin.name for plugin in profile.plugins.get(point, ())]


def weights(profile: Profile) -> dict[str, int]:
    return {plugin.name: plugin.weight for plugin in profile.plugins.get(Point.SCORE, ())}


def entry(name: str, /, **args: Any) -> dict[str, Any]:
    return {"name": name, "args": args}


def args_of(config: SchedulerConfig, name: str) -> Any:
    return dict(config.profiles[0].plugin_config)[name]


def comparable(config: SchedulerConfig) -> Mapping[str, Any]:
    """What two configurations have to share to be the same."""
    return {
        "document": config.document,
        "profiles": [
            (profile.scheduler_name, dict(profile.plugins), dict(profile.plugin_config), profile.multi_point)
            for profile in config.profiles
        ],
        "extenders": config.extenders,
        "leader_election": config.leader_election,
        "client_connection": config.client_connection,
    }


REQUIRED = "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution"
NO_VALUES = NodeSelectorTerm((Requirement("a", "In"),))
BAD_FIELD = NodeSelectorTerm((), (Requirement("metadata.name", "Exists"),))
ONLY_LISTS = "for 'in', 'notin' operators, values set can't be empty"
NAME_RULE = f"name part {name_rules.NAME_RULE}"
NO_REQUIREMENTS = "[]v1.NodeSelectorRequirement(nil)"
TERM_LITERAL = (
    'v1.NodeSelectorTerm{MatchExpressions:[]v1.NodeSelectorRequirement{v1.NodeSelectorRequirement{Key:"a", '
    f'Operator:"In", Values:[]string(nil)}}}}, MatchFields:{NO_REQUIREMENTS}}}'
)


def required(*terms: NodeSelectorTerm) -> NodeAffinityArgs:
    return NodeAffinityArgs(AddedAffinity(terms))


def preferred(*terms: PreferredSchedulingTerm) -> NodeAffinityArgs:
    return NodeAffinityArgs(AddedAffinity(None, terms))


def constraint(skew: int = 1, key: str = "zone", action: str = "DoNotSchedule", **keys: Any) -> Any:
    return TopologySpreadConstraint(skew, key, action, **keys)


def spread(*constraints: TopologySpreadConstraint, kind: str = "List") -> PodTopologySpreadArgs:
    return PodTopologySpreadArgs(constraints, kind)


def fit(kind: str = "LeastAllocated", *resources: tuple[str, int], **keys: Any) -> NodeResourcesFitArgs:
    return NodeResourcesFitArgs(scoring_strategy=ScoringStrategy(kind, resources or CPU_AND_MEMORY, **keys))
