"""IP addresses, networks and URLs. Upstream: k8s.io/apiserver pkg/cel/library/ip.go, cidr.go, urls.go."""

from __future__ import annotations

import ipaddress
import re
from typing import ClassVar
from urllib.parse import quote, unquote_to_bytes

import msgspec

from kubecel import ValueFault, types
from kubecel.api_names import go_quote
from kubecel.functions.overloads import Function, accepts
from kubecel.types import CelType
from kubecel.values import CelMap

# --- IP addresses and networks as Go's net/netip reads them ---------------------------------------

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_DIGITS = re.compile(r"[0-9]{1,3}", re.ASCII)
_LONGEST = 200


class AddressFault(ValueError):
    """A text that is no address: Go's message."""


class IP(msgspec.Struct, frozen=True):
    """An address."""

    cel_type: ClassVar[CelType] = types.IP
    address: Address


class CIDR(msgspec.Struct, frozen=True):
    """An address and the length of a prefix; they differ also by bits behind the prefix."""

    cel_type: ClassVar[CelType] = types.CIDR
    address: Address
    bits: int

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


# --- IP addresses and networks. Upstream: k8s.io/apiserver pkg/cel/library/ip.go, cidr.go ---------


def network_of(text: str) -> CIDR:
    """``cidr(text)``. Raises ValueFault."""
    try:
        return parse_cidr(text)
    except ValueFault as fault:
        raise ValueFault(f"network address parse error during conversion from string: {fault}") from None


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
        Function.of("isIP", ("is_ip", "(string) -> bool", accepts(parse_ip))),
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
        Function.of("isCIDR", ("is_cidr", "(string) -> bool", accepts(parse_cidr))),
        Function.of(
            "string", ("ip_to_string", "(net.IP) -> string", _text), ("cidr_to_string", "(net.CIDR) -> string", _text)
        ),
    )


# --- URLs as Go's net/url reads them --------------------------------------------------------------

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*", re.ASCII)
_BAD_ESCAPE = re.compile(r"%(?![0-9a-fA-F]{2})(.{0,2})", re.DOTALL)
_HOST_ESCAPE = re.compile(r"%(?!25)[0-7][0-9a-fA-F]")
"""Of a character that a host writes as it is, if it may have it."""
_PORT = re.compile(r":[0-9]*", re.ASCII)
_IN_HOST = "!$&'()*+,;=:[]<>\"-_.~"
_IN_PATH = "$&+,/:;=@-_.~"
_LONGEST_URL = 10_000


class UrlFault(ValueError):
    """A text that is no URL: Go's message."""


class URL(msgspec.Struct, frozen=True):
    """A URL, in its parts."""

    cel_type: ClassVar[CelType] = types.URL
    scheme: str
    host: str
    """With a port, if it has one."""
    path: str
    """As it was written."""
    query: str
    """As it was written."""
    whole: str
    """All of it, from which the other parts follow."""

    def host_and_port(self) -> tuple[str, str]:
        """Both without what is between them."""
        host, port = self.host, ""
        colon = host.rfind(":")
        if colon >= 0 and _PORT.fullmatch(host[colon:]):
            host, port = host[:colon], host[colon + 1 :]
        return (host[1:-1] if host.startswith("[") and host.endswith("]") else host), port

    def escaped_path(self) -> str:
        """The path with escapes where it needs them."""
        if all(sign.isascii() and (sign.isalnum() or sign in "!$&'()*+,;=:@[]/-_.~%") for sign in self.path):
            return self.path
        return quote(unquote_to_bytes(self.path), safe=_IN_PATH)

    def queries(self) -> dict[str, tuple[str, ...]]:
        """Key → its values; what cannot be read is left out."""
        found: dict[str, tuple[str, ...]] = {}
        for part in self.query.split("&"):
            if not part or ";" in part or _BAD_ESCAPE.search(part):
                continue
            key, _, value = (_plain(text) for text in part.partition("="))
            found[key] = (*found.get(key, ()), value)
        return found


def _plain(text: str) -> str:
    return unquote_to_bytes(text.replace("+", " ")).decode("utf-8", "replace")


def parse_request_url(text: str) -> URL:
    """A URL that is absolute or a path. Raises UrlFault."""
    try:
        if any(ord(sign) < 0x20 or sign == "\x7f" for sign in text) or len(text) > _LONGEST_URL:
            raise UrlFault("net/url: invalid control character in URL")
        if not text:
            raise UrlFault("empty url")
        _parse(text)
        bare, _, fragment = text.partition("#")
        _check_escapes(fragment)
        return _parse(bare, fragment)
    except UrlFault as fault:
        raise UrlFault(f"parse {go_quote(text[:200])}: {fault}") from None


def _parse(text: str, fragment: str = "") -> URL:
    scheme, rest = _split_scheme(text)
    lower = scheme.lower()
    whole = (f"{lower}:{rest}" if scheme else rest) + (f"#{fragment}" if fragment else "")
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if scheme:
            return URL(lower, "", "", query, whole)
        raise UrlFault("invalid URI for request")
    host = ""
    if scheme and rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        rest, host = slash + path, _host(authority)
    _check_escapes(rest)
    return URL(lower, host, rest, query, whole)


def _split_scheme(text: str) -> tuple[str, str]:
    """What stands before the first colon, if it is a scheme, and the rest."""
    if text.startswith(":"):
        raise UrlFault("missing protocol scheme")
    scheme, colon, rest = text.partition(":")
    return (scheme, rest) if colon and _SCHEME.fullmatch(scheme) else ("", text)


def _host(authority: str) -> str:
    user, at, host = authority.rpartition("@")
    if at and not re.fullmatch(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*", user, re.ASCII):
        raise UrlFault("net/url: invalid userinfo")
    if host.startswith("["):
        close = host.rfind("]")
        if close < 0:
            raise UrlFault("missing ']' in host")
        _check_port(host[close + 1 :])
    elif ":" in host:
        _check_port(host[host.rindex(":") :])
    _check_escapes(host)
    hidden = _HOST_ESCAPE.search(host)
    if hidden is not None:
        raise UrlFault(f"invalid URL escape {go_quote(hidden[0])}")
    for sign in host:
        if sign.isascii() and not sign.isalnum() and sign not in _IN_HOST + "%":
            raise UrlFault(f"invalid character {go_quote(sign)} in host name")
    return host


def _check_port(text: str) -> None:
    if text and not _PORT.fullmatch(text):
        raise UrlFault(f"invalid port {go_quote(text)} after host")


def _check_escapes(text: str) -> None:
    match = _BAD_ESCAPE.search(text)
    if match is not None:
        raise UrlFault(f"invalid URL escape {go_quote('%' + match[1])}")


# --- URLs. Upstream: k8s.io/apiserver pkg/cel/library/urls.go -------------------------------------


def _url(text: str) -> URL:
    try:
        return parse_request_url(text)
    except UrlFault as fault:
        raise ValueFault(f"URL parse error during conversion from string: {fault}") from None


def _query(url: URL) -> CelMap:
    return CelMap.of_texts(url.queries())


def urls() -> tuple[Function, ...]:
    """The functions of this file."""
    text = "kubernetes.URL.() -> string"
    return (
        Function.of("url", ("string_to_url", "(string) -> kubernetes.URL", _url)),
        Function.of("isURL", ("is_url_string", "(string) -> bool", accepts(_url))),
        Function.of("getScheme", ("url_get_scheme", text, lambda url: url.scheme)),
        Function.of("getHost", ("url_get_host", text, lambda url: url.host)),
        Function.of("getHostname", ("url_get_hostname", text, lambda url: url.host_and_port()[0])),
        Function.of("getPort", ("url_get_port", text, lambda url: url.host_and_port()[1])),
        Function.of("getEscapedPath", ("url_get_escaped_path", text, URL.escaped_path)),
        Function.of("getQuery", ("url_get_query", "kubernetes.URL.() -> map(string, list(string))", _query)),
    )
