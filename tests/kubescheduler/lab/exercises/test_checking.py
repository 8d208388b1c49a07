"""A student's extender, a class's work, and the wheelhouse for a room without network."""

from __future__ import annotations

import shutil
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

from clusterstate.errors import ConfigError
from kubescheduler.lab.exercises import checking, classroom
from kubescheduler.lab.exercises.checking import running_extender
from kubescheduler.lab.exercises.classroom import ClassBoard, as_rows
from kubescheduler.lab.exercises.exercise_reading import SHIPPED, shipped_exercise, start_exercise

SERVER = """\
import argparse, signal, socket
{before}
parser = argparse.ArgumentParser()
parser.add_argument("--port", type=int)
server = socket.create_server(("127.0.0.1", parser.parse_args().port))
while True:
    server.accept()[0].close()
"""


def takes_calls(address: str) -> bool:
    """Whether somebody listens there."""
    try:
        socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])), timeout=1).close()
    except OSError:
        return False
    return True


@pytest.mark.parametrize("before", ["", "signal.signal(signal.SIGTERM, signal.SIG_IGN)"], ids=["polite", "stubborn"])
def test_it_is_ended(before: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that takes no notice of SIGTERM, and also when the check raises."""
    monkeypatch.setattr(checking, "STOP_SECONDS", 0.2)
    (tmp_path / "extender.py").write_text(SERVER.format(before=before))
    seen: list[str] = []

    def check() -> None:
        with running_extender(tmp_path / "extender.py") as (address, last_words):
            seen.append(address)
            assert takes_calls(address)
            assert last_words() == ""
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        check()
    assert not takes_calls(seen[0])


def test_it_says_where_it_stands(tmp_path: Path) -> None:
    """The line of a call that has not come back."""
    file = tmp_path / "extender.py"
    text = SERVER.format(before="def answer(): signal.pause()")
    file.write_text(text.replace("server.accept()[0].close()", "answer()"))
    with running_extender(file) as (_, last_words):
        assert last_words() == f"{file}, line 2: it does not return"


def test_two_run_at_a_time(tmp_path: Path) -> None:
    """Each has a port of its own."""
    (tmp_path / "extender.py").write_text(SERVER.format(before=""))
    with running_extender(tmp_path / "extender.py") as (one, _), running_extender(tmp_path / "extender.py") as (two, _):
        assert one != two


def test_one_that_is_not_there(tmp_path: Path) -> None:
    """Python itself says what is wrong."""
    with pytest.raises(ConfigError, match="it ended at once, with status 2"), running_extender(tmp_path / "none.py"):
        pass


@pytest.fixture
def room(tmp_path: Path) -> Path:
    """anna has solved one exercise and begun another, ben's file is no YAML."""
    for student, name in (("anna", "01-requests"), ("anna", "02-taints"), ("ben", "02-taints")):
        start_exercise(shipped_exercise(name), tmp_path / student / name)
    shutil.copy(SHIPPED / "02-taints/solution/train.yaml", tmp_path / "anna/02-taints/train.yaml")
    (tmp_path / "ben/02-taints/train.yaml").write_text("kind: [")
    return tmp_path


def test_a_cell_for_each_student_and_exercise(room: Path) -> None:
    """How many checks pass, the first that fails, and why nothing could be judged."""
    found = ClassBoard(room).checked()
    assert {name: cell.text for name, cell in found["anna"].items()} == {"01-requests": "4/8", "02-taints": "8/8"}
    assert found["anna"]["01-requests"].said == "all three replicas have a node"
    assert found["anna"]["02-taints"].done
    assert found["ben"]["02-taints"].text == "error"
    assert "train.yaml" in found["ben"]["02-taints"].said
    rows = as_rows(found)
    assert rows["exercises"] == ["01-requests", "02-taints"]
    assert [(one["name"], one["done"]) for one in rows["students"]] == [("anna", 1), ("ben", 0)]


def test_two_folders_for_one_exercise(room: Path) -> None:
    """Which of them counts nobody knows: the cell is an error that names both, until one is gone."""
    shutil.copytree(room / "anna/02-taints", room / "anna/second-try")
    board = ClassBoard(room)
    cell = board.checked()["anna"]["02-taints"]
    assert (cell.text, cell.done) == ("error", False)
    assert cell.said == "there are 2 folders for it, anna/02-taints and anna/second-try; keep one"
    shutil.rmtree(room / "anna/second-try")
    assert board.checked()["anna"]["02-taints"].done


def test_what_was_saved_since_is_checked_again(room: Path) -> None:
    """The board follows the files, and forgets who has gone."""
    board = ClassBoard(room)
    board.checked()
    shutil.copy(SHIPPED / "02-taints/solution/train.yaml", room / "ben/02-taints/train.yaml")
    shutil.rmtree(room / "anna")
    assert {name: cells["02-taints"].done for name, cells in board.checked().items()} == {"ben": True}


def test_a_folder_without_students(tmp_path: Path) -> None:
    """It says what has to be in it."""
    with pytest.raises(ConfigError, match="it has to have a folder for each student"):
        ClassBoard(tmp_path).checked()


def answers(status: int, said: str = "") -> Any:
    """A pip that makes one wheel, or says why it does not."""

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        folder = Path(command[command.index("-w") + 1])
        folder.mkdir(parents=True)
        (folder / "kubescheduler-1-py3-none-any.whl").write_bytes(b"")
        assert command[-1].endswith("[lab]")
        return subprocess.CompletedProcess(command, status, "", said)

    return run


def test_wheels_and_a_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text says how to install without network."""
    monkeypatch.setattr(subprocess, "run", answers(0))
    assert classroom.write_bundle(tmp_path / "stick") == ["kubescheduler-1-py3-none-any.whl"]
    assert "pip install --no-index --find-links wheels" in (tmp_path / "stick" / classroom.README).read_text()


def test_what_pip_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last line of it, and a folder in use is left alone."""
    monkeypatch.setattr(subprocess, "run", answers(1, "ERROR: no network\n"))
    with pytest.raises(ConfigError, match="pip could not make the wheels: ERROR: no network"):
        classroom.write_bundle(tmp_path / "stick")
    with pytest.raises(ConfigError, match="it is not empty"):
        classroom.write_bundle(tmp_path / "stick")
