"""IP addresses and networks as Go's net/netip reads them."""

from __future__ import annotations

import ipaddress
import re
from typing import ClassVar

import attrs

from clusterstate.api_names import go_quote
from clusterstate.cel.cel_faults import ValueFault
from clusterstate.cel.values import cel_types as types
from clusterstate.cel.values.cel_types import CelType

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_DIGITS = re.compile(r"[0-9]{1,3}", re.ASCII)
_HEX = re.compile(r"[0-9a-fA-F]*", re.ASCII)
_LONGEST = 200


class AddressFault(ValueError):
    """A text that is no address: Go's message."""


@attrs.frozen(eq=False)
class IP:
    """An address."""

    cel_type: ClassVar[CelType] = types.IP
    address: Address

    def same(self, other: IP) -> bool:
        """Whether they are equal."""
        return self.address == other.address


@attrs.frozen(eq=False)
class CIDR:
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
    fields = text.split(".")
    for at, field in enumerate(fields):
        rest = ".".join(fields[at:])
        strange = next((place for place, sign in enumerate(field) if not "0" <= sign <= "9"), None)
        if strange is not None:
            raise _fault(text, "unexpected character", rest[strange:])
        if not field:
            raise _fault(text, "IPv4 field must have at least one digit", rest or text[-1:])
        if at > 3:
            raise _fault(text, "IPv4 address too long")
        if len(field) > 1 and field.startswith("0"):
            raise _fault(text, "IPv4 field has octet with leading zero")
        if len(field) > 3 or int(field) > 255:
            raise _fault(text, "IPv4 field has value >255")
    if len(fields) < 4:
        raise _fault(text, "IPv4 address too short")
    return ipaddress.IPv4Address(text)


def _version_6(text: str) -> ipaddress.IPv6Address:
    bare, percent, zone = text.partition("%")
    if percent and not zone:
        raise _fault(text, "zone must be a non-empty string")
    for at, group in enumerate(bare.split(":")):
        if "." in group:
            continue
        if not _HEX.fullmatch(group):
            raise _fault(
                text,
                "unexpected character, want colon"
                if group[:1] in "0123456789abcdefABCDEF"
                else "each colon-separated field must have at least one digit",
                ":".join(bare.split(":")[at:]),
            )
        if len(group) > 4:
            raise _fault(text, "each group must have 4 or less digits", ":".join(bare.split(":")[at:]))
    try:
        return ipaddress.IPv6Address(bare)
    except ValueError:
        short = bare.count(":") < 7 and "::" not in bare
        raise _fault(text, "address string too short" if short else "unable to parse IP") from None


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
