"""Where release 1.20 takes its algorithm from: flags, a provider's name, a policy in a file or ConfigMap."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from clusterstate.errors import ConfigError, nearest
from kubecel.api_names import go_quote
from kubescheduler.config.config_text import read_policy_configmap, read_policy_file
from kubescheduler.framework.args.field_errors import invalid, required
from kubescheduler.framework.contract.profile import DEFAULT_SCHEDULER_NAME, Profile
from kubescheduler.framework.plugins.inter_pod_affinity import InterPodAffinityArgs
from kubescheduler.framework.profiles.default_plugins import DEFAULT_PROVIDER, provider_plugins

if TYPE_CHECKING:
    from kubescheduler.framework.profiles.default_plugins import InTree, Providers


class AlgorithmSource(msgspec.Struct, frozen=True):
    """Exactly one is set: a provider's name, or the path of a policy or of a ConfigMap's manifest."""

    provider: str | None = None
    policy_file: str | None = None
    policy_configmap: str | None = None

    def read_policy(self) -> dict[str, Any] | None:
        """The policy's document, None for a provider. Raises ConfigError with the release's texts."""
        if self.policy_configmap is not None:
            return read_policy_configmap(Path(self.policy_configmap))
        if self.policy_file is not None:
            return read_policy_file(Path(self.policy_file))
        return None


def algorithm_source_1_20(
    *,
    provider: str | None = None,
    policy_file: str | None = None,
    policy_configmap: str | None = None,
    use_legacy_policy_config: bool = False,
) -> AlgorithmSource:
    """What the flags select: a ConfigMap before a file, unless the legacy flag is set; a policy before a provider.

    Raises ConfigError when the legacy flag is set without a file.
    """
    if use_legacy_policy_config and not policy_file:
        raise ConfigError(str(required("policyConfigFile", "required when --use-legacy-policy-config is true")))
    if policy_configmap and not use_legacy_policy_config:
        return AlgorithmSource(policy_configmap=policy_configmap)
    if policy_file:
        return AlgorithmSource(policy_file=policy_file)
    return AlgorithmSource(provider=provider or DEFAULT_PROVIDER)


def refuse_policy_beside(configuration: Mapping[str, Any]) -> None:
    """Raises ConfigError for a component configuration that no policy can be set with.

    One with several profiles, or with plugins or plugin args in its profile. ``configuration``: as written.
    """
    profiles = configuration.get("profiles") or []
    if len(profiles) > 1 or any(
        profile.get("plugins") is not None or profile.get("pluginConfig")
        for profile in profiles
        if isinstance(profile, Mapping)
    ):
        raise ConfigError("cannot set a Plugin config and Policy config")


def hard_weight_error_1_20(weight: int) -> str | None:
    """The text for a ``--hard-pod-affinity-symmetric-weight`` out of range."""
    if 0 <= weight <= 100:
        return None
    return str(invalid("hardPodAffinitySymmetricWeight", weight, "not in valid range [0-100]"))


FROM_POLICY_1_20 = "couldn't create scheduler from policy: "
"""What the release puts before the texts of what it cannot make from a policy."""


def from_provider_1_20(name: str) -> str:
    """What the release puts before the texts of what it cannot make from a provider."""
    return f"couldn't create scheduler using provider {go_quote(name)}: "


def profile_for_provider_1_20(
    name: str,
    feature_gates: Mapping[str, bool],
    scheduler_name: str = DEFAULT_SCHEDULER_NAME,
    *,
    providers: Providers,
    plugins: InTree,
    hard_weight: int | None = None,
    hint: bool = False,
) -> Profile:
    """A provider's plugins as a profile. Raises ConfigError with the release's text for an unknown name.

    hard_weight: the weight of required pod affinity that a flag gives; it lasts only without a component configuration.
    hint: the text goes on with the nearest name, or with all there are. providers, plugins:
    what the release registers.
    """
    if name not in providers:
        known = (nearest(name, providers) or f"; there are {' and '.join(providers)}") if hint else ""
        text = f"{from_provider_1_20(name)}algorithm provider {go_quote(name)} is not registered"
        raise ConfigError(text + known)
    spreads = feature_gates.get("DefaultPodTopologySpread", True)
    affinity = () if hard_weight is None else (("InterPodAffinity", InterPodAffinityArgs(hard_weight)),)
    return Profile(
        scheduler_name=scheduler_name,
        plugins=provider_plugins(providers[name], plugins, feature_gates, selector_spread=not spreads),
        plugin_config=affinity,
    )
