"""Who asks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

AUTHENTICATED, UNAUTHENTICATED = "system:authenticated", "system:unauthenticated"
MASTERS = "system:masters"


class UserInfo(msgspec.Struct, frozen=True):
    """A user, as a credential says it. Upstream: user.Info."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """What else the credential says, by key."""

    def authenticated(self) -> UserInfo:
        """The user with the group of all who are known. Upstream: AuthenticatedGroupAdder."""
        if AUTHENTICATED in self.groups or UNAUTHENTICATED in self.groups:
            return self
        return msgspec.structs.replace(self, groups=(*self.groups, AUTHENTICATED))

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> UserInfo:
        """The user of a TokenReview's status."""
        extra = {key: tuple(values or ()) for key, values in (document.get("extra") or {}).items()}
        return cls(
            document.get("username") or "", tuple(document.get("groups") or ()), document.get("uid") or "", extra
        )


ANONYMOUS = UserInfo("system:anonymous", (UNAUTHENTICATED,))


class AuthenticationError(Exception):
    """A credential that is not taken; the text goes to the log, never to who asks."""
