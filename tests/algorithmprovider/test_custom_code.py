"""A call of a user's own code that does not return is ended, with the line on which it stood."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from algorithmprovider.custom_code import LIMIT, CustomCall, CustomCodeError, limited


def loops() -> None:
    """Runs for ever in Python."""
    while True:
        pass


def sleeps() -> None:
    """Sleeps far longer than any test may take."""
    time.sleep(1000)


def waits() -> None:
    """Waits for what never comes."""
    threading.Event().wait()


def leaves() -> None:
    """Would end the process as if all were well."""
    os._exit(0)


def asked(function: Callable[[], Any], seconds: float | None = 0.2) -> str:
    """What the error of a call says."""
    with limited(seconds), pytest.raises(CustomCodeError) as caught:
        CustomCall("predicate Mine", function).ask(node="n1")
    return str(caught.value)


@pytest.mark.parametrize("function", [loops, sleeps, waits])
def test_a_call_that_does_not_return_is_ended(function: Callable[[], None]) -> None:
    """The error names the file, the line, the rule, the node and the time."""
    said = asked(function)
    line = function.__code__.co_firstlineno
    lines = [f"{__file__}, line {line + more}: " for more in range(2, 4)]
    assert said.startswith(tuple(lines)), said
    assert said.endswith("predicate Mine, node n1: it has run for 0.2 s and did not return")


def test_in_another_thread() -> None:
    """A thread of a server is told at its next line of Python."""
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.append(asked(loops)))
    thread.start()
    thread.join()
    assert "it has run for 0.2 s" in found[0]
    assert not LIMIT.running


def test_os_exit_is_no_answer() -> None:
    """It is an error of the code, and this process goes on."""
    assert "SystemExit: os._exit(0) would end the scheduler without an answer" in asked(leaves, 60)


def test_each_call_within_a_call_has_its_own_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule that asks a function about every node is as patient with the last as with the first."""
    now, left = [1e9], []
    inner = CustomCall("predicate Mine, a node", lambda: look(50))
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    def look(seconds: int = 0) -> None:
        left.append(LIMIT.running[threading.get_ident()] - now[0])
        now[0] += seconds

    with limited(60):
        CustomCall("predicate Mine", lambda: [(inner.ask(), look()) for _ in range(3)]).ask()
    assert left == [60] * 6
    assert not LIMIT.running


def test_calls_that_return_are_left_alone() -> None:
    """A call that has returned is watched no more."""
    with limited(60):
        assert CustomCall("predicate Mine", lambda: True).ask() is True
    assert not LIMIT.running
