"""Grids: one configuration with every combination of some weights.

::

    base = "release=1.36,config=scheduler.yaml"

    [weights]
    NodeResourcesFit = [1, 5, 10]
    ImageLocality = [0, 1]
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clusterstate.errors import ConfigError, nearest
from kubescheduler.config.config_text import read_document
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.sweep.cases import Configuration

DEFAULT_BASE = "release=1.16"

KEYS = ("base", "weights")


def read_grid(path: str) -> list[Configuration]:
    """The configurations of a grid file: TOML, YAML or JSON.

    base: as ``EngineSpec.parse`` reads it, or a list of such texts. weights: name → weights to try, 0 or more; 0 turns
    it off. The last name changes fastest. Raises ConfigError with every fault and its path.
    """
    document = read_document(Path(path))
    try:
        return grid_of(document)
    except ConfigError as error:
        raise ConfigError(f"{path}: {problem}" for problem in error.problems) from error


def grid_of(document: Mapping[str, Any]) -> list[Configuration]:
    """The configurations of a grid. Raises ConfigError with every fault and its path."""
    problems = [f"{key}: there is no such key{nearest(key, KEYS)}" for key in document if key not in KEYS]
    specs = _bases(document.get("base", DEFAULT_BASE), problems)
    weights = _weights(document.get("weights", {}), problems)
    if problems:
        raise ConfigError(problems)
    products = [tuple(zip(weights, chosen, strict=True)) for chosen in itertools.product(*weights.values())]
    return [Configuration(label, spec, chosen) for label, spec in specs for chosen in products]


def _bases(base: Any, problems: list[str]) -> list[tuple[str, EngineSpec]]:
    several = isinstance(base, list)
    out = []
    for at, text in enumerate(base if several else [base]):
        where = f"base[{at}]" if several else "base"
        if not isinstance(text, str):
            problems.append(f"{where}: expected a text such as {DEFAULT_BASE!r}, found {text!r}")
            continue
        try:
            out.append((text or DEFAULT_BASE, EngineSpec.parse(text)))
        except ConfigError as error:
            problems += (f"{where}: {problem}" for problem in error.problems)
    if several and not base:
        problems.append(f"base: there is none in the list; write {DEFAULT_BASE!r}, or leave base out")
    return out


def _weights(weights: Any, problems: list[str]) -> dict[str, list[int]]:
    if not isinstance(weights, dict):
        problems.append(f"weights: expected names with a list of weights each, found {weights!r}")
        return {}
    out: dict[str, list[int]] = {}
    for name, given in weights.items():
        values = given if isinstance(given, list) else [given]
        if not values:
            problems.append(f"weights.{name}: the list is empty; give weights, or take {name} out")
        for at, value in enumerate(values):
            if type(value) is not int or value < 0:
                where = f"weights.{name}[{at}]" if isinstance(given, list) else f"weights.{name}"
                problems.append(f"{where}: expected a whole number, 0 or more, found {value!r}")
        out[name] = list(dict.fromkeys(value for value in values if type(value) is int))
    return out
