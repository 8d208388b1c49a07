"""Streams that are read twice."""

from __future__ import annotations

import io
import tempfile
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubescheduler.sources import replayed
from kubescheduler.sources.replayed import ReplayedStream

SIZES = st.lists(st.integers(1, 40), max_size=8)


@pytest.fixture(params=["a file", "no file", "a full file"])
def _kept_in(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Little is kept in memory, as far as there is a place for a file."""
    monkeypatch.setattr(replayed, "IN_MEMORY", 30)

    class Full(io.BytesIO):
        def write(self, _: Any) -> int:
            raise OSError

    def refused(**_: Any) -> Any:
        raise OSError

    if request.param != "a file":
        monkeypatch.setattr(tempfile, "TemporaryFile", refused if request.param == "no file" else lambda **_: Full())


@pytest.mark.usefixtures("_kept_in")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=200), before=SIZES, after=SIZES)
def test_reads_twice(data: bytes, before: list[int], after: list[int]) -> None:
    """After a rewind the stream begins anew, however much of it was read, and in whatever pieces."""
    stream, plain = ReplayedStream(io.BytesIO(data)), io.BytesIO(data)
    assert [stream.read(size) for size in before] == [plain.read(size) for size in before]
    stream.rewind()
    again = io.BytesIO(data)
    for size in after:
        buffer = bytearray(size)
        assert bytes(buffer[: stream.readinto(memoryview(buffer))]) == again.read(size)
    assert stream.read(1000) == again.read()
    assert stream.read(1) == b""
    stream.close()
