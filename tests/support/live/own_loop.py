"""Coroutines in tests that need no more than an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """What work comes to, on a loop in a thread of its own: the test's thread may have one of a browser."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()
