"""Who led when, by the writes of the lock that a server took, and who bound meanwhile."""

from __future__ import annotations

import re
from typing import Any

import attrs
import msgspec

from tests.support.apiserver.front_server import Answered, FrontServer

HOLDER = re.compile(r'holderIdentity\\*":\\*"([^"\\]*)')
LOCK = re.compile(r".*/(leases|endpoints|configmaps)(/kube-scheduler)?([?].*)?")


@attrs.frozen
class Leadership:
    """The beginning of one."""

    at: float
    """Seconds of the monotonic clock."""
    identity: str
    """As the lock says it; empty when it was given back."""
    url: str
    """By which the server was asked."""


def leaders(front: FrontServer) -> list[Leadership]:
    """Each change of the leader, in order."""
    found: list[Leadership] = []
    for one in front.done:
        identity = _holder(one)
        if identity is not None and (not found or found[-1].identity != identity):
            found.append(Leadership(one.at, identity, one.asked.url if identity else ""))
    return found


def _holder(one: Answered) -> str | None:
    """Who holds the lock after a request; None: the request did not say."""
    asked = one.asked
    if asked.method == "GET" or one.code not in (200, 201) or not LOCK.fullmatch(asked.path):
        return None
    match = HOLDER.search(_text(asked.body))
    return None if match is None else match[1]


def _text(body: Any) -> str:
    return msgspec.json.encode(body).decode()


def bound_by_others(front: FrontServer) -> list[str]:
    """Bindings that were asked for by somebody who did not lead then: (path, who, who led)."""
    changes, at, leader, found = leaders(front), 0, "", []
    for asked in sorted(front.asked, key=lambda one: one.at):
        if not asked.path.endswith("/binding"):
            continue
        while at < len(changes) and changes[at].at <= asked.at:
            leader, at = changes[at].url, at + 1
        if asked.url != leader:
            found.append(f"{asked.path} by {asked.url}, led by {leader or 'nobody'}")
    return found
