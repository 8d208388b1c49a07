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
    found = go_names(document)
    source = found["AlgorithmSource"]
    election = {key: value for key, value in found["LeaderElection"].items() if not key.startswith("LockObject")}
    return {
        **found,
        "AlgorithmSource": {"Policy": _policy(source.get("Policy")), "Provider": source.get("Provider")},
        "LeaderElection": election,
        "Plugins": found.get("Plugins"),
        "PluginConfig": found.get("PluginConfig"),
    }


def configz_1_20(document: Document) -> dict[str, Any]:
    """1.20's internal type."""
    found = go_names(document)
    source = found.get("AlgorithmSource", {"Provider": None})
    found = {**found, "AlgorithmSource": {"Policy": _policy(source.get("Policy")), "Provider": source.get("Provider")}}
    return {**found, "Extenders": found.get("Extenders")}


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
