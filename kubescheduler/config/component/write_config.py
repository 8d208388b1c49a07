"""A completed configuration as a document of the release's own version."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from clusterstate.manifests.fields import present
from kubescheduler.config.component.args_writing import written_args
from kubescheduler.config.component.config_schema import KIND
from kubescheduler.framework.contract.go_durations import format_duration
from kubescheduler.framework.contract.profile import (
    PluginSet,
)
from kubescheduler.sources.sanitize import yaml_dumper

if TYPE_CHECKING:
    from kubescheduler.config.component.component_format import ComponentFormat
    from kubescheduler.extender.config import ExtenderConfig, TLSConfig
    from kubescheduler.framework.contract.profile import (
        ClientConnection,
        Enabled,
        LeaderElection,
        Profile,
        SchedulerConfig,
    )


def component_document(config: SchedulerConfig, form: ComponentFormat) -> dict[str, Any]:
    """The configuration with everything said; reading it gives the same configuration."""
    fields = {
        "apiVersion": form.native,
        "kind": KIND,
        "parallelism": config.parallelism,
        "leaderElection": written_election(config.leader_election),
        "clientConnection": written_client(config.client_connection),
        "healthzBindAddress": None,
        "metricsBindAddress": None,
        "enableProfiling": config.enable_profiling,
        "enableContentionProfiling": config.enable_contention_profiling,
        "percentageOfNodesToScore": config.percentage_of_nodes_to_score,
        "podInitialBackoffSeconds": config.pod_initial_backoff_seconds,
        "podMaxBackoffSeconds": config.pod_max_backoff_seconds,
        "profiles": [_profile(profile, config, form) for profile in config.profiles],
        "extenders": [_extender(extender) for extender in config.extenders] or None,
        "delayCacheUntilActive": None,
    }
    return present({**fields, **form.own_fields(config)})


def write_component_config(config: SchedulerConfig, form: ComponentFormat) -> str:
    """``component_document`` as YAML, keys in order."""
    return document_yaml(component_document(config, form))


def document_yaml(document: Mapping[str, Any]) -> str:
    """A document as YAML, keys in order."""
    return yaml_dumper(sort_keys=True, width=80)(dict(document))


def written_client(client: ClientConnection) -> dict[str, Any]:
    """``clientConnection``."""
    return {
        "kubeconfig": client.kubeconfig,
        "acceptContentTypes": client.accept_content_types,
        "contentType": client.content_type,
        "qps": int(client.qps) if client.qps == int(client.qps) else client.qps,
        "burst": client.burst,
    }


def written_election(election: LeaderElection) -> dict[str, Any]:
    """``leaderElection``, with durations as Go writes them."""
    return {
        "leaderElect": election.leader_elect,
        "leaseDuration": format_duration(election.lease_duration_ns),
        "renewDeadline": format_duration(election.renew_deadline_ns),
        "retryPeriod": format_duration(election.retry_period_ns),
        "resourceLock": election.resource_lock,
        "resourceName": election.resource_name,
        "resourceNamespace": election.resource_namespace,
    }


# --- profiles --------------------------------------------------------------------------------


def _profile(profile: Profile, config: SchedulerConfig, form: ComponentFormat) -> dict[str, Any]:
    sets = profile.sets or form.written_sets(form, profile)
    entries = form.written_args(profile, config.extenders)
    fields = {
        "schedulerName": profile.scheduler_name,
        "percentageOfNodesToScore": profile.percentage_of_nodes_to_score,
        "plugins": {member: _set(plugins) for member, plugins in sets.items() if plugins != PluginSet()},
        "pluginConfig": [
            present({"name": name, "args": written_args(args, form.plugins, form.native)}) for name, args in entries
        ],
    }
    return present(fields)


def _set(plugins: PluginSet) -> dict[str, Any]:
    fields = {
        "enabled": [_plugin(plugin) for plugin in plugins.enabled] or None,
        "disabled": [{"name": name} for name in plugins.disabled] or None,
    }
    return present(fields)


def _plugin(plugin: Enabled) -> dict[str, Any]:
    return {"name": plugin.name, "weight": plugin.weight} if plugin.weight else {"name": plugin.name}


# --- extenders -------------------------------------------------------------------------------


def _extender(extender: ExtenderConfig) -> dict[str, Any]:
    fields = {
        "urlPrefix": extender.url_prefix,
        "filterVerb": extender.filter_verb or None,
        "preemptVerb": extender.preempt_verb or None,
        "prioritizeVerb": extender.prioritize_verb or None,
        "weight": extender.weight or None,
        "bindVerb": extender.bind_verb or None,
        "enableHTTPS": extender.enable_https or None,
        "tlsConfig": _tls(extender.tls) or None,
        "httpTimeout": format_duration(extender.http_timeout_ns) if extender.http_timeout_ns else None,
        "nodeCacheCapable": extender.node_cache_capable or None,
        "managedResources": [
            present({"name": resource.name, "ignoredByScheduler": resource.ignored_by_scheduler or None})
            for resource in extender.managed_resources
        ]
        or None,
        "ignorable": extender.ignorable or None,
    }
    return present(fields)


def _tls(tls: TLSConfig) -> dict[str, Any]:
    fields = {
        "insecure": tls.insecure or None,
        "serverName": tls.server_name or None,
        "certFile": tls.cert_file or None,
        "keyFile": tls.key_file or None,
        "caFile": tls.ca_file or None,
        "certData": _base64(tls.cert_data),
        "keyData": _base64(tls.key_data),
        "caData": _base64(tls.ca_data),
    }
    return present(fields)


def _base64(data: bytes) -> str | None:
    return base64.b64encode(data).decode() or None
