"""Where the lab listens: the loopback interface, unless an address is named."""

from __future__ import annotations

import ipaddress
import socket

import msgspec

from clusterstate.errors import InputError

LOOPBACK = "127.0.0.1"


class Listening(msgspec.Struct, frozen=True):
    """An address and port of this machine."""

    host: str = LOOPBACK
    """A name or an address as digits."""
    port: int = 0
    """0: one that is free."""

    @classmethod
    def parse(cls, text: str) -> Listening:
        """From ``ADDR:PORT``, an IPv6 address in brackets. Raises InputError."""
        host, colon, port = text.rpartition(":")
        if not colon or not host or not (port.isascii() and port.isdecimal() and int(port) < 65536):
            raise InputError(f"--listen {text}: write it as ADDR:PORT, say 0.0.0.0:8080 or [::]:8080")
        return cls(host.removeprefix("[").removesuffix("]"), int(port))

    @property
    def anywhere(self) -> bool:
        """Whether other machines can reach it."""
        try:
            return not ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host.lower() != "localhost"

    def bind(self) -> socket.socket:
        """A socket that listens there. Raises InputError where the port is in use, or the address is not here."""
        try:
            family, kind, protocol, _, address = socket.getaddrinfo(
                self.host, self.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
        except (OSError, UnicodeError) as error:
            raise InputError(f"--listen {self.host}: there is no such address: {_reason(error)}") from None
        bound = socket.socket(family, kind, protocol)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(address)
            bound.listen(128)
        except OSError as error:
            bound.close()
            raise InputError(f"cannot listen on {self.host}:{self.port}: {_reason(error)}") from None
        return bound

    def shown_host(self) -> str:
        """What an address of a page names: for all interfaces the one that others reach this machine by."""
        try:
            address = ipaddress.ip_address(self.host)
        except ValueError:
            return self.host
        if address.is_unspecified:
            return _outward() or socket.gethostname()
        return f"[{self.host}]" if address.version == 6 else self.host

    def names(self) -> list[str]:
        """Names by which this machine may be asked, besides localhost."""
        if not self.anywhere:
            return []
        return [self.host, socket.gethostname(), socket.getfqdn()]


def _reason(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or "it is no name"


def _outward() -> str | None:
    """The address that this machine has towards others; nothing is sent to find it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return None
        found: str = probe.getsockname()[0]
        return found
