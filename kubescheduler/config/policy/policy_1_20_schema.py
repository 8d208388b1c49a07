"""The keys of a Policy, release 1.20, in the versioned (``v1``) and in the internal form."""

from __future__ import annotations

import msgspec

from kubescheduler.config.policy.policy_model import Policy, RequestedToCapacityRatio, ResourceWeight, UtilizationPoint
from kubescheduler.config.policy.policy_schema import EXTENDER, PREDICATE, priority_entry
from kubescheduler.framework.args.document_schema import (
    BOOL,
    DURATION,
    GO_DURATION,
    INT,
    INT32,
    INT64,
    TEXT,
    Field,
    ListOf,
    Struct,
)

POINT = Struct(
    "UtilizationShapePoint",
    UtilizationPoint,
    (Field("utilization", "utilization", INT32), Field("score", "score", INT32)),
)

RESOURCE = Struct("ResourceSpec", ResourceWeight, (Field("name", "name", TEXT), Field("weight", "weight", INT)))

CAPACITY_RATIO = Struct(
    "RequestedToCapacityRatioArguments",
    RequestedToCapacityRatio,
    (Field("shape", "shape", ListOf(POINT)), Field("resources", "resources", ListOf(RESOURCE))),
)

PRIORITY = priority_entry(Field("requestedToCapacityRatioArguments", "requested_to_capacity_ratio", CAPACITY_RATIO))

_CHANGED: dict[str, Field] = {
    "weight": Field("weight", "weight", INT64),
    "httpTimeout": Field("httpTimeout", "http_timeout_ns", DURATION, "HTTPTimeout", internal_kind=GO_DURATION),
}

EXTENDER_1_20 = msgspec.structs.replace(
    EXTENDER,
    name="LegacyExtender",
    fields=tuple(_CHANGED.get(field.key, field) for field in EXTENDER.fields),
)
"""Keys match in any case here, and the release passes over those it does not know."""

POLICY_1_20 = Struct(
    "Policy",
    Policy,
    (
        Field("predicates", "predicates", ListOf(PREDICATE)),
        Field("priorities", "priorities", ListOf(PRIORITY)),
        Field("extenders", "extenders", ListOf(EXTENDER_1_20)),
        Field("hardPodAffinitySymmetricWeight", "hard_pod_affinity_symmetric_weight", INT32),
        Field("alwaysCheckAllPredicates", "always_check_all_predicates", BOOL),
    ),
)
