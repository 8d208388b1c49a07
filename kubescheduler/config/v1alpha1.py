"""The component configuration ``kubescheduler.config.k8s.io/v1alpha1``, which ignores unknown keys.

Release 1.16 has no plugins that it could name; 1.18 makes one profile of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import msgspec

from clusterstate.errors import ConfigError
from kubescheduler.config.component_format import ConfigMapName, Lifted, bind_address, said_values
from kubescheduler.config.config_schema import (
    CLIENT_CONNECTION,
    CONFIGURATION,
    KIND,
    LEADER_ELECTION,
    PLUGIN_SET,
    V1ALPHA1,
    V1ALPHA2,
    given_values,
)
from kubescheduler.config.go_decoding import GoDecoder, ignored_notes, text_notes, text_problems, unknown_problem
from kubescheduler.config.load_config import document_yaml, type_problems, without_type
from kubescheduler.framework.contract.profile import DEFAULT_SCHEDULER_NAME, ClientConnection, LeaderElection, PluginSet
from kubescheduler.framework.document_schema import (
    BOOL,
    INT32,
    INT64,
    TEXT,
    Anything,
    Field,
    ListOf,
    Struct,
    fields,
    written,
)

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


class V1Alpha1Config(msgspec.Struct, frozen=True):
    """A KubeSchedulerConfiguration of release 1.16.

    One of provider, policy_file and policy_configmap is set; none of them means an empty Policy.
    """

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


_FILE = Struct("SchedulerPolicyFileSource", given_values, fields(path=TEXT))
_CONFIG_MAP = Struct("SchedulerPolicyConfigMapSource", ConfigMapName, fields(namespace=TEXT, name=TEXT))
_POLICY = Struct("SchedulerPolicySource", given_values, fields(file=_FILE, config_map=_CONFIG_MAP))
_SOURCE = Struct("SchedulerAlgorithmSource", given_values, fields(policy=_POLICY, provider=TEXT))
_ELECTION = msgspec.structs.replace(
    LEADER_ELECTION,
    name="KubeSchedulerLeaderElectionConfiguration",
    fields=(
        *LEADER_ELECTION.fields,
        *fields(lock_object_name=TEXT, lock_object_namespace=TEXT),
    ),
    parts=lambda election: {
        **msgspec.structs.asdict(election),
        "lock_object_name": election.resource_name,
        "lock_object_namespace": election.resource_namespace,
    },
)
_PLUGINS = Struct("Plugins", given_values, tuple(Field(member, member, PLUGIN_SET) for member in MEMBERS))


def _parts(config: V1Alpha1Config) -> dict[str, Any]:
    """What is written of a configuration; there are no plugins to name."""
    source: dict[str, Any] = {"policy": {}} if config.provider is None else {"provider": config.provider}
    if config.policy_file is not None:
        source = {"policy": {"file": {"path": config.policy_file}}}
    elif config.policy_configmap is not None:
        source = {"policy": {"config_map": config.policy_configmap}}
    return {**msgspec.structs.asdict(config), "source": source, "plugins": None}


CONFIGURATION_V1ALPHA1 = Struct(
    "KubeSchedulerConfiguration",
    given_values,
    (
        Field("schedulerName", "scheduler_name", TEXT),
        Field("algorithmSource", "source", _SOURCE),
        *fields(
            hard_pod_affinity_symmetric_weight=INT32,
            leader_election=_ELECTION,
            client_connection=CLIENT_CONNECTION,
            healthz_bind_address=TEXT,
            metrics_bind_address=TEXT,
            enable_profiling=BOOL,
            enable_contention_profiling=BOOL,
            disable_preemption=BOOL,
            percentage_of_nodes_to_score=INT32,
            bind_timeout_seconds=INT64,
            plugins=_PLUGINS,
            plugin_config=ListOf(Struct("PluginConfig", given_values, fields(name=TEXT, args=Anything()))),
        ),
    ),
    parts=_parts,
)


CONFIGURATION_1_18 = CONFIGURATION_V1ALPHA1.with_fields(
    Field(
        "plugins",
        "plugins",
        msgspec.structs.replace(_PLUGINS, fields=tuple(f for f in _PLUGINS.fields if f.key != "normalizeScore")),
    ),
    *fields(pod_initial_backoff_seconds=INT64, pod_max_backoff_seconds=INT64),
)


def read_v1alpha1(document: Mapping[str, Any], release: str = "1.16", *, strict: bool = False) -> V1Alpha1Config:
    """The configuration with its defaults; ``notes`` says what is ignored.

    release: that reads it. strict: unknown keys and keys that are set twice are faults. Raises ConfigError with every
    fault and its path.
    """
    if problems := type_problems(document, release, (V1ALPHA1,)):
        raise ConfigError(problems)
    written, notes, problems = _decoded(document, CONFIGURATION_V1ALPHA1, release, strict=strict)
    if problems := [*problems, *_plugin_problems(written, release)]:
        raise ConfigError(problems)
    return msgspec.structs.replace(_completed(written), notes=notes)


def _decoded(
    document: Mapping[str, Any], keys: Struct, release: str, *, strict: bool
) -> tuple[Mapping[str, Any], tuple[str, ...], list[str]]:
    """(attribute → what is written, what is ignored of it, what is wrong with it)."""
    decoder = GoDecoder(outer=0)
    written: Mapping[str, Any] = decoder.decode(keys, without_type(document))
    problems = [*map(str, decoder.faults)]
    if strict:
        problems += (*map(unknown_problem, decoder.unknown), *text_problems(document))
    problems += (*_lock_problems(written), *_source_problems(written))
    ignored = (*ignored_notes(decoder.unknown, release), *text_notes(document, release))
    return written, (*ignored, *_source_notes(written)), problems


# --- as a configuration with profiles ------------------------------------------------------

AFFINITY = "InterPodAffinity"
WEIGHT = "hardPodAffinitySymmetricWeight"


def lifted_v1alpha1(document: Mapping[str, Any], release: str, *, strict: bool = False) -> Lifted:
    """What 1.18 makes of it: one profile of v1alpha2, in whose preScore stand the plugins of postFilter.

    The document's apiVersion and kind are known to be right. Raises ConfigError with every fault and its path. strict:
    as in ``read_v1alpha1``. Upstream: Convert_v1alpha1_KubeSchedulerConfiguration_To_config_KubeSchedulerConfiguration.
    """
    given, notes, problems = _decoded(document, CONFIGURATION_1_18, release, strict=strict)
    if problems:
        raise ConfigError(problems)
    plugins: dict[str, PluginSet] | None = given.get("plugins")
    entries = list(given.get("plugin_config", ()))
    places = [("profiles[0].plugins.preScore", "plugins.postFilter"), ("profiles[0].", "")]
    weight = given.get("hard_pod_affinity_symmetric_weight")
    if weight is not None:
        place = f"profiles[0].pluginConfig[{len(entries)}]"
        places = [(f"{place}.args.hardPodAffinityWeight", WEIGHT), (place, WEIGHT), *places]
        entries.append({"name": AFFINITY, "args": {"hardPodAffinityWeight": weight}})
    profile = {
        "scheduler_name": given.get("scheduler_name"),
        "plugins": plugins and {"preScore" if name == "postFilter" else name: one for name, one in plugins.items()},
        "plugin_config": entries,
    }
    election = {**given.get("leader_election", {})}
    for what in ("name", "namespace"):
        election[f"resource_{what}"] = election.get(f"resource_{what}") or election.get(f"lock_object_{what}")
    said = {
        **given,
        "leader_election": {name: value for name, value in election.items() if value is not None} or None,
        "profiles": [profile],
    }
    source = {"provider": None, "policy_file": None, "policy_configmap": None, **_source(given.get("source", {}))}
    return Lifted(
        document={"apiVersion": V1ALPHA2, "kind": KIND, **written(CONFIGURATION[V1ALPHA2], said)},
        notes=notes,
        places=tuple(places),
        **source,
    )


BESIDE_POLICY = "using {} and Policy simultaneously is not supported; say it in the policy"
"""Release 1.18."""


def refuse_policy_in(lifted: Lifted) -> None:
    """Raises ConfigError for a v1alpha1 configuration that names a policy and says something of plugins besides.

    A weight of required pod affinity is such a thing. Upstream: 1.18 createFromConfig.
    """
    (profile,) = lifted.document["profiles"]
    if profile.get("plugins") is not None:
        raise ConfigError(f"plugins: {BESIDE_POLICY.format('Plugins')}")
    if profile.get("pluginConfig"):
        written = lifted.own("profiles[0].pluginConfig[0]").removesuffix("[0]")
        raise ConfigError(f"{written}: {BESIDE_POLICY.format('PluginConfig')}")


# --- faults --------------------------------------------------------------------------------


def _lock_problems(written: Mapping[str, Any]) -> Iterator[str]:
    election = written.get("leader_election", {})
    for what in ("Name", "Namespace"):
        resource, lock = (election.get(f"{kind}_{what.lower()}") for kind in ("resource", "lock_object"))
        if resource and lock and resource != lock:
            text = f"Resource{what} and LockObject{what} are both set and do not match"
            yield f"leaderElection: {text}, Resource{what}: {resource}, LockObject{what}: {lock}"


def _source_problems(written: Mapping[str, Any]) -> Iterator[str]:
    source = written.get("source", {})
    if source.get("policy") is not None and source.get("provider") == "":
        yield "algorithmSource.provider: it is empty, and still goes before the policy; leave it out"


def _source_notes(written: Mapping[str, Any]) -> Iterator[str]:
    source = written.get("source", {})
    if source.get("policy") is not None and source.get("provider"):
        yield "algorithmSource.policy: it has no effect beside algorithmSource.provider"


def _plugin_problems(written: Mapping[str, Any], release: str) -> Iterator[str]:
    plugins: Mapping[str, PluginSet] = written.get("plugins", {})
    for member, found in plugins.items():
        for at, plugin in enumerate(found.enabled):
            path = f"plugins.{member}.enabled[{at}].name"
            yield f"{path}: there is no plugin {plugin.name}: release {release} comes with none"


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
    """A provider goes before a policy, and of a policy its file before its ConfigMap; with neither it is an empty one.

    Upstream: ``scheduler.New``.
    """
    policy = written.get("policy")
    if policy is None or written.get("provider"):
        return {"provider": written.get("provider") or "DefaultProvider"}
    if "file" in policy:
        return {"policy_file": policy["file"].get("path", "")}
    found: ConfigMapName | None = policy.get("config_map")
    return (
        {}
        if found is None
        else {"policy_configmap": msgspec.structs.replace(found, namespace=found.namespace or NAMESPACE)}
    )


def _election(written: Mapping[str, Any]) -> LeaderElection:
    given = said_values(written)
    name = given.pop("lock_object_name", "")
    namespace = given.pop("lock_object_namespace", "")
    given.setdefault("resource_name", name or LeaderElection().resource_name)
    given.setdefault("resource_namespace", namespace or LeaderElection().resource_namespace)
    given.setdefault("resource_lock", "endpoints")
    return LeaderElection(**given)


def v1alpha1_document(config: V1Alpha1Config) -> dict[str, Any]:
    """Reading it gives the same configuration."""
    return {"apiVersion": V1ALPHA1, "kind": KIND, **written(CONFIGURATION_V1ALPHA1, config)}


def write_v1alpha1(config: V1Alpha1Config) -> str:
    """``v1alpha1_document`` as YAML, keys in order."""
    return document_yaml(v1alpha1_document(config))
