"""From a command line and the files that it names to what a process is started with, in each release's order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from kubescheduler.config.component import component_document
from kubescheduler.config.v1alpha1.v1alpha1_writing import v1alpha1_document
from kubescheduler.engine.engine_flags import max_pd_volumes
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.engine.v1alpha1_engine import component_of_flags, read_component
from kubescheduler.framework.contract.profile import ClientConnection, LeaderElection
from kubescheduler.framework.profiles.plugin_registration import PluginOption
from kubescheduler.live.flags.flag_parsing import FlagValues
from kubescheduler.live.process.live_settings import LiveSettings, server_settings
from kubescheduler.live.process.release_live import LiveRelease
from kubescheduler.live.serving.serving_settings import insecure_ports, serving_settings

ELECTION = {
    "leader-elect": "leader_elect",
    "leader-elect-lease-duration": "lease_duration_ns",
    "leader-elect-renew-deadline": "renew_deadline_ns",
    "leader-elect-retry-period": "retry_period_ns",
    "leader-elect-resource-lock": "resource_lock",
    "leader-elect-resource-name": "resource_name",
    "leader-elect-resource-namespace": "resource_namespace",
}
"""Flag → the field of LeaderElection."""
CONNECTION = {
    "kubeconfig": "kubeconfig",
    "kube-api-content-type": "content_type",
    "kube-api-qps": "qps",
    "kube-api-burst": "burst",
}
"""Flag → the field of ClientConnection."""
PROFILING = {"profiling": "enable_profiling", "contention-profiling": "enable_contention_profiling"}
"""Flag → the field of the configuration."""
ENGINE = {
    "algorithm-provider": "provider",
    "policy-config-file": "policy_file",
    "config": "config_file",
}
"""Flag → the field of EngineSpec; empty texts say nothing."""


def engine_spec(
    release: LiveRelease, flags: FlagValues, plugins: tuple[PluginOption, ...], environment: Any
) -> EngineSpec:
    """What the command line says of the scheduler that decides."""
    said: dict[str, Any] = {field: flags[name] or None for name, field in ENGINE.items() if name in flags.values}
    if "use-legacy-policy-config" in flags.values:
        said["use_legacy_policy_config"] = flags["use-legacy-policy-config"]
        said["hard_pod_affinity_symmetric_weight"] = flags.said("hard-pod-affinity-symmetric-weight")
        said["scheduler_name"] = flags.said("scheduler-name")
    return EngineSpec(
        release=release.name,
        feature_gates=flags["feature-gates"],
        plugins=plugins,
        max_pd_volumes=max_pd_volumes(environment),
        **said,
    )


@attrs.frozen(eq=False)
class _Configured:
    """What a configuration, its file or the flags in its place, says of the process."""

    connection: ClientConnection
    election: LeaderElection
    preempts: bool
    document: Mapping[str, Any]
    """All of it, in its own API version."""
    profiling: bool
    addresses: tuple[str, str] | None
    """Where health and metrics are served without TLS; None in 1.36."""


def process_settings(
    release: LiveRelease, spec: EngineSpec, flags: FlagValues, context: str | None, notice: Callable[[str], None]
) -> LiveSettings:
    """Everything that a process is started with. Raises ConfigError with every problem."""
    engine = spec.engine(notice)
    found = (_of_legacy if spec.record.framework is None else _of_framework)(spec, flags)
    server = server_settings(found.connection, flags["master"], context)
    insecure = () if found.addresses is None else insecure_ports(*found.addresses)
    serving = serving_settings(release.flags, flags, found.document, insecure, profiling=found.profiling)
    return LiveSettings(release, engine, server, found.election, found.preempts, serving)


def _of_legacy(spec: EngineSpec, flags: FlagValues) -> _Configured:
    """With a file, the file alone counts (1.16)."""
    config = read_component(spec)
    if config is None:
        config = _filled(component_of_flags(spec), flags)
        config = attrs.evolve(config, **_addresses(flags))
    return _Configured(
        config.client_connection,
        config.leader_election,
        not config.disable_preemption,
        v1alpha1_document(config),
        config.enable_profiling,
        (config.healthz_bind_address, config.metrics_bind_address),
    )


def _of_framework(spec: EngineSpec, flags: FlagValues) -> _Configured:
    """With a file, flags of the election still count in 1.36, and those of the connection in none."""
    config = spec.component_config(lambda _: None)
    legacy = spec.record.reads_policies
    if spec.config_file is None:
        config = _filled(config, flags)
        config = attrs.evolve(config, **(_addresses(flags) if legacy else {}))
    elif not legacy:
        config = attrs.evolve(config, leader_election=_with(config.leader_election, ELECTION, flags))
    return _Configured(
        config.client_connection,
        config.leader_election,
        True,
        component_document(config, spec.record.framework_rules.component),
        config.enable_profiling,
        (config.healthz_bind_address, config.metrics_bind_address) if legacy else None,
    )


def _filled(config: Any, flags: FlagValues) -> Any:
    """The defaults with what the command line says."""
    return attrs.evolve(
        _with(config, PROFILING, flags),
        client_connection=_with(config.client_connection, CONNECTION, flags),
        leader_election=_with(config.leader_election, ELECTION, flags),
    )


def _addresses(flags: FlagValues) -> dict[str, str]:
    """Without a file, health and metrics are served at one address; none where the port is 0."""
    host, port = flags["address"], flags["port"]
    text = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return dict.fromkeys(("healthz_bind_address", "metrics_bind_address"), text if port else "")


def _with(record: Any, fields: dict[str, str], flags: FlagValues) -> Any:
    """A record with what the command line says of it."""
    return attrs.evolve(record, **{field: flags[name] for name, field in fields.items() if name in flags.given})
