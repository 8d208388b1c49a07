"""What a scheduler is to decide by, from the arguments of Python code: one description for all releases."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from clusterstate.errors import ConfigError, attempt, nearest
from clusterstate.manifests.fields import describe
from kubescheduler.config.config_text import parse_first_document
from kubescheduler.core.selection import FirstByName, RandomTie, TieBreak
from kubescheduler.engine.engine_flags import gates_text, max_pd_volumes
from kubescheduler.engine.spec import Engine, EngineSpec
from kubescheduler.engine.spec_fields import ARGUMENTS, SpecField
from kubescheduler.given import GATES, PATH, TEXT, WHOLE, is_text, refuse, shown_argument, wrong_type
from kubescheduler.releases.lookup import release_named

if TYPE_CHECKING:
    from kubescheduler.framework.plugin_loading import PluginOption

TIE_BREAKS = ("first", "random", "upstream")
"""Which of the nodes with the highest total is taken: the first by name, any, or as the release chooses."""


TYPES: dict[str, tuple[type, ...]] = {"text": TEXT, "file": PATH, "whole": WHOLE, "gates": GATES}
"""What an argument of each kind is."""


def engine_spec(release: str, /, *, plugins: Any = (), **given: Any) -> EngineSpec:
    """The description of one scheduler; see ``Scheduler``. Raises ConfigError with every argument that is wrong.

    given: some of ``ARGUMENTS``; None is as if nobody said it.
    """
    release_named(release)
    if "release" in given:
        raise ConfigError(f"release: it is the cluster's, {release}; give it cluster.for_release(…) of another one")
    if unknown := [name for name in given if name not in ARGUMENTS]:
        known = (*ARGUMENTS, "plugins", "release")
        there = f"; there are {', '.join(known)}"
        raise ConfigError(f"{name}: there is no such argument{nearest(name, known) or there}" for name in unknown)
    said: dict[str, Any] = {}
    problems: list[str] = []
    for argument in sorted(ARGUMENTS.values(), key=lambda each: bool(each.document)):  # what has to be read comes last
        if given.get(argument.argument) is not None:
            said |= attempt(problems, _said, argument, given[argument.argument]) or {}
    said["plugins"] = attempt(problems, lambda: tuple(plugin_options(plugins)))
    if problems:
        raise ConfigError(problems)
    return EngineSpec(release=release, max_pd_volumes=max_pd_volumes(os.environ), **said)


def _said(argument: SpecField, given: Any) -> dict[str, Any]:
    """The field to set. Raises ConfigError for what an argument cannot be."""
    if argument.document:
        return _file_or_document(argument, given)
    refuse(wrong_type(argument.argument, given, TYPES[argument.kind], argument.expected))
    if argument.kind == "gates":
        return {argument.field: gates_text(given)}
    return {argument.field: os.fspath(given) if argument.kind == "file" else given}


def _file_or_document(argument: SpecField, given: Any) -> dict[str, Any]:
    """The field to set. Raises ConfigError for what is neither a path, a document nor its text."""
    name = argument.argument
    if is_text(given):
        text = given if isinstance(given, str) else given.decode()
        return {argument.document: parse_first_document(text, name)}
    if isinstance(given, str | os.PathLike):
        return {argument.field: os.fspath(given)}
    if isinstance(given, Mapping):
        return {argument.document: given}
    raise ConfigError(f"{name}: expected a file name, a document as a dict, or its text, found {describe(given)}")


def plugin_options(plugins: Any) -> Iterable[PluginOption]:
    """Custom framework plugins from a mapping of names, classes, factories, or texts such as ``module:Factory``.

    Raises ConfigError.
    """
    if isinstance(plugins, Mapping):
        return [_named_plugin(name, factory) for name, factory in plugins.items()]
    several = isinstance(plugins, Iterable) and not isinstance(plugins, str) and not callable(plugins)
    return [_plugin(each) for each in (plugins if several else [plugins])]


def _named_plugin(name: str, factory: Any) -> PluginOption:
    if not callable(factory):
        raise ConfigError(f"plugins: {name}: expected a class or a factory, found {shown_argument(factory)}")
    from kubescheduler.framework.plugin_loading import plugin_option

    return plugin_option(name, factory)


def _plugin(given: Any) -> PluginOption:
    from kubescheduler.framework.plugin_loading import PluginOption, load_factory, plugin_option

    if isinstance(given, PluginOption):
        return given
    if isinstance(given, str):
        return load_factory(given)
    if callable(given):
        return plugin_option("", given)
    raise ConfigError(f"plugins: expected a class, a factory or text like module:Factory, found {describe(given)}")


def tie_break_of(engine: Engine, name: str, seed: int | None) -> TieBreak:
    """Which of equal nodes is taken. Raises ConfigError for a name that is not known."""
    refuse(wrong_type("seed", seed, WHOLE, "a whole number"))
    if name not in TIE_BREAKS:
        raise ConfigError(
            f"tie_break: {name!r} is not known; known are {', '.join(TIE_BREAKS)}{nearest(str(name), TIE_BREAKS)}"
        )
    if name == "first":
        return FirstByName()
    rng = random.Random(seed)
    return RandomTie(rng) if name == "random" else engine.upstream_tie(rng)


def described(given: Any, release: str) -> EngineSpec:
    """One side of a comparison: text such as ``release=1.36,config=sched.yaml``, or the arguments of a scheduler.

    A mapping has the keys of ``Scheduler``'s arguments and ``release``, by default the cluster's. Raises ConfigError.
    """
    if isinstance(given, EngineSpec):
        return given
    if isinstance(given, str):
        return EngineSpec.parse(given, release=release)
    if isinstance(given, Mapping):
        arguments = {str(key): value for key, value in given.items()}
        return engine_spec(arguments.pop("release", release), **arguments)
    raise ConfigError(
        f'expected text like "release=1.36,config=sched.yaml" or a dict of a scheduler\'s arguments, '
        f"found {describe(given)}"
    )
