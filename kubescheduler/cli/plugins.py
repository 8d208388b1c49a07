"""Loading a user's own algorithms before anything is configured."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from importlib.metadata import entry_points

from clusterstate.errors import ConfigError, RegistryError

GROUP = "kubescheduler.algorithms"
"""Entry points of this group are called like ``--plugin``."""


def load_plugins(names: Iterable[str]) -> None:
    """Calls every ``module:function`` named, and every installed entry point of the group.

    A function takes no argument and registers what it brings with ``algorithmprovider.register_…``. Modules are
    also looked for in the current folder. Raises ConfigError for one that cannot be loaded.
    """
    for entry in entry_points(group=GROUP):
        entry.load()()
    for name in names:
        _load(name)


def _load(name: str) -> None:
    module_name, _, function_name = name.partition(":")
    if not module_name or not function_name:
        raise ConfigError(f"--plugin {name}: write it as module:function")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        function = getattr(importlib.import_module(module_name), function_name)
    except ImportError as error:
        raise ConfigError(f"--plugin {name}: {error}") from error
    except AttributeError as error:
        raise ConfigError(f"--plugin {name}: module {module_name} has no {function_name}") from error
    if not callable(function):
        raise ConfigError(f"--plugin {name}: {function_name} is not a function")
    try:
        function()
    except RegistryError as error:
        raise ConfigError(f"--plugin {name}: {problem}" for problem in error.problems) from error
