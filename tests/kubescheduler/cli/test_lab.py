"""``kubescheduler lab``: list, start, check; its outputs, exit statuses and faults."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from kubescheduler.lab.exercises import checking
from kubescheduler.lab.exercises.exercise_reading import SHIPPED, shipped_exercise, shipped_names
from tests.kubescheduler.cli.conftest import Run

RULES = SHIPPED / "08-predicate" / "solution" / "rules.py"


def test_list_has_every_exercise(kubescheduler: Run) -> None:
    """One line for each, in the order of the workshop."""
    found = kubescheduler("lab", "list")
    assert found.status == 0
    assert [line[0] for line in found.lines[1:]] == shipped_names()


def test_from_start_to_solution(kubescheduler: Run, folder: Path) -> None:
    """A student's folder fails as it is given, with the failing check named, and passes with the solution in it."""
    assert kubescheduler("lab", "start", "taints", "mine").status == 0
    before = kubescheduler("lab", "check", "mine")
    assert before.status == 1
    assert ["failed", "train", "runs", "on", "gpu-2"] in [line[:5] for line in before.lines]
    assert before.out.splitlines()[-1] == "Taints and tolerations: 6 of 8 checks pass"
    (folder / "mine/train.yaml").write_text((SHIPPED / "02-taints/solution/train.yaml").read_text())
    after = kubescheduler("lab", "check", "mine")
    assert (after.status, "failed" in after.out) == (0, False)


def test_hints_come_in_tiers(kubescheduler: Run) -> None:
    """As many tiers as are asked for; beside a document they go to standard error."""
    call = ("lab", "check", str(SHIPPED / "02-taints"))
    assert "hint" not in kubescheduler(*call).out
    shown = kubescheduler(*call, "--hint", "2").out
    assert "hint 2 of 3: " in shown
    assert "hint 3" not in shown
    beside = kubescheduler(*call, "--hint", "1", "-o", "json")
    assert json.loads(beside.out)["passed"] is False
    assert beside.err.startswith("hint 1 of 3: ")


def test_junit_is_read_as_xml(kubescheduler: Run) -> None:
    """A test case per check; what fails is a failure with what was found."""
    found = kubescheduler("lab", "check", str(SHIPPED / "02-taints"), "-o", "junit")
    assert found.status == 1
    suite = ElementTree.fromstring(found.out).find("testsuite")
    assert (suite.get("name"), suite.get("tests"), suite.get("failures"), suite.get("skipped")) == (
        "02-taints",
        "8",
        "2",
        "0",
    )
    failure = suite.find("testcase[@name='train runs on gpu-2']/failure")
    assert (failure.get("type"), "has no node" in (failure.get("message") or "")) == ("runsOn", True)
    assert {case.get("classname") for case in suite} >= {"02-taints", "02-taints.gpu-2 is full as well"}


def test_nothing_is_run_when_the_files_do_what_they_must_not(kubescheduler: Run, folder: Path) -> None:
    """A node named by hand fails at once, and the checks of what would come of it are skipped."""
    assert kubescheduler("lab", "start", "taints", "mine").status == 0
    file = folder / "mine/train.yaml"
    file.write_text(file.read_text().replace("spec:", "spec:\n  nodeName: gpu-2"))
    found = kubescheduler("lab", "check", "mine", "-o", "junit")
    assert found.status == 1
    suite = ElementTree.fromstring(found.out).find("testsuite")
    assert (suite.get("failures"), suite.get("skipped")) == ("2", "6")
    messages = [failure.get("message") for failure in suite.iter("failure")]
    assert 'train.yaml: Pod train: spec.nodeName is "gpu-2"' in messages


def test_json_has_every_check(kubescheduler: Run) -> None:
    """The document says of each check how it came out."""
    found = kubescheduler(
        "lab", "check", str(SHIPPED / "01-requests"), "--work", str(SHIPPED / "01-requests/solution"), "-o", "json"
    )
    document = json.loads(found.out)
    assert (found.status, document["exercise"], document["passed"]) == (0, "01-requests", True)
    assert {check["standing"] for check in document["checks"]} == {"passed"}


COMMAND_IN_TEXT = re.compile(r"`kubescheduler ([^`…]+)`")


@pytest.mark.parametrize("name", [name for name in shipped_names() if "extender" not in name])
def test_commands_of_a_task_can_be_run(
    name: str, kubescheduler: Run, monkeypatch: pytest.MonkeyPatch, own_algorithms: None
) -> None:
    """What the task and the hints tell the student to type is right, in the folder that the student has."""
    kubescheduler("lab", "start", name, "mine")
    monkeypatch.chdir("mine")
    exercise = shipped_exercise(name)
    commands = COMMAND_IN_TEXT.findall(" ".join((exercise.task, *exercise.hints)))
    assert len(commands) >= 2
    try:
        for command in commands:
            if "NAME" not in command:
                found = kubescheduler(*command.split())
                assert found.status in (0, 1), found.err
    finally:
        for module in ("rules", "gang"):
            sys.modules.pop(module, None)


# --- errors --------------------------------------------------------------------------------------


def work(folder: Path, name: str, file: str, text: str) -> tuple[str, ...]:
    """The call that checks a shipped exercise with a text in its file."""
    made = folder / "made"
    made.mkdir()
    (made / file).write_text(text)
    return ("lab", "check", str(SHIPPED / name), "--work", str(made))


PYTHON_FAULTS = {
    "no such function": ("def other():\n    pass\n", "rules.py: there is no register to call"),
    "a slip in its name": ("def registre():\n    pass\n", "; did you mean registre?"),
    "not Python": ("def register(:\n", "rules.py: SyntaxError: "),
    "it raises when it is read": ("x = 1\nraise KeyError('seats')\n", "rules.py, line 2: KeyError: 'seats'"),
    "it raises when it is called": ("def register():\n    1 / 0\n", "rules.py, line 2: ZeroDivisionError"),
    "it ends the process": ("import sys\nsys.exit(0)\n", "rules.py, line 2: SystemExit"),
    "nothing is registered": ("def register():\n    pass\n", "FreeSeat"),
    "it raises when it is asked": (
        RULES.read_text().replace("int(text)", "int('many')"),
        "line 14: predicate FreeSeat, node",
    ),
    "it answers nonsense": (RULES.read_text().replace("return True, []", "return 'yes'"), "predicate FreeSeat, node"),
}
"""What is wrong with rules.py → its text, what the error says."""


@pytest.mark.parametrize("fault", PYTHON_FAULTS)
def test_faults_of_a_student_s_code(fault: str, kubescheduler: Run, folder: Path) -> None:
    """An error with file and line, status 2 and no result; never a traceback."""
    text, expected = PYTHON_FAULTS[fault]
    kubescheduler(*work(folder, "08-predicate", "rules.py", text)).refused(expected)


def test_a_score_that_is_none_is_an_error(kubescheduler: Run, folder: Path) -> None:
    """Points below zero are said with the node, of a hidden scenario as well."""
    text = (
        (SHIPPED / "07-priority/solution/rules.py").read_text().replace("max(0, 10 - cents // 10)", "10 - cents // 10")
    )
    found = kubescheduler(*work(folder, "07-priority", "rules.py", text))
    found.refused("priority Cheap, node huge: without a reduce function a score is from 0 to 10, not -15")


def test_what_the_code_prints_is_not_in_the_document(kubescheduler: Run, folder: Path) -> None:
    """Prints of a student go to standard error."""
    text = RULES.read_text().replace("    seats =", "    print('asked')\n    seats =")
    found = kubescheduler(*work(folder, "08-predicate", "rules.py", text), "-o", "json")
    assert json.loads(found.out)["passed"] is True
    assert "asked" in found.err


def test_what_one_check_registers_is_gone_afterwards(kubescheduler: Run, folder: Path) -> None:
    """The next check does not find the predicate of the one before."""
    assert kubescheduler(*work(folder, "08-predicate", "rules.py", RULES.read_text())).status == 0
    (folder / "made/rules.py").write_text("def register():\n    pass\n")
    kubescheduler("lab", "check", str(SHIPPED / "08-predicate"), "--work", "made").refused("FreeSeat")
    assert sorted(path.name for path in (folder / "made").iterdir()) == ["rules.py"]


EXTENDER = (SHIPPED / "10-extender/solution/extender.py").read_text()

EXTENDER_FAULTS = {
    "it ends at once": ("import sys\nsys.exit('no config')\n", "it ended at once, with status 1: no config"),
    "it is no Python": ("def (:\n", "it ended at once, with status 1: SyntaxError"),
    "it raises when it is asked": (
        EXTENDER.replace("- celsius(node)", "- celsius(nodes)"),
        "its last words: NameError: ",
    ),
    "it answers no JSON": (EXTENDER.replace("json.dumps(VERBS", "str(VERBS"), "no decision on pod default/render: "),
    "it listens elsewhere": (EXTENDER.replace("parser.parse_args().port", "0"), "it takes no calls on 127.0.0.1:"),
}
"""What is wrong with extender.py → its text, what the error says."""


@pytest.mark.parametrize("fault", EXTENDER_FAULTS)
def test_faults_of_a_student_s_extender(
    fault: str, kubescheduler: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error with what it wrote last, and status 2."""
    text, expected = EXTENDER_FAULTS[fault]
    if fault == "it listens elsewhere":
        monkeypatch.setattr(checking, "START_SECONDS", 0.5)
    kubescheduler(*work(folder, "10-extender", "extender.py", text)).refused(expected)


def test_a_missing_file_is_named(kubescheduler: Run, folder: Path) -> None:
    """All files that the exercise asks for, at once."""
    found = kubescheduler("lab", "check", str(SHIPPED / "02-taints"), "--work", str(folder))
    assert (found.status, found.err) == (
        2,
        f"error: {folder}/train.yaml: there is no such file, and the exercise asks for it\n",
    )


@pytest.mark.parametrize(
    ("words", "text"),
    [
        pytest.param(("chekc", "x"), "there is no file chekc, and no command; did you mean check?", id="check"),
        pytest.param(("Strt", "02", "x"), "there is no file Strt, and no command; did you mean start?", id="start"),
        pytest.param(("cluster.yml",), "cluster.yml: no such file or folder", id="a file that is not there"),
        pytest.param(("start", "taintss", "x"), "there is no exercise taintss; did you mean", id="exercise"),
    ],
)
def test_misspelt_commands_and_exercises(kubescheduler: Run, words: tuple[str, ...], text: str) -> None:
    """Each ends with status 2 and the nearest name; a word like no command is a cluster's file."""
    kubescheduler("lab", *words).refused(text)


def test_a_file_named_almost_like_a_command(
    kubescheduler: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is read as a cluster."""
    monkeypatch.chdir(tmp_path)
    Path("lists").write_text("kind: [", encoding="utf-8")
    found = kubescheduler("lab", "lists")
    assert found.status == 2
    assert found.err.startswith("error: lists")


def test_a_class_as_a_table(kubescheduler: Run, folder: Path) -> None:
    """Students × exercises: 1 while something is to be done, 2 where something could not be judged, 0 in the end."""
    for student in ("anna", "ben"):
        kubescheduler("lab", "start", "taints", f"class/{student}/taints")
    solution = (SHIPPED / "02-taints/solution/train.yaml").read_text()
    (folder / "class/anna/taints/train.yaml").write_text(solution)
    found = kubescheduler("lab", "check", "--all", "class")
    assert (found.status, found.lines) == (1, [["STUDENT", "02", "DONE"], ["anna", "8/8", "1"], ["ben", "6/8", "0"]])
    (folder / "class/ben/taints/train.yaml").write_text("kind: [")
    found = kubescheduler("lab", "check", "--all", "class")
    assert (found.status, found.lines[-1]) == (2, ["ben", "error", "0"])
    assert "error: ben, 02-taints: class/ben/taints/train.yaml" in found.err
    (folder / "class/ben/taints/train.yaml").write_text(solution)
    assert kubescheduler("lab", "check", "--all", "class", "-o", "json").status == 0
    assert kubescheduler("lab", "check", "--all", "class", "--hint", "1").status == 2
