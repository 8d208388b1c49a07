"""From a command line and the files that it names to what a process is started with, in each release's order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from clusterstate.errors import ConfigError
from kubescheduler.config.component.write_config import document_yaml
from kubescheduler.engine.engine_flags import max_pd_volumes
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.framework.args.field_errors import refuse
from kubescheduler.framework.contract.go_durations import SECOND
from kubescheduler.framework.contract.profile import LeaderElection
from kubescheduler.framework.profiles.plugin_loading import PluginOption
from kubescheduler.live.flags.flag_parsing import FlagValues
from kubescheduler.live.metrics.metrics_settings import MetricsSettings
from kubescheduler.live.process.component_options import Configured, of_framework, of_legacy
from kubescheduler.live.process.flag_settings import ELECTION, gates_of, overridden
from kubescheduler.live.process.live_settings import LiveSettings, server_settings
from kubescheduler.live.process.policy_lookup import policy_in_cluster
from kubescheduler.live.process.release_live import LiveRelease
from kubescheduler.live.serving.serving_settings import insecure_ports, serving_settings

Notice = Callable[[str], None]


class CommandLine(msgspec.Struct, frozen=True, eq=False):
    """What the user of one run says."""

    release: LiveRelease
    flags: FlagValues
    plugins: tuple[PluginOption, ...] = ()
    context: str | None = None
    """Of the kubeconfig."""
    environment: Mapping[str, str] = msgspec.field(default_factory=dict)


def settings_of(line: CommandLine, notice: Notice, wrote: Callable[[str], None]) -> LiveSettings | None:
    """Everything that a process is started with; None when a configuration was to be written, and nothing else.

    notice: called with what a user may not expect. wrote: called with the path of a configuration that was written.
    Raises ConfigError with upstream's text.
    """
    release, flags = line.release, line.flags
    spec = _spec(line, notice)
    faults = release.faults(flags, overridden(LeaderElection(resource_lock=release.lock), ELECTION, flags))
    refuse(faults)
    configured = (of_legacy if spec.record.framework is None else of_framework)(spec, flags, notice)
    if spec.config_file:
        refuse(release.loaded_faults(configured.config.leader_election))
    return _settled(line, configured, notice, wrote)


def _spec(line: CommandLine, notice: Notice) -> EngineSpec:
    """The scheduler that decides, so far as no file says more."""
    spec = EngineSpec(
        release=line.release.name,
        plugins=line.plugins,
        max_pd_volumes=max_pd_volumes(line.environment),
        config_file=line.flags["config"] or None,
        samples_by_default=True,
    )
    gates, notes = gates_of(line.flags, spec.record.gates)
    for note in notes:
        notice(note)
    return msgspec.structs.replace(spec, feature_gates=gates)


def _settled(
    line: CommandLine, configured: Configured, notice: Notice, wrote: Callable[[str], None]
) -> LiveSettings | None:
    """The engine is made, and written if that is asked for."""
    release, flags, spec = line.release, line.flags, configured.spec
    server = server_settings(configured.config.client_connection, flags["master"], line.context)
    target = flags["write-config-to"]
    if target and configured.written_before is not None:
        _write(Path(target), configured.written_before)
        wrote(target)
    if configured.policy_place is not None:
        agent = f"kube-scheduler/{release.version}"
        spec = msgspec.structs.replace(spec, policy=policy_in_cluster(server, configured.policy_place, agent))
    engine, document = spec.engine(notice), configured.document(spec)
    if target and configured.written_before is None:
        _write(Path(target), document)
        wrote(target)
        return None
    insecure = () if configured.addresses is None else insecure_ports(*configured.addresses)
    profiling = configured.config.enable_profiling
    return LiveSettings(
        release,
        engine,
        server,
        configured.config.leader_election,
        configured.preempts,
        serving_settings(release.flags, flags, configured.shown(document), insecure, profiling=profiling),
        metrics=_metrics(flags),
        delays_cache=configured.delays_cache,
        unschedulable_seconds=_unschedulable_seconds(flags),
    )


def _metrics(flags: FlagValues) -> MetricsSettings:
    """Which metrics are shown, where the release can be told so."""
    shown, disabled = flags.said("show-hidden-metrics-for-version"), flags.said("disabled-metrics")
    return MetricsSettings(bool(shown), tuple(disabled or ()))


def _unschedulable_seconds(flags: FlagValues) -> float | None:
    """Counts with a configuration file, too."""
    nanoseconds = flags.said("pod-max-in-unschedulable-pods-duration")
    return None if nanoseconds is None else nanoseconds / SECOND


def _write(path: Path, document: Mapping[str, Any]) -> None:
    """Raises ConfigError with upstream's text for a file that cannot be written."""
    try:
        path.write_text(document_yaml(document), encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"open {path}: {(error.strerror or str(error)).lower()}") from None
