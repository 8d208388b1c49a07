"""A KubeSchedulerConfiguration as it was written, where what it does not say is None, and its keys in each version."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from kubescheduler.config.config_text import CONFIGURATION_KIND
from kubescheduler.config.policy_model import EXTENDER
from kubescheduler.framework.contract.profile import Enabled, PluginSet, Point
from kubescheduler.framework.document_schema import (
    BOOL,
    FLOAT,
    GO_DURATION,
    INT32,
    INT64,
    TEXT,
    Anything,
    Field,
    ListOf,
    Struct,
    fields,
)

if TYPE_CHECKING:
    from kubescheduler.extender.config import ExtenderConfig


MULTI_POINT = "multiPoint"
"""The member of ``plugins`` that stands for all points."""


class PluginConfig(msgspec.Struct, frozen=True):
    """An entry of ``pluginConfig``."""

    name: str = ""
    args: Any = None
    """As written; after decoding the plugin's args record, where it has one."""


class WrittenProfile(msgspec.Struct, frozen=True):
    """A profile."""

    scheduler_name: str | None = None
    plugins: Mapping[str, PluginSet] | None = None
    """Member → its set, of the members that are written."""
    plugin_config: tuple[PluginConfig, ...] = ()
    percentage_of_nodes_to_score: int | None = None


class Written(msgspec.Struct, frozen=True):
    """The whole document."""

    parallelism: int | None = None
    leader_election: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """Attribute of the record → value."""
    client_connection: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """Attribute of the record → value."""
    healthz_bind_address: str | None = None
    metrics_bind_address: str | None = None
    enable_profiling: bool | None = None
    enable_contention_profiling: bool | None = None
    percentage_of_nodes_to_score: int | None = None
    pod_initial_backoff_seconds: int | None = None
    pod_max_backoff_seconds: int | None = None
    profiles: tuple[WrittenProfile, ...] = ()
    extenders: tuple[ExtenderConfig, ...] = ()
    delay_cache_until_active: bool = False
    disable_preemption: bool = False
    """v1alpha2."""
    bind_timeout_seconds: int | None = None
    """v1alpha2."""


GROUP = "kubescheduler.config.k8s.io"
KIND = CONFIGURATION_KIND
API_VERSIONS = tuple(
    f"{GROUP}/{version}" for version in ("v1alpha1", "v1alpha2", "v1beta1", "v1beta2", "v1beta3", "v1")
)
"""Every apiVersion, in the order in which they came."""
V1ALPHA1, V1ALPHA2, V1BETA1, V1BETA2, V1BETA3, V1 = API_VERSIONS
OLDEST = "componentconfig/v1alpha1"
"""What v1alpha1 was called at first."""

_BEFORE_V1 = tuple(point.value for point in Point if point not in (Point.PLACEMENT_GENERATE, Point.PLACEMENT_SCORE))
PARTNERS = {"unreserve": Point.RESERVE.value}
"""An extension point of v1alpha2 alone → the one whose plugins take part in it here."""
MEMBERS = {
    V1ALPHA2: (
        *(point for point in _BEFORE_V1 if point not in (Point.PRE_ENQUEUE.value, Point.POST_FILTER.value)),
        *PARTNERS,
    ),
    V1BETA1: tuple(point for point in _BEFORE_V1 if point != Point.PRE_ENQUEUE.value),
    V1BETA2: (*_BEFORE_V1, MULTI_POINT),
    V1BETA3: (*_BEFORE_V1, MULTI_POINT),
    V1: (*(point.value for point in Point), MULTI_POINT),
}
"""Version → the members of a profile's ``plugins``."""


def given_values(**given: Any) -> dict[str, Any]:
    """Attribute → value, of the keys that are written."""
    return given


def _enabled(name: str = "", weight: int = 0) -> Enabled:
    return Enabled(name, weight)


def _disabled(name: str = "", weight: int = 0) -> str:  # noqa: ARG001  the type is that of enabled plugins
    return name


_PLUGIN_FIELDS = (Field("name", "name", TEXT, always=True), Field("weight", "weight", INT32))

PLUGIN_SET = Struct(
    "PluginSet",
    PluginSet,
    fields(
        enabled=ListOf(Struct("Plugin", _enabled, _PLUGIN_FIELDS, omits_zero=True)),
        disabled=ListOf(
            Struct("Plugin", _disabled, _PLUGIN_FIELDS, omits_zero=True, parts=lambda name: {"name": name})
        ),
    ),
)

LEADER_ELECTION = Struct(
    "LeaderElectionConfiguration",
    given_values,
    (
        Field("leaderElect", "leader_elect", BOOL),
        Field("leaseDuration", "lease_duration_ns", GO_DURATION),
        Field("renewDeadline", "renew_deadline_ns", GO_DURATION),
        Field("retryPeriod", "retry_period_ns", GO_DURATION),
        *fields(resource_lock=TEXT, resource_name=TEXT, resource_namespace=TEXT),
    ),
)

CLIENT_CONNECTION = Struct(
    "ClientConnectionConfiguration",
    given_values,
    fields(kubeconfig=TEXT, accept_content_types=TEXT, content_type=TEXT, qps=FLOAT, burst=INT32),
)

COMPONENT_EXTENDER = msgspec.structs.replace(
    EXTENDER.with_fields(
        Field("weight", "weight", INT64),
        Field("enableHTTPS", "enable_https", BOOL),
        Field("httpTimeout", "http_timeout_ns", GO_DURATION),
    ),
    name="Extender",
    fold_case=False,
)
"""An extender: as in policies, but for durations in Go's form and keys in their exact case."""

_ADDRESSES = fields(healthz_bind_address=TEXT, metrics_bind_address=TEXT)


_OF_V1ALPHA2 = fields(disable_preemption=BOOL, bind_timeout_seconds=INT64)


def _profile(version: str) -> Struct:
    keys = (
        *fields(
            scheduler_name=TEXT,
            plugins=Struct(
                "Plugins", given_values, tuple(Field(member, member, PLUGIN_SET) for member in MEMBERS[version])
            ),
        ),
        Field(
            "pluginConfig",
            "plugin_config",
            ListOf(Struct("PluginConfig", PluginConfig, fields(name=TEXT, args=Anything()))),
            always=True,
        ),
    )
    percentage = Field("percentageOfNodesToScore", "percentage_of_nodes_to_score", INT32)
    return Struct("KubeSchedulerProfile", WrittenProfile, (*keys, percentage) if version == V1 else keys)


def _configuration(version: str) -> Struct:
    keys = (
        *(() if version == V1ALPHA2 else fields(parallelism=INT32)),
        *fields(leader_election=LEADER_ELECTION, client_connection=CLIENT_CONNECTION),
        *(_ADDRESSES if version in (V1ALPHA2, V1BETA1, V1BETA2) else ()),
        *fields(
            enable_profiling=BOOL,
            enable_contention_profiling=BOOL,
            percentage_of_nodes_to_score=INT32,
            pod_initial_backoff_seconds=INT64,
            pod_max_backoff_seconds=INT64,
            profiles=ListOf(_profile(version)),
            extenders=ListOf(COMPONENT_EXTENDER),
        ),
        *(_OF_V1ALPHA2 if version == V1ALPHA2 else ()),
        *(fields(delay_cache_until_active=BOOL) if version == V1 else ()),
    )
    return Struct(KIND, Written, keys)


CONFIGURATION = {version: _configuration(version) for version in MEMBERS}
"""Version → its keys, those that it got in later releases too."""


@cache
def configuration_without(version: str, later: frozenset[str]) -> Struct:
    """The keys of a version without some that came later, such as ``profiles.plugins.multiPoint``."""
    return _without(CONFIGURATION[version], later, "")


def _without(struct: Struct, later: frozenset[str], outer: str) -> Struct:
    fields = []
    for field in struct.fields:
        path = f"{outer}{field.key}"
        if path in later:
            continue
        kind = field.kind.item if isinstance(field.kind, ListOf) else field.kind
        if isinstance(kind, Struct) and any(key.startswith(f"{path}.") for key in later):
            inner = _without(kind, later, f"{path}.")
            kept = msgspec.structs.replace(field, kind=ListOf(inner) if isinstance(field.kind, ListOf) else inner)
            fields.append(kept)
        else:
            fields.append(field)
    return msgspec.structs.replace(struct, fields=tuple(fields))
