"""Finding custom plugins: by ``module:Factory``, by entry points; and reading their args."""

from __future__ import annotations

import functools
import importlib
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import msgspec

from algorithmprovider.custom_code import RAISED, exception_text, installed_entries
from clusterstate.errors import ConfigError, DecodeError, RegistryError, nearest
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import Plugin, PluginFactory


class PluginOption(msgspec.Struct, frozen=True):
    """A custom plugin, to be registered when a scheduler is made."""

    name: str
    factory: PluginFactory


def with_plugin(name: str, factory: PluginFactory) -> PluginOption:
    """Brings a plugin along, as ``plugins`` of a scheduler: a factory of (args, handle), or a class made with these
    two. Upstream: 1.20 app.WithPlugin."""
    return PluginOption(name, factory)


def registry_with(in_tree: Mapping[str, PluginFactory], options: Iterable[PluginOption]) -> Mapping[str, PluginFactory]:
    """The scheduler's plugins and custom ones. Raises RegistryError with every name that is taken."""
    registry = dict(in_tree)
    problems: list[str] = []
    for option in options:
        if option.name in registry:
            problems.append(f"a plugin named {option.name} already exists")
        registry[option.name] = option.factory
    if problems:
        raise RegistryError(problems)
    return registry


GROUP = "kubescheduler.plugins"
"""Entry points of this group name plugins: ``NAME = module:Factory``."""

JSON, YAML = "application/json", "application/yaml"

T = TypeVar("T")


def load_factory(text: str) -> PluginOption:
    """A plugin from ``module:Factory`` or ``NAME=module:Factory``.

    Without NAME it is the factory's ``name``, or else what the factory is called. A factory is a function of
    (args, handle), or a class that is made with these two or with nothing. Raises ConfigError.
    """
    name, _, place = text.rpartition("=")
    module_name, _, attribute = place.partition(":")
    if not module_name or not attribute:
        raise ConfigError(f"{text}: write it as module:Factory, or NAME=module:Factory")
    return plugin_option(name, _found(module_name, attribute), text)


def entry_point_plugins() -> list[PluginOption]:
    """The plugins that installed packages bring. Raises ConfigError with every one that cannot be loaded."""
    options: list[PluginOption] = []
    problems: list[str] = []
    for entry in installed_entries(GROUP):
        source = f"entry point {entry.name} = {entry.value}"
        try:
            options.append(plugin_option(entry.name, entry.load(), source))
        except ConfigError as error:
            problems += error.problems
        except RAISED as error:
            problems.append(f"{source}: {exception_text(error)}")
    if problems:
        raise ConfigError(problems)
    return options


def _found(module_name: str, attribute: str) -> Any:
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise
        text = f"there is no module {error.name} here; run this in its folder, or install it"
        raise ConfigError(text) from error
    plugin = getattr(module, attribute, None)
    if not callable(plugin):
        known = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        raise ConfigError(f"module {module_name} has no factory {attribute}{nearest(attribute, known)}")
    return plugin


def plugin_option(name: str, plugin: Any, source: str = "plugin") -> PluginOption:
    """A plugin of a factory or class; without a name it is the factory's own. Raises ConfigError, with ``source``."""
    own = getattr(plugin, "name", None)
    return PluginOption(name or (own if isinstance(own, str) else str(plugin.__name__)), _factory(plugin, source))


def _factory(plugin_class: Callable[..., Any], source: str) -> PluginFactory:
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    try:
        parameters = inspect.signature(plugin_class).parameters.values()
    except ValueError:
        raise ConfigError(f"{source}: a factory takes (args, handle) or nothing, and this is none") from None
    needed = sum(p.kind in positional and p.default is p.empty for p in parameters)
    most = sum(p.kind in positional for p in parameters)
    if needed <= 2 <= most or any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return plugin_class
    if needed:
        raise ConfigError(f"{source}: a factory takes (args, handle) or nothing, this one takes {needed} arguments")

    @functools.wraps(plugin_class, updated=())
    def make(args: Any, handle: Handle) -> Plugin:  # noqa: ARG001
        plugin: Plugin = plugin_class()
        return plugin

    return make


# --- args --------------------------------------------------------------------------------------


class Unknown(msgspec.Struct, frozen=True):
    """Args of a plugin without a type, as they were written. Upstream: runtime.Unknown."""

    raw: bytes
    content_type: str = JSON


def decode_into(args: Any, record: type[T]) -> T:
    """Free-form args as a record of the plugin's own, an attrs class with defaults; None: all defaults.

    args: a mapping, or Unknown. Member names may be written like_this or likeThis; those that the record does not have
    are passed over. Raises ConfigError.
    """
    import msgspec

    if args is None:
        return record()
    given = _document(args) if isinstance(args, Unknown) else args
    if not isinstance(given, Mapping):
        raise ConfigError(f"want args of type runtime.Unknown, got {type(given).__name__}")
    try:
        return msgspec.convert({_snake(key): value for key, value in given.items()}, record, strict=False)
    except msgspec.ValidationError as error:
        raise ConfigError(str(error)) from error


def _document(args: Unknown) -> Any:
    import msgspec

    from kubescheduler.sources.yaml_stream import parse_yaml

    if args.content_type not in (JSON, YAML):
        raise ConfigError(f"not supported content type {args.content_type}")
    try:
        return (
            msgspec.json.decode(args.raw)
            if args.content_type == JSON
            else next(iter(parse_yaml("args", args.raw)), None)
        )
    except (msgspec.DecodeError, DecodeError) as error:
        raise ConfigError(str(error)) from error


def _snake(key: Any) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda match: f"_{match[1].lower()}", str(key))
