from __future__ import annotations

from pathlib import Path

import pytest

from clusterstate.errors import ConfigError
from kubescheduler.cli.settings import check_settings, load_settings
from tests.kubescheduler.cli.conftest import Run

COMMANDS = ("schedule", "evaluate")
KNOWN = {"schedule": {"release", "output", "tie_break"}, "evaluate": {"release"}}
TEXT = """
release = "1.16"
tie-break = "random"

[schedule]
output = "wide"
release = "1.4"
"""


def write(folder: Path, text: str) -> Path:
    file = folder / "kubescheduler.toml"
    file.write_text(text)
    return file


def test_defaults_per_command(tmp_path: Path) -> None:
    """A command has its own defaults before those for all; dashes become underscores."""
    write(tmp_path, TEXT)
    settings = load_settings(None, tmp_path, COMMANDS)
    assert {name: dict(options) for name, options in settings.items()} == {
        "schedule": {"release": "1.4", "tie_break": "random", "output": "wide"},
        "evaluate": {"release": "1.16", "tie_break": "random"},
    }
    assert check_settings(settings, KNOWN) == []


def test_no_file(tmp_path: Path) -> None:
    """Without a file there are no defaults; a file that is named has to be there."""
    assert load_settings(None, tmp_path, COMMANDS) == {}
    assert check_settings({}, KNOWN) == []
    with pytest.raises(ConfigError, match=r"other\.toml: No such file"):
        load_settings("other.toml", tmp_path, COMMANDS)


def test_a_file_of_any_name_is_toml(tmp_path: Path) -> None:
    """The file given is read as TOML whatever its ending, and its faults name it."""
    file = tmp_path / "my.conf"
    file.write_text('release = "1.4"\n')
    assert load_settings(str(file), Path("/"), COMMANDS)["evaluate"]["release"] == "1.4"
    file.write_text("release = \n")
    with pytest.raises(ConfigError, match=r"my\.conf:1:"):
        load_settings(str(file), Path("/"), COMMANDS)


def test_unknown_names(tmp_path: Path) -> None:
    """Unknown commands and options are all told, with the nearest names."""
    write(tmp_path, 'relase = "1.4"\n[shedule]\n[schedule]\noutptu = "x"\n[evaluate]\ntie-break = "x"\n[zzzzz]\n')
    assert check_settings(load_settings(None, tmp_path, COMMANDS), KNOWN) == [
        "relase: no command has this option; did you mean release?",
        "[shedule]: there is no such command; did you mean schedule?",
        "[zzzzz]: there is no such command; there are schedule, evaluate",
        "schedule.outptu: schedule has no such option; did you mean output?",
        "evaluate.tie_break: evaluate has no such option",
    ]


def test_a_command_is_a_table(tmp_path: Path) -> None:
    """A value where a command's table belongs is refused."""
    file = write(tmp_path, "schedule = 1\n")
    with pytest.raises(ConfigError) as caught:
        load_settings(None, tmp_path, COMMANDS)
    assert caught.value.problems == (f"{file}: schedule: expected a table [schedule]",)


COMPARED = ("compare", "cluster.yaml", "--new", "release=1.20")
NAMED: dict[str, tuple[str, tuple[str, ...], str]] = {
    "node, of drain": ('[drain]\nnode = "n1"', ("drain", "cluster.yaml"), "1 node drained"),
    "node, of outage": ('[outage]\nnode = ["n1"]', ("outage", "cluster.yaml"), "n1: 1 node"),
    "shapes": (
        '[nodes]\nshapes = "cluster.yaml"\nworkload = "pod.yaml"',
        ("nodes", "cluster.yaml"),
        "No node is needed",
    ),
    "pods": ('pods = "pod.yaml"', COMPARED, "0 of 1 pods"),
    "another spelling": ('pod = "pod.yaml"', COMPARED, "0 of 1 pods"),
    "the argument's name": ('[compare]\npod_files = "pod.yaml"', COMPARED, "0 of 1 pods"),
    "from": ('[upgrade]\nfrom = "1.20"\npods = "pod.yaml"', ("upgrade", "cluster.yaml", "--to", "1.21"), "1.21"),
    "seeds": ('[compare]\nseeds = 2\ntie-break = "upstream"\npods = "pod.yaml"', COMPARED, "0 of 1 pods"),
    "as": ('[nodes]\nas = "planner"\nshapes = "cluster.yaml"', ("nodes", "cluster.yaml"), "nodes.as: 'planner'"),
}


@pytest.mark.parametrize(("lines", "command", "word"), NAMED.values(), ids=NAMED)
def test_keys_are_names_of_options(
    kubescheduler: Run, folder: Path, lines: str, command: tuple[str, ...], word: str
) -> None:
    """As they are typed, in each spelling, whatever the argument is called that they fill."""
    (folder / "my.toml").write_text(lines)
    found = kubescheduler("--settings", "my.toml", *command)
    assert word in found.out + found.err, found


def test_an_option_by_two_names(kubescheduler: Run, folder: Path) -> None:
    """Two spellings in one table are a fault; a command's own goes before another spelling for all."""
    (folder / "my.toml").write_text('[compare]\npods = "pod.yaml"\nworkload = "no.yaml"\n')
    asked = ("--settings", "my.toml", "compare", "cluster.yaml", "--new", "release=1.20")
    kubescheduler(*asked).refused("workload: compare has this option as pods already; leave out one")
    (folder / "my.toml").write_text('workload = "no.yaml"\n[compare]\npods = "pod.yaml"\n')
    assert kubescheduler(*asked).status == 0


def test_a_fault_names_the_key(kubescheduler: Run, folder: Path) -> None:
    """A value that the option does not take is told by its key."""
    (folder / "my.toml").write_text('[compare]\nseeds = "many"\n')
    asked = ("--settings", "my.toml", "compare", "cluster.yaml", "--pods", "pod.yaml", "--new", "release=1.20")
    kubescheduler(*asked).refused("my.toml: compare.seeds: 'many' is not a valid integer")
    (folder / "my.toml").write_text("release = 1.30\n")
    decided = ("--settings", "my.toml", "schedule", "cluster.yaml", "--pod", "pod.yaml")
    kubescheduler(*decided).refused("my.toml: schedule.release: release 1.3 is not known", "; put it in quotes")
