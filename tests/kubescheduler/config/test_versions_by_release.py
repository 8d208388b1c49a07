"""Which versions of configurations a release reads, and what each reads and refuses in them."""

from __future__ import annotations

from typing import Any

import pytest

from clusterstate.errors import ConfigError
from kubescheduler.config.config_schema import GROUP, KIND
from kubescheduler.config.load_config import component_config_from
from kubescheduler.framework.contract.profile import Point, SchedulerConfig
from kubescheduler.releases.lookup import RELEASES


def read(release: str, version: str, document: dict[str, Any] | None = None, **keys: Any) -> SchedulerConfig:
    """As the release says it; ``document`` as it is."""
    record = RELEASES[release]
    whole = document or {"apiVersion": f"{GROUP}/{version}", "kind": KIND, **keys}
    gates = record.gates.resolve({})
    return component_config_from(whole, record.framework_rules.component, all_problems=False, feature_gates=gates)


def error(release: str, version: str, **keys: Any) -> str:
    """The release's text; empty where it reads the document."""
    try:
        read(release, version, **keys)
    except ConfigError as fault:
        return str(fault)
    return ""


def problems(release: str, version: str, **keys: Any) -> tuple[str, ...]:
    """Every fault."""
    form, gates = RELEASES[release].framework_rules.component, RELEASES[release].gates.resolve({})
    document = {"apiVersion": f"{GROUP}/{version}", "kind": KIND, **keys}
    try:
        component_config_from(document, form, all_problems=True, feature_gates=gates)
    except ConfigError as fault:
        return tuple(fault.problems)
    return ()


def enabled(point: str, *names: str) -> dict[str, Any]:
    return {"profiles": [{"plugins": {point: {"enabled": [{"name": name} for name in names]}}}]}


def args(name: str, **args: Any) -> dict[str, Any]:
    return {"profiles": [{"pluginConfig": [{"name": name, "args": args}]}]}


@pytest.mark.parametrize(
    ("version", "first", "last"),
    [("v1beta1", "1.19", "1.22"), ("v1beta2", "1.22", "1.27"), ("v1beta3", "1.23", "1.28"), ("v1", "1.25", "1.36")],
)
def test_versions(version: str, first: str, last: str) -> None:
    """A version is read from one release to another, and refused by the others."""
    names = [f"1.{number}" for number in range(18, 37)]
    read_by = [name for name in names if not error(name, version)]
    assert read_by == names[names.index(first) : names.index(last) + 1]
    beyond = [name for name in names if name not in read_by]
    for name in (beyond[0], beyond[-1]):
        assert error(name, version).startswith(f'no kind "{KIND}" is registered for version "{GROUP}/{version}"')


V1BETA2 = "TaintToleration=1 NodeAffinity=1 InterPodAffinity=1"
V1BETA3 = "TaintToleration=3 NodeAffinity=2 InterPodAffinity=2"


@pytest.mark.parametrize(
    ("release", "version", "weights", "limits"),
    [
        ("1.23", "v1beta2", V1BETA2, True),
        ("1.25", "v1beta2", V1BETA2, True),
        ("1.25", "v1beta3", V1BETA3, True),
        ("1.27", "v1beta2", V1BETA2, True),
        ("1.28", "v1beta3", V1BETA3, True),
        ("1.30", "v1", V1BETA3, True),
        ("1.31", "v1", V1BETA3, False),
    ],
)
def test_defaults_of_a_version(release: str, version: str, weights: str, limits: bool) -> None:
    """Its weights, and whether in-tree disks are limited; what is written of it is read as the same."""
    config = read(release, version)
    plugins = config.profiles[0].plugins
    found = {plugin.name: plugin.weight for plugin in plugins[Point.SCORE]}
    assert (
        " ".join(f"{name}={found[name]}" for name in ("TaintToleration", "NodeAffinity", "InterPodAffinity")) == weights
    )
    assert ("EBSLimits" in {plugin.name for plugin in plugins[Point.FILTER]}) is limits
    assert config.document["apiVersion"] == f"{GROUP}/{version}"
    assert read(release, "", dict(config.document)).profiles[0].plugins == plugins


@pytest.mark.parametrize(
    ("release", "version", "keys", "refused"),
    [
        ("1.25", "v1", enabled("score", "SelectorSpread"), True),
        ("1.25", "v1beta3", enabled("score", "SelectorSpread"), False),
        ("1.28", "v1", enabled("preScore", "SelectorSpread"), True),
        ("1.28", "v1beta3", enabled("preScore", "SelectorSpread"), False),
        ("1.29", "v1", enabled("score", "SelectorSpread"), False),
        ("1.30", "v1", enabled("filter", "CinderLimits"), False),
        ("1.31", "v1", enabled("filter", "CinderLimits"), True),
        ("1.36", "v1", enabled("filter", "CinderLimits"), True),
    ],
)
def test_plugins_refused_by_name(release: str, version: str, keys: dict[str, Any], refused: bool) -> None:
    """A version says of some names that they are invalid in it; the others are a matter of what is registered."""
    assert ("was invalid in version" in error(release, version, **keys)) is refused


@pytest.mark.parametrize(
    ("last_without", "first_with", "version", "keys"),
    [
        ("1.22", "1.23", "v1beta2", enabled("multiPoint")),
        ("1.25", "1.26", "v1", enabled("preEnqueue")),
        ("1.25", "1.26", "v1beta3", enabled("preEnqueue")),
        ("1.25", "1.26", "v1", {"profiles": [{"percentageOfNodesToScore": 5}]}),
        ("1.27", "1.28", "v1", {"delayCacheUntilActive": True}),
        ("1.35", "1.36", "v1", enabled("placementScore")),
        ("1.26", "1.27", "v1", args("InterPodAffinity", ignorePreferredTermsOfExistingPods=True)),
        ("1.34", "1.35", "v1", args("DynamicResources", bindingTimeout="5s")),
    ],
)
def test_keys_that_came_later(last_without: str, first_with: str, version: str, keys: dict[str, Any]) -> None:
    """They are unknown fields up to a release."""
    assert "unknown field" in error(last_without, version, **keys)
    assert "unknown field" not in error(first_with, version, **keys)


LEASES = {"leaderElection": {"leaseDuration": "15s", "renewDeadline": "15s"}}
NO_LEASES = {"leaderElection": {"resourceName": "", "leaseDuration": "-1s"}}
NOT_LONGER = "leaderElection.leaseDuration: Invalid value: 15s: LeaseDuration must be greater than RenewDeadline"
LISTED = "profiles[0].pluginConfig[0].args."
SHAPE = [{"utilization": 1, "score": 0}]
FALLING = {"type": "RequestedToCapacityRatio", "requestedToCapacityRatio": {"shape": [*SHAPE, *SHAPE]}}
ADDED = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [
    {"key": "a", "operator": "Exists", "values": ["b", "c"]}]}]}}  # fmt: skip


@pytest.mark.parametrize(
    ("release", "keys", "text"),
    [
        ("1.25", LEASES, ""),
        ("1.26", LEASES, NOT_LONGER),
        ("1.33", LEASES, NOT_LONGER),
        ("1.34", LEASES, 'Invalid value: "15s": must be greater than `RenewDeadline`'),
        ("1.33", NO_LEASES, "leaderElection.leaseDuration: Invalid value: -1s: must be greater than zero"),
        ("1.34", NO_LEASES, 'leaderElection.leaseDuration: Invalid value: "-1s": must be greater than zero'),
        ("1.33", args("NodeResourcesFit", scoringStrategy=FALLING), "utilization values must be sorted in increasing"),
        ("1.34", args("NodeResourcesFit", scoringStrategy=FALLING), "1: values must be sorted in increasing order"),
        ("1.33", args("NodeAffinity", addedAffinity=ADDED), '[]string{"b", "c"}: values set must be empty'),
        ("1.34", args("NodeAffinity", addedAffinity=ADDED), '["b","c"]: values set must be empty'),
        ("1.32", args("VolumeBinding", shape=SHAPE), "[]config.UtilizationShapePoint{config.UtilizationShapePoint"
         "{Utilization:1, Score:0}}: unexpected field `shape`, remove it or turn on the feature gate Volume"),
        ("1.33", args("VolumeBinding", shape=SHAPE), "Utilization:1, Score:0}}: unexpected field `shape`, remove it or "
         "turn on the feature gate Storage"),
        ("1.34", args("VolumeBinding", shape=SHAPE), '[{"Utilization":1,"Score":0}]: unexpected field `shape`'),
        ("1.35", args("DynamicResources", bindingTimeout="10ms"), f"{LISTED}bindingTimeout: Forbidden: DRADevice"),
        ("1.36", args("DynamicResources", bindingTimeout="10ms"), '"10ms": must be at least 1 second'),
    ],
)  # fmt: skip
def test_texts_of_each_release(release: str, keys: dict[str, Any], text: str) -> None:
    """Releases before 1.34 show values as Go literals."""
    found = problems(release, "v1", **keys)
    assert text in found[0] if text else found == ()


def test_args_given_twice_are_one_fault() -> None:
    """In 1.22 to 1.24, too, where validation names it, and the framework would."""
    for release, version in (("1.22", "v1beta2"), ("1.24", "v1beta3"), ("1.25", "v1")):
        found = problems(release, version, profiles=[{"pluginConfig": [{"name": "NodeName"}, {"name": "NodeName"}]}])
        assert found == ('profiles[0].pluginConfig[1]: Duplicate value: "NodeName"',)


FOO = args("InterPodAffinity", foo=1)


@pytest.mark.parametrize(
    ("release", "version", "keys", "text"),
    [
        ("1.23", "v1beta3", FOO, "decoding .profiles[0].pluginConfig[0]: decoding args for plugin InterPodAffinity: "
         'strict decoding error: unknown field "foo"'),
        ("1.24", "v1beta3", FOO,
         "strict decoding error: decoding .profiles[0].pluginConfig[0]: strict decoding error: "
         'decoding args for plugin InterPodAffinity: strict decoding error: unknown field "foo"'),
        ("1.23", "v1beta2", {"foo": 1}, 'strict decoding error: unknown field "foo"'),
        *(
            (
                release,
                "v1beta2",
                args("InterPodAffinity", hardPodAffinityWeight=101),
                "profiles[0].pluginConfig[0].args.hardPodAffinityWeight: Invalid value: 101: "
                "not in valid range [0, 100]",
            )
            for release in ("1.22", "1.23", "1.24", "1.27")
        ),
        ("1.26", "v1", {"leaderElection": {"resourceLock": "endpoints"}}, ""),
        ("1.27", "v1", {"leaderElection": {"resourceLock": "endpoints"}},
         'leaderElection.resourceLock: Invalid value: "endpoints": resourceLock value must be "leases"'),
        ("1.25", "v1beta2", {"healthzBindAddress": "0.0.0.0:10251"},
         'healthzBindAddress: Invalid value: "0.0.0.0:10251": must be empty or with an explicit 0 port'),
    ],
)  # fmt: skip
def test_texts(release: str, version: str, keys: dict[str, Any], text: str) -> None:
    """What a release says of one fault."""
    assert error(release, version, **keys) == text


@pytest.mark.parametrize(
    ("release", "version", "text"),
    [
        ("1.22", "v1beta2", "has to match for all profiles"),
        ("1.23", "v1beta3", "has to match for all profiles"),
        ("1.29", "v1", "has to match for all profiles"),
        ("1.30", "v1", "queueSort must be the same for all profiles"),
        ("1.33", "v1", "queueSort must be the same for all profiles"),
        ("1.34", "v1", "must be the same for all profiles"),
    ],
)
def test_profiles_that_sort_otherwise(release: str, version: str, text: str) -> None:
    """They are refused, in the release's words."""
    other = {"schedulerName": "b", "plugins": {"queueSort": {"disabled": [{"name": "*"}]}}}
    found = error(release, version, profiles=[{"schedulerName": "a"}, other])
    assert found.startswith("profiles[1].plugins.queueSort: Invalid value: ")
    assert found.endswith(f": {text}")


def test_args_that_are_there_twice() -> None:
    """1.22 finds them with the rest of the configuration."""
    twice = [{"name": "InterPodAffinity", "args": {}}] * 2
    text = 'profiles[0].pluginConfig[1]: Duplicate value: "InterPodAffinity"'
    assert error("1.22", "v1beta2", profiles=[{"pluginConfig": twice}]) == text
