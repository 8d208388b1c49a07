"""In what the releases' servers differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from kubescheduler.live.serving.configuration_pages import configz_1_16, configz_1_20, configz_1_36
from kubescheduler.live.serving.guard import Refused
from kubescheduler.live.serving.health_checks import PING, HealthCheck, HealthPath, Observed
from kubescheduler.live.serving.http_answers import refused_1_16, refused_1_36
from kubescheduler.live.serving.review_client import ReviewApi


class ProcessChecks(msgspec.Struct, frozen=True, eq=False):
    """What may be wrong with a scheduler."""

    election: HealthCheck | None
    """Whether its lease is renewed; None without leader election."""
    shutdown: HealthCheck
    """Whether it is about to end."""
    handlers: HealthCheck
    """Whether it has taken in what informers read at first."""
    observed: Observed
    """Told of every check."""


class ServingRules(msgspec.Struct, frozen=True, eq=False):
    """How one release serves."""

    health: Callable[[ProcessChecks], list[HealthPath]]
    """The paths of its health checks."""
    configz: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    """Of the completed configuration: what /configz shows."""
    metrics_type: str
    """The content type of metrics."""
    metrics_start: bool
    """Whether metrics have a header with the time when the process began."""
    metrics_pages: Mapping[str, str]
    """Path → the source of metrics there, besides ``/metrics``; see ``MetricsSources``."""
    sets_verbosity: bool
    """Whether ``/debug/flags/v`` is there."""
    status_pages: bool
    """Whether ``/statusz`` and ``/flagz`` are there."""
    refused: Refused
    """401 and 403."""
    token_reviews: ReviewApi
    access_reviews: ReviewApi
    remembered: int
    """Answers of access reviews that are kept."""
    watches_trust: bool
    """Whether the ConfigMap with the authorities of clients is watched, not only read at the start."""
    credential_id: bool
    """Whether a client certificate's fingerprint counts as part of its user."""


# --- health --------------------------------------------------------------------------------------------


def health_1_16(checks: ProcessChecks) -> list[HealthPath]:
    """One path, with one check."""
    return [HealthPath("healthz", [checks.election or PING], checks.observed)]


def health_1_36(checks: ProcessChecks) -> list[HealthPath]:
    """Alive is who answers; ready is who has read the cluster and does not end."""
    election = [] if checks.election is None else [checks.election]
    return [
        *health_1_16(checks),
        HealthPath("livez", [PING], checks.observed),
        HealthPath("readyz", [*election, checks.shutdown, checks.handlers], checks.observed),
    ]


# --- reviews -------------------------------------------------------------------------------------------

TOKENS, ACCESS = "authentication.k8s.io", "authorization.k8s.io"
STAMPED: Mapping[str, Any] = {"creationTimestamp": None}
"""Metadata as it was written before 1.34."""
IN_TIME = [("timeout", "10s")]


def token_reviews(versions: tuple[str, ...], metadata: Mapping[str, Any]) -> ReviewApi:
    """Who a token is."""
    return ReviewApi("TokenReview", TOKENS, "tokenreviews", versions, metadata)


def access_reviews(versions: tuple[str, ...], metadata: Mapping[str, Any], query: list[tuple[str, str]]) -> ReviewApi:
    """Who may do what."""
    names = {"v1beta1": {"groups": "group"}}
    return ReviewApi("SubjectAccessReview", ACCESS, "subjectaccessreviews", versions, metadata, query, names)


RULES_1_16 = ServingRules(
    health=health_1_16,
    configz=configz_1_16,
    metrics_type="text/plain; version=0.0.4; charset=utf-8",
    metrics_start=False,
    metrics_pages={},
    sets_verbosity=False,
    status_pages=False,
    refused=refused_1_16,
    token_reviews=token_reviews(("v1beta1", "v1"), STAMPED),
    access_reviews=access_reviews(("v1beta1", "v1"), STAMPED, []),
    remembered=1024,
    watches_trust=False,
    credential_id=False,
)
RULES_1_20 = msgspec.structs.replace(
    RULES_1_16,
    configz=configz_1_20,
    metrics_pages={"/metrics/resources": "resources"},
    sets_verbosity=True,
    refused=refused_1_36,
    token_reviews=token_reviews(("v1",), STAMPED),
    access_reviews=access_reviews(("v1",), STAMPED, IN_TIME),
    remembered=8192,
    watches_trust=True,
)
RULES_1_36 = msgspec.structs.replace(
    RULES_1_20,
    health=health_1_36,
    configz=configz_1_36,
    metrics_type="text/plain; version=0.0.4; charset=utf-8; escaping=underscores",
    metrics_start=True,
    metrics_pages={"/metrics/resources": "resources", "/metrics/slis": "slis"},
    status_pages=True,
    token_reviews=token_reviews(("v1",), {}),
    access_reviews=access_reviews(("v1",), {}, IN_TIME),
    credential_id=True,
)
