"""Who may ask for what. Upstream: the delegating authorizer of apiserver's options."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from kubescheduler.live.contract.wall_clock import WallClock
from kubescheduler.live.serving.expiring_cache import ExpiringCache
from kubescheduler.live.serving.review_client import ReviewClient
from kubescheduler.live.serving.user_info import MASTERS, UserInfo

LONGEST_KEY = 10_000
"""Characters of a question beyond which its answer is not remembered."""


class Access(StrEnum):
    """What is said of a right. Upstream: authorizer.Decision."""

    ALLOWED = "allowed"
    DENIED = "denied"
    """Somebody says no."""
    NO_OPINION = "no-opinion"
    """Nobody says yes."""


def always_allowed(path: str, patterns: Sequence[str]) -> bool:
    """Whether a path needs no rights: it is one of the patterns, or begins like one that ends in ``*``."""
    plain = path.lstrip("/")
    for pattern in patterns:
        wanted = pattern.lstrip("/")
        if plain.startswith(wanted[:-1]) if wanted.endswith("*") else plain == wanted:
            return True
    return False


class AccessReviews:
    """SubjectAccessReviews, with the answers of the last seconds."""

    def __init__(
        self, reviews: ReviewClient, allowed_seconds: float, denied_seconds: float, size: int, clock: WallClock
    ) -> None:
        self._reviews = reviews
        self._seconds = {
            Access.ALLOWED: allowed_seconds,
            Access.DENIED: denied_seconds,
            Access.NO_OPINION: denied_seconds,
        }
        self._answers: ExpiringCache[str, Access] = ExpiringCache(size, clock)

    async def access(self, user: UserInfo, verb: str, path: str) -> Access:
        """What the API server says. Raises ApiError when it cannot be asked."""
        spec: dict[str, Any] = {"nonResourceAttributes": {"path": path, "verb": verb}, "user": user.name}
        if user.groups:
            spec["groups"] = list(user.groups)
        if user.extra:
            spec["extra"] = {key: list(values) for key, values in user.extra.items()}
        if user.uid:
            spec["uid"] = user.uid
        key = json.dumps(spec, sort_keys=True)
        found = self._answers.get(key)
        if found is None:
            status = await self._reviews.ask(spec, {"allowed": False})
            found = _access_of(status)
            if len(key) < LONGEST_KEY:
                self._answers.put(key, found, self._seconds[found])
        return found


def _access_of(status: Mapping[str, Any]) -> Access:
    """Of a review's status; whoever says no goes before whoever says yes."""
    if status.get("denied") is True:
        return Access.DENIED
    return Access.ALLOWED if status.get("allowed") is True else Access.NO_OPINION


class Authorizer:
    """Masters may do everything, everybody may ask for some paths, and the API server says the rest."""

    def __init__(self, allowed_paths: Sequence[str], reviews: AccessReviews | None) -> None:
        """reviews: None where nobody can be asked; everything else is forbidden then."""
        self._allowed_paths = tuple(allowed_paths)
        self._reviews = reviews

    async def access(self, user: UserInfo, verb: str, path: str) -> Access:
        """verb: the lower-case method. Raises ApiError when the API server cannot be asked."""
        if MASTERS in user.groups or always_allowed(path, self._allowed_paths):
            return Access.ALLOWED
        return Access.NO_OPINION if self._reviews is None else await self._reviews.access(user, verb, path)
