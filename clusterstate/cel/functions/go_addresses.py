"""IP addresses and networks as Go's net/netip reads them."""

from __future__ import annotations

import ipaddress
import re
from typing import ClassVar

import msgspec

from clusterstate.api_names import go_quote
from clusterstate.cel.cel_faults import ValueFault
from clusterstate.cel.values import cel_types as types
from clusterstate.cel.values.cel_types import CelType

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_DIGITS = re.compile(r"[0-9]{1,3}", re.ASCII)
_LONGEST = 200


class AddressFault(ValueError):
    """A text that is no address: Go's message."""


class IP(msgspec.Struct, frozen=True, eq=False):
    """An address."""

    cel_type: ClassVar[CelType] = types.IP
    address: Address

    def same(self, other: IP) -> bool:
        """Whether they are equal."""
        return self.address == other.address


class CIDR(msgspec.Struct, frozen=True, eq=False):
    """An address and the length of a prefix."""

    cel_type: ClassVar[CelType] = types.CIDR
    address: Address
    bits: int

    def same(self, other: CIDR) -> bool:
        """Whether they are equal, bits behind the prefix too."""
        return self.address == other.address and self.bits == other.bits

    def network(self) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
        """Without the bits behind the prefix."""
        return ipaddress.ip_network((self.address, self.bits), strict=False)


def _fault(text: str, message: str, at: str = "") -> AddressFault:
    where = f" (at {go_quote(at)})" if at else ""
    return AddressFault(f"ParseAddr({go_quote(text)}): {message}{where}")


def parse_address(text: str) -> Address:
    """Raises AddressFault for what is no address; zones are left out of IPv6."""
    for sign in text[:_LONGEST]:
        if sign == ".":
            return _version_4(text)
        if sign == ":":
            return _version_6(text)
        if sign == "%":
            raise _fault(text, "missing IPv6 address")
    raise _fault(text[:_LONGEST], "unable to parse IP")


def _version_4(text: str) -> ipaddress.IPv4Address:
    _check_fields(text, text)
    return ipaddress.IPv4Address(text)


def _check_fields(text: str, fields: str) -> None:
    """The four numbers of version 4, alone or at the end of ``text``."""
    number, digits, dots = 0, 0, 0
    for at, sign in enumerate(fields):
        if "0" <= sign <= "9":
            if digits == 1 and not number:
                raise _fault(text, "IPv4 field has octet with leading zero")
            number, digits = number * 10 + int(sign), digits + 1
            if number > 255:
                raise _fault(text, "IPv4 field has value >255")
            continue
        if sign != ".":
            raise _fault(text, "unexpected character", fields[at:])
        if at in (0, len(fields) - 1) or fields[at - 1] == ".":
            raise _fault(text, "IPv4 field must have at least one digit", fields[at:])
        if dots == 3:
            raise _fault(text, "IPv4 address too long")
        number, digits, dots = 0, 0, dots + 1
    if dots < 3:
        raise _fault(text, "IPv4 address too short")


def _version_6(text: str) -> ipaddress.IPv6Address:
    bare, percent, zone = text.partition("%")
    if percent and not zone:
        raise _fault(text, "zone must be a non-empty string")
    filled, shortened = _check_groups(text, bare)
    if filled < 8 and not shortened:
        raise _fault(text, "address string too short")
    if filled == 8 and shortened:
        raise _fault(text, "the :: must expand to at least one field of zeros")
    return ipaddress.IPv6Address(bare)


def _check_groups(text: str, rest: str) -> tuple[int, bool]:
    """(how many of the eight groups are written, whether ``::`` stands for others)."""
    shortened = rest.startswith("::")
    rest = rest[2:] if shortened else rest
    filled = 0
    while rest or (not filled and not shortened):
        if filled == 8:
            raise _fault(text, "trailing garbage after address", rest)
        digits = len(rest) - len(rest.lstrip("0123456789abcdefABCDEF"))
        if digits > 4:
            raise _fault(text, "each group must have 4 or less digits", rest)
        if not digits:
            raise _fault(text, "each colon-separated field must have at least one digit", rest)
        if rest[digits : digits + 1] == ".":
            _check_embedded(text, rest, filled, shortened)
            return filled + 2, shortened
        filled, rest = filled + 1, rest[digits:]
        if not rest:
            break
        rest = _behind_colon(text, rest)
        if rest.startswith(":"):
            if shortened:
                raise _fault(text, "multiple :: in address", rest)
            shortened, rest = True, rest[1:]
    return filled, shortened


def _behind_colon(text: str, rest: str) -> str:
    if not rest.startswith(":"):
        raise _fault(text, "unexpected character, want colon", rest)
    if len(rest) == 1:
        raise _fault(text, "colon must be followed by more characters", rest)
    return rest[1:]


def _check_embedded(text: str, rest: str, filled: int, shortened: bool) -> None:
    """Version 4 in the place of the last two groups."""
    if not shortened and filled != 6:
        raise _fault(text, "embedded IPv4 address must replace the final 2 fields of the address", rest)
    if filled > 6:
        raise _fault(text, "too many hex fields to fit an embedded IPv4 at the end of the address", rest)
    _check_fields(text, rest)


def parse_ip(text: str) -> IP:
    """``ip(text)``. Raises ValueFault: also for zones, and for IPv4 inside IPv6."""
    try:
        address = parse_address(text)
    except AddressFault as fault:
        raise ValueFault(
            f"IP Address {go_quote(text[:_LONGEST])} parse error during conversion from string: {fault}"
        ) from None
    if "%" in text:
        raise ValueFault(f"IP address {go_quote(text)} with zone value is not allowed")
    if _is_mapped(address):
        raise ValueFault(f"IPv4-mapped IPv6 address {go_quote(text)} is not allowed")
    return IP(address)


def _is_mapped(address: Address) -> bool:
    return isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None


def parse_cidr(text: str) -> CIDR:
    """A network. Raises ValueFault."""
    said = "network address parse error during conversion from string: "
    address_text, slash, bits = text.rpartition("/")
    start = f"{said}netip.ParsePrefix({go_quote(text[:_LONGEST])}): "
    if not slash:
        raise ValueFault(start + "no '/'")
    try:
        address = parse_address(address_text)
    except AddressFault as fault:
        raise ValueFault(f"{start}{fault}") from None
    if "%" in address_text:
        raise ValueFault(start + "IPv6 zones cannot be present in a prefix")
    if not _DIGITS.fullmatch(bits) or (len(bits) > 1 and bits.startswith("0")):
        raise ValueFault(f"{start}bad bits after slash: {go_quote(bits[:_LONGEST])}")
    if int(bits) > address.max_prefixlen:
        raise ValueFault(start + "prefix length out of range")
    if _is_mapped(address):
        raise ValueFault(f"IPv4-mapped IPv6 address {go_quote(text)} is not allowed")
    return CIDR(address, int(bits))
