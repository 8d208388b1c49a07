"""Random configurations that are valid."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from kubescheduler.framework.contract.profile import Point
from kubescheduler.releases.lookup import RELEASES
from tests.support.configuring.component_build import document

Drawn = st.SearchStrategy[Any]

words = st.text("abcxyz09-é: '#\"", min_size=1, max_size=6)
labels = st.sampled_from(["a", "zone", "example.com/rack", "app.kubernetes.io/name"])
resources = st.sampled_from(["cpu", "memory", "example.com/gpu", "ephemeral-storage"])
weights = st.integers(1, 100)


def some(**keys: Drawn) -> Drawn:
    """A mapping with any of the keys."""
    return st.fixed_dictionaries({}, optional=keys)


def named(names: Drawn, **more: Drawn) -> Drawn:
    return st.fixed_dictionaries({"name": names}, optional=more)


def unique(items: Drawn, key: str, size: int = 3) -> Drawn:
    return st.lists(items, max_size=size, unique_by=lambda item: item[key])


requirements = st.one_of(
    st.fixed_dictionaries(
        {
            "key": labels,
            "operator": st.sampled_from(["In", "NotIn"]),
            "values": st.lists(st.sampled_from(["x", "y"]), min_size=1),
        }
    ),
    st.fixed_dictionaries({"key": labels, "operator": st.sampled_from(["Exists", "DoesNotExist"])}),
    st.fixed_dictionaries({"key": labels, "operator": st.just("Gt"), "values": st.just(["5"])}),
)
fields = st.just([{"key": "metadata.name", "operator": "In", "values": ["n1"]}])
terms = some(matchExpressions=st.lists(requirements, max_size=2), matchFields=fields)
affinity = some(
    requiredDuringSchedulingIgnoredDuringExecution=some(nodeSelectorTerms=st.lists(terms, max_size=2)),
    preferredDuringSchedulingIgnoredDuringExecution=st.lists(
        st.fixed_dictionaries({"weight": weights, "preference": terms}), max_size=2
    ),
)
weighted = unique(named(resources, weight=weights), "name")
all_weighted = unique(st.fixed_dictionaries({"name": resources, "weight": weights}), "name")
shapes = st.lists(st.integers(0, 100), min_size=1, max_size=3, unique=True).flatmap(
    lambda utilizations: st.tuples(
        *(
            st.fixed_dictionaries({"utilization": st.just(at), "score": st.integers(0, 10)})
            for at in sorted(utilizations)
        )
    ).map(list)
)
constraints = unique(
    st.fixed_dictionaries(
        {
            "maxSkew": st.integers(1, 5),
            "topologyKey": labels,
            "whenUnsatisfiable": st.sampled_from(["DoNotSchedule", "ScheduleAnyway"]),
        }
    ),
    "topologyKey",
)
spreads: Drawn = st.fixed_dictionaries(
    {"defaultConstraints": constraints, "defaultingType": st.just("List")}
) | st.just({})
ignored: dict[str, Drawn] = {"ignoredResources": st.lists(labels), "ignoredResourceGroups": st.just(["example.com"])}
strategies = st.fixed_dictionaries(
    {"type": st.sampled_from(["LeastAllocated", "MostAllocated"])}, optional={"resources": weighted}
) | st.fixed_dictionaries(
    {"type": st.just("RequestedToCapacityRatio"), "requestedToCapacityRatio": shapes.map(lambda s: {"shape": s})}
)
durations = st.integers(1, 10**7).map(lambda milliseconds: f"{milliseconds + 1000}ms")
label_lists = st.lists(labels, max_size=2)

NEEDS_ARGS = ("RequestedToCapacityRatio",)
ARGS_OF_BOTH: dict[str, Drawn] = {
    "DefaultPreemption": some(
        minCandidateNodesPercentage=st.integers(0, 100), minCandidateNodesAbsolute=st.integers(1, 200)
    ),
    "InterPodAffinity": some(hardPodAffinityWeight=st.integers(0, 100)),
    "NodeAffinity": some(addedAffinity=affinity),
    "PodTopologySpread": spreads,
    "VolumeBinding": some(bindTimeoutSeconds=st.integers(1, 1000)),
    "Mine": some(anything=words, more=st.lists(st.integers() | words)),
}
ARGS: dict[str, dict[str, Drawn]] = {
    "1.20": {
        **ARGS_OF_BOTH,
        "NodeResourcesFit": some(**ignored),
        "NodeResourcesLeastAllocated": some(resources=all_weighted),
        "NodeResourcesMostAllocated": some(resources=all_weighted),
        "RequestedToCapacityRatio": st.fixed_dictionaries({"shape": shapes}, optional={"resources": all_weighted}),
        "NodeLabel": some(presentLabels=label_lists, absentLabelsPreference=label_lists),
        "ServiceAffinity": some(affinityLabels=label_lists, antiAffinityLabelsPreference=label_lists),
    },
    "1.36": {
        **ARGS_OF_BOTH,
        "InterPodAffinity": some(
            hardPodAffinityWeight=st.integers(0, 100), ignorePreferredTermsOfExistingPods=st.booleans()
        ),
        "NodeResourcesFit": some(**ignored, scoringStrategy=strategies),
        "NodeResourcesBalancedAllocation": some(resources=unique(named(resources, weight=st.just(1)), "name")),
        "DynamicResources": some(filterTimeout=durations, bindingTimeout=durations),
    },
}


def plugin_config(release: str, without: tuple[str, ...]) -> Drawn:
    entries = [
        st.fixed_dictionaries({"name": st.just(name), "args": args})
        for name, args in ARGS[release].items()
        if name not in without
    ]
    return unique(st.one_of(entries), "name", size=4)


def _sets(names: list[str], weight: Drawn) -> Drawn:
    """A point at which some plugins are enabled; those are disabled among the defaults first."""

    def build(enabled: list[dict[str, Any]], others: list[str]) -> dict[str, Any]:
        disabled = dict.fromkeys([*(plugin["name"] for plugin in enabled), *others])
        return {"enabled": enabled, "disabled": [{"name": name} for name in disabled]}

    enabled = unique(named(st.sampled_from(names), weight=weight), "name")
    return st.builds(build, enabled, st.lists(st.sampled_from([*names, "Gone"]), max_size=2))


def plugins(release: str) -> Drawn:
    """Changes at some points; queue sort and bind stay, as a profile needs them."""
    rules = RELEASES[release].framework_rules
    points: Mapping[str, Any] = rules.points_by_plugin
    members: dict[str, Drawn] = {}
    for point in rules.points:
        names = sorted(name for name, there in points.items() if point in there and name not in NEEDS_ARGS)
        if names and point not in (Point.QUEUE_SORT, Point.BIND):
            members[point.value] = _sets(names, weights)
    if release == "1.36":
        names = sorted(name for name in points if name not in ("PrioritySort", "DefaultBinder", "NodeResourcesFit"))
        members["multiPoint"] = _sets(names, weights)
    return some(**members)


def extenders(release: str) -> Drawn:
    extender = st.fixed_dictionaries(
        {"urlPrefix": words},
        optional={
            "filterVerb": words,
            "preemptVerb": words,
            "weight": st.integers(1, 2**63 - 1),
            "enableHTTPS": st.booleans(),
            "tlsConfig": some(insecure=st.booleans(), serverName=words, caData=st.sampled_from(["", "YWJj"])),
            "httpTimeout": durations,
            "nodeCacheCapable": st.booleans(),
            "ignorable": st.booleans(),
        },
    )
    managing = extender.map(
        lambda keys: {**keys, "managedResources": [{"name": "example.com/a", "ignoredByScheduler": True}]}
    )
    return st.builds(
        lambda first, last: [*first, *last], st.lists(extender, max_size=2), st.lists(managing, max_size=1)
    )


def profile(release: str, name: str, *, without: tuple[str, ...]) -> Drawn:
    more: dict[str, Drawn] = {"percentageOfNodesToScore": st.integers(0, 100)} if release == "1.36" else {}
    return st.fixed_dictionaries(
        {"schedulerName": st.just(name)},
        optional={"plugins": plugins(release), "pluginConfig": plugin_config(release, without), **more},
    )


@st.composite
def documents(draw: st.DrawFn, release: str) -> dict[str, Any]:
    """A KubeSchedulerConfiguration in the release's own version."""
    keys: dict[str, Any] = draw(
        some(
            parallelism=st.integers(1, 2**31 - 1),
            leaderElection=some(
                leaderElect=st.booleans(), leaseDuration=st.just("1h2m3.5s"), resourceName=words, retryPeriod=durations
            ),
            clientConnection=some(
                kubeconfig=words, qps=st.integers(1, 500) | st.just(0.5), burst=st.integers(0, 500), contentType=words
            ),
            enableProfiling=st.booleans(),
            enableContentionProfiling=st.booleans(),
            percentageOfNodesToScore=st.integers(0, 100),
            podInitialBackoffSeconds=st.integers(1, 10),
            podMaxBackoffSeconds=st.integers(10, 2**63 - 1),
            extenders=extenders(release),
        )
    )
    if release == "1.20":
        keys |= draw(some(healthzBindAddress=st.just(":80"), metricsBindAddress=st.just("::1")))
    else:
        keys |= draw(some(delayCacheUntilActive=st.booleans()))
    managing = any("managedResources" in extender for extender in keys.get("extenders", ()))
    without = ("NodeResourcesFit",) if release == "1.20" and managing else ()
    count = draw(st.integers(0, 2))
    keys["profiles"] = [draw(profile(release, f"profile {at}", without=without)) for at in range(count)]
    return document(release, **keys)
