"""/configz: the configuration that a scheduler runs by, in each release's form. Upstream: component-base's configz."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kubescheduler.live.serving.http_answers import NOSNIFF, HttpAnswer, HttpRequest, json_answer

Document = Mapping[str, Any]

GO_NAMES = {
    "qps": "QPS",
    "urlPrefix": "URLPrefix",
    "httpTimeout": "HTTPTimeout",
    "tlsConfig": "TLSConfig",
    "caFile": "CAFile",
    "caData": "CAData",
}
"""Member → the field of the internal type, where that is not the same with a capital."""
TYPE = ("apiVersion", "kind")
FIELDS_1_20 = (
    *("Parallelism", "AlgorithmSource", "LeaderElection", "ClientConnection"),
    *("HealthzBindAddress", "MetricsBindAddress", "EnableProfiling", "EnableContentionProfiling"),
    *("PercentageOfNodesToScore", "PodInitialBackoffSeconds", "PodMaxBackoffSeconds", "Profiles", "Extenders"),
)
"""Of 1.20's internal KubeSchedulerConfiguration, in order."""
POINTS_1_20 = (
    *("QueueSort", "PreFilter", "Filter", "PostFilter", "PreScore", "Score"),
    *("Reserve", "Permit", "PreBind", "Bind", "PostBind"),
)
RESOURCES = ("Resources",)
ARGS_1_20: Mapping[str, tuple[str, ...]] = {
    "DefaultPreemption": ("MinCandidateNodesPercentage", "MinCandidateNodesAbsolute"),
    "InterPodAffinity": ("HardPodAffinityWeight",),
    "NodeAffinity": ("AddedAffinity",),
    "NodeLabel": ("PresentLabels", "AbsentLabels", "PresentLabelsPreference", "AbsentLabelsPreference"),
    "NodeResourcesFit": ("IgnoredResources", "IgnoredResourceGroups"),
    "NodeResourcesLeastAllocated": RESOURCES,
    "NodeResourcesMostAllocated": RESOURCES,
    "PodTopologySpread": ("DefaultConstraints", "DefaultingType"),
    "RequestedToCapacityRatio": ("Shape", "Resources"),
    "ServiceAffinity": ("AffinityLabels", "AntiAffinityLabelsPreference"),
    "VolumeBinding": ("BindTimeoutSeconds",),
}
"""Plugin → the fields of its args, in order."""
OF_THE_API = frozenset({"AddedAffinity", "DefaultConstraints"})
"""Fields whose values keep the names of the API."""
EXTENDER_1_20: Mapping[str, Any] = {
    **dict.fromkeys(("URLPrefix", "FilterVerb", "PreemptVerb", "PrioritizeVerb"), ""),
    "Weight": 0,
    "BindVerb": "",
    "EnableHTTPS": False,
    "TLSConfig": None,
    "HTTPTimeout": "0s",
    "NodeCacheCapable": False,
    "ManagedResources": None,
    "Ignorable": False,
}
"""Field → its value when nobody says it, in order."""
TLS_1_20: Mapping[str, Any] = {
    "Insecure": False,
    "ServerName": "",
    "CertFile": "",
    "KeyFile": "",
    "CAFile": "",
    **dict.fromkeys(("CertData", "KeyData", "CAData")),
}
POINTS_1_36 = (
    "preEnqueue",
    "queueSort",
    "preFilter",
    "filter",
    "postFilter",
    "preScore",
    "score",
    "reserve",
    "permit",
    "preBind",
    "bind",
    "postBind",
    "multiPoint",
    "placementGenerate",
    "placementScore",
)
"""In the order in which they are shown."""


def configz_1_16(document: Document) -> dict[str, Any]:
    """1.16's internal type, which has no JSON names of its own."""
    found = go_names({key: value for key, value in document.items() if key != "pluginConfig"})
    source = found["AlgorithmSource"]
    election = {key: value for key, value in found["LeaderElection"].items() if not key.startswith("LockObject")}
    return {
        **found,
        "AlgorithmSource": {"Policy": _policy(source.get("Policy")), "Provider": source.get("Provider")},
        "LeaderElection": election,
        "Plugins": found.get("Plugins"),
        "PluginConfig": [_raw_args(entry) for entry in document.get("pluginConfig") or ()] or None,
    }


def configz_1_20(document: Document) -> dict[str, Any]:
    """1.20's internal type: every field in its order, and null for what nobody says."""
    found = go_names({key: value for key, value in document.items() if key not in ("profiles", "extenders")})
    source = found["AlgorithmSource"]
    whole = {
        **found,
        "AlgorithmSource": {"Policy": _policy(source.get("Policy")), "Provider": source.get("Provider")},
        "Profiles": [_profile_1_20(profile) for profile in document["profiles"]],
        "Extenders": [_extender_1_20(extender) for extender in document.get("extenders") or ()] or None,
    }
    return {name: whole[name] for name in FIELDS_1_20 if name in whole}


def _profile_1_20(profile: Document) -> dict[str, Any]:
    plugins = profile.get("plugins")
    return {
        "SchedulerName": profile["schedulerName"],
        "Plugins": None if plugins is None else {point: _point_1_20(plugins, point) for point in POINTS_1_20},
        "PluginConfig": [_args_1_20(entry) for entry in profile.get("pluginConfig") or ()] or None,
    }


def _point_1_20(plugins: Document, point: str) -> dict[str, Any] | None:
    said = plugins.get(point[:1].lower() + point[1:])
    if said is None:
        return None
    return {
        how: [{"Name": one["name"], "Weight": one.get("weight", 0)} for one in said.get(how.lower()) or ()] or None
        for how in ("Enabled", "Disabled")
    }


def _args_1_20(entry: Document) -> dict[str, Any]:
    """Args of built-in plugins are Go's types, in which constraints and terms are the API's; others are as given."""
    fields = ARGS_1_20.get(entry["name"])
    args = entry.get("args")
    if fields is None or args is None:
        return _raw_args(entry)
    named = {field: args.get(field[:1].lower() + field[1:]) for field in fields}
    return {
        "Name": entry["name"],
        "Args": {field: value if field in OF_THE_API else go_names(value) for field, value in named.items()},
    }


def _raw_args(entry: Document) -> dict[str, Any]:
    return {"Name": entry["name"], "Args": entry.get("args")}


def _extender_1_20(extender: Document) -> dict[str, Any]:
    said = go_names(extender)
    found = {name: said.get(name, empty) for name, empty in EXTENDER_1_20.items()}
    if found["TLSConfig"] is not None:
        found["TLSConfig"] = {name: found["TLSConfig"].get(name, empty) for name, empty in TLS_1_20.items()}
    for resource in found["ManagedResources"] or ():
        resource.setdefault("IgnoredByScheduler", False)
    return found


def configz_1_36(document: Document) -> dict[str, Any]:
    """The type of the configuration file, with its name first."""
    found = _typed(document)
    found["profiles"] = [_profile_1_36(profile) for profile in found["profiles"]]
    if not found.get("delayCacheUntilActive"):
        found.pop("delayCacheUntilActive", None)
    return found


def _typed(document: Document) -> dict[str, Any]:
    """A document with its type in front."""
    head = {key: document[key] for key in ("kind", "apiVersion") if key in document}
    return {**head, **{key: value for key, value in document.items() if key not in TYPE}}


def _profile_1_36(profile: Document) -> dict[str, Any]:
    """A profile with all extension points, all weights, and args that have their type in front."""
    plugins = profile.get("plugins", {})
    entries = profile.get("pluginConfig", [])
    return {
        **profile,
        "plugins": {point: _plugin_set(plugins.get(point, {})) for point in POINTS_1_36},
        "pluginConfig": [{**entry, "args": _typed(entry["args"])} if "args" in entry else entry for entry in entries],
    }


def _plugin_set(plugins: Document) -> dict[str, Any]:
    return {
        how: [{"name": one["name"], "weight": one.get("weight", 0)} for one in listed]
        for how, listed in plugins.items()
    }


def configz_page(configuration: Mapping[str, Any]) -> Callable[[HttpRequest], HttpAnswer]:
    """The page of a configuration that is in its release's form already."""
    page = json_answer({"componentconfig": configuration})
    answer = HttpAnswer(200, page.body.rstrip(b"\n"), page.content_type, NOSNIFF)
    return lambda _: answer


def go_names(value: Any) -> Any:
    """A document with members as the fields of Go's types are called, without their version and kind."""
    if isinstance(value, Mapping):
        named = {GO_NAMES.get(key, key[:1].upper() + key[1:]): go_names(inner) for key, inner in value.items()}
        return {key: inner for key, inner in named.items() if key not in ("ApiVersion", "Kind")}
    if isinstance(value, list | tuple):
        return [go_names(inner) for inner in value]
    return value


def _policy(policy: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Where a policy is: in a file, or in a ConfigMap."""
    return None if policy is None else {"File": policy.get("File"), "ConfigMap": policy.get("ConfigMap")}
