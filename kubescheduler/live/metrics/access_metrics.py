"""AccessMetrics: who asks a process's servers, counted. Upstream: apiserver's filters, token cache and reviews."""

from __future__ import annotations

from collections import Counter

from kubescheduler.live.contract.access_observer import NoAccessObserver
from kubescheduler.live.metrics.metrics_registry import MetricsRegistry

NAMED_USERS = frozenset({"admin", "client", "kube_proxy", "kubelet", "system:serviceaccount:kube-system:default"})
"""Users who are counted by name."""
REVIEWS = {"TokenReview": "authn", "SubjectAccessReview": "authz"}
"""Kind of review → what its metrics are called."""
SECONDS = "request_duration_seconds"


class AccessMetrics(NoAccessObserver):
    """An AccessObserver that feeds a registry, as far as the release has such metrics."""

    def __init__(self, registry: MetricsRegistry) -> None:
        of = registry.instrument
        self._users, self._attempts = of("authenticated_user_requests"), of("authentication_attempts")
        self._seconds = of("authentication_duration_seconds")
        self._rights, self._right_seconds = of("authorization_attempts_total"), of("authorization_duration_seconds")
        self._remaining = of("apiserver_client_certificate_expiration_seconds")
        self._asked = of("authentication_token_cache_request_total")
        self._asked_seconds = of("authentication_token_cache_request_duration_seconds")
        self._fetched = of("authentication_token_cache_fetch_total")
        self._waiting = of("authentication_token_cache_active_fetch_count")
        self._under_way: Counter[str] = Counter()
        self._reviews = {
            kind: (of(f"apiserver_delegated_{name}_request_total"), of(f"apiserver_delegated_{name}_{SECONDS}"))
            for kind, name in REVIEWS.items()
        }

    def authenticated(self, result: str, user: str, seconds: float) -> None:
        """Users who are taken count under a few names: there may be very many of them."""
        if result == "success":
            self._users.inc((shown_user(user),))
        self._attempts.inc((result,))
        self._seconds.observe(seconds, (result,))

    def authorized(self, result: str, seconds: float) -> None:
        """Rights were looked up."""
        self._rights.inc((result,))
        self._right_seconds.observe(seconds, (result,))

    def certificate_shown(self, seconds: float) -> None:
        """How long a client certificate is valid for."""
        self._remaining.observe(seconds)

    def token_asked(self, status: str, seconds: float) -> None:
        """A token was looked for among the remembered ones."""
        self._asked.inc((status,))
        self._asked_seconds.observe(seconds, (status,))

    def tokens_waiting(self, status: str, change: int) -> None:
        """The gauge of requests and reviews that wait."""
        self._under_way[status] += change
        self._waiting.set(self._under_way[status], (status,))

    def token_fetched(self, status: str) -> None:
        """A token was reviewed."""
        self._fetched.inc((status,))

    def reviewed(self, kind: str, code: str, seconds: float) -> None:
        """The API server answered a review."""
        total, durations = self._reviews[kind]
        total.inc((code,))
        durations.observe(seconds, (code,))


def shown_user(name: str) -> str:
    """What a user is counted as. Upstream: compressUsername."""
    if name in NAMED_USERS:
        return name
    return "email_id" if "@" in name else "other"
