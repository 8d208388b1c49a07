"""IP addresses and networks. Upstream: k8s.io/apiserver pkg/cel/library/ip.go, cidr.go."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from typing import Any

from clusterstate.cel.cel_faults import ValueFault
from clusterstate.cel.functions.cel_overloads import Act, Function
from clusterstate.cel.functions.go_addresses import CIDR, IP, parse_cidr, parse_ip


def network_of(text: str) -> CIDR:
    """``cidr(text)``. Raises ValueFault."""
    try:
        return parse_cidr(text)
    except ValueFault as fault:
        raise ValueFault(f"network address parse error during conversion from string: {fault}") from None


def _is(parse: Callable[[str], Any]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            parse(text)
        except ValueFault:
            return False
        return True

    return check


def _contains_ip(network: CIDR, other: IP | str) -> bool:
    address = (parse_ip(other) if isinstance(other, str) else other).address
    return address.version == network.address.version and address in network.network()


def _contains_cidr(network: CIDR, other: CIDR | str) -> bool:
    inner = network_of(other) if isinstance(other, str) else other
    if inner.address.version != network.address.version or inner.bits < network.bits:
        return False
    return inner.address in network.network()


def _masked(network: CIDR) -> CIDR:
    return CIDR(network.network().network_address, network.bits)


def _text(value: IP | CIDR) -> str:
    return f"{value.address}/{value.bits}" if isinstance(value, CIDR) else str(value.address)


def _link_local_multicast(value: IP) -> bool:
    """224.0.0.0/24, and ff02::/16 with any flags."""
    packed = value.address.packed
    return packed[:3] == b"\xe0\0\0" if len(packed) == 4 else packed[0] == 0xFF and packed[1] & 0x0F == 2


def _global_unicast(value: IP) -> bool:
    address = value.address
    if address == ipaddress.IPv4Address("255.255.255.255"):
        return False
    return not (address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local)


def _method(name: str, overload: str, signature: str, act: Act) -> Function:
    return Function.of(name, (overload, signature, act))


def addresses() -> tuple[Function, ...]:
    """The functions of this file."""
    of_ip = "net.IP.() -> bool"
    return (
        Function.of(
            "ip",
            ("string_to_ip", "(string) -> net.IP", parse_ip),
            ("cidr_ip", "net.CIDR.() -> net.IP", lambda network: IP(network.address)),
        ),
        Function.of("family", ("ip_family", "net.IP.() -> int", lambda value: value.address.version)),
        Function.of(
            "ip.isCanonical", ("ip_is_canonical", "(string) -> bool", lambda text: _text(parse_ip(text)) == text)
        ),
        Function.of("isUnspecified", ("ip_is_unspecified", of_ip, lambda value: value.address.is_unspecified)),
        Function.of("isLoopback", ("ip_is_loopback", of_ip, lambda value: value.address.is_loopback)),
        Function.of("isLinkLocalMulticast", ("ip_is_link_local_multicast", of_ip, _link_local_multicast)),
        Function.of(
            "isLinkLocalUnicast", ("ip_is_link_local_unicast", of_ip, lambda value: value.address.is_link_local)
        ),
        Function.of("isGlobalUnicast", ("ip_is_global_unicast", of_ip, _global_unicast)),
        Function.of("isIP", ("is_ip", "(string) -> bool", _is(parse_ip))),
        Function.of("cidr", ("string_to_cidr", "(string) -> net.CIDR", network_of)),
        Function.of(
            "containsIP",
            ("cidr_contains_ip_string", "net.CIDR.(string) -> bool", _contains_ip),
            ("cidr_contains_ip_ip", "net.CIDR.(net.IP) -> bool", _contains_ip),
        ),
        Function.of(
            "containsCIDR",
            ("cidr_contains_cidr_string", "net.CIDR.(string) -> bool", _contains_cidr),
            ("cidr_contains_cidr", "net.CIDR.(net.CIDR) -> bool", _contains_cidr),
        ),
        Function.of("prefixLength", ("cidr_prefix_length", "net.CIDR.() -> int", lambda network: network.bits)),
        Function.of("masked", ("cidr_masked", "net.CIDR.() -> net.CIDR", _masked)),
        Function.of("isCIDR", ("is_cidr", "(string) -> bool", _is(parse_cidr))),
        Function.of(
            "string", ("ip_to_string", "(net.IP) -> string", _text), ("cidr_to_string", "(net.CIDR) -> string", _text)
        ),
    )
