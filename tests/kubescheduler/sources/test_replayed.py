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


def read_into(stream: ReplayedStream, buffer: memoryview) -> bytes:
    """What is read of the stream into the buffer."""
    return bytes(buffer[: stream.readinto(buffer)])


@pytest.mark.usefixtures("_kept_in")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=200), before=SIZES, after=SIZES)
def test_reads_twice(data: bytes, before: list[int], after: list[int]) -> None:
    """After a rewind the stream begins anew, however much of it was read, in whatever pieces, or into a buffer."""
    stream, plain = ReplayedStream(io.BytesIO(data)), io.BytesIO(data)
    buffer = memoryview(bytearray(40))
    for size in before:
        assert (stream.read(size) if size % 2 else read_into(stream, buffer[:size])) == plain.read(size)
    stream.rewind()
    again = io.BytesIO(data)
    for size in after:
        assert read_into(stream, buffer[:size]) == again.read(size)
    assert stream.read(1000) == again.read()
    assert stream.read(1) == b""
    stream.close()
