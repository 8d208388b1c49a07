"""In what the releases' servers differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from kubescheduler.live.serving.guard import Refused
from kubescheduler.live.serving.health_checks import PING, HealthCheck, HealthPath, Observed
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
