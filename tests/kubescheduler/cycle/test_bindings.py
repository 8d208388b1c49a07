"""Pods that are assumed until they are confirmed, and binding cycles that are run step by step."""

from __future__ import annotations

import gc
import threading
import weakref
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import Future
from functools import partial

import attrs
import pytest

from clusterstate.errors import ClusterStateError
from kubescheduler.cycle.bindings import AssumedPods, BindingCycle, InOrderBinding, LoopBindings, Outcome
from kubescheduler.framework.contract.handle import Answerable
from tests.support.build import cache_of, make_node, make_pod


class Setting:
    def __init__(self, *, from_assume: bool = False) -> None:
        self.now = 0.0
        self.cache = cache_of([make_node("n")])
        self.assumed = AssumedPods(self.cache, lambda: self.now, from_assume=from_assume)
        self.pod = make_pod("a")
        self.assumed.assume(self.pod, "n")

    def expired_at(self, now: float) -> bool:
        self.now = now
        return bool(self.assumed.sweep())


def test_a_pod_expires_after_its_binding_finished() -> None:
    """More than thirty seconds after it, and never before it finished."""
    setting = Setting()
    assert not setting.expired_at(1000.0)
    setting.assumed.finish_binding(setting.pod)
    assert not setting.expired_at(1030.0)
    assert setting.expired_at(1030.5)
    assert setting.pod not in setting.cache
    assert len(setting.assumed) == 0


def test_1_4_counts_from_the_assumption() -> None:
    """A binding that takes long does not help."""
    setting = Setting(from_assume=True)
    setting.now = 20.0
    setting.assumed.finish_binding(setting.pod)
    assert not setting.expired_at(30.0)
    assert setting.expired_at(31.0)


def test_confirmed_pods_do_not_expire() -> None:
    """They are there."""
    setting = Setting()
    setting.assumed.finish_binding(setting.pod)
    setting.assumed.confirm(setting.pod.on("n"))
    assert not setting.expired_at(100.0)
    assert setting.pod in setting.cache


def test_forgotten_pods_are_gone() -> None:
    """Also for a later sweep; forgetting twice is an error."""
    setting = Setting()
    setting.assumed.finish_binding(setting.pod)
    setting.assumed.forget(setting.pod)
    assert setting.pod not in setting.cache
    assert not setting.expired_at(100.0)
    with pytest.raises(ClusterStateError, match="wasn't assumed so cannot be forgotten"):
        setting.assumed.forget(setting.pod)


def test_finishing_what_was_not_assumed_does_nothing() -> None:
    """It was confirmed before its binding call returned."""
    setting = Setting()
    setting.assumed.finish_binding(make_pod("other"))
    assert len(setting.assumed) == 1


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


@attrs.frozen(eq=False)
class Awaited:
    """Something that a test settles."""

    answer: Future[None] = attrs.field(factory=Future)

    def wait(self) -> None:
        self.answer.result()

    def when_settled(self, follow: Callable[[], None], /) -> None:
        self.answer.add_done_callback(lambda _: follow())


def cycle(awaited: Awaited, threads: list[int]) -> BindingCycle:
    """Notes in which thread it begins and ends."""
    threads.append(threading.get_ident())
    yield awaited
    threads.append(threading.get_ident())
    return None


def test_a_cycle_that_says_what_it_waits_for_runs_in_the_thread_of_the_loop() -> None:
    """It is begun by ``run``, goes on by ``run`` once its answer is there, and the loop is woken for that."""
    awaited, threads, woken = Awaited(), list[int](), list[int]()
    bindings = LoopBindings(lambda: woken.append(1))
    binding = bindings.start(cycle(awaited, threads), in_thread=False)
    assert (threads, woken) == ([], [])
    assert bindings.run() == 1
    assert (len(threads), bindings.run(), binding.done()) == (1, 0, False)
    answering = threading.Thread(target=awaited.answer.set_result, args=(None,))
    answering.start()
    answering.join()
    assert (woken, binding.done()) == ([1], False)
    assert bindings.run() == 1
    assert binding.done()
    assert threads == [threading.get_ident()] * 2


def test_a_cycle_that_may_block_has_a_thread() -> None:
    """Nobody else runs it."""
    awaited, threads = Awaited(), list[int]()
    bindings = LoopBindings(lambda: None)
    binding = bindings.start(cycle(awaited, threads))
    assert bindings.run() == 0
    awaited.answer.set_result(None)
    bindings.close()
    assert binding.done()
    assert threading.get_ident() not in threads


def test_the_end_waits_for_answers() -> None:
    """What is under way is finished, whatever thread the answer comes from."""
    awaited, threads = Awaited(), list[int]()
    bindings = LoopBindings(lambda: None)
    binding = bindings.start(cycle(awaited, threads), in_thread=False)
    bindings.run()
    threading.Thread(target=awaited.answer.set_result, args=(None,)).start()
    bindings.close()
    assert binding.done()
