"""Binding cycles that are run step by step."""

from __future__ import annotations

import gc
import weakref
from collections import deque
from collections.abc import Generator
from functools import partial

from kubescheduler.cycle.bindings import InOrderBinding, Outcome
from kubescheduler.framework.running.framework_services import Answerable


class Attempt:
    """Has its binding, as attempts do."""

    binding: InOrderBinding


def told(_: Attempt, __: InOrderBinding) -> None:
    """What is done for an attempt when its binding has ended."""


def at_once() -> Generator[Answerable, None, Outcome]:
    yield from ()
    return None


def test_a_binding_that_has_ended_is_let_go() -> None:
    """With its attempt, and without a search for circles: each holds a decision about all nodes."""
    gc.disable()
    try:
        attempt = Attempt()
        attempt.binding = InOrderBinding(at_once(), deque())
        attempt.binding.add_done_callback(partial(told, attempt))
        attempt.binding.step()
        known = weakref.ref(attempt)
        del attempt
        assert known() is None
    finally:
        gc.enable()
