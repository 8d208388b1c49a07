"""``kubescheduler releases``: what there is, and what changed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubescheduler.releases.lookup import RELEASES, changes_between
from kubescheduler.releases.names import RELEASE_NAMES
from tests.kubescheduler.cli.conftest import Run


def listed(kubescheduler: Run, *arguments: str) -> list[dict[str, Any]]:
    result = kubescheduler("releases", *arguments, "-o", "json")
    assert result.status == 0, result.err
    found: list[dict[str, Any]] = json.loads(result.out)
    return found


def test_every_release(kubescheduler: Run) -> None:
    """Each with the version that was recorded and what it reads; the table has the same rows."""
    found = listed(kubescheduler)
    assert [each["release"] for each in found] == list(RELEASE_NAMES)
    assert found[RELEASE_NAMES.index("1.36")] == {
        "release": "1.36",
        "recorded": "1.36.2",
        "decidesBy": "plugins",
        "configuration": ["v1"],
        "policies": False,
        "runsAs": "1.36",
        "changes": len(RELEASES["1.36"].changes),
    }
    assert found[0]["runsAs"] is None
    rows = [words[0] for words in kubescheduler("releases").lines]
    assert rows == ["RELEASE", *RELEASE_NAMES]


def test_changes_between(kubescheduler: Run) -> None:
    """Those after the older release up to the newer one, oldest first; a version is its minor release."""
    everything = listed(kubescheduler, "--between", "1.4", RELEASE_NAMES[-1])
    assert everything == listed(kubescheduler, "--about", "")
    assert [each["release"] for each in everything] == [
        release.name for release in RELEASES.values() for _ in release.changes
    ]
    last = listed(kubescheduler, "--between", "v1.20.15", f"{RELEASE_NAMES[-1]}.2")
    assert "the changes of 1.13 are not listed" in kubescheduler("releases", "--between", "1.4", "1.36").err
    assert kubescheduler("releases", "--between", "1.13", "1.36").err == ""
    assert last == [each for each in everything if RELEASE_NAMES.index(each["release"]) > RELEASE_NAMES.index("1.20")]


def test_about(kubescheduler: Run) -> None:
    """Names, texts and kinds are looked through, whatever the case."""
    for release, change in changes_between("1.4", RELEASE_NAMES[-1]):
        assert any(each["change"] == change.name for each in listed(kubescheduler, "--about", change.name.upper())), (
            release.name
        )
    nothing = kubescheduler("releases", "--about", "nothing has this")
    assert nothing.out == ""
    assert "no change about nothing has this" in nothing.err


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        pytest.param(
            ["--between", "1.36", "1.20"], "1.36 came out after 1.20; say the older release first", id="order"
        ),
        pytest.param(["--between", "1.5", "1.20"], "release 1.5 is not known", id="unknown"),
        pytest.param(["--between", "1.20"], "requires 2 arguments", id="one"),
    ],
)
def test_faults(arguments: list[str], text: str, kubescheduler: Run) -> None:
    """They are errors."""
    result = kubescheduler("releases", *arguments)
    assert result.status == 2
    assert text in " ".join(result.err.split())


def test_names_of_changes() -> None:
    """A name stays, so it is said once; each change has a sentence."""
    changes = [change for record in RELEASES.values() for change in record.changes]
    assert len({change.name for change in changes}) == len(changes)
    assert [
        change.name for change in changes if not change.text.endswith(".") or change.name != change.name.lower()
    ] == []
