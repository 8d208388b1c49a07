"""Which placed pod classes use which claims."""

from __future__ import annotations

from collections.abc import Collection

from clusterstate.objects import ClaimVolume, EphemeralClaim
from clusterstate.podinfo import PodInfo

ClaimName = tuple[str, str]
"""(namespace, name)."""


class ClaimUsers:
    """Claim → the placed pod classes with a volume that leads to it."""

    __slots__ = ("_users",)

    def __init__(self) -> None:
        self._users: dict[ClaimName, dict[PodInfo, None]] = {}

    def add(self, info: PodInfo) -> None:
        """A class of which the first pod was placed."""
        for name in _claims(info):
            self._users.setdefault(name, {})[info] = None

    def drop(self, info: PodInfo) -> None:
        """A class of which the last pod has left."""
        for name in _claims(info):
            users = self._users[name]
            del users[info]
            if not users:
                del self._users[name]

    def of(self, name: ClaimName) -> Collection[PodInfo]:
        """The placed classes that use a claim, each once."""
        return self._users.get(name, ())


def _claims(info: PodInfo) -> Collection[ClaimName]:
    volumes = info.spec.volumes
    if not volumes:
        return ()
    named = (volume for volume in volumes if isinstance(volume, ClaimVolume | EphemeralClaim))
    return dict.fromkeys((info.namespace, volume.claim_name) for volume in named)
