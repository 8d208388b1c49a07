"""Reading v1alpha1 as release 1.16 does: keys in their exact case, unknown ones ignored, nothing validated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from clusterstate.errors import ConfigError
from kubescheduler.config.component.config_defaults import bind_address, said_values
from kubescheduler.config.component.config_schema import V1, V1ALPHA1, V1ALPHA2, V1BETA1, V1BETA2, V1BETA3
from kubescheduler.config.component.type_meta import type_problems, without_type
from kubescheduler.config.go_decoding import GoDecoder
from kubescheduler.config.policy.unread_keys import ignored_notes, text_notes, text_problems, unknown_problem
from kubescheduler.config.v1alpha1.v1alpha1_config import (
    CONFIGURATION_V1ALPHA1,
    NAMESPACE,
    V1Alpha1Config,
)
from kubescheduler.framework.contract.profile import (
    DEFAULT_SCHEDULER_NAME,
    ClientConnection,
    LeaderElection,
)

if TYPE_CHECKING:
    from kubescheduler.config.v1alpha1.v1alpha1_config import (
        ConfigMapName,
    )
    from kubescheduler.framework.contract.profile import (
        PluginSet,
    )

ELSEWHERE = {
    V1: "that is for --release 1.36",
    V1BETA1: "that is for --release 1.20",
    **dict.fromkeys((V1BETA3, V1BETA2, V1ALPHA2), "1.16 reads v1alpha1"),
}
"""apiVersion that 1.16 does not read → what to do."""


def read_v1alpha1(document: Mapping[str, Any], *, strict: bool = False) -> V1Alpha1Config:
    """The configuration with its defaults; ``notes`` says what is ignored.

    strict: unknown keys and keys that are set twice are faults. Raises ConfigError with every fault and its path.
    """
    if problems := type_problems(document, "1.16", (V1ALPHA1,), ELSEWHERE):
        raise ConfigError(problems)
    decoder = GoDecoder(outer=0)
    written = decoder.decode(CONFIGURATION_V1ALPHA1, without_type(document))
    problems = [*map(str, decoder.faults)]
    if strict:
        problems += (*map(unknown_problem, decoder.unknown), *text_problems(document))
    problems += (*_lock_problems(written), *_source_problems(written), *_plugin_problems(written))
    if problems:
        raise ConfigError(problems)
    notes = (*ignored_notes(decoder.unknown, "1.16"), *text_notes(document, "1.16"))
    return msgspec.structs.replace(_completed(written), notes=notes)


# --- faults --------------------------------------------------------------------------------


def _lock_problems(written: Mapping[str, Any]) -> Iterator[str]:
    election = written.get("leader_election", {})
    for what in ("Name", "Namespace"):
        resource, lock = (election.get(f"{kind}_{what.lower()}") for kind in ("resource", "lock_object"))
        if resource and lock and resource != lock:
            text = f"Resource{what} and LockObject{what} are both set and do not match"
            yield f"leaderElection: {text}, Resource{what}: {resource}, LockObject{what}: {lock}"


def _source_problems(written: Mapping[str, Any]) -> Iterator[str]:
    """A policy of nowhere: the release ends with ``no policy``, as nothing says where it is."""
    policy = written.get("source", {}).get("policy")
    if policy is not None and not policy:
        yield "algorithmSource.policy: it needs file.path or configMap.name"


def _plugin_problems(written: Mapping[str, Any]) -> Iterator[str]:
    plugins: Mapping[str, PluginSet] = written.get("plugins", {})
    for member, found in plugins.items():
        for at, plugin in enumerate(found.enabled):
            yield f"plugins.{member}.enabled[{at}].name: there is no plugin {plugin.name}: release 1.16 comes with none"


# --- defaults ------------------------------------------------------------------------------


def _completed(written: Mapping[str, Any]) -> V1Alpha1Config:
    own = ("source", "leader_election", "client_connection", "healthz_bind_address", "metrics_bind_address")
    given = {name: value for name, value in written.items() if name not in (*own, "plugin_config")}
    if not given.get("hard_pod_affinity_symmetric_weight"):
        given.pop("hard_pod_affinity_symmetric_weight", None)
    given["scheduler_name"] = given.get("scheduler_name") or DEFAULT_SCHEDULER_NAME
    return V1Alpha1Config(
        **_source(written.get("source", {})),
        leader_election=_election(written.get("leader_election", {})),
        client_connection=ClientConnection(**said_values(written.get("client_connection", {}))),
        healthz_bind_address=bind_address(written.get("healthz_bind_address")),
        metrics_bind_address=bind_address(written.get("metrics_bind_address")),
        **given,
    )


def _source(written: Mapping[str, Any]) -> dict[str, Any]:
    """The file counts where both are named; a policy goes before a provider."""
    policy = written.get("policy")
    if policy is None:
        return {"provider": written.get("provider") or "DefaultProvider"}
    if "file" in policy:
        return {"policy_file": policy["file"].get("path", "")}
    found: ConfigMapName = policy["config_map"]
    return {"policy_configmap": msgspec.structs.replace(found, namespace=found.namespace or NAMESPACE)}


def _election(written: Mapping[str, Any]) -> LeaderElection:
    given = said_values(written)
    name = given.pop("lock_object_name", "")
    namespace = given.pop("lock_object_namespace", "")
    given.setdefault("resource_name", name or LeaderElection().resource_name)
    given.setdefault("resource_namespace", namespace or LeaderElection().resource_namespace)
    given.setdefault("resource_lock", "endpoints")
    return LeaderElection(**given)
