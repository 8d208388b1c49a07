"""``kubescheduler.toml``: defaults for the options of the command line.

::

    release = "1.16"          # for every command that has the option

    [schedule]                # for one command; wins over the above
    output = "wide"
"""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from clusterstate.errors import ConfigError
from kubescheduler.config.config_text import parse_document, read_text
from kubescheduler.engine.spec_fields import SPEC_FIELDS

FILE_NAME = "kubescheduler.toml"

Settings = Mapping[str, ChainMap[str, Any]]
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
    shared = next((options.maps[1] for options in settings.values()), {})
    for name, value in shared.items():
        if isinstance(value, dict):
            problems.append(f"[{name}]: there is no such command{nearest(name, known) or _list(known)}")
        elif name not in everywhere:
            problems.append(f"{name}: no command has this option{nearest(name, everywhere)}")
    for command, options in settings.items():
        own = known.get(command, ())
        unknown = (name for name in options.maps[0] if name not in own)
        problems += [f"{command}.{name}: {command} has no such option{nearest(name, own)}" for name in unknown]
    return problems


# --- files that nobody named ---------------------------------------------------------------

_SHOWS = frozenset(
    (
        *("release", "output", "explain", "top", "node", "pairs", "limit", "applied", "placements", "timings", "bare"),
        *("browser",),
    )
)
"""How answers look, and the release, which they show: set without a word."""

_CHANGES = frozenset(
    (
        *(each.parameter for each in SPEC_FIELDS if each.field != "release"),
        *("tie_break", "seed", "preempt", "no_defaulting", "validate"),
        *("pod", "pending", "workload_files", "pod_files", "mirror", "grace", "old", "new", "mode", "runs", "tolerate"),
        *("config_specs", "seeds", "whole_folders", "retry_errors", "workers", "from_release", "to", "keep_emphasis"),
        *("with_new_filters", "cluster", "redact", "dry_run", "real", "running", "ties", "container", "patience"),
        *("steps", "between", "about", "namespace", "watch", "shape_files", "tries", "remove", "threshold", "acting"),
        *("rebalance",),
        *("expander", "priorities", "max_nodes_per_scaleup", "selector", "ignore_daemonsets", "delete_emptydir_data"),
        *(
            "force",
            "disable_eviction",
            "pod_selector",
            "grace_period",
            "order",
            "batch",
            "zone",
            "names",
            "named",
            "each",
        ),
        *("unreachable", "surge", "shape", "kubernetes_upgrade"),
    )
)
"""What answers depend on, and which files are read for them: set, and named in a note."""

_RISKS = {
    **dict.fromkeys(("plugin", "kubeconfig", "exercise", "class_folder"), "runs code"),
    **dict.fromkeys(("listen", "token", "allow_paths", "http"), "lets others in"),
    **dict.fromkeys(("write_config_to", "save", "out", "plot", "results", "report"), "writes a file"),
    **dict.fromkeys(("run.mirror", "snapshot.output"), "writes a file"),
    **dict.fromkeys(("context", "scheduler", "bind", "grid_files"), "may ask or tell others"),
}
"""Option, or command and option → what a file that came from elsewhere could do with it."""

_SPECS = ("old", "new", "config_specs", "real")
"""Options whose texts describe whole schedulers."""

_ASKING = re.compile(r"(?:^|,)\s*(?:policy|policy-configmap|config)\s*=")
_NOT_ASKING = re.compile(r"(?:^|,)\s*extenders\s*=\s*(?:pass|replay\b)")
_RECORDS = re.compile(r"(?:^|,\s*extenders\s*=|^extenders\s*=)\s*record\b")


def found_settings(command: str, settings: Settings, known: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """(why settings of a command are refused, the names of those that a reader of the answers has to know of).

    For a file that was only found: it may have come with a cluster's files, so it sets nothing that writes, runs or
    asks anyone. known: key → the argument that the command's option fills; one that no table here has is refused.
    """
    refused, told = [], []
    for name, value in settings.get(command, {}).items():
        filled = known.get(name, "")
        if not filled or not value:
            continue
        what = _RISKS.get(f"{command}.{filled}") or _risk(filled, value)
        if what:
            refused.append(
                f"{name}: this {what}, and the file was only found in this folder; to allow it: --settings {FILE_NAME}"
            )
        elif filled not in _SHOWS:
            told.append(name.replace("_", "-"))
    return refused, told


def _risk(name: str, value: Any) -> str:
    """What a value could do; empty when it only reads."""
    if name in _SHOWS:
        return ""
    if name not in _CHANGES:
        return _RISKS.get(name, "may write, run or ask something")
    texts = [str(one) for one in (value if isinstance(value, list) else [value])]
    if name in ("extenders", *_SPECS) and any(map(_RECORDS.search, texts)):
        return "writes a file"
    if name in _SPECS and any(_ASKING.search(text) and not _NOT_ASKING.search(text) for text in texts):
        return "may ask extenders (extenders=pass asks none)"
    return ""


def _options(table: Mapping[str, Any]) -> dict[str, Any]:
    return {name.replace("-", "_"): value for name, value in table.items()}


def _list(names: Iterable[str]) -> str:
    return f"; there are {', '.join(names)}"
