from __future__ import annotations

from pathlib import Path

import pytest

from clusterstate.errors import ConfigError
from kubescheduler.cli.settings import check_settings, load_settings

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
