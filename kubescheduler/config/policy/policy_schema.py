"""The keys of a Policy, release 1.16, in the versioned (``v1``) and in the internal form."""

from __future__ import annotations

from typing import Any

from kubescheduler.config.policy.policy_model import (
    LabelPreference,
    LabelsPresence,
    Policy,
    PredicateArgument,
    PredicatePolicy,
    PriorityArgument,
    PriorityPolicy,
    RequestedToCapacityRatio,
    ResourceWeight,
    ServiceAffinity,
    ServiceAntiAffinity,
    UtilizationPoint,
)
from kubescheduler.extender.config import ExtenderConfig, ManagedResource, TLSConfig
from kubescheduler.framework.args.document_schema import BOOL, BYTES, DURATION, INT, INT32, TEXT, Field, ListOf, Struct


def new_extender(url_prefix: str = "", **given: Any) -> ExtenderConfig:
    """An extender with the given members, by field name."""
    return ExtenderConfig(url_prefix, **given)


def _managed_resource(name: str = "", **given: Any) -> ManagedResource:
    return ManagedResource(name, **given)


SERVICE_AFFINITY = Struct("ServiceAffinity", ServiceAffinity, (Field("labels", "labels", ListOf(TEXT)),))

LABELS_PRESENCE = Struct(
    "LabelsPresence",
    LabelsPresence,
    (Field("labels", "labels", ListOf(TEXT)), Field("presence", "presence", BOOL)),
)

PREDICATE = Struct(
    "PredicatePolicy",
    PredicatePolicy,
    (
        Field("name", "name", TEXT),
        Field(
            "argument",
            "argument",
            Struct(
                "PredicateArgument",
                PredicateArgument,
                (
                    Field("serviceAffinity", "service_affinity", SERVICE_AFFINITY),
                    Field("labelsPresence", "labels_presence", LABELS_PRESENCE),
                ),
            ),
        ),
    ),
)

CAPACITY_RATIO = Struct(
    "RequestedToCapacityRatioArguments",
    RequestedToCapacityRatio,
    (
        Field(
            "shape",
            "shape",
            ListOf(
                Struct(
                    "UtilizationShapePoint",
                    UtilizationPoint,
                    (Field("utilization", "utilization", INT), Field("score", "score", INT)),
                )
            ),
            internal="UtilizationShape",
        ),
        Field(
            "resources",
            "resources",
            ListOf(
                Struct("ResourceSpec", ResourceWeight, (Field("name", "name", TEXT), Field("weight", "weight", INT)))
            ),
        ),
    ),
)


def priority_entry(*more_arguments: Field) -> Struct:
    """The keys of a priority: every release's arguments, and those a release has besides."""
    return Struct(
        "PriorityPolicy",
        PriorityPolicy,
        (
            Field("name", "name", TEXT),
            Field("weight", "weight", INT),
            Field(
                "argument",
                "argument",
                Struct(
                    "PriorityArgument",
                    PriorityArgument,
                    (
                        Field(
                            "serviceAntiAffinity",
                            "service_anti_affinity",
                            Struct("ServiceAntiAffinity", ServiceAntiAffinity, (Field("label", "label", TEXT),)),
                        ),
                        Field(
                            "labelPreference",
                            "label_preference",
                            Struct(
                                "LabelPreference",
                                LabelPreference,
                                (Field("label", "label", TEXT), Field("presence", "presence", BOOL)),
                            ),
                        ),
                        *more_arguments,
                    ),
                ),
            ),
        ),
    )


PRIORITY = priority_entry(Field("requestedToCapacityRatioArguments", "requested_to_capacity_ratio", CAPACITY_RATIO))

TLS = Struct(
    "ExtenderTLSConfig",
    TLSConfig,
    (
        Field("insecure", "insecure", BOOL),
        Field("serverName", "server_name", TEXT),
        Field("certFile", "cert_file", TEXT),
        Field("keyFile", "key_file", TEXT),
        Field("caFile", "ca_file", TEXT, internal="CAFile"),
        Field("certData", "cert_data", BYTES),
        Field("keyData", "key_data", BYTES),
        Field("caData", "ca_data", BYTES, internal="CAData"),
    ),
)

EXTENDER = Struct(
    "ExtenderConfig",
    new_extender,
    (
        Field("urlPrefix", "url_prefix", TEXT, internal="URLPrefix"),
        Field("filterVerb", "filter_verb", TEXT),
        Field("preemptVerb", "preempt_verb", TEXT),
        Field("prioritizeVerb", "prioritize_verb", TEXT),
        Field("weight", "weight", INT),
        Field("bindVerb", "bind_verb", TEXT),
        Field("enableHttps", "enable_https", BOOL, internal="EnableHTTPS"),
        Field("tlsConfig", "tls", TLS, internal="TLSConfig"),
        Field("httpTimeout", "http_timeout_ns", DURATION, internal="HTTPTimeout"),
        Field("nodeCacheCapable", "node_cache_capable", BOOL),
        Field(
            "managedResources",
            "managed_resources",
            ListOf(
                Struct(
                    "ExtenderManagedResource",
                    _managed_resource,
                    (Field("name", "name", TEXT), Field("ignoredByScheduler", "ignored_by_scheduler", BOOL)),
                )
            ),
        ),
        Field("ignorable", "ignorable", BOOL),
    ),
    fold_case=True,
)

POLICY = Struct(
    "Policy",
    Policy,
    (
        Field("predicates", "predicates", ListOf(PREDICATE)),
        Field("priorities", "priorities", ListOf(PRIORITY)),
        Field("extenders", "extenders", ListOf(EXTENDER), internal="ExtenderConfigs"),
        Field("hardPodAffinitySymmetricWeight", "hard_pod_affinity_symmetric_weight", INT, internal_kind=INT32),
        Field("alwaysCheckAllPredicates", "always_check_all_predicates", BOOL),
    ),
)
