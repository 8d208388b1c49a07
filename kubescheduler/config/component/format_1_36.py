"""How release 1.36 reads, checks and writes configurations: v1."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from kubescheduler.config.component.component_format import ComponentFormat
from kubescheduler.config.component.config_checks_1_36 import validate_1_36
from kubescheduler.config.component.config_schema import V1, V1ALPHA1, V1ALPHA2, V1BETA1, V1BETA2, V1BETA3
from kubescheduler.config.component.config_versions import GONE, version_errors
from kubescheduler.config.component.profiles_1_36 import finish_1_36, merge_1_36
from kubescheduler.config.component.written_config import ALL, MULTI_POINT
from kubescheduler.framework.contract.points import POINTS_1_36
from kubescheduler.framework.contract.profile import PluginSet
from kubescheduler.framework.profiles.in_tree_plugins import PLUGINS_1_36

if TYPE_CHECKING:
    from kubescheduler.config.component.written_config import Written, WrittenProfile
    from kubescheduler.config.go_decoding import Fault
    from kubescheduler.framework.args.field_errors import FieldError
    from kubescheduler.framework.contract.profile import Profile, SchedulerConfig


def fault_text_1_36(fault: Fault) -> str:
    """Go's own text for a value of the wrong type."""
    return fault.go_text


def errors_1_36(written: Written, config: SchedulerConfig, version: str) -> list[FieldError]:
    """What the apiVersion does not have, then what validation finds."""
    return [*version_errors(written, version), *validate_1_36(config, version)]


def any_provider(_: str) -> None:
    """There are no providers, so none is wrong."""
    return


def no_construction_problems(_: WrittenProfile, __: Profile, ___: str) -> Iterator[str]:
    """Validation has found everything."""
    return iter(())


def delay_1_36(config: SchedulerConfig) -> dict[str, Any]:
    """Whether caches wait for the lease."""
    return {"delayCacheUntilActive": config.delay_cache_until_active}


def written_sets_1_36(profile: Profile) -> dict[str, PluginSet]:
    """The lists as they are, with all defaults disabled that there would be besides."""
    lists = {point.value: PluginSet(tuple(profile.plugins.get(point, ()))) for point in POINTS_1_36}
    return {**lists, MULTI_POINT: PluginSet((), (ALL,))}


def written_args_1_36(profile: Profile, _: Sequence[Any]) -> Iterable[tuple[str, Any]]:
    """As they are."""
    return profile.plugin_config


MIGRATE = "1.36 reads v1; kubescheduler migrate makes it from this"

FORMAT_1_36 = ComponentFormat(
    release="1.36",
    native=V1,
    versions=(V1,),
    elsewhere=dict.fromkeys((V1ALPHA1, V1ALPHA2, V1BETA1, V1BETA2, V1BETA3), MIGRATE),
    scheme="pkg/scheduler/apis/config/scheme/scheme.go:30",
    registered=frozenset(),
    plugins=PLUGINS_1_36,
    fault_text=fault_text_1_36,
    unknown_text=None,
    merge=merge_1_36,
    errors=errors_1_36,
    finish=finish_1_36,
    provider_problem=any_provider,
    construction_problems=no_construction_problems,
    gone=GONE,
    own_fields=delay_1_36,
    written_sets=written_sets_1_36,
    written_args=written_args_1_36,
)

FORMAT_V1BETA = msgspec.structs.replace(FORMAT_1_36, versions=(V1BETA3, V1BETA2), elsewhere={})
"""v1beta2 and v1beta3 as the last releases that read them meant them, with the plugins of 1.36: for migration."""
