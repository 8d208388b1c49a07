"""URLs. Upstream: k8s.io/apiserver pkg/cel/library/urls.go."""

from __future__ import annotations

from clusterstate.cel.cel_faults import ValueFault
from clusterstate.cel.functions.cel_overloads import Function
from clusterstate.cel.functions.go_urls import URL, UrlFault, parse_request_url
from clusterstate.cel.values.cel_values import CelMap


def _url(text: str) -> URL:
    try:
        return parse_request_url(text)
    except UrlFault as fault:
        raise ValueFault(f"URL parse error during conversion from string: {fault}") from None


def _is_url(text: str) -> bool:
    try:
        parse_request_url(text)
    except UrlFault:
        return False
    return True


def _query(url: URL) -> CelMap:
    return CelMap.of_texts(url.queries())


def urls() -> tuple[Function, ...]:
    """The functions of this file."""
    text = "kubernetes.URL.() -> string"
    return (
        Function.of("url", ("string_to_url", "(string) -> kubernetes.URL", _url)),
        Function.of("isURL", ("is_url_string", "(string) -> bool", _is_url)),
        Function.of("getScheme", ("url_get_scheme", text, lambda url: url.scheme)),
        Function.of("getHost", ("url_get_host", text, lambda url: url.host)),
        Function.of("getHostname", ("url_get_hostname", text, lambda url: url.host_and_port()[0])),
        Function.of("getPort", ("url_get_port", text, lambda url: url.host_and_port()[1])),
        Function.of("getEscapedPath", ("url_get_escaped_path", text, URL.escaped_path)),
        Function.of("getQuery", ("url_get_query", "kubernetes.URL.() -> map(string, list(string))", _query)),
    )
