"""From a command line and the files that it names to what a process is started with, in each release's order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from kubescheduler.engine.engine_flags import max_pd_volumes
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.engine.v1alpha1_engine import component_of_flags, read_component
from kubescheduler.framework.contract.profile import ClientConnection, LeaderElection
from kubescheduler.framework.profiles.plugin_registration import PluginOption
from kubescheduler.live.flags.flag_parsing import FlagValues
from kubescheduler.live.process.live_settings import LiveSettings, server_settings
from kubescheduler.live.process.release_live import LiveRelease

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


def process_settings(
    release: LiveRelease, spec: EngineSpec, flags: FlagValues, context: str | None, notice: Callable[[str], None]
) -> LiveSettings:
    """Everything that a process is started with. Raises ConfigError with every problem."""
    engine = spec.engine(notice)
    connection, election, preempts = (_of_legacy if spec.record.framework is None else _of_framework)(spec, flags)
    server = server_settings(connection, flags["master"], context)
    return LiveSettings(release, engine, server, election, preempts)


def _of_legacy(spec: EngineSpec, flags: FlagValues) -> tuple[ClientConnection, LeaderElection, bool]:
    """With a file, the file alone counts (1.16)."""
    config = read_component(spec)
    if config is not None:
        return config.client_connection, config.leader_election, not config.disable_preemption
    config = component_of_flags(spec)
    return _with(config.client_connection, CONNECTION, flags), _with(config.leader_election, ELECTION, flags), True


def _of_framework(spec: EngineSpec, flags: FlagValues) -> tuple[ClientConnection, LeaderElection, bool]:
    """With a file, flags of the election still count in 1.36, and those of the connection in none."""
    config = spec.component_config(lambda _: None)
    connection, election = config.client_connection, config.leader_election
    if spec.config_file is None:
        return _with(connection, CONNECTION, flags), _with(election, ELECTION, flags), True
    if spec.record.reads_policies:
        return connection, election, True
    return connection, _with(election, ELECTION, flags), True


def _with(record: Any, fields: dict[str, str], flags: FlagValues) -> Any:
    """A record with what the command line says of it."""
    return attrs.evolve(record, **{field: flags[name] for name, field in fields.items() if name in flags.given})
