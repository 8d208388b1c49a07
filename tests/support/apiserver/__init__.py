"""An API server in this process: true HTTP, with lists, watches, patches, bindings, leases and reviews."""

from __future__ import annotations

from tests.support.apiserver.api_server import ApiServer
from tests.support.apiserver.storage import Storage

__all__ = ["ApiServer", "Storage"]
