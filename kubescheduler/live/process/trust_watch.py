"""Watches the ConfigMap in which the API server says by whose word clients are believed."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import msgspec

from clusterstate.manifests.decode import Decoder
from kubescheduler.live.contract.object_change import ObjectChange
from kubescheduler.live.contract.wall_clock import WallClock
from kubescheduler.live.informers.informer_kinds import InformerKind
from kubescheduler.live.informers.informer_rules import InformerRules
from kubescheduler.live.informers.raw_objects import RawObjects, nothing_known, parse_name
from kubescheduler.live.informers.reflector import Reflector
from kubescheduler.live.informers.server_outage import ServerOutage
from kubescheduler.live.informers.stored_objects import Key, Known, Stored, StoredObjects
from kubescheduler.live.serving.authentication_config import COLLECTION, NAME, Data, data_of
from kubescheduler.live.transport.api_client import ApiClient

KIND = InformerKind("ConfigMap", (COLLECTION,), f"metadata.name={NAME}")


async def watch_trust(
    client: ApiClient,
    changed: Callable[[Data], None],
    rules: InformerRules,
    outage: ServerOutage,
    clock: WallClock,
    rng: random.Random,
) -> None:
    """Reads the ConfigMap as the release's informers read, and reports each version of its data, until cancelled.

    When the ConfigMap goes, what it said last goes on to count.
    """

    def deliver(changes: list[ObjectChange]) -> None:
        for change in changes:
            if change.new is not None:
                changed(change.new)

    objects = ConfigMapData("ConfigMap", Decoder(), outage.trouble)
    store = StoredObjects("ConfigMap")
    await Reflector(client, KIND, objects, store, rules, clock, rng, deliver, outage).run()


class ConfigMapData(RawObjects):
    """Reads a ConfigMap as its data."""

    def read(self, raw: msgspec.Raw, known: Known = nothing_known) -> tuple[Key, Stored] | None:  # noqa: ARG002
        """(its key, its data at its version)."""
        named = parse_name(raw)
        data: Any = data_of(msgspec.json.decode(raw))
        return named.key, Stored(named.metadata.resource_version, data, named.metadata.uid)
