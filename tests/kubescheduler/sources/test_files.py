"""What is in files and streams, and why they cannot be read."""

from __future__ import annotations

import gzip
import io
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.errors import InputError
from kubescheduler.sources import files
from kubescheduler.sources.files import UNREADABLE, read_bytes, read_file, text_lines, why_unreadable
from kubescheduler.sources.json_stream import PrefixedStream
from kubescheduler.sources.untrusted import VARIABLE, TooLongError, changed_limits, check_values, exceeded, limit


@given(data=st.binary(max_size=60), cut=st.integers(0, 60), sizes=st.lists(st.integers(1, 40), max_size=8))
def test_a_prefix(data: bytes, cut: int, sizes: list[int]) -> None:
    """What was read of a stream is read again, in whatever pieces, and then the rest."""
    plain, stream = io.BytesIO(data), io.BytesIO(data)
    prefixed = PrefixedStream(b"", PrefixedStream(stream.read(cut), stream))
    buffer = memoryview(bytearray(40))
    for size in sizes:
        piece = prefixed.read(size) if size % 2 else bytes(buffer[: prefixed.readinto(buffer[:size])])
        assert piece == plain.read(size)
    assert prefixed.read(100) == plain.read()


FAULTS = {
    "none.yaml": (None, "no such file or folder; check the path, or use - for standard input"),
    "folder": (None, "cannot be read: Is a directory"),
    "a\0b": (None, "this is no name of a file"),
    "no-gzip": (b"\x1f\x8bx", "cannot be unpacked: "),
    "cut-off": (gzip.compress(b"a" * 99)[:-9], "cannot be unpacked: Compressed file ended before"),
    "long": (b"a" * 101, "more than 100 bytes of a file, unpacked"),
}


@pytest.mark.parametrize(("name", "content", "text"), [(name, *case) for name, case in FAULTS.items()], ids=FAULTS)
def test_why_a_file_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: bytes | None, text: str
) -> None:
    """In the same words wherever it was to be read."""
    monkeypatch.setenv("KUBESCHEDULER_LIMITS", "size=100")
    (tmp_path / "folder").mkdir()
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(UNREADABLE) as caught:
        read_file(tmp_path / name)
    assert why_unreadable(caught.value).startswith(text)


def test_what_unpacks_to_too_much_is_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """Past a part that is kept it is only counted whether there is an end within the limit."""
    monkeypatch.setattr(files, "_KEPT", 2_000_000)
    within, beyond = (gzip.compress(b"a" * size) for size in (4_999_999, 9_000_000))
    with changed_limits("size=5000000"):
        assert len(read_bytes(io.BytesIO(within))) == 4_999_999
        tracemalloc.start()
        with pytest.raises(TooLongError, match="size"):
            read_bytes(io.BytesIO(beyond))
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert most < 8_000_000


LINES: dict[str, tuple[bytes, str]] = {
    "no end": (b"\0" * (1 << 25), "NUL characters"),
    "too long": (b"a" * (1 << 25), "a line of more than"),
}


@pytest.mark.parametrize(("text", "fault"), LINES.values(), ids=LINES)
def test_lines_have_an_end(text: bytes, fault: str) -> None:
    """A line that goes on and on is no line; others are given as they are."""
    with changed_limits(f"size={1 << 27}"):
        assert list(text_lines(io.BytesIO(b"a\n\n" + b"b" * (1 << 24)))) == [b"a\n", b"\n", b"b" * (1 << 24)]
        with pytest.raises(TooLongError, match=fault):
            list(text_lines(io.BytesIO(b"a\n" + text)))


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
    for form in (text, text.decode()):
        if refused:
            with pytest.raises(TooLongError, match="--max values=NUMBER"):
                check_values(form)
            with changed_limits("values=2000000"):
                check_values(form)
        else:
            check_values(form)
