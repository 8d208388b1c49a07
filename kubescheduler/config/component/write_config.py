"""A completed configuration as a document of the release's own version, written by the table that reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kubescheduler.config.component.config_schema import (
    KIND,
    PluginConfig,
    WrittenProfile,
    configuration_without,
)
from kubescheduler.framework.args.document_schema import written
from kubescheduler.framework.contract.profile import PluginSet
from kubescheduler.framework.plugins.plugin_record import args_types
from kubescheduler.sources.sanitize import yaml_dumper

if TYPE_CHECKING:
    from kubescheduler.config.component.component_format import ComponentFormat
    from kubescheduler.framework.contract.profile import Profile, SchedulerConfig
    from kubescheduler.framework.plugins.plugin_record import InTreePlugin


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
