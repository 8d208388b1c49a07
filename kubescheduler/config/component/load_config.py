"""The ways to a completed configuration, from a file, from a document, from nothing, and back to a document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from clusterstate.errors import ConfigError, nearest
from kubescheduler.config.component.component_format import DocumentRules, complete
from kubescheduler.config.component.config_schema import (
    KIND,
    MULTI_POINT,
    PluginConfig,
    Written,
    WrittenProfile,
    configuration_without,
)
from kubescheduler.config.component.decode_config import read_written, version_of
from kubescheduler.config.config_text import read_configuration
from kubescheduler.config.go_decoding import behind_notes, text_problems, twice_problems
from kubescheduler.config.policy.policy_1_20_plugins import plugin_name_hint
from kubescheduler.framework.args.document_schema import written
from kubescheduler.framework.args.field_errors import aggregate
from kubescheduler.framework.contract.profile import PluginSet, Point
from kubescheduler.framework.plugins.plugin_record import DEFAULT_PROVIDER, args_keys, args_types, points_by_plugin
from kubescheduler.sources.sanitize import yaml_dumper

if TYPE_CHECKING:
    from kubescheduler.config.component.component_format import ComponentFormat
    from kubescheduler.config.component.config_schema import WrittenProfile
    from kubescheduler.config.component.decode_config import DecodedConfig
    from kubescheduler.framework.args.field_errors import FieldError
    from kubescheduler.framework.contract.profile import Profile, SchedulerConfig
    from kubescheduler.framework.plugins.plugin_record import InTreePlugin, PluginPoints


def read_component_config(
    path: Path,
    form: ComponentFormat,
    *,
    provider: str = DEFAULT_PROVIDER,
    points: PluginPoints | None = None,
    feature_gates: Mapping[str, bool] | None = None,
    strict: bool = False,
) -> SchedulerConfig:
    """The configuration in a file, or in a ConfigMap there; as ``component_config_from`` with all problems.

    Raises ConfigError also when the file cannot be read, and for keys that are set twice. Of several documents the
    first is read, with a note; strict: they are a fault.
    """
    document, source = read_configuration(path)
    lenient = document.get("apiVersion") in form.lifts
    if problems := text_problems(document) if strict else () if lenient else twice_problems(document):
        raise ConfigError(f"{source}: {problem}" for problem in problems)
    return component_config_from(
        document,
        form,
        provider=provider,
        all_problems=True,
        source=source,
        points=points,
        feature_gates=feature_gates,
        strict=strict,
    )


def component_config_from(
    document: Mapping[str, Any],
    form: ComponentFormat,
    *,
    provider: str = DEFAULT_PROVIDER,
    all_problems: bool,
    source: str = "",
    points: PluginPoints | None = None,
    feature_gates: Mapping[str, bool] | None = None,
    strict: bool = False,
) -> SchedulerConfig:
    """The completed configuration of a document.

    provider: 1.20: the algorithm provider whose plugins the profiles start from, unless the document names one. points:
    of every plugin there is, by default of the release's own. feature_gates: gates that are not named have the
    release's default. source: where the document comes from, put before every problem. strict: what the release ignores
    of an older apiVersion is a fault. A policy that the document names elsewhere does not count here.

    Raises ConfigError: with every fault and its path when ``all_problems``, those that the release finds only when it
    builds the plugins among them; else with the release's own text for the faults it reports at once.
    """
    lifted = None
    try:
        version = version_of(document, form, all_problems=all_problems)
        if version in form.lifts:
            lifted = form.lifts[version](document, form.release, strict=strict)
            document, version, provider = lifted.document, form.native, lifted.provider or provider
        known = points_by_plugin(form.plugins) if points is None else points
        rules = DocumentRules(form, version, provider, known, feature_gates or {})
        decoded = read_written(document, form, version, args_keys(form.plugins, rules.gates))
        config = _checked(decoded, rules) if all_problems else _as_released(decoded, rules)
    except ConfigError as error:
        named = error.problems if lifted is None or not all_problems else map(lifted.own, error.problems)
        raise ConfigError(f"{source}: {problem}" if source else problem for problem in named) from error
    notes = (*behind_notes(document), *_unused(decoded, config))
    if lifted is not None:
        notes = (*lifted.notes, *map(lifted.own, notes))
    written = msgspec.structs.replace(form, native=version)
    return msgspec.structs.replace(config, notes=notes, document=component_document(config, written))


def default_config(
    form: ComponentFormat,
    feature_gates: Mapping[str, bool] | None = None,
    provider: str = DEFAULT_PROVIDER,
    *,
    points: PluginPoints | None = None,
) -> SchedulerConfig:
    """The configuration of a scheduler that is given none. Raises ConfigError for an unknown provider."""
    known = points_by_plugin(form.plugins) if points is None else points
    rules = DocumentRules(form, form.native, provider, known, feature_gates or {})
    config = form.finish(rules, _complete(Written(), rules))
    return msgspec.structs.replace(config, document=component_document(config, form))


def _complete(written: Written, rules: DocumentRules) -> SchedulerConfig:
    """As it is validated."""
    return rules.form.merge(rules, complete(written, rules.form))


def _as_released(decoded: DecodedConfig, rules: DocumentRules) -> SchedulerConfig:
    if decoded.text is not None:
        raise ConfigError(decoded.text)
    config = _complete(decoded.written, rules)
    if errors := rules.form.errors(rules.form, decoded.written, config, rules.version):
        raise ConfigError(aggregate(errors))
    return rules.form.finish(rules, config)


# --- every fault ------------------------------------------------------------------------------


def _checked(decoded: DecodedConfig, rules: DocumentRules) -> SchedulerConfig:
    problems = list(decoded.problems)
    if error := rules.form.provider_problem(rules.form, rules.provider):
        problems.append(error)
        rules = msgspec.structs.replace(rules, provider=DEFAULT_PROVIDER)
    config = _complete(decoded.written, rules)
    found = [*rules.form.errors(rules.form, decoded.written, config, rules.version), *_args_errors(config, rules.form)]
    problems += (error.problem for error in found if not _is_faulty(error.path, decoded.faulty))
    try:
        finished = rules.form.finish(rules, config)
    except ConfigError as error:
        raise ConfigError([*problems, *error.problems]) from error
    written = decoded.written.profiles
    completed = finished.profiles[: len(written)]
    problems += construction_problems(written, completed, rules.points, rules.form)
    if problems:
        raise ConfigError(dict.fromkeys(problems))
    return finished


def _args_errors(config: SchedulerConfig, form: ComponentFormat) -> Iterator[FieldError]:
    """What the release checks only when it builds the plugins."""
    kinds = {name: kind for name, kind in args_types(form.plugins).items() if not kind.checked_with_config}
    for at, profile in enumerate(config.profiles):
        for number, (name, args) in enumerate(profile.plugin_config):
            if name in kinds and args is not None:
                path = f"profiles[{at}].pluginConfig[{number}].args"
                yield from (error.under(path) for error in kinds[name].errors(args))


def _is_faulty(path: str, faulty: Iterable[str]) -> bool:
    """Whether a fault comes only of a value that could not be read."""
    return any(path == other or path.startswith((f"{other}.", f"{other}[")) for other in faulty)


# --- faults that the releases find only when they build the plugins ---------------------------


def construction_problems(
    written: Sequence[WrittenProfile],
    completed: Sequence[Profile],
    points: PluginPoints,
    form: ComponentFormat,
) -> Iterator[str]:
    """written, completed: the same profiles, as written and after merging. points: of all plugins there are."""
    for at, (before, after) in enumerate(zip(written, completed, strict=True)):
        path = f"profiles[{at}]"
        yield from _enabled_problems(before, path, points, form)
        yield from form.construction_problems(form, before, after, path)
        yield from _list_problems(after, path)


def _enabled_problems(profile: WrittenProfile, path: str, points: PluginPoints, form: ComponentFormat) -> Iterator[str]:
    for member, plugins in (profile.plugins or {}).items():
        for at, plugin in enumerate(plugins.enabled):
            where = f"{path}.plugins.{member}.enabled[{at}].name"
            known = points.get(plugin.name)
            if known is None:
                yield f"{where}: {_unknown(plugin.name, points, form)}"
            elif member != MULTI_POINT and Point(member) not in known:
                there = ", ".join(point.value for point in Point if point in known)
                kind = Point(member).kind.removesuffix("Plugin")
                yield f"{where}: plugin {plugin.name} does not extend {kind} plugin; it takes part in {there}"


def _unknown(name: str, known: Collection[str], form: ComponentFormat) -> str:
    own = "; one of your own comes by --plugin"
    renamed = f"; {form.gone[name]}" if name in form.gone else plugin_name_hint(name, known, form.gone)
    hint = renamed or nearest(name, known) + own
    return f"there is no plugin {name or 'without a name'}{hint}"


def _list_problems(profile: Profile, path: str) -> Iterator[str]:
    for point, plugins in profile.plugins.items():
        for name, times in Counter(plugin.name for plugin in plugins).items():
            if times > 1:
                hint = "disable it there before you enable it, or take one of them out"
                yield f"{path}.plugins.{point.value}: plugin {name} is listed {times} times, defaults included; {hint}"
    sorts = profile.plugins.get(Point.QUEUE_SORT, ())
    if (count := len({plugin.name for plugin in sorts})) != 1:
        yield f"{path}.plugins.queueSort: exactly one queue sort plugin is needed, found {count}"
    if not profile.plugins.get(Point.BIND):
        yield f"{path}.plugins.bind: at least one bind plugin is needed; enable DefaultBinder"


# --- notes ------------------------------------------------------------------------------------


def _unused(decoded: DecodedConfig, config: SchedulerConfig) -> Iterator[str]:
    written = decoded.written.profiles
    return unused_notes(written, config.profiles[: len(written)])


def unused_notes(written: Sequence[WrittenProfile], completed: Sequence[Profile]) -> Iterator[str]:
    """Args of plugins that do not run."""
    for at, (before, after) in enumerate(zip(written, completed, strict=True)):
        running = {plugin.name for plugins in after.plugins.values() for plugin in plugins}
        for number, entry in enumerate(before.plugin_config):
            if entry.name not in running:
                hint = nearest(entry.name, running)
                where = f"profiles[{at}].pluginConfig[{number}]"
                yield f"{where}: {entry.name} is not enabled; its args have no effect{hint}"


def component_document(config: SchedulerConfig, form: ComponentFormat) -> dict[str, Any]:
    """The configuration with everything said; reading it gives the same configuration."""
    keys = configuration_without(form.native, form.later)
    said = {field.attribute: getattr(config, field.attribute) for field in keys.fields}
    said["profiles"] = [_profile(profile, config, form) for profile in config.profiles]
    return {"apiVersion": form.native, "kind": KIND, **written(keys, said)}


def _profile(profile: Profile, config: SchedulerConfig, form: ComponentFormat) -> WrittenProfile:
    sets = profile.sets or form.written_sets(form, profile)
    return WrittenProfile(
        profile.scheduler_name,
        {member: plugins for member, plugins in sets.items() if plugins != PluginSet()},
        tuple(
            PluginConfig(name, written_args(args, form.plugins, form.native))
            for name, args in form.written_args(profile, config.extenders)
        ),
        profile.percentage_of_nodes_to_score,
    )


def written_args(args: Any, plugins: Mapping[str, InTreePlugin], version: str) -> Any:
    """Args with their kind and apiVersion; args of a plugin without a type of its own as they are."""
    kind = next((kind for kind in args_types(plugins).values() if kind.record is type(args)), None)
    if kind is None:
        return args
    return {"apiVersion": version, "kind": kind.record.__name__, **kind.document(args)}


def write_component_config(config: SchedulerConfig, form: ComponentFormat) -> str:
    """``component_document`` as YAML, keys in order."""
    return document_yaml(component_document(config, form))


def document_yaml(document: Mapping[str, Any]) -> str:
    """A document as YAML, keys in order."""
    return yaml_dumper(sort_keys=True, width=80)(dict(document))
