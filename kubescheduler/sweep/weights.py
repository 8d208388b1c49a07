"""Weights other than a configuration's own: an engine with some changed, and grids of every combination of some.

::

    base = "release=1.36,config=scheduler.yaml"

    [weights]
    NodeResourcesFit = [1, 5, 10]
    ImageLocality = [0, 1]
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import attrs
import msgspec

from algorithmprovider import DEFAULT_PROVIDER
from algorithmprovider.registry import Registry
from clusterstate.errors import ConfigError, attempt_at, faults_at, nearest
from kubescheduler.config.config_text import read_document
from kubescheduler.config.policy_model import Policy, PredicatePolicy, PriorityPolicy
from kubescheduler.engine.engine_flags import Notice
from kubescheduler.engine.framework_engine import framework_engine, prefix_of
from kubescheduler.engine.legacy_engine import (
    LegacyEngine,
    algorithm_from_policy,
    algorithm_from_provider,
    policy_document,
)
from kubescheduler.engine.spec import Engine, EngineSpec
from kubescheduler.engine.v1alpha1_engine import configured, flags_of, read_component
from kubescheduler.framework.contract.profile import Enabled, Point, Profile
from kubescheduler.framework.plugins.plugin_record import PluginPoints
from kubescheduler.sweep.cases import Configuration

Weights = Mapping[str, int]
"""Priority (up to 1.16) or Score plugin (from 1.18 on) → weight; 0: it does not score."""

SCORING = (Point.PRE_SCORE, Point.SCORE)


def weighted_engine(spec: EngineSpec, weights: Weights, notice: Notice) -> Engine:
    """The engine of ``spec`` with these weights in its policy, or in every profile of its configuration.

    What the configuration leaves out is added; what has the weight 0 is taken out. Raises ConfigError as
    ``EngineSpec.engine`` does, and for every name that scores nowhere in the release.
    """
    if not weights:
        return spec.engine(notice)
    return (_legacy if spec.record.framework is None else _framework)(spec, weights, notice)


def _check_names(weights: Weights, known: Collection[str], release: str, what: str) -> None:
    problems = [
        f"weights.{name}: release {release} has no {what} of that name{nearest(name, known)}"
        for name in weights
        if name not in known
    ]
    if problems:
        raise ConfigError(problems)


# --- policies ------------------------------------------------------------------------------------


def _legacy(spec: EngineSpec, weights: Weights, notice: Notice) -> LegacyEngine:
    config = read_component(spec)
    if config is not None:
        spec = flags_of(spec, config, notice)
    rules = spec.record.legacy_rules
    known = rules.registry(spec.gates)
    source, document = policy_document(spec, spec.policy_file, spec.policy_configmap, notice)
    if document is None:
        source, policy = "", _policy_of_provider(spec, known)
    else:
        with faults_at(source):
            policy = rules.parse(document, release=spec.release, strict=spec.strict, every_problem=True)
        for note in policy.notes:
            notice(f"{source}: {note}")
    entries = policy.priorities
    if entries is None:
        names = sorted(known.provider(DEFAULT_PROVIDER).priorities) if rules.absent_means_default else ()
        entries = _entries(known, names)
    _check_names(weights, {*known.priorities, *(entry.name for entry in entries)}, spec.release, "priority")
    weighted = attrs.evolve(policy, priorities=_weighted(entries, weights))
    with faults_at(source) if source else nullcontext():
        algorithm = algorithm_from_policy(spec, weighted, every_problem=True)
    return LegacyEngine(algorithm if config is None else configured(algorithm, config), spec.release_view())


def _policy_of_provider(spec: EngineSpec, known: Registry) -> Policy:
    """A policy that selects what the provider does. Raises ConfigError for a provider that cannot be."""
    name = spec.provider or DEFAULT_PROVIDER
    algorithm_from_provider(spec, name)
    provider = known.provider(name)
    predicates = tuple(PredicatePolicy(key) for key in sorted(provider.predicates))
    return Policy(predicates, _entries(known, sorted(provider.priorities)))


def _entries(known: Registry, names: Iterable[str]) -> tuple[PriorityPolicy, ...]:
    return tuple(PriorityPolicy(name, known.priorities[name].weight) for name in names)


def _weighted(entries: Iterable[PriorityPolicy], weights: Weights) -> tuple[PriorityPolicy, ...]:
    by_name = {entry.name: entry for entry in entries}
    for name, weight in weights.items():
        if weight:
            by_name[name] = msgspec.structs.replace(by_name.get(name, PriorityPolicy(name)), weight=weight)
        else:
            by_name.pop(name, None)
    return tuple(by_name.values())


# --- profiles ------------------------------------------------------------------------------------


def _framework(spec: EngineSpec, weights: Weights, notice: Notice) -> Engine:
    config = spec.component_config(notice)
    for note in config.notes:
        notice(note)
    points = spec.points()
    scoring = [name for name, at in points.items() if Point.SCORE in at]
    _check_names(weights, scoring, spec.release, "Score plugin")
    config = msgspec.structs.replace(config, profiles=tuple(_reweighted(p, weights, points) for p in config.profiles))
    return framework_engine(config, spec, prefix_of(spec))


def _reweighted(profile: Profile, weights: Weights, points: PluginPoints) -> Profile:
    """The profile with these weights in all its lists: in 1.20 the last list that names a plugin says its weight."""
    plugins = {point: list(entries) for point, entries in profile.plugins.items()}
    for name, weight in weights.items():
        if not weight:
            for point in SCORING:
                plugins[point] = [entry for entry in plugins.get(point, ()) if entry.name != name]
            continue
        scores = any(entry.name == name for entry in plugins.get(Point.SCORE, ()))
        for point in plugins.keys() - {Point.PLACEMENT_SCORE}:
            plugins[point] = [Enabled(name, weight) if e.name == name else e for e in plugins[point]]
        for point in () if scores else (at for at in SCORING if at in points[name]):
            if all(entry.name != name for entry in plugins.get(point, ())):
                plugins.setdefault(point, []).append(Enabled(name, weight))
    return msgspec.structs.replace(profile, plugins={point: tuple(entries) for point, entries in plugins.items()})


DEFAULT_BASE = "release=1.16"

KEYS = ("base", "weights")


def read_grid(path: str, **usual: Any) -> list[Configuration]:
    """The configurations of a grid file: TOML, YAML or JSON.

    base: as ``EngineSpec.parse`` reads it, or a list of such texts. weights: name → weights to try, 0 or more; 0 turns
    it off. The last name changes fastest. usual: fields that a base need not say. Raises ConfigError with every fault
    and its path.
    """
    document = read_document(Path(path))
    with faults_at(path):
        return grid_of(document, **usual)


def grid_of(document: Mapping[str, Any], **usual: Any) -> list[Configuration]:
    """The configurations of a grid; usual: as for ``read_grid``. Raises ConfigError with every fault and its path."""
    problems = [f"{key}: there is no such key{nearest(key, KEYS)}" for key in document if key not in KEYS]
    specs = _bases(document.get("base", DEFAULT_BASE), problems, usual)
    weights = _weights(document.get("weights", {}), problems)
    if problems:
        raise ConfigError(problems)
    products = [tuple(zip(weights, chosen, strict=True)) for chosen in itertools.product(*weights.values())]
    return [Configuration(label, spec, chosen) for label, spec in specs for chosen in products]


def _bases(base: Any, problems: list[str], usual: Mapping[str, Any]) -> list[tuple[str, EngineSpec]]:
    several = isinstance(base, list)
    out = []
    for at, text in enumerate(base if several else [base]):
        where = f"base[{at}]" if several else "base"
        if not isinstance(text, str):
            problems.append(f"{where}: expected a text such as {DEFAULT_BASE!r}, found {text!r}")
            continue
        if (spec := attempt_at(where, problems, EngineSpec.parse, text, **usual)) is not None:
            out.append((text or DEFAULT_BASE, spec))
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
