"""What a v1alpha1 configuration says, with its defaults, and its keys."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from kubescheduler.config.component.config_schema import CLIENT_CONNECTION, LEADER_ELECTION, PLUGIN_SET
from kubescheduler.framework.args.document_schema import BOOL, INT32, INT64, TEXT, Anything, Field, ListOf, Struct
from kubescheduler.framework.contract.profile import DEFAULT_SCHEDULER_NAME, ClientConnection, LeaderElection

if TYPE_CHECKING:
    from kubescheduler.framework.contract.profile import PluginSet

NAMESPACE = "kube-system"
MEMBERS = (
    "queueSort",
    "preFilter",
    "filter",
    "postFilter",
    "score",
    "normalizeScore",
    "reserve",
    "permit",
    "preBind",
    "bind",
    "postBind",
    "unreserve",
)
"""The members of ``plugins``."""


class ConfigMapName(msgspec.Struct, frozen=True):
    """Where a ConfigMap is in the cluster."""

    namespace: str = ""
    name: str = ""


class V1Alpha1Config(msgspec.Struct, frozen=True):
    """A KubeSchedulerConfiguration of release 1.16; one of provider, policy_file and policy_configmap is set."""

    scheduler_name: str = DEFAULT_SCHEDULER_NAME
    """Pods that name another scheduler are left alone."""
    provider: str | None = None
    """The name of an algorithm provider."""
    policy_file: str | None = None
    """The path of a Policy where kube-scheduler runs."""
    policy_configmap: ConfigMapName | None = None
    """The ConfigMap that has the Policy."""
    hard_pod_affinity_symmetric_weight: int = 1
    """What a running pod's required affinity to the new pod counts."""
    percentage_of_nodes_to_score: int = 0
    """0: the adaptive share."""
    disable_preemption: bool = False
    """No pod is evicted for another."""
    bind_timeout_seconds: int = 600
    """How long binding of volumes may take."""
    leader_election: LeaderElection = msgspec.field(default_factory=partial(LeaderElection, resource_lock="endpoints"))
    """The lock's name under either spelling."""
    client_connection: ClientConnection = msgspec.field(default_factory=ClientConnection)
    healthz_bind_address: str = "0.0.0.0:10251"
    metrics_bind_address: str = "0.0.0.0:10251"
    enable_profiling: bool = False
    enable_contention_profiling: bool = False
    plugins: Mapping[str, PluginSet] = msgspec.field(default_factory=dict)
    """Extension point → its set; 1.16 has no plugins of its own."""
    notes: tuple[str, ...] = ()
    """What someone who wrote the configuration may not expect."""


# --- keys ----------------------------------------------------------------------------------


def given_values(**given: Any) -> dict[str, Any]:
    """Attribute → value, of the keys that are written."""
    return given


_FILE = Struct("SchedulerPolicyFileSource", given_values, (Field("path", "path", TEXT),))
_CONFIG_MAP = Struct(
    "SchedulerPolicyConfigMapSource",
    ConfigMapName,
    (Field("namespace", "namespace", TEXT), Field("name", "name", TEXT)),
)
_POLICY = Struct(
    "SchedulerPolicySource", given_values, (Field("file", "file", _FILE), Field("configMap", "config_map", _CONFIG_MAP))
)
_SOURCE = Struct(
    "SchedulerAlgorithmSource",
    given_values,
    (Field("policy", "policy", _POLICY), Field("provider", "provider", TEXT)),
)
_ELECTION = msgspec.structs.replace(
    LEADER_ELECTION,
    name="KubeSchedulerLeaderElectionConfiguration",
    fields=(
        *LEADER_ELECTION.fields,
        Field("lockObjectName", "lock_object_name", TEXT),
        Field("lockObjectNamespace", "lock_object_namespace", TEXT),
    ),
)
_PLUGINS = Struct("Plugins", given_values, tuple(Field(member, member, PLUGIN_SET) for member in MEMBERS))

CONFIGURATION_V1ALPHA1 = Struct(
    "KubeSchedulerConfiguration",
    given_values,
    (
        Field("schedulerName", "scheduler_name", TEXT),
        Field("algorithmSource", "source", _SOURCE),
        Field("hardPodAffinitySymmetricWeight", "hard_pod_affinity_symmetric_weight", INT32),
        Field("leaderElection", "leader_election", _ELECTION),
        Field("clientConnection", "client_connection", CLIENT_CONNECTION),
        Field("healthzBindAddress", "healthz_bind_address", TEXT),
        Field("metricsBindAddress", "metrics_bind_address", TEXT),
        Field("enableProfiling", "enable_profiling", BOOL),
        Field("enableContentionProfiling", "enable_contention_profiling", BOOL),
        Field("disablePreemption", "disable_preemption", BOOL),
        Field("percentageOfNodesToScore", "percentage_of_nodes_to_score", INT32),
        Field("bindTimeoutSeconds", "bind_timeout_seconds", INT64),
        Field("plugins", "plugins", _PLUGINS),
        Field(
            "pluginConfig",
            "plugin_config",
            ListOf(
                Struct("PluginConfig", given_values, (Field("name", "name", TEXT), Field("args", "args", Anything())))
            ),
        ),
    ),
)
