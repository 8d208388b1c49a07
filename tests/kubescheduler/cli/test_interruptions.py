"""Real processes that are interrupted, terminated, or kept from reading and writing: one message, and nothing half."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.kubescheduler.cli.conftest import CLUSTER, POD, Run, pod
from tests.support.processes.disturbed_processes import finished, stopped, with_file_size

SCHEDULE = ("schedule", "cluster.yaml", "--pod", "pod.yaml")
COMPARE = ("compare", "cluster.yaml", "--pods", "pod.yaml", "--new", "release=1.36")
SWEEP = ("sweep", "busy.yaml", "--seeds", "0..5", "--workers", "1", "--out")
POLICY = '{"kind": "Policy", "apiVersion": "v1", "predicates": [{"name": "PodFitsResources"}]}'
ASKING = '{"kind": "Policy", "apiVersion": "v1", "extenders": [{"urlPrefix": "%s/good", "filterVerb": "filter"}]}'


@pytest.fixture(autouse=True)
def place(folder: Path) -> Path:
    """A cluster, a pod, a cluster with a pending pod, a policy."""
    (folder / "busy.yaml").write_text(CLUSTER + pod("a"))
    (folder / "policy.json").write_text(POLICY)
    return folder


def left_behind(folder: Path, *names: str) -> set[str]:
    """The files of a folder besides those of the fixtures and these."""
    known = {"cluster.yaml", "pod.yaml", "shapes.yaml", "busy.yaml", "policy.json", ".site", *names}
    return {file.name for file in folder.iterdir()} - known


# --- Ctrl-C ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "module", ["kubescheduler.cli", "click", "clusterstate.errors", "kubescheduler.cli.schedule", "numpy", "yaml"]
)
def test_an_interrupt_while_modules_are_imported(folder: Path, module: str) -> None:
    """Before the command has begun: status 130 and one word."""
    with stopped(folder, module, *SCHEDULE) as process:
        assert process.send(signal.SIGINT) == (130, "", "interrupted\n")


@pytest.mark.parametrize(
    ("where", "command"),
    [
        ("cluster_input.py:decode_items", SCHEDULE),
        ("schedule.py:_run", SCHEDULE),
        ("decision_output.py:rendered", SCHEDULE),
        ("simulation.py:_try_all", ("simulate", "cluster.yaml", "--workload", "pod.yaml")),
        ("simulation.py:_try_all", ("simulate", "cluster.yaml", "--workload", "pod.yaml", "--release", "1.36")),
        ("capacity.py:_room", ("capacity", "cluster.yaml", "--pod", "pod.yaml")),
        ("comparing.py:column_names", COMPARE),
        ("html_report.py:render", (*COMPARE, "-o", "html")),
        ("migrate.py:_translation", ("migrate", "policy.json")),
        ("registry.py:registry_table", ("registry",)),
        ("cases.py:cases_of", (*SWEEP, "rows.csv")),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_an_interrupt_in_a_command(folder: Path, where: str, command: tuple[str, ...]) -> None:
    """In the middle of its work: status 130, one word, no output and no file."""
    with stopped(folder, where, *command) as process:
        assert process.send(signal.SIGINT) == (130, "", "interrupted\n")
    assert not left_behind(folder)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_a_cluster_is_saved(folder: Path, number: signal.Signals) -> None:
    """What was there stays, and no part of the new file does."""
    if signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip("programs that nohup starts ignore this signal, and so do theirs")
    (folder / "x.json").write_text("{}")
    with stopped(folder, "cluster_files.py:_bound", *SCHEDULE, "--save", "x.json") as process:
        assert process.send(number) == (128 + number, "", "interrupted\n" if number == signal.SIGINT else "")
    assert (folder / "x.json").read_text() == "{}"
    assert not left_behind(folder, "x.json")


# --- signals in a sweep ----------------------------------------------------------------------


@pytest.mark.parametrize(("name", "number"), [("rows.csv", signal.SIGTERM), ("rows.parquet", signal.SIGINT)])
def test_a_sweep_that_is_ended(folder: Path, name: str, number: signal.Signals) -> None:
    """Its rows so far are kept, nothing else is left, and it goes on to what an undisturbed one writes."""
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    with stopped(folder, "rows.py:append", *SWEEP, name, times=5) as process:
        status, out, err = process.send(number)
    assert (status, out) == (128 + number, "")
    assert "Traceback" not in err
    assert left_behind(folder) == {name}
    assert (folder / name).stat().st_size
    again, table, err = finished(folder, (*SWEEP, name))
    assert (again, err) == (0, "")
    there = int(table.splitlines()[1].split()[1])
    assert there == (4 if name.endswith("csv") else 2), "rows that were kept"
    finished(folder, (*SWEEP, f"other-{name}"))
    assert (folder / name).read_bytes() == (folder / f"other-{name}").read_bytes()


def test_two_sweeps_into_one_file(folder: Path) -> None:
    """The second refuses while the first is at work, which then has all its rows."""
    name = "rows.csv"
    with stopped(folder, "rows.py:append", *SWEEP, name, times=2) as first:
        status, out, err = finished(folder, (*SWEEP, name))
        assert (status, out) == (2, "")
        assert "another sweep is writing into it" in err
        assert first.go_on()[0] == 0
    assert finished(folder, (*SWEEP, name))[1].splitlines()[1].split()[1:3] == ["6", "0"]


# --- full disks ------------------------------------------------------------------------------

FULL = "cannot be written: File too large"


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize(
    ("command", "name"),
    [
        ((*SCHEDULE, "--save", "new.json"), "new.json"),
        ((*SCHEDULE, "--save", "new.yaml.gz"), "new.yaml.gz"),
        ((*SCHEDULE, "--write-config-to", "new.yaml", "--release", "1.36"), "new.yaml"),
        (("simulate", "cluster.yaml", "--workload", "pod.yaml", "--plot", "new.svg"), "new.svg"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_full_disk(folder: Path, command: tuple[str, ...], name: str, there: bool) -> None:
    """The file is written whole or stays as it was, and the message names it."""
    if there:
        (folder / name).write_bytes(b"before")
    status, _, err = with_file_size(folder, 10, *command)
    assert status == 2
    assert name in err
    assert FULL in err
    assert left_behind(folder) == ({name} if there else set())
    assert not there or (folder / name).read_bytes() == b"before"


@pytest.mark.parametrize(("name", "size"), [("rows.csv", 500), ("rows.parquet", 10), ("rows.parquet", 500)])
def test_a_sweep_on_a_full_disk(folder: Path, name: str, size: int) -> None:
    """Whole rows are kept, half ones and empty files are not, and there is room later on."""
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    status, out, err = with_file_size(folder, size, *SWEEP, name)
    assert (status, out) == (2, "")
    assert FULL in err
    for file in left_behind(folder):
        assert file in (name, f"{name}.journal.csv")
        lines = (folder / file).read_text().splitlines(keepends=True)
        assert len(list(csv.DictReader(lines))) >= 1
        assert lines[-1].endswith("\n")
    assert finished(folder, (*SWEEP, name))[0] == 0
    assert left_behind(folder) == {name}


def test_a_record_of_answers_on_a_full_disk(folder: Path, address: str) -> None:
    """A line that has no room is not there at all, and the file can be gone on with."""
    (folder / "asking.json").write_text(ASKING % address)
    command = (*SCHEDULE, "--policy-config-file", "asking.json", "--extenders", "record a.jsonl")
    status, out, err = with_file_size(folder, 50, *command)
    assert (status, out) == (2, "")
    assert FULL in err
    assert left_behind(folder, "asking.json") == set()
    assert finished(folder, command)[0] == 0


@pytest.mark.parametrize(
    "command",
    [
        ["schedule", "--help"],
        *(list(command) for command in (SCHEDULE, COMPARE, (*COMPARE, "-o", "html"), ("migrate", "policy.json"))),
        ["simulate", "cluster.yaml", "--workload", "pod.yaml", "-o", "events"],
        ["capacity", "cluster.yaml", "--pod", "pod.yaml", "-o", "json"],
        ["registry", "-o", "yaml"],
        ["explain", "PodFitsResources"],
        ["completion", "zsh"],
        ["--help"],
        ["--version"],
    ],
    ids=" ".join,
)
def test_output_into_a_full_device(folder: Path, command: list[str]) -> None:
    """What cannot be written is said in one line, and is no answer."""
    with Path("/dev/full").open("wb") as full:
        status, _, err = finished(folder, command, stdout=full)
    assert (status, err) == (2, "error: the output cannot be written: No space left on device\n")


FAILING = {
    "an error": (["schedule", "none.yaml", "--pod", "pod.yaml"], {}),
    "wrong usage": (["schedule", "--none"], {}),
    "no command": (["none"], {}),
    "a note before an answer": ([*SCHEDULE], {"kubescheduler.toml": 'validate = "ignore"\n'}),
}


@pytest.mark.parametrize(("command", "files"), FAILING.values(), ids=FAILING)
def test_errors_into_a_full_device(folder: Path, command: list[str], files: dict[str, str]) -> None:
    """An error is one also where nobody can be told."""
    for name, text in files.items():
        (folder / name).write_text(text)
    with Path("/dev/full").open("wb") as full:
        assert finished(folder, command, stderr=full)[0] == 2


# --- streams that are closed -----------------------------------------------------------------


@pytest.mark.parametrize("command", [SCHEDULE, COMPARE, ("registry", "-o", "json"), ("--help",)], ids=lambda c: c[0])
def test_output_that_nobody_reads(folder: Path, command: tuple[str, ...]) -> None:
    """It ends as a program does that a closed pipe ends, without a word."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        assert finished(folder, command, stdout=writing) == (141, "", "")
    finally:
        os.close(writing)


@pytest.mark.parametrize(
    ("command", "status"),
    [(SCHEDULE, 0), (("schedule", "-", "--pod", "pod.yaml"), 2), (("evaluate",), 0), (("migrate", "-"), 2)],
    ids=["schedule", "schedule -", "evaluate", "migrate -"],
)
def test_standard_input_that_is_closed(folder: Path, command: tuple[str, ...], status: int) -> None:
    """It is one with nothing in it."""
    found, _, err = finished(folder, command, stdin=None, preexec_fn=lambda: os.close(0))
    assert found == status, err
    assert err.startswith("error: ") if status else not err


# --- files that are none ---------------------------------------------------------------------

FILES = {
    "cluster": ("schedule", "FILE", "--pod", "pod.yaml"),
    "pods": ("schedule", "cluster.yaml", "--pod", "FILE"),
    "workload": ("simulate", "cluster.yaml", "--workload", "FILE"),
    "policy": (*SCHEDULE, "--policy-config-file", "FILE"),
    "configmap": (*SCHEDULE, "--policy-configmap", "FILE"),
    "config": (*SCHEDULE, "--release", "1.36", "--config", "FILE"),
    "settings": ("--settings", "FILE", *SCHEDULE),
    "replay": (*SCHEDULE, "--policy-config-file", "asking.json", "--extenders", "replay FILE"),
    "migrate": ("migrate", "FILE"),
    "grid": ("sweep", "busy.yaml", "--out", "rows.csv", "--grid", "FILE"),
    "snapshot": ("sweep", "FILE", "--out", "rows.csv"),
    "rows": ("sweep", "busy.yaml", "--out", "FILE"),
    "save": (*SCHEDULE, "--save", "FILE"),
    "record": (*SCHEDULE, "--policy-config-file", "asking.json", "--extenders", "record FILE"),
}
ENDINGS = {"rows": ".csv", "save": ".json"}


@pytest.mark.parametrize("what", ["loop", "unreadable", "folder", "endless"])
@pytest.mark.parametrize("option", FILES)
def test_no_files(kubescheduler: Run, folder: Path, option: str, what: str) -> None:
    """A link to itself, a file that cannot be read, a folder, a device without an end: a message that names it."""
    file = folder / f"odd{ENDINGS.get(option, '')}"
    (folder / "asking.json").write_text(ASKING % "http://127.0.0.1:1")
    if what == "loop":
        file.symlink_to(file.name)
    elif what == "folder":
        file.mkdir()
    elif what == "endless":
        file.symlink_to("/dev/zero")
    else:
        if not os.geteuid():
            pytest.skip("root reads everything")
        file.write_text("{}")
        file.chmod(0)
    outcome = kubescheduler(*(word.replace("FILE", file.name) for word in FILES[option]))
    assert outcome.status == 2
    assert "a fault in kubescheduler" not in outcome.err
    assert "odd" in outcome.err
    assert "error: " in outcome.err


@pytest.mark.parametrize("option", ["cluster", "pods", "policy", "config"])
def test_a_pipe_with_a_name(folder: Path, option: str) -> None:
    """What comes through it is read as from a file."""
    os.mkfifo(folder / "pipe")
    text = {"cluster": CLUSTER, "pods": POD, "policy": POLICY}.get(option, "{}")
    if option == "config":
        text = '{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}'
    writer = threading.Thread(target=lambda: (folder / "pipe").write_text(text), daemon=True)
    writer.start()
    status, _, err = finished(folder, [word.replace("FILE", "pipe") for word in FILES[option]])
    assert (status, err) == (0, "")
    writer.join()


@pytest.mark.parametrize("option", ["rows", "save", "record", "snapshot", "replay"])
def test_a_pipe_where_a_file_is_needed(folder: Path, option: str) -> None:
    """It is refused at once."""
    name = f"pipe{ENDINGS.get(option, '')}"
    os.mkfifo(folder / name)
    (folder / "asking.json").write_text(ASKING % "http://127.0.0.1:1")
    status, out, err = finished(folder, [word.replace("FILE", name) for word in FILES[option]])
    assert (status, out) == (2, "")
    assert "no regular file" in err


@pytest.mark.parametrize(("pod", "status"), [("pod.yaml", 0), ("gone.yaml", 2)])
def test_all_streams_closed(folder: Path, pod: str, status: int) -> None:
    """The status alone is the answer."""
    done = subprocess.run(
        ["sh", "-c", f"exec {sys.executable} -m kubescheduler schedule cluster.yaml --pod {pod} <&- >&- 2>&-"],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(__file__).parents[3])},
        check=False,
    )
    assert done.returncode == status
