"""How configurations of v1 are read, checked and written since release 1.36."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kubescheduler.config.component.config_checks_1_36 import validate_1_36
from kubescheduler.config.component.config_versions import version_errors
from kubescheduler.config.component.written_config import ALL, MULTI_POINT
from kubescheduler.framework.contract.profile import PluginSet

if TYPE_CHECKING:
    from kubescheduler.config.component.component_format import ComponentFormat
    from kubescheduler.config.component.written_config import Written, WrittenProfile
    from kubescheduler.config.go_decoding import Fault
    from kubescheduler.framework.args.field_errors import FieldError
    from kubescheduler.framework.contract.profile import Profile, SchedulerConfig


def fault_text_1_36(fault: Fault) -> str:
    """Go's own text for a value of the wrong type."""
    return fault.go_text


def errors_1_36(form: ComponentFormat, written: Written, config: SchedulerConfig, version: str) -> list[FieldError]:
    """What the apiVersion does not have, then what validation finds."""
    return [*version_errors(written, version), *validate_1_36(config, version, form.plugins)]


def any_provider(_: ComponentFormat, __: str) -> None:
    """There are no providers, so none is wrong."""
    return


def no_construction_problems(_: ComponentFormat, __: WrittenProfile, ___: Profile, ____: str) -> Iterator[str]:
    """Validation has found everything."""
    return iter(())


def delay_1_36(config: SchedulerConfig) -> dict[str, Any]:
    """Whether caches wait for the lease."""
    return {"delayCacheUntilActive": config.delay_cache_until_active}


def written_sets_1_36(form: ComponentFormat, profile: Profile) -> dict[str, PluginSet]:
    """The lists as they are, with all defaults disabled that there would be besides."""
    lists = {point.value: PluginSet(tuple(profile.plugins.get(point, ()))) for point in form.points}
    return {**lists, MULTI_POINT: PluginSet((), (ALL,))}


def written_args_1_36(profile: Profile, _: Sequence[Any]) -> Iterable[tuple[str, Any]]:
    """As they are."""
    return profile.plugin_config
