"""A student's code that does not return ends neither the server nor its tab, which works again once it is mended."""

from __future__ import annotations

import http.client
import json
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

import pytest

from algorithmprovider.code_watch import CodeWatch
from kubescheduler.lab.exercises.exercise_reading import shipped_exercise, start_exercise
from kubescheduler.lab.scene_process import SceneCode, _Asked, _ScenePlayer
from tests.support.pages.lab_page import RunningLab, running_lab
from tests.support.processes import SECONDS, until

RULES = """\
import ctypes, itertools, os, re
from algorithmprovider import register_priority_function

def cheap(pod, meta, node_info):
    open("begun", "w").close(); {body}

def register():
    register_priority_function("Cheap", cheap)
"""
"""The body stands on line 5."""
C_LOOP, MENDED = "return sum(itertools.repeat(1))", "return 3"

ENDED: dict[str, tuple[str, str]] = {
    "a loop": ("[0 for _ in iter(int, 1)]", "it has run for 0.5 s and did not return"),
    "a loop in C": (C_LOOP, "it has run for 0.5 s and cannot be ended"),
    "a regular expression": ('re.match("(a+)+b", "a" * 60)', "it has run for 0.5 s and"),
    "a wait that holds the interpreter": ("ctypes.PyDLL(None).sleep(1000)", "it has run for 0.5 s and did not return"),
    "a crash": ("os.abort()", "the process of this tab ended, and nothing of it is an answer"),
    "its end": ("os._exit(0)", "SystemExit: os._exit(0) would end the scheduler without an answer"),
}
"""Case → what the priority does, what is said of it."""


@contextmanager
def lab(folder: Path, body: str, patience: str) -> Iterator[RunningLab]:
    """A lab of an exercise whose priority does that, in its folder."""
    start_exercise(shipped_exercise("priority"), folder / "mine")
    (folder / "mine/rules.py").write_text(RULES.format(body=body))
    with running_lab("--exercise", "mine", "--patience", patience, cwd=str(folder)) as running:
        yield running


def opened(running: RunningLab, what: str) -> str:
    """A new tab."""
    tab: str = running.ask("open", **{"from": what})["tab"]
    return tab


def error(running: RunningLab, tab: str) -> str:
    """Why there is no decision."""
    found = running.ask("decision", tab=tab, side="a")
    assert found["host"] is None
    return str(found["error"])


@contextmanager
def events(running: RunningLab, tab: str) -> Iterator[Iterator[Any]]:
    """What a tab is told."""
    connection = http.client.HTTPConnection(running.origin.removeprefix("http://"), timeout=SECONDS)
    try:
        connection.request("GET", f"/api/events?tab={tab}&token={running.token}")
        lines = iter(connection.getresponse().readline, b"")
        yield (json.loads(line.removeprefix(b"data: ")) for line in lines if line.startswith(b"data: "))
    finally:
        connection.close()


@pytest.mark.parametrize("case", ENDED)
def test_a_tab_whose_code_does_not_return(case: str, tmp_path: Path) -> None:
    """It is told the file and the line, whatever it asks, and works again when the file was saved without the fault."""
    body, said = ENDED[case]
    with lab(tmp_path, body, "0.5") as running:
        tab = opened(running, "start")
        with events(running, tab) as told:
            assert next(told)["what"] == "hello"
            assert error(running, tab).startswith("mine/rules.py, line 5: priority Cheap")
            assert said in error(running, tab)
            assert [fault["line"] for fault in running.ask("code", tab=tab)["files"][0]["problems"]] == [5]
            (tmp_path / "mine/rules.py").write_text(RULES.format(body=MENDED))
            assert next(told)["problems"] == []
        assert running.ask("decision", tab=tab, side="a")["host"] == "dear"
        assert running.end() == 0


def test_other_tabs_are_answered_while_code_holds_the_interpreter(tmp_path: Path) -> None:
    """They are decided and edited, and Ctrl-C ends the lab."""
    with lab(tmp_path, C_LOOP, "0") as running, ThreadPoolExecutor(1) as pool:
        busy, free = opened(running, "start"), opened(running, "bundled")
        stuck = pool.submit(running.ask, "decision", tab=busy, side="a")
        until(lambda: (tmp_path / "begun").exists() or stuck.done())
        assert not stuck.done(), stuck.result()
        assert running.ask("decision", tab=free, side="a")["host"]
        assert running.ask("edit", tab=free, edit={"do": "cordon", "node": "edge-1"})["version"] == 2
        assert opened(running, "bundled") != free
        assert not stuck.done()
        assert running.end() == 0
        assert stuck.exception() is not None


def test_what_a_tab_changed_is_there_after_its_code_was_ended(tmp_path: Path) -> None:
    """Pods that were placed and the steps to undo are those of before the question."""
    with lab(tmp_path, MENDED, "0.5") as running:
        tab = opened(running, "start")
        changed = running.ask("edit", tab=tab, edit={"do": "schedule"})["version"]
        with events(running, tab) as told:
            next(told)
            (tmp_path / "mine/rules.py").write_text(RULES.format(body=C_LOOP))
            assert next(told)["problems"] == []
        assert "cannot be ended" in error(running, tab)
        assert running.ask("state", tab=tab)["canUndo"]
        assert running.ask("undo", tab=tab)["version"] > changed


@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
@pytest.mark.parametrize("ended_by", ["a stop", "the limit of a call"])
def test_an_end_that_comes_as_the_reply_is_ready(ended_by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process that was killed with its reply in hand does not send it: the understudy takes over, it does not leave
    too."""
    ours, theirs = Pipe()
    hears, says = os.pipe()
    told, tells = os.pipe()
    watch = CodeWatch()
    if ended_by == "a stop":
        ours.send(_Asked(1, "stop", {}))

    def killed(process: int, number: int) -> None:
        if number == signal.SIGKILL:
            os.write(says, b"x")  # the process has its reply, and waits for the understudy to leave
        else:
            os.write(watch.dump, b"the lines where it stands")
        kill(process, number)

    def understudy(process: int) -> bytes:
        if ended_by != "a stop":
            watch.note(time.monotonic() - 1, 0.01)
        reply = _ScenePlayer(theirs, SceneCode({}, dict, str))._stand_by(_Asked(1, "state", {}), process, hears, watch)
        return b"stopped" if reply.stopped else b"lost"

    kill = os.kill
    process = os.fork()
    if process == 0:
        me = os.getpid()
        if os.fork() == 0:
            monkeypatch.setattr(os, "kill", killed)
            os.write(tells, understudy(me))
            os._exit(0)
        while True:
            signal.pause()
    os.close(tells)
    assert os.read(told, 8) == (b"stopped" if ended_by == "a stop" else b"lost")
    os.waitpid(process, 0)
    for end in (hears, says, told):
        os.close(end)
    watch.close()
    ours.close()
    theirs.close()
