"""What is carried into a room without network: wheels, and how to install them."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from clusterstate.errors import ConfigError
from kubescheduler.lab.exercises import room_bundle


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
    assert room_bundle.write_bundle(tmp_path / "stick") == ["kubescheduler-1-py3-none-any.whl"]
    assert "pip install --no-index --find-links wheels" in (tmp_path / "stick" / room_bundle.README).read_text()


def test_what_pip_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last line of it, and a folder in use is left alone."""
    monkeypatch.setattr(subprocess, "run", answers(1, "ERROR: no network\n"))
    with pytest.raises(ConfigError, match="pip could not make the wheels: ERROR: no network"):
        room_bundle.write_bundle(tmp_path / "stick")
    with pytest.raises(ConfigError, match="it is not empty"):
        room_bundle.write_bundle(tmp_path / "stick")
