"""Extenders in the scheduler marker and in its setting: how a test says that they are asked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kubescheduler.testing.conftest import Project
from tests.support.custom.extender_process import extender

DEAD = "http://127.0.0.1:1"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """An extender that keeps every node."""
    with extender() as found:
        yield found


@pytest.fixture
def dead(shop: Project) -> Project:
    """A project with a policy whose extender is dead, and a pod."""
    _policy(shop, DEAD)
    shop.write("web.yaml", "{kind: Pod, metadata: {name: web}, spec: {containers: [{name: c, image: web}]}}")
    return shop


def _policy(project: Project, address: str) -> Path:
    asked: dict[str, Any] = {"urlPrefix": f"{address}/good", "filterVerb": "filter"}
    return project.write("p.json", {"kind": "Policy", "apiVersion": "v1", "extenders": [asked]})


def _test(project: Project, marker: str) -> None:
    project.test(
        f"import pytest\n@pytest.mark.scheduler({marker})\n"
        'def test(scheduler):\n    assert scheduler.place("web.yaml")["default/web"] is not None\n'
    )


@pytest.mark.parametrize(
    "marker",
    ['"policy=p.json,extenders=pass"', 'policy="p.json", extenders="pass"'],
    ids=["text", "arguments"],
)
def test_a_marker_passes_extenders_through(dead: Project, marker: str) -> None:
    """The pod is placed though nobody answers, and the run says how."""
    _test(dead, marker)
    assert "PASSED THROUGH" in dead.run(passed=1)


def test_a_marker_is_stronger_than_the_setting(dead: Project) -> None:
    """The setting is for those that do not say it."""
    (dead.path / "pytest.ini").write_text(
        "[pytest]\nkubescheduler_cluster = cluster.json\nkubescheduler_extenders = replay gone.jsonl\n"
    )
    _test(dead, '"policy=p.json,extenders=pass"')
    dead.run(passed=1)


def test_without_a_word_a_dead_extender_fails_the_test(dead: Project) -> None:
    """A scheduler that gave up has placed nothing."""
    _test(dead, '"policy=p.json"')
    dead.run(failed=1)


def test_a_marker_records_and_replays(dead: Project, address: str) -> None:
    """The record is made in the first folder; the replay needs no extender, as its address is not asked."""
    _policy(dead, address)
    _test(dead, 'policy="p.json", extenders="record answers.jsonl"')
    dead.run(passed=1)
    assert (dead.path / "answers.jsonl").read_bytes()
    _test(dead, 'policy="p.json", extenders="replay answers.jsonl"')
    dead.run(passed=1)


def test_a_replay_of_another_question_fails_the_test(dead: Project, address: str) -> None:
    """What was not recorded is an error and no placement."""
    _policy(dead, address)
    _test(dead, 'policy="p.json", extenders="record answers.jsonl"')
    dead.run(passed=1)
    dead.write("web.yaml", "{kind: Pod, metadata: {name: other}, spec: {containers: [{name: c, image: other}]}}")
    dead.test(
        'import pytest\n@pytest.mark.scheduler(policy="p.json", extenders="replay answers.jsonl")\n'
        'def test(scheduler):\n    assert scheduler.place("web.yaml")["default/other"] is not None\n'
    )
    dead.run(failed=1)


def test_a_way_that_there_is_not_is_an_error(dead: Project) -> None:
    """With what is expected."""
    _test(dead, '"policy=p.json,extenders=off"')
    assert "expected live, pass, record FILE or replay FILE" in dead.run(errors=1)
