"""Processes that tests start, disturb and end."""

from __future__ import annotations

SECONDS = 240.0
"""Until a test gives up waiting: only what is broken takes that long, however busy the machine. Below the time that
pytest gives a test (setup.cfg), so that the test itself says what it has waited for."""
