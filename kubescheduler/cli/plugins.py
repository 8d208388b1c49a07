"""Loading a user's own algorithms before anything is configured."""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Callable, Iterable
from functools import partial
from importlib.metadata import entry_points
from typing import Any

from clusterstate.errors import ConfigError, InputError

GROUP = "kubescheduler.algorithms"
"""Entry points of this group are called like ``--plugin``."""


def load_plugins(names: Iterable[str]) -> None:
    """Calls every installed entry point of the group, and every ``module:function`` named.

    A function takes no argument and registers what it brings with ``algorithmprovider.register_…``. Modules are
    also looked for in the current folder. Raises ConfigError with every one that cannot be loaded.
    """
    if "" not in sys.path:
        sys.path.insert(0, "")
    installed = entry_points(group=GROUP)
    loaders = {f"entry point {entry.name} = {entry.value}": entry.load for entry in installed}
    loaders |= {f"--plugin {name}": partial(_function, name) for name in names}
    problems: list[str] = []
    for source, load in loaders.items():
        try:
            load()()
        except InputError as error:
            problems += (f"{source}: {problem}" for problem in error.problems)
        except Exception as error:  # whatever a stranger's code raises
            problems.append(f"{source}: {type(error).__name__}: {error}{_place(error)}")
    if problems:
        raise ConfigError(problems)


def _function(name: str) -> Callable[[], Any]:
    module_name, _, function_name = name.partition(":")
    if not module_name or not function_name:
        raise ConfigError("write it as module:function")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise
        raise ConfigError(f"there is no module {error.name} here; run this in its folder, or install it") from error
    function = getattr(module, function_name, None)
    if not callable(function):
        from algorithmprovider.registry import nearest

        functions = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        raise ConfigError(f"module {module_name} has no function {function_name}{nearest(function_name, functions)}")
    called: Callable[[], Any] = function
    return called


def _place(error: BaseException) -> str:
    """Where in the plugin an exception was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [f for f in frames if f.filename not in (__file__, importlib.__file__) and not f.filename.startswith("<")]
    return f" ({theirs[-1].filename}, line {theirs[-1].lineno})" if theirs else ""
