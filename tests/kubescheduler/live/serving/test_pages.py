"""/statusz, /flagz and /configz as texts and as objects."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from kubescheduler.engine.spec import EngineSpec
from kubescheduler.live.serving.http_answers import HttpRequest
from kubescheduler.live.serving.pages import StatusPages, configz_1_16, configz_1_20, configz_1_36
from tests.support.live.live_cluster import EPOCH, StoodClock

WARNING = (
    "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees "
    "and is for debugging purposes only."
)


@pytest.fixture
def pages() -> StatusPages:
    """Of a process that is two hours, three minutes and four seconds old."""
    clock = StoodClock()
    clock.moment = 2 * 3600 + 3 * 60 + 4
    return StatusPages("1.36", {"v": "0", "bind-address": "0.0.0.0"}, clock, EPOCH)


def wanting(accept: str) -> HttpRequest:
    return HttpRequest("GET", "/statusz", headers={"Accept": accept} if accept else {})


@pytest.mark.parametrize("accept", ["", "*/*", "text/plain", "text/html, text/*;q=0.9", "application/json, text/plain"])
def test_texts(pages: StatusPages, accept: str) -> None:
    """A person gets lines: when it began, and the flags by name."""
    lines = pages.statusz(wanting(accept)).body.decode().split("\n")
    assert lines[:6] == [
        *("", "kube-scheduler statusz", WARNING, ""),
        "Started: Thu Jan 01 00:00:00 UTC 2026",
        "Up: 2 hr 03 min 04 sec",
    ]
    assert lines[7:] == [
        "Binary version: 1.36",
        "Emulation version: 1.36",
        "Paths: /configz /flagz /healthz /livez /metrics /readyz",
        "",
    ]
    flags = pages.flagz(wanting(accept)).body.decode()
    assert flags == f"\nkube-scheduler flagz\n{WARNING}\nbind-address:0.0.0.0\nv:0\n"


@pytest.mark.parametrize("media", ["json", "yaml"])
@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1"])
def test_objects(pages: StatusPages, media: str, version: str) -> None:
    """A program names kind and version; an old version has a warning."""
    got = pages.statusz(wanting(f"application/{media};v={version};g=config.k8s.io;as=Statusz"))
    document: dict[str, Any] = yaml.safe_load(got.body)
    assert (got.code, document["kind"], document["apiVersion"]) == (200, "Statusz", f"config.k8s.io/{version}")
    assert (document["uptimeSeconds"], document["startTime"]) == (7384, "2026-01-01T00:00:00Z")
    assert got.content_type == f"application/{media};g=config.k8s.io;v={version};as=Statusz"
    flags = pages.flagz(wanting(f"application/{media};v={version};g=config.k8s.io;as=Flagz"))
    assert yaml.safe_load(flags.body)["flags"] == {"bind-address": "0.0.0.0", "v": "0"}
    assert "Warning" not in flags.headers


def test_warning(pages: StatusPages) -> None:
    """Only an old version of /statusz has a warning, as an object in JSON."""
    got = [
        pages.statusz(wanting(f"application/json;v={version};g=config.k8s.io;as=Statusz")).headers
        for version in ("v1alpha1", "v1beta1")
    ]
    assert ["Warning" in headers for headers in got] == [True, False]


@pytest.mark.parametrize(
    "accept",
    [
        "application/json",
        "application/xml",
        "application/json;v=v1;g=config.k8s.io;as=Statusz",
        "application/json;v=v1beta1;g=config.k8s.io;as=Flagz",
        "application/json;v=v1beta1;as=Statusz",
    ],
)
def test_not_acceptable(pages: StatusPages, accept: str) -> None:
    """What is not had is answered with 406, and what is."""
    got = pages.statusz(wanting(accept))
    assert got.code == 406
    expected = "only the following media types are accepted: application/json, application/yaml, text/plain"
    assert json.loads(got.body)["message"] == expected


def test_configz_1_36() -> None:
    """All extension points and weights are there, types stand in front."""
    shown = configz_1_36(document_of("1.36"))
    assert list(shown)[:2] == ["kind", "apiVersion"]
    assert "delayCacheUntilActive" not in shown
    plugins = shown["profiles"][0]["plugins"]
    assert next(iter(plugins)) == "preEnqueue"
    assert plugins["filter"] == {}
    assert {"name": "NodeName", "weight": 0} in plugins["multiPoint"]["enabled"]
    assert list(shown["profiles"][0]["pluginConfig"][0]["args"])[:2] == ["kind", "apiVersion"]


RULES_1_20 = [{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway"}]
PROFILE_1_20 = {
    "schedulerName": "s",
    "plugins": {
        "score": {"enabled": [{"name": "NodeLabel"}, {"name": "Own", "weight": 3}], "disabled": [{"name": "*"}]},
        "bind": {},
    },
    "pluginConfig": [
        {"name": "NodeLabel", "args": {"kind": "NodeLabelArgs", "presentLabels": ["a"]}},
        {"name": "PodTopologySpread", "args": {"defaultConstraints": RULES_1_20, "defaultingType": "List"}},
        {"name": "RequestedToCapacityRatio", "args": {"shape": [{"utilization": 0, "score": 10}]}},
        {"name": "Own", "args": {"any": {"thing": 1}}},
    ],
}
EXTENDER_1_20 = {
    "urlPrefix": "http://e",
    "tlsConfig": {"caFile": "ca"},
    "managedResources": [{"name": "x.com/r"}],
    "httpTimeout": "1s",
}


def shown_1_20(**fields: Any) -> dict[str, Any]:
    """What 1.20 shows of a configuration with these fields."""
    return configz_1_20({**document_of("1.20"), "algorithmSource": {"provider": "P"}, **fields})


def test_configz_1_20() -> None:
    """Every field of the internal types in its order, and no version."""
    shown = shown_1_20()
    assert list(shown) == [
        *("Parallelism", "AlgorithmSource", "LeaderElection", "ClientConnection", "HealthzBindAddress"),
        *("MetricsBindAddress", "EnableProfiling", "EnableContentionProfiling", "PercentageOfNodesToScore"),
        *("PodInitialBackoffSeconds", "PodMaxBackoffSeconds", "Profiles", "Extenders"),
    ]
    assert shown["AlgorithmSource"] == {"Policy": None, "Provider": "P"}
    assert shown["ClientConnection"]["QPS"] == 50


def test_configz_of_profiles_1_20() -> None:
    """Every extension point, with null for what nobody says; arguments as the internal types have them."""
    (found,) = shown_1_20(profiles=[PROFILE_1_20])["Profiles"]
    assert list(found["Plugins"]) == [
        *("QueueSort", "PreFilter", "Filter", "PostFilter", "PreScore", "Score"),
        *("Reserve", "Permit", "PreBind", "Bind", "PostBind"),
    ]
    assert found["Plugins"]["Score"] == {
        "Enabled": [{"Name": "NodeLabel", "Weight": 0}, {"Name": "Own", "Weight": 3}],
        "Disabled": [{"Name": "*", "Weight": 0}],
    }
    assert (found["Plugins"]["Bind"], found["Plugins"]["Permit"]) == ({"Enabled": None, "Disabled": None}, None)
    assert {entry["Name"]: entry["Args"] for entry in found["PluginConfig"]} == {
        "NodeLabel": {
            "PresentLabels": ["a"],
            **dict.fromkeys(("AbsentLabels", "PresentLabelsPreference", "AbsentLabelsPreference")),
        },
        "PodTopologySpread": {"DefaultConstraints": RULES_1_20, "DefaultingType": "List"},
        "RequestedToCapacityRatio": {"Shape": [{"Utilization": 0, "Score": 10}], "Resources": None},
        "Own": {"any": {"thing": 1}},
    }


def test_configz_of_extenders_1_20() -> None:
    """Every field of an extender, with the internal type's value for what nobody says."""
    assert shown_1_20(extenders=[EXTENDER_1_20])["Extenders"] == [
        {
            **dict.fromkeys(("FilterVerb", "PreemptVerb", "PrioritizeVerb", "BindVerb"), ""),
            "URLPrefix": "http://e",
            "Weight": 0,
            "EnableHTTPS": False,
            "TLSConfig": {
                "Insecure": False,
                "ServerName": "",
                "CertFile": "",
                "KeyFile": "",
                "CAFile": "ca",
                **dict.fromkeys(("CertData", "KeyData", "CAData")),
            },
            "HTTPTimeout": "1s",
            "NodeCacheCapable": False,
            "ManagedResources": [{"Name": "x.com/r", "IgnoredByScheduler": False}],
            "Ignorable": False,
        }
    ]


def test_configz_1_16() -> None:
    """The lock has one name there."""
    shown = configz_1_16(
        {
            "apiVersion": "v",
            "kind": "k",
            "schedulerName": "s",
            "algorithmSource": {"policy": {"file": {"path": "p"}}},
            "leaderElection": {"leaderElect": True, "lockObjectName": "n", "resourceName": "n"},
            "pluginConfig": [{"name": "own", "args": {"any": 1}}],
        }
    )
    assert shown == {
        "SchedulerName": "s",
        "AlgorithmSource": {"Policy": {"File": {"Path": "p"}, "ConfigMap": None}, "Provider": None},
        "LeaderElection": {"LeaderElect": True, "ResourceName": "n"},
        "Plugins": None,
        "PluginConfig": [{"Name": "own", "Args": {"any": 1}}],
    }


def document_of(release: str) -> dict[str, Any]:
    """The default configuration of a release, as it is written."""
    text = EngineSpec(release=release).written_config(lambda _: None)
    found: dict[str, Any] = yaml.safe_load(text)
    return found
