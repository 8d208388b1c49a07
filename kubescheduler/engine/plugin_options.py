"""Loading a user's own algorithms before anything is configured."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from algorithmprovider import custom_code
from algorithmprovider.custom_code import RAISED, called, exception_text, installed_entries
from clusterstate.errors import ConfigError, InputError, nearest
from kubescheduler.releases.names import FRAMEWORK_RELEASES, LEGACY_RELEASES, spoken

if TYPE_CHECKING:
    from kubescheduler.framework.plugin_loading import PluginOption

GROUP = "kubescheduler.algorithms"
"""Entry points of this group are called like ``--plugin``."""


def plugins_for(release: str, names: Iterable[str]) -> tuple[PluginOption, ...]:
    """What ``--plugin`` and installed packages bring to a release: algorithms that are registered, or plugins.

    Raises ConfigError with every one that cannot be loaded.
    """
    if release in LEGACY_RELEASES:
        load_plugins(names)
        return ()
    return framework_plugins(names)


def framework_plugins(names: Iterable[str]) -> tuple[PluginOption, ...]:
    """The framework plugins of ``--plugin`` and installed packages. Raises ConfigError as ``plugins_for`` does."""
    from kubescheduler.framework.plugin_loading import entry_point_plugins, load_factory

    if names := tuple(names):
        _look_here()
    options: list[PluginOption] = []
    problems: list[str] = []

    def installed() -> None:
        options.extend(entry_point_plugins())

    def named(name: str) -> None:
        try:
            options.append(load_factory(name))
        except ConfigError as error:
            raise ConfigError(problem.removeprefix(f"{name}: ") for problem in error.problems) from error

    _attempt("", installed, problems)
    for name in names:
        _attempt(f"--plugin {name}: ", partial(named, name), problems)
    if problems:
        raise ConfigError(problems)
    return tuple(options)


def plugins_for_all(names: Iterable[str]) -> tuple[PluginOption, ...]:
    """What they bring to all releases at once: the framework plugins; algorithms are registered.

    Raises ConfigError with every one that cannot be loaded.
    """
    if named := list(names):
        _look_here()
    makers = [name for name in named if _makes_a_plugin(name)]
    load_plugins(name for name in named if name not in makers)
    return framework_plugins(makers)


def _makes_a_plugin(name: str) -> bool:
    """Whether a name is that of a framework plugin, as far as it can be told without a fault."""
    module_name, _, attribute = name.rpartition("=")[2].partition(":")
    if "=" in name:
        return True
    try:
        named = getattr(called(importlib.import_module, module_name), attribute, None)
    except RAISED:  # what a module raises is said when the module is loaded
        return False
    return isinstance(named, type) or (callable(named) and _needs_arguments(named))


def no_plugins() -> str:
    """Where predicates and priorities decide, and what to do instead."""
    return (
        f"predicates and priorities decide in releases {spoken(LEGACY_RELEASES)}: name a function that "
        f"registers some, or choose --release {spoken(FRAMEWORK_RELEASES, 'or')}"
    )


def load_plugins(names: Iterable[str]) -> None:
    """Calls every installed entry point of the group, and every ``module:function`` named.

    A function takes no argument and registers what it brings with ``algorithmprovider.register_…``. Modules are
    also looked for in the current folder. Raises ConfigError with every one that cannot be loaded.
    """
    if names := tuple(names):
        _look_here()
    installed = installed_entries(GROUP)
    loaders = {f"entry point {entry.name} = {entry.value}": entry.load for entry in installed}
    loaders |= {f"--plugin {name}": partial(_function, name) for name in names}
    problems: list[str] = []
    for source, load in loaders.items():
        _attempt(f"{source}: ", partial(_called, load), problems)
    if problems:
        raise ConfigError(problems)


def _called(load: Callable[[], Callable[[], Any]]) -> None:
    load()()


def _look_here() -> None:
    """Modules are looked for in the current folder too, after all that is installed.

    Only a name given with ``--plugin`` comes to here: what lies in a folder runs when somebody says so.
    """
    if "" not in sys.path and os.getcwd() not in sys.path:
        sys.path.append("")
        importlib.invalidate_caches()


def _attempt(source: str, action: Callable[[], None], problems: list[str]) -> None:
    """``problems`` gets what goes wrong, with the source before it."""
    try:
        called(action)
    except InputError as error:
        problems += (f"{source}{problem}" for problem in error.problems)
    except RAISED as error:
        problems.append(f"{source}{exception_text(error)}{_place(error)}")


def _function(name: str) -> Callable[[], Any]:
    if "=" in name:
        raise ConfigError(f"a name belongs to a framework plugin; {no_plugins()}")
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
        functions = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        raise ConfigError(f"module {module_name} has no function {function_name}{nearest(function_name, functions)}")
    if isinstance(function, type) or _needs_arguments(function):
        raise ConfigError(f"{function_name} makes a framework plugin; {no_plugins()}")
    registers: Callable[[], Any] = function
    return registers


def _needs_arguments(function: Callable[..., Any]) -> bool:
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return any(p.kind in positional and p.default is p.empty for p in inspect.signature(function).parameters.values())


def _place(error: BaseException) -> str:
    """Where in the plugin an exception was raised."""
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    ours = (__file__, importlib.__file__, custom_code.__file__)
    theirs = [f for f in frames if f.filename not in ours and not f.filename.startswith("<")]
    return f" ({theirs[-1].filename}, line {theirs[-1].lineno})" if theirs else ""
