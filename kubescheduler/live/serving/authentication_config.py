"""The ConfigMap in which the API server says by whose word clients are believed.

Upstream: dynamiccertificates' ConfigMapCAController and headerrequest's RequestHeaderAuthRequestController.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from clusterstate.errors import ConfigError
from kubescheduler.live.serving.certificate_authenticators import ClientTrust, RequestHeaders
from kubescheduler.live.serving.certificate_pool import CertificatePool
from kubescheduler.live.transport.api_client import ApiClient

NAMESPACE, NAME = "kube-system", "extension-apiserver-authentication"
COLLECTION = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
TIMEOUT = 10.0
"""Seconds for reading it."""
CLIENT_CA, PROXY_CA = "client-ca-file", "requestheader-client-ca-file"
NO_CLIENT = (
    "No authentication-kubeconfig provided in order to lookup {key} in configmap/" + NAME + " in " + NAMESPACE + ", "
    "so {what} authentication won't work."
)
"""What is logged when nobody says where to look."""
TOLERATED = (
    "Error looking up in-cluster authentication configuration: {error}",
    "Continuing without authentication configuration. This may treat all requests as anonymous.",
    "To require authentication configuration lookup to succeed, set --authentication-tolerate-lookup-failure=false",
)
"""What is logged when looking failed, and need not succeed."""
NO_RIGHTS = (
    f"Unable to get configmap/{NAME} in {NAMESPACE}.  Usually fixed by 'kubectl create rolebinding -n {NAMESPACE} "
    "ROLEBINDING_NAME --role=extension-apiserver-authentication-reader --serviceaccount=YOUR_NS:YOUR_SA'"
)
"""What is logged when looking is forbidden."""

Data = Mapping[str, str]
"""Of the ConfigMap."""


def trust_of(data: Data) -> ClientTrust:
    """What a ConfigMap says. Raises ConfigError for what cannot be read."""
    clients = _pool(data, CLIENT_CA)
    authorities = _pool(data, PROXY_CA)
    if not authorities:
        return ClientTrust(clients)
    proxies = RequestHeaders(
        authorities,
        _texts(data, "requestheader-allowed-names"),
        _texts(data, "requestheader-username-headers"),
        _texts(data, "requestheader-group-headers"),
        _texts(data, "requestheader-extra-headers-prefix"),
        _texts(data, "requestheader-uid-headers"),
    )
    return ClientTrust(clients, proxies)


def _pool(data: Data, key: str) -> CertificatePool:
    text = data.get(key, "").strip()
    return CertificatePool.from_pem(text.encode(), f"{NAMESPACE}::{NAME}::{key}") if text else CertificatePool()


def _texts(data: Data, key: str) -> tuple[str, ...]:
    """A list of texts as JSON; empty when it is not there."""
    try:
        return tuple(msgspec.json.decode(data.get(key) or "[]", type=list[str]))
    except msgspec.DecodeError as error:
        raise ConfigError(f"configmap {NAMESPACE}/{NAME}: {key}: {error}") from None


async def read_once(client: ApiClient) -> Data:
    """The ConfigMap's data. Raises ApiError."""
    answer = await client.request("GET", f"{COLLECTION}/{NAME}", timeout=TIMEOUT)
    return data_of(answer.document())


def data_of(document: Any) -> Data:
    """The data of a ConfigMap."""
    data = document.get("data") if isinstance(document, dict) else None
    return {key: str(value) for key, value in (data or {}).items()}
