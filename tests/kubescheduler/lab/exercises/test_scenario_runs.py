"""A student's extender: started on a free port, ended whatever happens, with what it started."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from clusterstate.errors import ConfigError
from kubescheduler.lab.exercises import scenario_runs
from kubescheduler.lab.exercises.scenario_runs import running_extender

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
    monkeypatch.setattr(scenario_runs, "STOP_SECONDS", 0.2)
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


def test_two_run_at_a_time(tmp_path: Path) -> None:
    """Each has a port of its own."""
    (tmp_path / "extender.py").write_text(SERVER.format(before=""))
    with running_extender(tmp_path / "extender.py") as (one, _), running_extender(tmp_path / "extender.py") as (two, _):
        assert one != two


def test_one_that_is_not_there(tmp_path: Path) -> None:
    """Python itself says what is wrong."""
    with pytest.raises(ConfigError, match="it ended at once, with status 2"), running_extender(tmp_path / "none.py"):
        pass
