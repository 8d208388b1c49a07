"""Every example in a docstring of what ``import kubescheduler`` offers runs, and everything public has one."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import inspect
import io
import re
from pathlib import Path
from typing import Any

import pytest

import kubescheduler
from docs.generate.blocks import ROOT, blocks
from kubescheduler.api import whole_runs
from kubescheduler.api.cluster import Cluster
from kubescheduler.api.scheduler import Scheduler
from tests.support.releases_tried import RELEASES_TRIED

MODULES = (
    "kubescheduler",
    "kubescheduler.manifest_builders",
    *(f"kubescheduler.api.{path.stem}" for path in sorted(Path(whole_runs.__file__).parent.glob("[!_]*.py"))),
)
FUNCTIONS = [kubescheduler.compare, kubescheduler.simulate, kubescheduler.capacity, kubescheduler.migrate]
METHODS = [
    member
    for offered in (Cluster, Scheduler)
    for name, member in inspect.getmembers(offered, callable)
    if not name.startswith("_") and "->" in str(inspect.signature(member))
]
INTERNAL = ("asking", "cache", "entries", "of_engine", "replaced")
"""Methods that other parts of the project need, not users."""


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The examples of a module print what they say, in the project's folder."""
    monkeypatch.chdir(ROOT)
    result = doctest.testmod(importlib.import_module(name))
    assert not result.failed


@pytest.mark.parametrize("offered", [*FUNCTIONS, *METHODS], ids=lambda offered: offered.__qualname__)
def test_every_public_function_has_an_example(offered: object) -> None:
    """What users call shows by an example how."""
    assert getattr(offered, "__name__", "") in INTERNAL or ">>> " in (inspect.getdoc(offered) or "")


def test_help_names_everything_offered() -> None:
    """The package's docstring names each class and function."""
    words = set(re.findall(r"\w+", kubescheduler.__doc__ or ""))
    assert set(kubescheduler.__all__) - {"__version__"} <= words
    assert dir(kubescheduler) == sorted(kubescheduler.__all__)


@pytest.mark.parametrize("name", kubescheduler.__all__)
def test_everything_offered_is_there(name: str) -> None:
    """Each name of ``__all__`` can be asked for."""
    assert getattr(kubescheduler, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    """A name that is not offered is refused as any module refuses it."""
    with pytest.raises(AttributeError, match="has no attribute 'Clutser'"):
        _ = kubescheduler.Clutser


TUTORIAL = ROOT / "docs" / "tutorial" / "python.md"
OTHERWISE = {
    "1.4": {"node(s) had untolerated taint(s)": "PodToleratesNodeTaints"},
    "1.16": {"node(s) had untolerated taint(s)": "node(s) had taints that the pod didn't tolerate"},
    "1.20": {"node(s) had untolerated taint(s)": "node(s) had taint {dedicated: db}, that the pod didn't tolerate"},
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
