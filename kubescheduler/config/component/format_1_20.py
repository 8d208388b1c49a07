"""How release 1.20 reads, checks and writes configurations of v1beta1, beside the names of providers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from clusterstate.errors import nearest
from kubescheduler.config.component.config_checks_1_20 import validate_1_20
from kubescheduler.config.component.managed_extenders import FIT, ignored_resources
from kubescheduler.config.component.profiles_1_20 import provider_error
from kubescheduler.config.component.written_config import ALL
from kubescheduler.framework.contract.profile import PluginSet
from kubescheduler.framework.profiles.default_plugins import DEFAULT_PROVIDER
from kubescheduler.framework.profiles.in_tree_plugins import args_errors

if TYPE_CHECKING:
    from kubescheduler.config.component.component_format import ComponentFormat
    from kubescheduler.config.component.written_config import Written, WrittenProfile
    from kubescheduler.framework.args.field_errors import FieldError
    from kubescheduler.framework.contract.profile import Profile, SchedulerConfig


def as_completed(_: ComponentFormat, config: SchedulerConfig, __: str, ___: Mapping[str, bool]) -> SchedulerConfig:
    """Nothing is merged before validation."""
    return config


def errors_1_20(_: ComponentFormat, __: Written, config: SchedulerConfig, ___: str) -> list[FieldError]:
    """What validation finds."""
    return validate_1_20(config)


def provider_problem_1_20(form: ComponentFormat, provider: str) -> str | None:
    """The release's text for an unknown provider, with the nearest one."""
    error = provider_error(form, provider)
    return None if error is None else f"{error}{nearest(provider, form.providers)}"


# --- making the plugins ------------------------------------------------------------------------


def construction_problems_1_20(
    form: ComponentFormat, before: WrittenProfile, after: Profile, path: str
) -> Iterator[str]:
    """Args that are there twice, and plugins that cannot do with the default args."""
    yield from _repeated(before, after, path)
    yield from _needed_args(form, before, after, path)


def _repeated(before: WrittenProfile, after: Profile, path: str) -> Iterator[str]:
    counts = Counter(name for name, _ in after.plugin_config)
    for name in (name for name, times in counts.items() if times > 1):
        at = [at for at, entry in enumerate(before.plugin_config) if entry.name == name]
        hint = "keep one entry"
        if len(at) == 1:
            hint = "the resources that extenders have ignoredByScheduler are another one; take this one out"
        yield f"{path}.pluginConfig[{at[-1]}]: repeated config for plugin {name}; {hint}"


def _needed_args(form: ComponentFormat, before: WrittenProfile, after: Profile, path: str) -> Iterator[str]:
    given = {entry.name for entry in before.plugin_config}
    for name, args in after.plugin_config:
        if name not in given:
            faults = args_errors(form.plugins, name, args)
            yield from (f"{path}.pluginConfig: {name} needs args: {error}" for error in faults)


# --- writing -----------------------------------------------------------------------------------


def addresses_1_20(config: SchedulerConfig) -> dict[str, Any]:
    """Where health and metrics are served."""
    return {
        "healthzBindAddress": config.healthz_bind_address,
        "metricsBindAddress": config.metrics_bind_address,
    }


def written_sets_1_20(form: ComponentFormat, profile: Profile) -> dict[str, PluginSet]:
    """The lists as they are, with all defaults disabled that there would be besides."""
    defaults = form.providers[DEFAULT_PROVIDER]
    return {
        point.value: PluginSet(tuple(profile.plugins.get(point, ())), (ALL,) if point in defaults else ())
        for point in form.points
    }


def written_args_1_20(profile: Profile, extenders: Sequence[Any]) -> Iterable[tuple[str, Any]]:
    """By name, without those that come with the extenders when the document is read again."""
    left_to_extenders = FIT if ignored_resources(extenders) else None
    return sorted((e for e in profile.plugin_config if e[0] != left_to_extenders), key=lambda entry: entry[0])
