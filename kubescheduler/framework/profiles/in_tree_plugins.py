"""The plugins that come with the scheduler, for each release.

A new one is a file in ``framework/plugins`` that ends with its records, and their lines here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubescheduler.framework.args.args_type import NO_GATES, ArgsType
from kubescheduler.framework.args.document_schema import Struct
from kubescheduler.framework.args.field_errors import FieldError
from kubescheduler.framework.contract.plugin import PluginFactory
from kubescheduler.framework.contract.points import Point
from kubescheduler.framework.plugins import (
    default_binder,
    default_preemption,
    dynamic_resources,
    gang_scheduling,
    image_locality,
    inter_pod_affinity,
    node_affinity,
    node_declared_features,
    node_label,
    node_name,
    node_ports,
    node_prefer_avoid_pods,
    node_resources_balanced_allocation,
    node_resources_fit,
    node_resources_least_allocated,
    node_resources_most_allocated,
    node_unschedulable,
    node_volume_limits,
    non_csi_limits,
    pod_group_pods_count,
    pod_topology_spread,
    priority_sort,
    requested_to_capacity_ratio,
    scheduling_gates,
    selector_spread,
    service_affinity,
    taint_toleration,
    topology_placement_generator,
    volume_binding,
    volume_restrictions,
    volume_zone,
)
from kubescheduler.framework.plugins.plugin_record import InTreePlugin
from kubescheduler.queue.queueing_hints import Registered


def _by_name(*plugins: InTreePlugin) -> dict[str, InTreePlugin]:
    return {plugin.name: plugin for plugin in plugins}


PLUGINS_1_20: dict[str, InTreePlugin] = _by_name(
    selector_spread.PLUGIN_1_20,
    image_locality.PLUGIN_1_20,
    taint_toleration.PLUGIN_1_20,
    node_name.PLUGIN_1_20,
    node_ports.PLUGIN_1_20,
    node_prefer_avoid_pods.PLUGIN_1_20,
    node_affinity.PLUGIN_1_20,
    pod_topology_spread.PLUGIN_1_20,
    node_unschedulable.PLUGIN_1_20,
    node_resources_fit.PLUGIN_1_20,
    node_resources_balanced_allocation.PLUGIN_1_20,
    node_resources_most_allocated.PLUGIN_1_20,
    node_resources_least_allocated.PLUGIN_1_20,
    requested_to_capacity_ratio.PLUGIN_1_20,
    volume_binding.PLUGIN_1_20,
    volume_restrictions.PLUGIN_1_20,
    volume_zone.PLUGIN_1_20,
    node_volume_limits.PLUGIN_1_20,
    non_csi_limits.EBS_LIMITS_1_20,
    non_csi_limits.GCE_PD_LIMITS_1_20,
    non_csi_limits.AZURE_DISK_LIMITS_1_20,
    non_csi_limits.CINDER_LIMITS_1_20,
    inter_pod_affinity.PLUGIN_1_20,
    node_label.PLUGIN_1_20,
    service_affinity.PLUGIN_1_20,
    priority_sort.PLUGIN_1_20,
    default_binder.PLUGIN_1_20,
    default_preemption.PLUGIN_1_20,
)
"""Plugin → its record, release 1.20."""

PLUGINS_1_36: dict[str, InTreePlugin] = _by_name(
    dynamic_resources.PLUGIN_1_36,
    image_locality.PLUGIN_1_36,
    taint_toleration.PLUGIN_1_36,
    node_name.PLUGIN_1_36,
    node_ports.PLUGIN_1_36,
    node_declared_features.PLUGIN_1_36,
    node_affinity.PLUGIN_1_36,
    pod_topology_spread.PLUGIN_1_36,
    node_unschedulable.PLUGIN_1_36,
    node_resources_fit.PLUGIN_1_36,
    node_resources_balanced_allocation.PLUGIN_1_36,
    volume_binding.PLUGIN_1_36,
    volume_restrictions.PLUGIN_1_36,
    volume_zone.PLUGIN_1_36,
    node_volume_limits.PLUGIN_1_36,
    inter_pod_affinity.PLUGIN_1_36,
    priority_sort.PLUGIN_1_36,
    default_binder.PLUGIN_1_36,
    default_preemption.PLUGIN_1_36,
    scheduling_gates.PLUGIN_1_36,
    gang_scheduling.PLUGIN_1_36,
    topology_placement_generator.PLUGIN_1_36,
    pod_group_pods_count.PLUGIN_1_36,
)
"""Plugin → its record, release 1.36."""


def factories(plugins: Mapping[str, InTreePlugin]) -> dict[str, PluginFactory]:
    """Plugin → what makes it of its args and a Handle."""
    return {name: plugin.make for name, plugin in plugins.items()}


def points_by_plugin(plugins: Mapping[str, InTreePlugin]) -> dict[str, frozenset[Point]]:
    """Plugin → where it takes part."""
    return {name: plugin.points for name, plugin in plugins.items()}


def events_by_plugin(plugins: Mapping[str, InTreePlugin]) -> dict[str, tuple[Registered, ...]]:
    """Plugin → the events that it registers; those that register nothing are left out."""
    return {name: plugin.events for name, plugin in plugins.items() if plugin.events is not None}


# --- args --------------------------------------------------------------------------------------


def args_types(plugins: Mapping[str, InTreePlugin]) -> dict[str, ArgsType]:
    """Plugin → its args; plugins without args of a type of their own are left out."""
    return {name: plugin.args for name, plugin in plugins.items() if plugin.args is not None}


def args_keys(plugins: Mapping[str, InTreePlugin], feature_gates: Mapping[str, bool] = NO_GATES) -> dict[str, Struct]:
    """Plugin → the object that a configuration gives as its args; gates not named have the release's default."""
    return {name: kind.keys(feature_gates) for name, kind in args_types(plugins).items()}


def args_errors(plugins: Mapping[str, InTreePlugin], name: str, args: Any) -> list[FieldError]:
    """What the release finds wrong with the args of a plugin, paths beginning at the args; None has no fault."""
    kind = args_types(plugins).get(name)
    return [] if kind is None or args is None else list(kind.errors(args))
