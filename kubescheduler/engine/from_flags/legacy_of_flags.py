"""What flags say of a release that decides by predicates and priorities: the engine that makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from clusterstate.errors import ConfigError
from kubescheduler.engine.engine_flags import ALL_NODES
from kubescheduler.engine.engines import LegacyEngine
from kubescheduler.engine.legacy_algorithm import algorithm_from_document, algorithm_from_files

if TYPE_CHECKING:
    from kubescheduler.core.algorithm import Algorithm
    from kubescheduler.engine.engine_flags import EngineFlags

Notice = Callable[[str], None]
"""Is called with what a reader would not expect."""


def engine_of_algorithm(flags: EngineFlags, notice: Notice) -> LegacyEngine:
    """The engine of a provider, a policy or a component configuration. Raises ConfigError with every problem."""
    if flags.config_file is not None or flags.component is not None:
        return _engine_of_component(flags, notice)
    return LegacyEngine(_algorithm(flags, notice), flags.release_view())


def _engine_of_component(flags: EngineFlags, notice: Notice) -> LegacyEngine:
    from kubescheduler.engine.v1alpha1_engine import configured, flags_of, read_component

    config = read_component(flags)
    assert config is not None
    algorithm = _algorithm(flags_of(flags, config, notice), notice)
    return LegacyEngine(configured(algorithm, config), flags.release_view())


def _algorithm(flags: EngineFlags, notice: Notice) -> Algorithm:
    if flags.percentage_of_nodes_to_score != ALL_NODES and not flags.record.legacy_rules.samples:
        notice(f"--percentage-of-nodes-to-score has no effect: release {flags.release} always looks at every node")
    policy_file, policy_configmap = flags.policy_file, flags.policy_configmap
    if flags.use_legacy_policy_config:
        if not flags.record.legacy_rules.legacy_policy_flag:
            raise ConfigError(
                f"unknown flag: --use-legacy-policy-config: release {flags.release} has none; leave it out"
            )
        from kubescheduler.config.policy.policy_1_20_source import algorithm_source_1_20

        source = algorithm_source_1_20(policy_file=policy_file, use_legacy_policy_config=True)  # 1.16 does the same
        policy_file, policy_configmap = source.policy_file, None
    if flags.policy is not None:
        return algorithm_from_document(flags, flags.policy, "policy", notice)
    return algorithm_from_files(flags, flags.provider, policy_file, policy_configmap, notice)
