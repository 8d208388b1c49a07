"""``kubescheduler lab`` as the command that opens the page: what it refuses, and how it ends."""

from __future__ import annotations

import http.client
import importlib.util
import signal
import socket
from pathlib import Path

import pytest

from kubescheduler.cli import lab_page
from tests.kubescheduler.cli.conftest import Run
from tests.support.pages.lab_page import running_lab
from tests.support.processes import SECONDS

REFUSED: dict[str, tuple[tuple[str, ...], str]] = {
    "an unknown file": (("lab", "none.yaml"), "none.yaml"),
    "an unknown pod's file": (("lab", "cluster.yaml", "--pod", "none.yaml"), "none.yaml"),
    "an unknown policy": (("lab", "cluster.yaml", "--policy-config-file", "none.json"), "none.json"),
    "a provider that there is not": (("lab", "cluster.yaml", "--algorithm-provider", "None"), "None"),
    "an address that is none": (("lab", "--listen", "8080"), "write it as ADDR:PORT"),
    "a port that is none": (("lab", "--listen", "127.0.0.1:99999"), "write it as ADDR:PORT"),
    "an address of another machine": (("lab", "--listen", "192.0.2.1:0", "--token", "t" * 16), "cannot listen"),
    "other machines without a token": (("lab", "--listen", "0.0.0.0:0"), "--token"),
    "a short token": (("lab", "--token", "short"), "at least 16"),
    "a token that an address cannot hold": (("lab", "--token", "a token with spaces"), "at least 16"),
    "a class that there is not": (("lab", "--class", "clas"), "--class clas: there is no such folder"),
    "an empty token": (("lab", "--token", ""), "it is empty"),
    "an option that there is not": (("lab", "--port", "1"), "--port"),
    "a file that is a sub-command's name": (("lab", "./list"), "list"),
    "a sub-command's option": (("lab", "cluster.yaml", "--hint", "1"), "--hint"),
}


@pytest.mark.parametrize(("command", "text"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused(kubescheduler: Run, folder: Path, command: tuple[str, ...], text: str) -> None:
    """Status 2, before anything listens, with a message that names it."""
    kubescheduler(*command, "--no-browser").refused(text)
    assert folder.exists()


def test_everything_wrong_at_once(kubescheduler: Run, folder: Path) -> None:
    """One run says all of it."""
    (folder / "broken.yaml").write_text("kind: Node\nmetadata: {name: 7}\n")
    found = kubescheduler("lab", "broken.yaml", "--algorithm-provider", "None", "--listen", "8080", "--class", "clas")
    assert found.status == 2
    for text in ("broken.yaml", "None", "ADDR:PORT", "--class clas"):
        assert text in found.err


def test_a_port_in_use(kubescheduler: Run, folder: Path) -> None:
    """Is said in one line."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        found = kubescheduler("lab", "cluster.yaml", "--listen", f"127.0.0.1:{taken.getsockname()[1]}")
    assert (found.status, found.err.count("\n")) == (2, 1)
    assert "cannot listen" in found.err
    assert folder.exists()


def test_without_the_extra(kubescheduler: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """What to install is said; the sub-commands need nothing."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    kubescheduler("lab").refused("pip install 'kubescheduler[lab]'")
    assert kubescheduler("lab", "list").status == 0


@pytest.mark.parametrize("word", ["list", "start", "check"])
def test_a_file_with_the_name_of_a_sub_command(folder: Path, word: str) -> None:
    """Is opened by its path."""
    (folder / word).write_text((folder / "cluster.yaml").read_text())
    with running_lab(f"./{word}", "--release", "1.36", cwd=str(folder)) as lab:
        state = lab.ask("open", **{"from": "start"})["state"]
    assert (state["nodesTotal"], state["title"]) == (2, f"./{word}")


def test_what_a_tab_opens(folder: Path) -> None:
    """The cluster with the pod that waits, by the release that was named; each tab has a scene of its own."""
    with running_lab("cluster.yaml", "--pod", "pod.yaml", "--release", "1.20", cwd=str(folder)) as lab:
        one, other = (lab.ask("open", **{"from": "start"}) for _ in range(2))
        assert one["tab"] != other["tab"]
        assert one["state"]["asked"]["name"] == "web"
        assert one["state"]["sides"][0]["release"] == "1.20"
        lab.ask("edit", tab=one["tab"], edit={"do": "cordon", "node": "n1"})
        assert [lab.ask("state", tab=each["tab"])["canUndo"] for each in (one, other)] == [True, False]


def test_without_arguments_it_opens_a_small_cluster() -> None:
    """Decided as 1.36 does."""
    with running_lab() as lab:
        state = lab.ask("open", **{"from": "start"})["state"]
    assert (state["nodesTotal"], state["sides"][0]["release"]) == (12, "1.36")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_cleanly(number: signal.Signals) -> None:
    """With status 0 and no word more, also while a page listens to events."""
    with running_lab() as lab:
        tab = lab.ask("open", **{"from": "start"})["tab"]
        host = lab.origin.removeprefix("http://")
        connection = http.client.HTTPConnection(host, timeout=SECONDS)
        connection.request("GET", f"/api/events?tab={tab}&token={lab.token}")
        events = connection.getresponse()
        assert events.readline() == b"retry: 1000\n"
        lab.process.send_signal(number)
        assert lab.process.wait(20) == 0
        assert lab.process.stdout.read() == ""
        assert b"hello" in events.read()
        connection.close()


def test_a_class_on_one_machine() -> None:
    """Other machines may ask by its address as digits, with the token that was chosen; not by a foreign name."""
    with running_lab("--listen", "0.0.0.0:0", "--token", "our-class-of-tuesday") as lab:
        assert lab.token == "our-class-of-tuesday"
        port = lab.origin.rpartition(":")[2]
        statuses = {}
        for host in (f"127.0.0.1:{port}", f"192.168.0.7:{port}", f"evil.example:{port}"):
            connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=SECONDS)
            connection.request("GET", "/", headers={"Host": host})
            statuses[host.partition(":")[0]] = connection.getresponse().status
            connection.close()
    assert statuses == {"127.0.0.1": 200, "192.168.0.7": 200, "evil.example": 403}


DISPLAYS: dict[str, tuple[dict[str, str], bool, bool]] = {
    "a desktop": ({"DISPLAY": ":0"}, True, True),
    "Wayland": ({"WAYLAND_DISPLAY": "wayland-0"}, True, True),
    "no display": ({}, True, False),
    "another machine's terminal": ({"DISPLAY": ":10", "SSH_CONNECTION": "there"}, True, False),
    "no terminal": ({"DISPLAY": ":0"}, False, False),
}


@pytest.mark.parametrize(("environment", "terminal", "shown"), DISPLAYS.values(), ids=DISPLAYS.keys())
def test_whether_a_browser_is_opened(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], terminal: bool, shown: bool
) -> None:
    """Only where somebody would see it."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal)
    assert lab_page.has_display() is shown


@pytest.mark.parametrize("line", ['listen = "0.0.0.0:0"', 'token = "known-to-a-stranger"', 'exercise = "theirs"'])
def test_a_settings_file_that_nobody_named_opens_nothing(kubescheduler: Run, folder: Path, line: str) -> None:
    """It may have come with the cluster's files."""
    (folder / "kubescheduler.toml").write_text(f"[lab]\n{line}\n")
    kubescheduler("lab", "--no-browser").refused("was only found in this folder")
