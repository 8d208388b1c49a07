"""Lines of the log, as klog writes them."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubescheduler.live.klog import (
    LogLine,
    LogWriter,
    Severity,
    json_layout,
    read_structured,
    structured,
    text_layout,
)
from tests.support.live.live_cluster import StoodClock

HEAD = re.compile(r"([IWEF])(\d{4} \d\d:\d\d:\d\d\.\d{6}) {1,7}(\d+) ([\w.]+\.py):(\d+)\] (.*)\n")


def written(level: int = 0, **options: Any) -> tuple[LogWriter, list[str]]:
    lines: list[str] = []
    return LogWriter(lines.append, level=level, clock=StoodClock(), pid=4711, **options), lines


def test_the_head_of_a_line() -> None:
    """Severity, moment, process and place, in klog's columns."""
    writer, lines = written()
    writer.info("one")
    writer.warning("two")
    writer.error("three")
    writer.put(LogLine(Severity.FATAL, "four"))
    found = [HEAD.fullmatch(line) for line in lines]
    assert [match and (match[1], match[3], match[4], match[6]) for match in found] == [
        (letter, "4711", "test_klog.py", text)
        for letter, text in (("I", "one"), ("W", "two"), ("E", "three"), ("F", "four"))
    ]


def test_the_process_id_is_right_aligned() -> None:
    """As klog pads it to seven columns."""
    writer, lines = written(layout=text_layout)
    writer.info("x")
    assert "    4711 test_klog.py:" in lines[0]


@pytest.mark.parametrize("level", [0, 1, 4])
def test_verbosity(level: int) -> None:
    """Lines of a higher one are left out; it may change while the process runs."""
    writer, lines = written(level)
    for wanted in range(6):
        writer.info(str(wanted), wanted)
    assert len(lines) == level + 1
    writer.verbosity.level = 5
    writer.info("5", 5)
    assert len(lines) == level + 2


def test_a_log_that_cannot_be_written() -> None:
    """A full disk ends no scheduler."""

    def full(_: str) -> None:
        raise OSError(28, "No space left on device")

    LogWriter(full).error("x")


STRUCTURED: list[tuple[str, dict[str, Any], str]] = [
    ("Starting", {}, '"Starting"'),
    ("Bound", {"pod": "ns/p", "feasibleNodes": 2}, '"Bound" pod="ns/p" feasibleNodes=2'),
    ("Failed", {"err": 'no "x"\t'}, r'"Failed" err="no \"x\"\t"'),
    ("Mismatch", {"missedNodes": ["a", "b"]}, '"Mismatch" missedNodes=["a","b"]'),
    ("Dump", {"nodes": "a\nb\n"}, '"Dump" nodes=<\n\ta\n\tb\n >'),
    ("Empty", {"pods": ""}, '"Empty" pods=""'),
]


@pytest.mark.parametrize(("message", "pairs", "text"), STRUCTURED, ids=[row[0] for row in STRUCTURED])
def test_keys_and_values(message: str, pairs: dict[str, Any], text: str) -> None:
    """As klog's InfoS and ErrorS write them; they are read again for JSON."""
    assert structured(message, **pairs) == text
    found, values = read_structured(text)
    assert found == message
    assert values == pairs


def test_json() -> None:
    """An object a line; errors have no verbosity."""
    writer, lines = written(2, layout=json_layout)
    writer.info(structured("Bound", pod="ns/p", node="n"), 2)
    writer.error("plain text")
    first, second = map(json.loads, lines)
    assert first.pop("caller").startswith("test_klog.py:")
    assert first == {"ts": 1767225600000.0, "msg": "Bound", "v": 2, "pod": "ns/p", "node": "n"}
    assert second["msg"] == "plain text"
    assert "v" not in second


@given(st.text(), st.text(alphabet=st.characters(codec="ascii")))
def test_every_line_is_one_object_of_json(message: str, value: str) -> None:
    """Whatever is logged."""
    writer, lines = written(layout=json_layout)
    writer.info(structured("m", err=value))
    writer.error(message)
    assert all(isinstance(json.loads(line), dict) for line in lines)
    assert all(line.count("\n") == 1 for line in lines)
