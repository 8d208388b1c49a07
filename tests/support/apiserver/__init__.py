"""API servers for tests: one in this process, and a front of a real one. True HTTP, with faults on request."""

from __future__ import annotations

import pytest

from tests.support.apiserver.api_server import ApiServer
from tests.support.apiserver.front_server import FrontServer
from tests.support.apiserver.storage import Storage

IN_PROCESS = pytest.mark.parametrize("api_server", ["in process"], indirect=True)
"""For tests of what a real server cannot be made to do."""

__all__ = ["IN_PROCESS", "ApiServer", "FrontServer", "Storage"]
