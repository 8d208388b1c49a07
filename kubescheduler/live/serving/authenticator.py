"""Who asks: by certificate, then by token, then as nobody in particular. Upstream: the union of authenticators."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from kubescheduler.live.contract.access_observer import AccessObserver, NoAccessObserver
from kubescheduler.live.contract.wall_clock import WallClock
from kubescheduler.live.serving.certificate_authenticators import ClientTrust, certified_user, proxied_user
from kubescheduler.live.serving.token_authenticator import INVALID, TokenAuthenticator, bearer_token
from kubescheduler.live.serving.user_info import ANONYMOUS, AuthenticationError, UserInfo

if TYPE_CHECKING:
    from cryptography.x509 import Certificate


class Authenticator:
    """The first credential that is taken counts; one that is not taken, and no other that is, is nobody."""

    def __init__(
        self,
        trust: Callable[[], ClientTrust],
        tokens: TokenAuthenticator | None,
        clock: WallClock,
        *,
        credential_id: bool,
        observer: AccessObserver | None = None,
    ) -> None:
        """trust: what counts now. tokens: None where nobody can be asked; tokens are passed over then.

        credential_id: see ``certified_user``.
        """
        self._trust = trust
        self._tokens = tokens
        self._clock = clock
        self._credential_id = credential_id
        self._observer = NoAccessObserver() if observer is None else observer

    async def authenticate(self, chain: Sequence[Certificate], headers: Iterable[tuple[str, str]]) -> UserInfo:
        """chain: the client's certificate and those that it sent with it; none: empty. Raises AuthenticationError."""
        said = list(headers)
        faults = []
        for by in (self._proxied, self._certified, self._by_token):
            try:
                user = await by(chain, said)
            except AuthenticationError as error:
                faults.append(str(error))
                continue
            if user is not None:
                return user.authenticated()
        if faults:
            raise AuthenticationError(faults[0] if len(faults) == 1 else f"[{', '.join(faults)}]")
        return ANONYMOUS

    async def _proxied(self, chain: Sequence[Certificate], headers: list[tuple[str, str]]) -> UserInfo | None:
        return proxied_user(self._trust().proxies, chain, headers, self._clock.now())

    async def _certified(self, chain: Sequence[Certificate], _: list[tuple[str, str]]) -> UserInfo | None:
        now, clients = self._clock.now(), self._trust().clients
        if chain and clients:
            self._observer.certificate_shown((chain[0].not_valid_after_utc - now).total_seconds())
        return certified_user(clients, chain, now, credential_id=self._credential_id)

    async def _by_token(self, _: Sequence[Certificate], headers: list[tuple[str, str]]) -> UserInfo | None:
        header = next((value for key, value in headers if key.lower() == "authorization"), "")
        token = bearer_token(header)
        if not token or self._tokens is None:
            return None
        user = await self._tokens.authenticate(token)
        if not user.name:
            raise AuthenticationError(INVALID)
        return user
