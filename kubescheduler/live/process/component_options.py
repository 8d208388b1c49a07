"""What configuration files and flags say together: which of them counts, in each release."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from clusterstate.errors import ConfigError
from kubescheduler.config.component import component_config_from, component_document
from kubescheduler.config.config_text import parse_first_document, read_text
from kubescheduler.config.v1alpha1.v1alpha1_config import ConfigMapName, V1Alpha1Config
from kubescheduler.config.v1alpha1.v1alpha1_writing import v1alpha1_document
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.engine.v1alpha1_engine import component_of_flags, read_component
from kubescheduler.framework.contract.profile import SchedulerConfig
from kubescheduler.live.flags.flag_parsing import FlagValues
from kubescheduler.live.process.flag_settings import CONNECTION, ELECTION, PROFILING, ignored_beside_file, overridden

Notice = Callable[[str], None]
C = TypeVar("C", SchedulerConfig, V1Alpha1Config)

SOURCES = ("algorithm-provider", "policy-config-file", "policy-configmap", "use-legacy-policy-config")
"""Flags that say where the algorithm comes from."""
COMPLETED_FROM = 2
"""The verbosity from which 1.20 keeps its profiles completed."""
BESIDES = ("scheduler-name", "hard-pod-affinity-symmetric-weight", "address", "port")
"""Other flags that a file replaces."""


def _whole_document(document: dict[str, Any]) -> dict[str, Any]:
    """As it is."""
    return document


class Configured(msgspec.Struct, frozen=True, eq=False):
    """What flags and files come to, before the engine is made."""

    spec: EngineSpec
    config: SchedulerConfig | V1Alpha1Config
    """With the flags that count."""
    document: Callable[[EngineSpec], dict[str, Any]]
    """Of the spec with its policy: everything that it comes to, in its own API version."""
    addresses: tuple[str, str] | None = None
    """Where health and metrics are served without TLS; None in 1.36."""
    policy_place: ConfigMapName | None = None
    """Where in the cluster the policy is; None: nowhere."""
    preempts: bool = True
    delays_cache: bool = False
    """1.36: delayCacheUntilActive."""
    shown: Callable[[dict[str, Any]], dict[str, Any]] = _whole_document
    """Of the document: what /configz shows."""
    written_before: dict[str, Any] | None = None
    """What ``--write-config-to`` writes before the process goes on (1.16); None: the document, and nothing goes on."""


# --- 1.16 ----------------------------------------------------------------------------------------------


def of_legacy(spec: EngineSpec, flags: FlagValues, notice: Notice) -> Configured:
    """With a file, the file alone counts; ``--write-config-to`` writes what the flags say all the same."""
    bare = _with_legacy_flags(msgspec.structs.replace(spec, config_file=None), flags)
    by_flags = _v1alpha1_of(bare, flags)
    config = _bare(lambda: read_component(spec), spec)
    if config is None:
        config, spec = by_flags, bare
    else:
        for note in ignored_beside_file(flags, (*SOURCES, *BESIDES, *CONNECTION, *ELECTION)):
            notice(note)
    return Configured(
        spec=msgspec.structs.replace(spec, percentage_of_nodes_to_score=config.percentage_of_nodes_to_score),
        config=config,
        document=lambda _: v1alpha1_document(config),
        addresses=(config.healthz_bind_address, config.metrics_bind_address),
        policy_place=config.policy_configmap,
        preempts=not config.disable_preemption,
        written_before=v1alpha1_document(by_flags),
    )


def _v1alpha1_of(spec: EngineSpec, flags: FlagValues) -> V1Alpha1Config:
    """The configuration that the flags alone say."""
    config, place = component_of_flags(msgspec.structs.replace(spec, percentage_of_nodes_to_score=0)), _configmap(flags)
    return _filled(
        msgspec.structs.replace(
            config, provider=None if place else config.provider, policy_configmap=place, **_addresses(flags)
        ),
        flags,
    )


# --- 1.20 and 1.36 -------------------------------------------------------------------------------------


def of_framework(spec: EngineSpec, flags: FlagValues, notice: Notice) -> Configured:
    """With a file, 1.20 lets the flags of the algorithm count, and 1.36 those of the election."""
    legacy, form = spec.record.reads_policies, spec.record.framework_rules.component
    if spec.config_file is not None:
        _check_file(spec)
    if legacy:
        spec = _with_source(spec, flags) if spec.config_file else _with_legacy_flags(spec, flags)

    def whole(spec: EngineSpec) -> SchedulerConfig:
        return _whole(spec, flags, legacy=legacy)

    config = _bare(lambda: whole(spec), spec)
    if spec.config_file is not None:
        for note in ignored_beside_file(flags, (*BESIDES, *CONNECTION, *(ELECTION if legacy else ()))):
            notice(note)
    return Configured(
        spec=spec,
        config=config,
        document=lambda spec: component_document(whole(spec), form),
        addresses=(config.healthz_bind_address, config.metrics_bind_address) if legacy else None,
        policy_place=_configmap(flags) if legacy else None,
        shown=partial(as_given, spec.config_file, flags) if legacy else _whole_document,
        delays_cache=config.delay_cache_until_active,
    )


def as_given(config_file: str | None, flags: FlagValues, document: dict[str, Any]) -> dict[str, Any]:
    """The configuration as 1.20 keeps it: with the profiles that are given, and where the algorithm comes from.

    Profiles are completed where the log says them (``-v 2``). Upstream: LogOrWriteConfig, DeprecatedOptions.ApplyTo.
    """
    shown = {**document, "algorithmSource": _algorithm_source(flags)}
    if flags["v"] < COMPLETED_FROM:
        found = _given_profiles(config_file, flags)
        shown["profiles"] = [_given_profile(*pair) for pair in zip(found, document["profiles"], strict=False)]
    return shown


def _algorithm_source(flags: FlagValues) -> dict[str, Any]:
    """By flags, else the default provider."""
    place, file = _configmap(flags), flags["policy-config-file"]
    if place is None and file:
        return {"policy": {"file": {"path": file}}}
    if place is not None:
        return {"policy": {"configMap": {"namespace": place.namespace, "name": place.name}}}
    return {"provider": flags["algorithm-provider"] or "DefaultProvider"}


def _given_profiles(config_file: str | None, flags: FlagValues) -> list[dict[str, Any]]:
    """Those of the file; without them the default one, with what flags say of it."""
    if config_file is not None:
        said = parse_first_document(read_text(Path(config_file)), config_file)
        return list(said.get("profiles") or [{}])
    weight = flags.said("hard-pod-affinity-symmetric-weight")
    return [{} if weight in (None, 1) else {"pluginConfig": [{"name": "InterPodAffinity"}]}]


def _given_profile(given: dict[str, Any], completed: dict[str, Any]) -> dict[str, Any]:
    """A profile as it is given, its args with their defaults."""
    args = {entry["name"]: entry for entry in completed.get("pluginConfig") or ()}
    entries = [args.get(entry["name"], entry) for entry in given.get("pluginConfig") or ()]
    return {
        "schedulerName": completed["schedulerName"],
        "plugins": given.get("plugins"),
        "pluginConfig": entries or None,
    }


def _whole(spec: EngineSpec, flags: FlagValues, *, legacy: bool) -> SchedulerConfig:
    """The completed configuration with the flags that count beside it."""
    config = spec.component_config(lambda _: None)
    if spec.config_file is None:
        return _filled(msgspec.structs.replace(config, **(_addresses(flags) if legacy else {})), flags)
    if legacy:
        return config
    return msgspec.structs.replace(config, leader_election=overridden(config.leader_election, ELECTION, flags))


def _check_file(spec: EngineSpec) -> None:
    """Raises ConfigError with the release's own text for a file that it does not take."""
    path = Path(spec.config_file or "")
    if not path.exists():
        raise ConfigError(f"open {path}: no such file or directory")
    component_config_from(
        parse_first_document(read_text(path), str(path)),
        spec.record.framework_rules.component,
        all_problems=False,
        points=spec.points(),
        feature_gates=spec.gates,
    )


# --- what both need ------------------------------------------------------------------------------------


def _filled(config: C, flags: FlagValues) -> C:
    """The defaults with what the command line says."""
    whole: C = msgspec.structs.replace(
        overridden(config, PROFILING, flags),
        client_connection=overridden(config.client_connection, CONNECTION, flags),
        leader_election=overridden(config.leader_election, ELECTION, flags),
    )
    return whole


def _addresses(flags: FlagValues) -> dict[str, Any]:
    """Without a file, health and metrics are served at one address; none where the port is 0."""
    host, port = flags["address"], flags["port"]
    text = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return dict.fromkeys(("healthz_bind_address", "metrics_bind_address"), text if port else "")


def _bare(read: Callable[[], Any], spec: EngineSpec) -> Any:
    """What is read; errors without the file's name before them, as upstream gives them."""
    try:
        return read()
    except ConfigError as error:
        name = spec.config_file or "config"
        if spec.config_file and not Path(name).exists():
            raise ConfigError(f"open {name}: no such file or directory") from None
        raise ConfigError(problem.removeprefix(f"{name}: ") for problem in error.problems) from None


def _with_legacy_flags(spec: EngineSpec, flags: FlagValues) -> EngineSpec:
    """With the flags that count only where there is no file."""
    return msgspec.structs.replace(
        _with_source(spec, flags),
        hard_pod_affinity_symmetric_weight=flags.said("hard-pod-affinity-symmetric-weight"),
        scheduler_name=flags.said("scheduler-name"),
    )


def _with_source(spec: EngineSpec, flags: FlagValues) -> EngineSpec:
    """Where the algorithm comes from, if it is no ConfigMap: a file goes before a provider."""
    if _configmap(flags) is not None:
        return spec
    return msgspec.structs.replace(
        spec,
        provider=flags["algorithm-provider"] or None,
        policy_file=flags["policy-config-file"] or None,
        use_legacy_policy_config=flags["use-legacy-policy-config"],
    )


def _configmap(flags: FlagValues) -> ConfigMapName | None:
    """The ConfigMap that the flags name, unless the legacy flag has the file go before it."""
    name = flags["policy-configmap"]
    if not name or flags["use-legacy-policy-config"]:
        return None
    return ConfigMapName(flags["policy-configmap-namespace"], name)
