"""A policy in a ConfigMap of the cluster: read once, before anything is started (1.16, 1.20)."""

from __future__ import annotations

from typing import Any

from clusterstate.errors import ConfigError
from kubescheduler.config.config_text import configmap_policy
from kubescheduler.config.v1alpha1.v1alpha1_config import ConfigMapName
from kubescheduler.live.process.live_settings import ServerSettings
from kubescheduler.live.transport.api_answers import ApiError
from kubescheduler.live.transport.api_client import ApiClient, ClientOptions
from kubescheduler.live.transport.io_thread import IoThread
from kubescheduler.live.transport.token_bucket import Limits

ANSWER = 30.0
"""Seconds that the server has to answer."""


def policy_in_cluster(server: ServerSettings, place: ConfigMapName, agent: str) -> dict[str, Any]:
    """The policy that a ConfigMap holds. Raises ConfigError with upstream's text when it cannot be had."""
    with IoThread() as io:
        manifest = io.wait(_read(server, place, agent))
    return configmap_policy({"kind": "ConfigMap", **manifest}, f"{place.namespace}/{place.name}")


async def _read(server: ServerSettings, place: ConfigMapName, agent: str) -> dict[str, Any]:
    client = ApiClient(await server.access(), ClientOptions(Limits(server.qps, server.burst), agent, ANSWER))
    try:
        path = f"/api/v1/namespaces/{place.namespace}/configmaps/{place.name}"
        manifest: dict[str, Any] = (await client.request("GET", path)).document()
    except ApiError as error:
        raise ConfigError(f"couldn't get policy config map {place.namespace}/{place.name}: {error}") from None
    finally:
        await client.close()
    return manifest
