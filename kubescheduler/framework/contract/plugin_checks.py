"""How custom plugins are written: their name, their methods' names and arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from algorithmprovider.custom_code import defined_at
from clusterstate.errors import ConfigError
from kubescheduler.framework.contract.custom_answers import is_custom
from kubescheduler.framework.contract.misnamed_methods import misnamed_methods
from kubescheduler.framework.contract.plugin import METHOD_ARGUMENTS


def check_plugin(plugin: Any) -> None:
    """Raises ConfigError with everything that is wrong with how a custom plugin is written."""
    if is_custom(plugin) and (faults := plugin_faults(plugin)):
        raise ConfigError(faults)


def plugin_faults(plugin: Any) -> list[str]:
    """What is wrong with how a custom plugin is written: its name, its methods' names and arguments."""
    if plugin is None:
        return ["its factory answers None, and no plugin"]
    faults = []
    if not isinstance(getattr(plugin, "name", None), str):
        faults.append(f"{type(plugin).__name__} has no name; give it one: name = {type(plugin).__name__!r}")
    for method in METHOD_ARGUMENTS:
        if inspect.isfunction(getattr(type(plugin), method, None)):
            faults += _signature_faults(method, getattr(plugin, method))
    return faults + misnamed_methods(type(plugin))


def _signature_faults(method: str, bound: Callable[..., Any]) -> list[str]:
    try:
        inspect.signature(bound).bind(*[None] * METHOD_ARGUMENTS[method])
    except TypeError:
        count = METHOD_ARGUMENTS[method]
        return [f"{defined_at(bound)}{method} is called with {count} arguments, and does not take them"]
    except ValueError:
        pass
    return []
