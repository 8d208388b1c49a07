"""What a policy or component configuration says about one HTTP extender."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from clusterstate.objects import Pod


DEFAULT_TIMEOUT_NS = 5_000_000_000
"""httpTimeout when none is configured: 5 s."""


class ManagedResource(msgspec.Struct, frozen=True):
    """An extended resource the extender looks after; ``ignored_by_scheduler`` takes it out of PodFitsResources."""

    name: str = ""
    ignored_by_scheduler: bool = False


class TLSConfig(msgspec.Struct, frozen=True):
    """``tlsConfig``. The ``…_data`` members are PEM bytes (base64 already undone) and win over the files."""

    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    cert_data: bytes = b""
    key_data: bytes = b""
    ca_data: bytes = b""

    def __repr__(self) -> str:
        shown = (f"{name}={getattr(self, name)!r}" for name in self.__struct_fields__ if name != "key_data")
        return f"TLSConfig({', '.join(shown)})"

    @property
    def has_ca(self) -> bool:
        """Whether a certificate authority is named."""
        return bool(self.ca_file or self.ca_data)


_PASSWORD = re.compile(r"(?<=://)([^/:@]*):[^/]*(?=@)")


def masked(url: str) -> str:
    """An address with ``***`` for its password, as Go's client shows it."""
    return _PASSWORD.sub(r"\1:***", url)


class ExtenderConfig(msgspec.Struct, frozen=True):
    """One extender. A verb left empty is a call the extender does not support. ``http_timeout_ns`` 0 means 5 s."""

    url_prefix: str = ""
    filter_verb: str = ""
    prioritize_verb: str = ""
    preempt_verb: str = ""
    bind_verb: str = ""
    weight: int = 0
    enable_https: bool = False
    tls: TLSConfig = TLSConfig()
    http_timeout_ns: int = 0
    node_cache_capable: bool = False
    managed_resources: tuple[ManagedResource, ...] = ()
    ignorable: bool = False

    @property
    def name(self) -> str:
        """What messages call it: its urlPrefix, without a password."""
        return masked(self.url_prefix)

    @property
    def timeout(self) -> float:
        """Seconds one whole exchange may take; 0 and negative values read as 5 s, so that no call waits for ever."""
        return (self.http_timeout_ns if self.http_timeout_ns > 0 else DEFAULT_TIMEOUT_NS) / 1e9

    def is_interested(self, pod: Pod) -> bool:
        """Whether the extender wants to hear of the pod.

        Without managed resources it hears of every pod; else of those with a container or init container that
        names a managed resource in requests or limits, whatever the amount.
        """
        if not self.managed_resources:
            return True
        managed = {resource.name for resource in self.managed_resources}
        containers = (*pod.spec.containers, *pod.spec.init_containers)
        return any(not managed.isdisjoint(amounts) for c in containers for amounts in (c.requests, c.limits))
