"""Loading custom plugins, reading their args, and registering them."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import attrs
import pytest

from clusterstate.errors import ConfigError, RegistryError
from kubescheduler.framework import plugin_loading as loading
from kubescheduler.framework.plugin_loading import (
    Unknown,
    decode_into,
    entry_point_plugins,
    load_factory,
    registry_with,
    with_plugin,
)
from tests.support.deciders import plugin

NO_HANDLE: Any = None

MODULE = """
class Named:
    name = "Mine"

    def __init__(self, args, handle):
        self.args = args


class Bare:
    def filter(self, state, pod, node_info):
        return None


def make(args, handle, extra=None):
    return Named(args, handle)


def anything(*given):
    return Named(*given)


def three(a, b, c):
    return None


number = 7
"""


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A module of plugins that can be imported."""
    (tmp_path / "h6_plugins.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("h6_plugins", None)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("h6_plugins:Named", "Mine"),
        ("Other=h6_plugins:Named", "Other"),
        ("h6_plugins:make", "make"),
        ("h6_plugins:anything", "anything"),
    ],
)
def test_a_factory_of_args_and_handle(text: str, name: str) -> None:
    """A class or a function, under its own or a given name."""
    option = load_factory(text)
    made: Any = option.factory({"a": 1}, NO_HANDLE)
    assert option.name == name
    assert made.args == {"a": 1}


def test_a_class_that_needs_nothing() -> None:
    """It is made without args."""
    option = load_factory("h6_plugins:Bare")
    assert option.name == "Bare"
    assert type(option.factory(None, NO_HANDLE)).__name__ == "Bare"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("h6_plugins", "h6_plugins: write it as module:Factory, or NAME=module:Factory"),
        (":X", ":X: write it as module:Factory, or NAME=module:Factory"),
        ("h6_nowhere:X", "there is no module h6_nowhere here; run this in its folder, or install it"),
        ("h6_plugins:Nmed", "module h6_plugins has no factory Nmed; did you mean Named?"),
        ("h6_plugins:number", "module h6_plugins has no factory number"),
        ("h6_plugins:three", "h6_plugins:three: a factory takes (args, handle) or nothing, this one takes 3 arguments"),
    ],
)
def test_what_cannot_be_loaded(text: str, problem: str) -> None:
    """The fault says what to write instead."""
    with pytest.raises(ConfigError) as raised:
        load_factory(text)
    assert raised.value.problems == (problem,)


def test_entry_points(monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry point names its plugin; all that cannot be loaded are told."""
    entries = [EntryPoint("Mine", "h6_plugins:Named", loading.GROUP)]
    monkeypatch.setattr(loading, "installed_entries", lambda group: entries)
    assert [option.name for option in entry_point_plugins()] == ["Mine"]
    entries += [EntryPoint(name, f"h6_plugins:{name}", loading.GROUP) for name in ("absent", "three")]
    with pytest.raises(ConfigError) as raised:
        entry_point_plugins()
    assert len(raised.value.problems) == 2
    assert raised.value.problems[0].startswith("entry point absent = h6_plugins:absent: AttributeError: ")


@attrs.frozen
class Args:
    node_type: str = "any"
    weights: dict[str, int] = attrs.field(factory=dict)


@pytest.mark.parametrize(
    ("given", "args"),
    [
        (None, Args()),
        ({}, Args()),
        ({"nodeType": "big", "other": 1}, Args("big")),
        ({"node_type": "big"}, Args("big")),
        (Unknown(b'{"nodeType": "big", "weights": {"nodeType": 2}}'), Args("big", {"nodeType": 2})),
        (Unknown(b"nodeType: big", "application/yaml"), Args("big")),
    ],
    ids=["none", "empty", "camel", "snake", "json", "yaml"],
)
def test_decode_into(given: Any, args: Args) -> None:
    """Free-form args become a record, with defaults for what is not said."""
    assert decode_into(given, Args) == args


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (7, "want args of type runtime.Unknown, got int"),
        (Unknown(b"", "text/plain"), "not supported content type text/plain"),
        (Unknown(b"[]"), "want args of type runtime.Unknown, got list"),
        ({"nodeType": []}, "Expected `str`, got `array` - at `$.node_type`"),
    ],
    ids=["kind", "content type", "list", "member"],
)
def test_decode_into_refuses(given: Any, problem: str) -> None:
    """Args of another kind, or of a type the record does not have."""
    with pytest.raises(ConfigError) as raised:
        decode_into(given, Args)
    assert raised.value.problems == (problem,)


@pytest.mark.parametrize("given", [Unknown(b"{"), Unknown(b"a: b: c", "application/yaml")], ids=["json", "yaml"])
def test_documents_that_cannot_be_read(given: Unknown) -> None:
    """They are faults of the configuration."""
    with pytest.raises(ConfigError):
        decode_into(given, Args)


def make(args: Any, handle: Any) -> Any:
    return plugin("A")


def test_options() -> None:
    """Plugins are brought along without changing the scheduler's own map."""
    in_tree = {"A": make}
    registry = registry_with(in_tree, [with_plugin("B", make), with_plugin("C", make)])
    assert list(registry) == ["A", "B", "C"]
    assert list(in_tree) == ["A"]
    with pytest.raises(RegistryError) as raised:
        registry_with(in_tree, [with_plugin("A", make), with_plugin("D", make), with_plugin("D", make)])
    assert raised.value.problems == ("a plugin named A already exists", "a plugin named D already exists")
