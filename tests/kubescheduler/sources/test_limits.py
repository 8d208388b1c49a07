"""Limits on what is read, and how they are raised."""

from __future__ import annotations

import io
import tracemalloc

import pytest

from clusterstate.errors import InputError
from kubescheduler.sources.file_bytes import read_bytes
from kubescheduler.sources.limits import VARIABLE, TooLongError, changed_limits, check_values, exceeded, limit


def test_they_are_raised_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment's own values stay where the option says nothing, and all come back afterwards."""
    monkeypatch.setenv(VARIABLE, "seeds=5,depth=50")
    with changed_limits("depth=60"):
        assert (limit("seeds"), limit("depth"), limit("pods")) == (5, 60, 200_000)
    assert limit("depth") == 50


@pytest.mark.parametrize("text", ["depth", "depth=", "depth=-1", "depht=5", "depth=1e3", "depth=401", "=5"])
def test_faulty_ones(text: str) -> None:
    """A name nobody knows, no number, or more than a process can bear is refused."""
    with pytest.raises(InputError, match="--max"), changed_limits(text):
        pass


def test_the_message_says_how_to_raise_it() -> None:
    """What goes over a limit says how far it went, and the option."""
    assert exceeded("pods").startswith("more than 200,000 pods")
    assert exceeded("pods").endswith("kubescheduler --max pods=NUMBER …")


@pytest.mark.parametrize("length", [0, 5, (1 << 24) - 1, 1 << 24, (1 << 24) + 1, 40 << 20])
def test_reading_takes_the_memory_of_what_is_there(length: int) -> None:
    """The limit itself takes none, though it is two gigabytes, and everything below it is read."""
    data = b"x" * length
    tracemalloc.start()
    try:
        assert read_bytes(io.BytesIO(data)) == data
        assert tracemalloc.get_traced_memory()[1] < 4 * length + (40 << 20)
    finally:
        tracemalloc.stop()


def test_reading_stops_at_the_limit() -> None:
    """One byte too many is an error, whatever the size of the pieces."""
    with changed_limits("size=20000000"):
        assert len(read_bytes(io.BytesIO(b"x" * 20_000_000))) == 20_000_000
        with pytest.raises(ValueError, match="size"):
            read_bytes(io.BytesIO(b"x" * 20_000_001))


DENSE: dict[str, tuple[bytes, bool]] = {
    "a list of ones": (b"[" + b"1," * 1_000_001 + b"1]", True),
    "in lines": (b"- 1\n" * 1_000_001, True),
    "longer values": (b"[" + b"1111111," * 1_000_001 + b"1]", True),
    "few": (b"[" + b"1," * 999_990 + b"1]", False),
    "as long as in manifests": (b"  name: something\n" * 1_000_001, False),
}


@pytest.mark.parametrize(("text", "refused"), DENSE.values(), ids=DENSE)
def test_texts_of_many_tiny_values(text: bytes, refused: bool) -> None:
    """They would take many times their size in memory; more can be allowed."""
    for given in (text, text.decode()):
        if refused:
            with pytest.raises(TooLongError, match="--max values=NUMBER"):
                check_values(given)
            with changed_limits("values=2000000"):
                check_values(given)
        else:
            check_values(given)
