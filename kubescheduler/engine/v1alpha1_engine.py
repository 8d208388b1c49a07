"""What 1.16 and 1.18 do with a configuration of v1alpha1: the flags that say the same, and what no flag says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from clusterstate.errors import ConfigError, faults_at
from kubescheduler.config.component_format import ConfigMapName, Lifted
from kubescheduler.config.config_schema import KIND
from kubescheduler.config.config_text import configuration_in, read_configmap, read_configuration
from kubescheduler.config.policy_1_20_plugins import algorithm_source_1_20
from kubescheduler.config.v1alpha1 import V1Alpha1Config
from kubescheduler.engine.engine_flags import ALL_NODES, EngineFlags, Notice
from kubescheduler.framework.contract.profile import DEFAULT_SCHEDULER_NAME
from kubescheduler.releases.names import FRAMEWORK_RELEASES, spoken

if TYPE_CHECKING:
    from kubescheduler.core.algorithm import Algorithm

    Flags = TypeVar("Flags", bound=EngineFlags)

NO_POLICY = {"kind": "Policy", "apiVersion": "v1"}
"""What a configuration means whose policy has neither a file nor a ConfigMap. Upstream: ``scheduler.New``."""

UNUSED = ("provider", "hard_pod_affinity_symmetric_weight", "scheduler_name")
"""What has no effect beside ``--config``."""


def given_component(flags: EngineFlags) -> tuple[Any, str]:
    """(the document of ``--config``, or the one that stands in its place; its name). Raises ConfigError."""
    if flags.component is not None:
        return configuration_in(flags.component, "config")
    return read_configuration(Path(flags.config_file or ""))


def read_component(flags: EngineFlags) -> V1Alpha1Config | None:
    """What ``--config`` says; None without it.

    Raises ConfigError with every fault, and for a release without the flag.
    """
    if flags.config_file is None and flags.component is None:
        return None
    read = flags.record.legacy_rules.read_component
    if read is None:
        raise ConfigError(
            f"--config: release {flags.release} reads no component configuration; give it an --algorithm-provider or "
            f"a --policy-config-file, or choose --release 1.16 or {spoken(FRAMEWORK_RELEASES, 'or')}"
        )
    document, name = given_component(flags)
    with faults_at(name):
        return read(document, flags.release, strict=flags.strict)


def flags_of(flags: Flags, config: V1Alpha1Config, notice: Notice) -> Flags:
    """The flags that say what a configuration does to 1.16. Raises ConfigError for a policy that is nowhere."""
    name = flags.config_file or "config"
    for note in config.notes:
        notice(f"{name}: {note}")
    percentage = flags.percentage_of_nodes_to_score
    if percentage == ALL_NODES and config.percentage_of_nodes_to_score:
        percentage = config.percentage_of_nodes_to_score
    return msgspec.structs.replace(
        with_source_of(flags, config, notice),
        hard_pod_affinity_symmetric_weight=config.hard_pod_affinity_symmetric_weight,
        percentage_of_nodes_to_score=percentage,
        config_file=None,
        component=None,
    )


def with_source_of(flags: Flags, config: V1Alpha1Config | Lifted, notice: Notice) -> Flags:
    """The flags with the provider or policy that a configuration names. Raises ConfigError for a policy that is
    nowhere.

    A policy is looked for where the configuration says, and beside the configuration; ``--policy-config-file`` and
    ``--policy-configmap`` stand for what it names in a cluster or on another machine.
    """
    for option in flags.options_given(*UNUSED):
        notice(f"{option} has no effect beside --config")
    return msgspec.structs.replace(
        flags,
        provider=config.provider,
        policy_file=_policy_file(flags, config, notice),
        policy_configmap=_policy_configmap(flags, config),
        policy=NO_POLICY if names_empty_policy(config) else flags.policy,
        use_legacy_policy_config=False,
    )


def names_empty_policy(config: V1Alpha1Config | Lifted) -> bool:
    """Whether a configuration's policy has neither a file nor a ConfigMap."""
    return (config.provider, config.policy_file, config.policy_configmap) == (None, None, None)


def _policy_file(flags: EngineFlags, config: V1Alpha1Config | Lifted, notice: Notice) -> str | None:
    path = config.policy_file
    if path is None:
        if flags.policy_file is not None:
            notice("--policy-config-file has no effect beside --config, whose algorithmSource names no file")
        return None
    beside = Path(flags.config_file or ".").parent / Path(path).name
    if flags.policy_file is not None:
        notice(f"--policy-config-file {flags.policy_file} stands for {path}, which algorithmSource names")
        return flags.policy_file
    if not Path(path).exists() and beside.exists():
        notice(f"{beside} stands for {path}, which algorithmSource names")
        return str(beside)
    if not Path(path).exists():
        raise ConfigError(
            f"missing policy config file {path}: algorithmSource.policy.file names it; "
            "give the policy with --policy-config-file FILE"
        )
    return path


def _policy_configmap(flags: EngineFlags, config: V1Alpha1Config | Lifted) -> str | None:
    wanted = config.policy_configmap
    if wanted is None or flags.policy is not None:
        return None
    place = f"{wanted.namespace}/{wanted.name}"
    if flags.policy_configmap is None:
        raise ConfigError(
            f"couldn't get policy config map {place}: algorithmSource.policy.configMap names it; "
            "give its manifest with --policy-configmap FILE"
        )
    metadata = read_configmap(Path(flags.policy_configmap)).get("metadata") or {}
    given = metadata.get("name", wanted.name), metadata.get("namespace", wanted.namespace)
    if given != (wanted.name, wanted.namespace):
        raise ConfigError(
            f"{flags.policy_configmap}: algorithmSource names ConfigMap {place}, this is {given[1]}/{given[0]}"
        )
    return flags.policy_configmap


def configured(algorithm: Algorithm, config: V1Alpha1Config) -> Algorithm:
    """The algorithm with what only a configuration can say."""
    behaviour = algorithm.behaviour
    if config.disable_preemption:
        behaviour = msgspec.structs.replace(behaviour, preempts=False)
    return msgspec.structs.replace(algorithm, behaviour=behaviour, scheduler_name=config.scheduler_name)


def component_alone(flags: EngineFlags, document: Mapping[str, Any]) -> V1Alpha1Config:
    """A configuration that stands alone. Raises ConfigError for a release that reads none.

    One that names a policy is refused: nobody can say what stands in it.
    """
    config = _decoded(flags, document)
    refuse_policy_elsewhere(config)
    return config


def refuse_policy_elsewhere(config: V1Alpha1Config | Lifted) -> None:
    """Raises ConfigError for a configuration that names a policy, where nothing but the configuration is given."""
    if config.provider is None and not names_empty_policy(config):
        place = config.policy_file or config.policy_configmap
        named = f"{place.namespace}/{place.name}" if isinstance(place, ConfigMapName) else place
        raise ConfigError(f"algorithmSource.policy: it is elsewhere, in {named}; give the policy itself in its place")


def lifted_component(flags: EngineFlags) -> Lifted | None:
    """What ``--config`` comes to in 1.18 if it is of an apiVersion that names its algorithm; None for any other.

    Raises ConfigError with every fault.
    """
    lifts = flags.record.framework_rules.component.lifts
    if not lifts or (flags.config_file is None and flags.component is None):
        return None
    document, name = given_component(flags)
    lift = lifts.get(str(document.get("apiVersion")))
    if lift is None or document.get("kind") != KIND:
        return None
    with faults_at(name):
        return lift(document, flags.release, strict=flags.strict)


def component_notes(flags: EngineFlags, document: Mapping[str, Any]) -> tuple[str, ...]:
    """What of such a configuration the release ignores."""
    return _decoded(flags, document).notes


def _decoded(flags: EngineFlags, document: Mapping[str, Any]) -> V1Alpha1Config:
    read = flags.record.legacy_rules.read_component
    if read is None:
        raise ConfigError(f"release {flags.release} has no component configuration to decide by")
    return read(document, flags.release, strict=flags.strict)


def component_of_flags(flags: EngineFlags) -> V1Alpha1Config:
    """What flags say without ``--config``, as ``--write-config-to`` writes it."""
    source = algorithm_source_1_20(  # 1.16 does the same
        provider=flags.provider,
        policy_file=flags.policy_file,
        policy_configmap=flags.policy_configmap,
        use_legacy_policy_config=flags.use_legacy_policy_config,
    )
    configmap = None
    if source.policy_configmap is not None:
        metadata = read_configmap(Path(source.policy_configmap)).get("metadata") or {}
        configmap = ConfigMapName(metadata.get("namespace", "kube-system"), metadata.get("name", ""))
    percentage = flags.percentage_of_nodes_to_score
    return V1Alpha1Config(
        scheduler_name=flags.scheduler_name or DEFAULT_SCHEDULER_NAME,
        provider=source.provider,
        policy_file=source.policy_file,
        policy_configmap=configmap,
        hard_pod_affinity_symmetric_weight=flags.hard_weight,
        percentage_of_nodes_to_score=0 if percentage == ALL_NODES else percentage,
    )
