"""``kubescheduler.toml``: defaults for the options of the command line.

::

    release = "1.16"          # for every command that has the option

    [schedule]                # for one command; wins over the above
    output = "wide"
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from clusterstate.errors import ConfigError
from kubescheduler.config.config_text import parse_document, read_text

FILE_NAME = "kubescheduler.toml"

Settings = Mapping[str, Mapping[str, Any]]
"""Command → its defaults; a ChainMap of its own table and of what is set for all commands."""


def load_settings(path: str | None, cwd: Path, commands: Iterable[str]) -> Settings:
    """The settings in ``path``, or in ``kubescheduler.toml`` of ``cwd`` if that is there, in click's default_map shape.

    Options may be written with ``-`` or ``_``. Raises ConfigError for a file that is not there or is no TOML.
    """
    names = list(commands)
    file = cwd / (path or FILE_NAME)
    if path is None and not file.exists():
        return {}
    document = parse_document(read_text(file), str(file), "TOML")
    tables = {name: document.pop(name) for name in names if name in document}
    if problems := [f"{name}: expected a table [{name}]" for name, table in tables.items() if type(table) is not dict]:
        raise ConfigError(f"{file}: {problem}" for problem in problems)
    shared = _options(document)
    return {name: ChainMap(_options(tables.get(name, {})), shared) for name in names}


def check_settings(settings: Settings, known: Mapping[str, Collection[str]]) -> list[str]:
    """Every unknown name, with the nearest known one. ``known``: command → the names of its options."""
    from clusterstate.errors import nearest

    problems = []
    everywhere = {option for options in known.values() for option in options}
    shared = next((_layers(options)[1] for options in settings.values()), {})
    for name, value in shared.items():
        if isinstance(value, dict):
            problems.append(f"[{name}]: there is no such command{nearest(name, known) or _list(known)}")
        elif name not in everywhere:
            problems.append(f"{name}: no command has this option{nearest(name, everywhere)}")
    for command, options in settings.items():
        own = known.get(command, ())
        unknown = (name for name in _layers(options)[0] if name not in own)
        problems += [f"{command}.{name}: {command} has no such option{nearest(name, own)}" for name in unknown]
    return problems


def _layers(options: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """(a command's own options, those for all commands)."""
    if isinstance(options, ChainMap):
        return options.maps[0], options.maps[1]
    return options, {}


def _options(table: Mapping[str, Any]) -> dict[str, Any]:
    return {name.replace("-", "_"): value for name, value in table.items()}


def _list(names: Iterable[str]) -> str:
    return f"; there are {', '.join(names)}"
