"""Hostile input on the command line: exit 0, 1 or 2 and a message, and no control characters on the terminal."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.fuzz_cases import execute
from benchmarks.fuzz_inputs import readers
from kubescheduler.sources.untrusted import one_line, shown
from tests.kubescheduler.cli.conftest import Run, in_a_process

READERS = readers()
CASES = 500


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all cases share."""
    return tmp_path_factory.mktemp("fuzz")


@settings(max_examples=CASES, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(READERS), st.integers(0, 2**32))
def test_the_law_of_every_reader(place: Path, reader: object, seed: int) -> None:
    """Whatever is read: exit 0, 1 or 2, a message with 2, never a traceback."""
    [chosen] = [one for one in READERS if one is reader]
    case = chosen.case(random.Random(seed))
    assert execute(place, case).fault is None, case


@pytest.mark.parametrize(
    "name", ['"a\\nb"', '"a\\0b"', '"\\e[31mred"', "A", "a/b", "-a", "x" * 254], ids=lambda n: n[:9]
)
@pytest.mark.parametrize("where", ["name", "namespace"])
def test_names_that_no_api_server_takes(folder: Path, schedule: Run, name: str, where: str) -> None:
    """A name with a line end, a NUL, an escape sequence or capitals is refused, and shown escaped."""
    metadata = f"name: {name}" if where == "name" else f"name: a, namespace: {name}"
    (folder / "p.yaml").write_text(f"apiVersion: v1\nkind: Pod\nmetadata: {{{metadata}}}\nspec: {{containers: []}}\n")
    outcome = schedule("--pod", "p.yaml")
    outcome.refused(f"is no {where}")
    assert "\x1b" not in outcome.err
    assert "\x00" not in outcome.err


def test_messages_are_escaped_and_cut() -> None:
    """Control characters are shown, long values cut in the middle, passwords masked."""
    assert shown("a\x1b[31m\u202eb\x00") == "a\\x1b[31m\\u202eb\\x00"
    assert len(shown("x" * 50_000)) < 400
    assert len(shown("x y " * 50_000)) < 4200
    assert shown("Post http://u:secret@h/x: failed") == "Post http://u:***@h/x: failed"
    assert one_line("a\nb\tc") == "a\\nb\\tc"


def test_an_unexpected_fault(kubescheduler: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends with status 2 and one message without Python's words; the details go to the file that is asked for."""

    def broken(*_: object, **__: object) -> None:
        raise KeyError("secret detail")

    monkeypatch.setattr("kubescheduler.engine.spec.EngineSpec.engine", broken)
    monkeypatch.setenv("KUBESCHEDULER_TRACEBACK", "details.txt")
    outcome = kubescheduler("schedule", "cluster.yaml", "--pod", "pod.yaml")
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.startswith("error: a fault in kubescheduler: nothing was decided")
    assert "KeyError" not in outcome.err
    assert ".py" not in outcome.err
    assert "secret detail" in (folder / "details.txt").read_text()


def test_saving_keeps_the_mode(folder: Path, schedule: Run) -> None:
    """A file that only its owner reads stays so."""
    (folder / "x.json").write_text("{}")
    (folder / "x.json").chmod(0o600)
    assert schedule("--pod", "pod.yaml", "--save", "x.json").status == 0
    assert (folder / "x.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("value", ["[[]]", "{a = 1}", "[1, 2]"])
def test_settings_of_a_wrong_shape(folder: Path, kubescheduler: Run, value: str) -> None:
    """A list or a table where an option takes one value is refused with file and key."""
    (folder / "s.toml").write_text(f"[schedule]\nseed = {value}\n")
    outcome = kubescheduler("--settings", "s.toml", "schedule", "cluster.yaml", "--pod", "pod.yaml")
    outcome.refused("s.toml: seed: must be one value, not ")


@pytest.mark.parametrize("value", ["1e999", "1.5", "true", "2020-01-31", "nan"])
def test_settings_that_are_no_number(folder: Path, kubescheduler: Run, value: str) -> None:
    """A setting is judged as if it were typed: an infinite, half or true seed is none."""
    (folder / "s.toml").write_text(f"[schedule]\nseed = {value}\n")
    outcome = kubescheduler("--settings", "s.toml", "schedule", "cluster.yaml", "--pod", "pod.yaml")
    outcome.refused("s.toml: schedule.seed: ", "is not a valid integer")


def test_bombs(folder: Path) -> None:
    """Thirty thousand brackets, a policy of nine hundred, TOML's dotted keys, gzip past the limit: one message each."""
    (folder / "deep.yaml").write_text("[" * 30_000)
    (folder / "deep.json").write_text("[" * 900 + "]" * 900)
    (folder / "deep.toml").write_text("a" + ".a" * 5_000 + " = 1\n")
    arguments = ("schedule", "cluster.yaml", "--pod", "pod.yaml", "--policy-config-file")
    for outcome in (
        in_a_process("schedule", "deep.yaml", "--pod", "pod.yaml", cwd=folder),
        in_a_process(*arguments, "deep.json", cwd=folder),
        in_a_process(*arguments, "deep.toml", cwd=folder),
        in_a_process("--max", "size=50", "schedule", "cluster.yaml", "--pod", "pod.yaml", cwd=folder),
    ):
        assert (outcome.status, outcome.out) == (2, "")
        assert "nested too deeply" in outcome.err or "--max size=NUMBER" in outcome.err


def test_a_line_end_in_a_name_makes_no_message(folder: Path, kubescheduler: Run) -> None:
    """What is told of a name in a manifest cannot look like a message of its own."""
    (folder / "forged.yaml").write_text('apiVersion: v1\nkind: "Node\\nerror: all is lost"\nmetadata: {name: a}\n')
    assert "\n  error: all is lost" in kubescheduler("schedule", "forged.yaml", "--pod", "pod.yaml").err
    assert kubescheduler("schedule", "x\nerror: all is lost", "--pod", "pod.yaml").err.count("\nerror:") == 0
