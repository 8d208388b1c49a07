"""The pytest plugin: fixtures, markers, settings, the option ``--placements-update`` and its summary.

Pytest loads this module in every run wherever the project is installed; the rest is imported when a test asks for it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kubescheduler.testing.running_session import VALIDATE_SETTING, Session, begin, end

if TYPE_CHECKING:
    from kubescheduler.comparison.comparison import Comparison
    from kubescheduler.testing.named_inputs import SharedCluster
    from kubescheduler.testing.placements import PlacementRecords, Placer

UPDATE = "placements_update"
PATIENCE, PATIENCE_SETTING = "KUBESCHEDULER_PATIENCE", "kubescheduler_patience"
COMPLAINTS = "KUBESCHEDULER_COMPLAINTS"
"""What ``algorithmprovider.custom_code`` reads: the limit, and where is said that code ended the process, since
standard error is captured while tests run."""
OUTPUT = "kubescheduler_placements"
"""Under which a worker of pytest-xdist says what it wrote and what is unused."""

MARKERS = (
    "cluster(*files): the cluster of the test: files and folders, looked for beside the test and in the root folder.",
    "scheduler(text): the scheduler of the test, such as release=1.16,policy=policy.json; also as keywords.",
    "validate(judgement): what unknown fields of manifests are in the test: strict, warn or ignore.",
)


SESSION = pytest.StashKey[Session]()


# --- options, markers ------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    """Of pytest: adds the option ``--placements-update``."""
    parser.getgroup("kubescheduler").addoption(
        "--placements-update",
        action="store_true",
        dest=UPDATE,
        help="Write the placements that tests check to their files instead of comparing them.",
    )
    parser.addini("kubescheduler_cluster", "Files of the cluster that tests without a marker get.", type="args")
    parser.addini(
        "kubescheduler_scheduler", "The scheduler that tests without a marker get, as release=1.16,policy=policy.json."
    )
    parser.addini(
        "kubescheduler_extenders", "How extenders are asked: live, pass, record FILE or replay FILE.", default="live"
    )
    parser.addini(
        PATIENCE_SETTING, "Seconds that one call of a predicate, priority or plugin may take; 0: any.", default="10"
    )
    parser.addini(
        VALIDATE_SETTING, "What unknown fields of manifests are: strict, warn or ignore; by default as in commands."
    )


def pytest_configure(config: pytest.Config) -> None:
    """Of pytest: declares the markers and begins the session's notes."""
    os.environ.setdefault(PATIENCE, str(config.getini(PATIENCE_SETTING)))
    _keep_standard_error(config)
    config.stash[SESSION] = Session(config)
    begin(config.stash[SESSION])
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)


def _keep_standard_error(config: pytest.Config) -> None:
    """What is said of code that ended this process is written to where standard error goes now."""
    before = os.environ.get(COMPLAINTS, "")
    try:
        file = os.dup(2)
    except OSError:  # it is closed
        return
    os.environ[COMPLAINTS] = f"{os.getpid()}:{file}"
    config.add_cleanup(lambda: os.environ.update({COMPLAINTS: before}))
    config.add_cleanup(lambda: os.close(file))


def pytest_unconfigure(config: pytest.Config) -> None:
    """Of pytest: the session is over."""
    end(config.stash[SESSION])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Of pytest: a test runs, whose markers count."""
    session = item.config.stash[SESSION]
    session.item = item
    try:
        return (yield)
    finally:
        session.item = None


# --- fixtures --------------------------------------------------------------------------------


@pytest.fixture
def cluster(request: pytest.FixtureRequest) -> SharedCluster:
    """The cluster that ``@pytest.mark.cluster`` or the setting kubescheduler_cluster names."""
    from kubescheduler.testing.fixtures import cluster_for

    return cluster_for(request, request.config.stash[SESSION].clusters)


@pytest.fixture
def scheduler(request: pytest.FixtureRequest, cluster: Any) -> Placer:
    """A scheduler over the cluster, by ``@pytest.mark.scheduler`` or the setting kubescheduler_scheduler."""
    from kubescheduler.testing.fixtures import scheduler_for

    return scheduler_for(request, cluster)


@pytest.fixture
def compare_placements(request: pytest.FixtureRequest) -> Callable[..., Comparison]:
    """``compare_placements(old, new, pods, cluster=None, mode=…)``: who goes elsewhere; by default in the cluster."""
    from kubescheduler.testing.fixtures import comparer_for

    return comparer_for(request)


@pytest.fixture
def placements(request: pytest.FixtureRequest) -> PlacementRecords:
    """``placements.check(scheduler, pods)``: held against the record of the test."""
    from kubescheduler.testing.fixtures import records_for

    update = bool(request.config.getoption(UPDATE))
    return records_for(request, update=update, notes=request.config.stash[SESSION].written)


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """Explains why pods are not where ``scheduler.place(…) == {…}`` has them."""
    if op != "==" or "kubescheduler.testing.placements" not in sys.modules:
        return None
    from kubescheduler.testing.placements import explained

    return explained(left, right)


# --- records that no test checks -------------------------------------------------------------


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """Of pytest: notes tests that do not run, so that their records are not reported as unused."""
    for item in items:
        item.config.stash[SESSION].deselected.append(item)


@pytest.hookimpl(wrapper=True)
def pytest_sessionfinish(session: pytest.Session) -> Iterator[None]:
    """Finds them before others report; a worker of pytest-xdist leaves what it found for the main process."""
    known = session.config.stash[SESSION]
    if _whole_files(session.config):
        from kubescheduler.testing.placements import unused

        known.unused += map(str, unused([*getattr(session, "items", ()), *known.deselected]))
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output[OUTPUT] = {"written": known.written, "unused": known.unused, "notes": list(known.notes)}
    return (yield)


def _whole_files(config: pytest.Config) -> bool:
    """Whether every test of the files that were looked at is known."""
    partly = ("lf", "stepwise")
    return not any("::" in str(arg) for arg in config.args) and not any(config.getoption(o, False) for o in partly)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Of pytest-xdist: a worker is done."""
    told = getattr(node, "workeroutput", {}).get(OUTPUT, {})
    known: Session = node.config.stash[SESSION]
    known.written += told.get("written", ())
    known.unused += told.get("unused", ())
    known.notes.update(dict.fromkeys(told.get("notes", ())))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Of pytest: lists the notes, the records that were written, and those that no test uses."""
    known = config.stash[SESSION]
    if known.notes:
        terminalreporter.section("kubescheduler notes")
        for text in known.notes:
            terminalreporter.write_line(text)
    if not known.written and not known.unused:
        return
    from kubescheduler.testing.placements import shortest

    terminalreporter.section("placements")
    for what, paths in (("written", known.written), ("unused, may be removed", known.unused)):
        for path in sorted(set(paths)):
            terminalreporter.write_line(f"{what}: {shortest(Path(path))}")
