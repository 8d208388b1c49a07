"""The tutorial on Python is the same in all four releases."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import pytest

from docs.generate.blocks import ROOT, blocks
from tests.support.releases_tried import RELEASES_TRIED

TUTORIAL = ROOT / "docs" / "tutorial" / "python.md"
OTHERWISE = {
    "1.4": {"node(s) had untolerated taint(s)": "PodToleratesNodeTaints"},
    "1.16": {"node(s) had untolerated taint(s)": "node(s) had taints that the pod didn't tolerate"},
    "1.20": {
        "node(s) had untolerated taint(s)": "node(s) had taint {dedicated: db}, that the pod didn't tolerate",
    },
    "1.36": {},
}
"""Release → the texts of 1.36 that it words differently."""


def code_and_output() -> tuple[str, str]:
    """All programs of the tutorial, and all they print."""
    found = blocks(TUTORIAL.read_text(encoding="utf-8"))
    program = "\n".join(block.body for block in found if block.kind == "python")
    return program, "".join(block.body for block in found if block.note == "output")


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_the_tutorial_runs_in_every_release(release: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With another release in its first line the tutorial prints the same, but for the release's own words."""
    monkeypatch.chdir(ROOT)
    program, expected = code_and_output()
    assert 'release = "1.36"' in program
    space: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(program.replace('release = "1.36"', f'release = "{release}"'), space)
    expected = expected.replace("release 1.36", f"release {release}")
    for text, other in OTHERWISE[release].items():
        expected = expected.replace(text, other)
    assert printed.getvalue() == expected
