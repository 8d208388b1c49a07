"""Release 1.36 reading versions of the API that it no longer has, as the last release that had them read them.

v1beta2 (up to release 1.27) has its own list of plugins at each point, v1beta3 (up to 1.28) its own multiPoint list.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from kubescheduler.config.component.config_defaults import split_host_port
from kubescheduler.config.component.config_schema import V1BETA2, V1BETA3
from kubescheduler.config.component.multipoint import merged, merged_sets
from kubescheduler.config.component.written_config import ALL, MULTI_POINT
from kubescheduler.framework.args.field_errors import invalid
from kubescheduler.framework.contract.profile import PluginSet
from kubescheduler.framework.profiles.default_plugins import (
    DEFAULTS_V1BETA2,
    LATER_THAN_V1BETA3,
    enabled_everywhere,
)

if TYPE_CHECKING:
    from kubescheduler.config.component.component_format import ComponentFormat
    from kubescheduler.config.component.written_config import Written, WrittenProfile
    from kubescheduler.framework.args.field_errors import FieldError
    from kubescheduler.framework.contract.profile import Enabled

IN_TREE_LIMITS = "NodeVolumeLimits counts these volumes now: leave it out"
GONE = {
    "AzureDiskLimits": IN_TREE_LIMITS,
    "CinderLimits": IN_TREE_LIMITS,
    "EBSLimits": IN_TREE_LIMITS,
    "GCEPDLimits": IN_TREE_LIMITS,
    "NodeLabel": "use args.addedAffinity of NodeAffinity",
    "NodePreferAvoidPods": "taint the nodes with effect PreferNoSchedule",
    "NodeResourcesLeastAllocated": "use args.scoringStrategy of NodeResourcesFit, type LeastAllocated",
    "NodeResourcesMostAllocated": "use args.scoringStrategy of NodeResourcesFit, type MostAllocated",
    "RequestedToCapacityRatio": "use args.scoringStrategy of NodeResourcesFit, type RequestedToCapacityRatio",
    "SelectorSpread": "PodTopologySpread with defaultingType System spreads like it",
    "ServiceAffinity": "use InterPodAffinity",
}
"""Plugin that release 1.36 no longer has → what to do instead."""


def default_sets(
    form: ComponentFormat, version: str, feature_gates: Mapping[str, bool]
) -> dict[str, tuple[Enabled, ...]]:
    """Member of ``plugins`` → the defaults there."""
    if version == V1BETA2:
        return {point.value: plugins for point, plugins in DEFAULTS_V1BETA2.items()}
    if version == V1BETA3:
        earlier = (*(name for name in form.multi_point if name not in LATER_THAN_V1BETA3), "SchedulingGates")
        return {MULTI_POINT: enabled_everywhere(earlier, form.plugins)}
    return {MULTI_POINT: enabled_everywhere(form.multi_point, form.plugins, feature_gates)}


def merged_with_defaults(
    form: ComponentFormat, sets: Mapping[str, PluginSet], version: str, feature_gates: Mapping[str, bool]
) -> dict[str, PluginSet]:
    """A profile's sets after merging, such that v1 reads them as meant."""
    defaults = default_sets(form, version, feature_gates)
    if version == V1BETA3:
        everywhere = merged(defaults[MULTI_POINT], sets.get(MULTI_POINT, PluginSet()))
        return {**merged_sets({}, sets), MULTI_POINT: PluginSet(everywhere.enabled, (ALL,))}
    if version == V1BETA2:
        return {**merged_sets(defaults, sets), MULTI_POINT: PluginSet((), (ALL,))}
    return merged_sets(defaults, sets)


def version_errors(written: Written, version: str) -> Iterator[FieldError]:
    """What only documents of an older version can have wrong."""
    if version not in (V1BETA2, V1BETA3):
        return
    addresses = {
        "healthzBindAddress": written.healthz_bind_address,
        "metricsBindAddress": written.metrics_bind_address,
    }
    for path, address in addresses.items():
        if address and (split_host_port(address) or ("", ""))[1] != "0":
            yield invalid(path, address, "must be empty or with an explicit 0 port")
    for at, profile in enumerate(written.profiles):
        yield from (error.under(f"profiles[{at}]") for error in _gone_errors(profile))


def _gone_errors(profile: WrittenProfile) -> Iterator[FieldError]:
    for member, plugins in (profile.plugins or {}).items():
        for at, plugin in enumerate(plugins.enabled):
            if plugin.name in GONE:
                yield _gone(f"plugins.{member}.enabled[{at}]", plugin.name)
    for at, entry in enumerate(profile.plugin_config):
        if entry.name in GONE:
            yield _gone(f"pluginConfig[{at}]", entry.name)


def _gone(path: str, name: str) -> FieldError:
    return invalid(path, name, f"release 1.36 has no such plugin; {GONE[name]}")


def version_notes(written: Written, version: str) -> Iterator[str]:
    """What a document of an older version does that one of v1 does not."""
    if version not in (V1BETA2, V1BETA3):
        return
    short = version.rpartition("/")[2]
    missing = ("DynamicResources", "NodeDeclaredFeatures")
    yield f"{short} is read as it was meant: by default it does not enable {' and '.join(missing)}, which v1 does"
    yield f"{short} by default enabled EBSLimits, GCEPDLimits and AzureDiskLimits, gone since"
    if version == V1BETA2:
        yield (
            "v1beta2 has its own lists at every point, with weight 1 for TaintToleration, NodeAffinity and "
            "InterPodAffinity, where v1 has 3, 2 and 2"
        )
        if written.healthz_bind_address or written.metrics_bind_address:
            yield "healthzBindAddress and metricsBindAddress of v1beta2 have no effect; v1 does not have them"
