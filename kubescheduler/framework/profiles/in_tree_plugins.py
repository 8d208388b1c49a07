"""What the records of the plugins that come with a release say, each answer for all of them.

A release's own file names its plugins: ``Release.framework.component.plugins``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubescheduler.framework.args.args_type import NO_GATES, ArgsType
from kubescheduler.framework.args.document_schema import Struct
from kubescheduler.framework.args.field_errors import FieldError
from kubescheduler.framework.contract.plugin import PluginFactory
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.plugin_record import InTreePlugin
from kubescheduler.queue.queueing_hints import Registered


def by_name(*plugins: InTreePlugin) -> dict[str, InTreePlugin]:
    """Plugin → its record."""
    return {plugin.name: plugin for plugin in plugins}


def factories(plugins: Mapping[str, InTreePlugin]) -> dict[str, PluginFactory]:
    """Plugin → what makes it of its args and a Handle."""
    return {name: plugin.make for name, plugin in plugins.items()}


def points_by_plugin(plugins: Mapping[str, InTreePlugin]) -> dict[str, frozenset[Point]]:
    """Plugin → where it takes part."""
    return {name: plugin.points for name, plugin in plugins.items()}


def events_by_plugin(plugins: Mapping[str, InTreePlugin]) -> dict[str, tuple[Registered, ...]]:
    """Plugin → the events that it registers; those that register nothing are left out."""
    return {name: plugin.events for name, plugin in plugins.items() if plugin.events is not None}


# --- args --------------------------------------------------------------------------------------


def args_types(plugins: Mapping[str, InTreePlugin]) -> dict[str, ArgsType]:
    """Plugin → its args; plugins without args of a type of their own are left out."""
    return {name: plugin.args for name, plugin in plugins.items() if plugin.args is not None}


def args_keys(plugins: Mapping[str, InTreePlugin], feature_gates: Mapping[str, bool] = NO_GATES) -> dict[str, Struct]:
    """Plugin → the object that a configuration gives as its args; gates not named have the release's default."""
    return {name: kind.keys(feature_gates) for name, kind in args_types(plugins).items()}


def args_errors(plugins: Mapping[str, InTreePlugin], name: str, args: Any) -> list[FieldError]:
    """What the release finds wrong with the args of a plugin, paths beginning at the args; None has no fault."""
    kind = args_types(plugins).get(name)
    return [] if kind is None or args is None else list(kind.errors(args))
