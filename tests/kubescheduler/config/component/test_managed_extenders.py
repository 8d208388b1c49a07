from __future__ import annotations

from typing import Any

import pytest

from kubescheduler.config.component import component_config_from
from kubescheduler.extender.config import ExtenderConfig, ManagedResource, TLSConfig
from kubescheduler.framework.plugins.node_resources_fit import NodeResourcesFitArgs
from tests.support.configuring.component_build import (
    args_of,
    comparable,
    entry,
    error,
    format_of,
    plugin_set,
    plugins,
    problems,
    read,
)

RELEASES = pytest.mark.parametrize("release", ["1.20", "1.36"])


def managing(prefix: str, *names: str, ignored: bool = True, **keys: Any) -> dict[str, Any]:
    resources = [{"name": name, "ignoredByScheduler": ignored} for name in names]
    return {"urlPrefix": prefix, "managedResources": resources, **keys}


@RELEASES
def test_members(release: str) -> None:
    """Every member of an extender is read."""
    given = {
        "urlPrefix": "https://x",
        "filterVerb": "f",
        "preemptVerb": "v",
        "prioritizeVerb": "p",
        "weight": 5,
        "bindVerb": "b",
        "enableHTTPS": True,
        "tlsConfig": {"insecure": True, "serverName": "s", "certFile": "c", "keyFile": "k", "caData": "YQ=="},
        "httpTimeout": "1m30s",
        "nodeCacheCapable": True,
        "managedResources": [{"name": "a.b/c", "ignoredByScheduler": True}, {"name": "a.b/d"}],
        "ignorable": True,
    }
    expected = ExtenderConfig(
        url_prefix="https://x",
        filter_verb="f",
        prioritize_verb="p",
        preempt_verb="v",
        bind_verb="b",
        weight=5,
        enable_https=True,
        tls=TLSConfig(insecure=True, server_name="s", cert_file="c", key_file="k", ca_data=b"a"),
        http_timeout_ns=90 * 10**9,
        node_cache_capable=True,
        managed_resources=(ManagedResource("a.b/c", True), ManagedResource("a.b/d")),
        ignorable=True,
    )
    config = read(release, extenders=[given])
    assert config.extenders == (expected,)
    again = component_config_from(config.document, format_of(release), all_problems=True)
    assert comparable(again) == comparable(config)


@pytest.mark.parametrize("key", ["enableHttps", "URLPrefix", "httptimeout"])
def test_exact_keys(key: str) -> None:
    """Keys of extenders count in their exact case, unlike in policies."""
    assert "unknown field" in error("1.36", extenders=[{"urlPrefix": "x", key: None}])


@RELEASES
def test_ignorable_extenders_last(release: str) -> None:
    """Ignorable extenders are asked behind the others, in their order."""
    given = [{"urlPrefix": prefix, "ignorable": prefix.islower()} for prefix in ("a", "B", "c", "D")]
    assert [extender.url_prefix for extender in read(release, extenders=given).extenders] == ["B", "D", "a", "c"]


@RELEASES
def test_ignored_resources(release: str) -> None:
    """Resources that the scheduler is to ignore become args of NodeResourcesFit in every profile."""
    config = read(
        release,
        profiles=[{"schedulerName": "a"}, {"schedulerName": "b"}],
        extenders=[managing("x", "a.b/c"), managing("y", "a.b/d", ignored=False), managing("z", "a.b/e", "a.b/f")],
    )
    expected = NodeResourcesFitArgs(ignored_resources=("a.b/c", "a.b/e", "a.b/f"))
    for profile in config.profiles:
        assert [args for name, args in profile.plugin_config if name == "NodeResourcesFit"] == [expected]


def test_args_of_ones_own_1_20() -> None:
    """1.20 then has two entries, which the framework refuses."""
    keys: dict[str, Any] = {
        "profiles": [{"pluginConfig": [entry("NodeResourcesFit", ignoredResources=["a.b/x"])]}],
        "extenders": [managing("x", "a.b/c")],
    }
    entries = [args for name, args in read("1.20", **keys).profiles[0].plugin_config if name == "NodeResourcesFit"]
    assert entries == [NodeResourcesFitArgs(("a.b/x",)), NodeResourcesFitArgs(("a.b/c",))]
    assert problems("1.20", **keys) == (
        "profiles[0].pluginConfig[0]: repeated config for plugin NodeResourcesFit; "
        "the resources that extenders have ignoredByScheduler are another one; take this one out",
    )


def test_args_of_ones_own_1_36() -> None:
    """1.36 replaces the list in the args there are."""
    fit = entry(
        "NodeResourcesFit",
        ignoredResources=["a.b/x"],
        ignoredResourceGroups=["d.e"],
        scoringStrategy={"type": "MostAllocated"},
    )
    config = read("1.36", profiles=[{"pluginConfig": [fit]}], extenders=[managing("x", "a.b/c")])
    args = args_of(config, "NodeResourcesFit")
    assert (args.ignored_resources, args.ignored_resource_groups) == (("a.b/c",), ("d.e",))
    assert args.scoring_strategy.type == "MostAllocated"


def test_no_args_to_replace_1_36() -> None:
    """Without NodeResourcesFit there are no args to put the list in."""
    keys: dict[str, Any] = {
        "profiles": [{"plugins": plugins(multiPoint=plugin_set(disabled=("NodeResourcesFit",)))}],
        "extenders": [managing("x", "a.b/c")],
    }
    text = "couldn't build extenders: can't find NodeResourcesFitArgs in plugin config"
    assert error("1.36", **keys) == text
    assert problems("1.36", **keys) == (text,)
