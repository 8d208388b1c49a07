"""The texts with which a plugin's failure gives an attempt up."""

from __future__ import annotations

import pytest

from kubescheduler.core.status import Code, Status
from kubescheduler.framework.contract import runner_results as errortexts


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (
            errortexts.failed("Permit", 'a "b"', Status.unschedulable("x", "y")),
            r'running Permit plugin "a \"b\"": x, y',
        ),
        (errortexts.failed("Reserve", "A", Status(Code.Error, ("r",), "e")), 'running Reserve plugin "A": e'),
        (errortexts.change_failed("AddPod", "A", Status.failure("e")), 'running AddPod on PreFilter plugin "A": e'),
    ],
)
def test_statuses(given: Status, text: str) -> None:
    """An error's text goes before its reasons; names are quoted."""
    assert given.message == text
    assert given.code is Code.Error
    assert given.plugin


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (errortexts.filter_failed_1_20("A", "p", "x"), 'running "A" filter plugin for pod "p": x'),
        (errortexts.filter_failed_1_36("A", "p", "x"), 'running "A" filter plugin: x'),
        (errortexts.score_failed("A", "x"), 'running Score plugins: plugin "A" failed with: x'),
        (errortexts.normalize_failed("A", "x"), 'running Normalize on Score plugins: plugin "A" failed with: x'),
        (
            errortexts.out_of_range("A", 101),
            'applying score defaultWeights on Score plugins: plugin "A" returns an invalid score 101, '
            "it should in the range of [0, 100] after normalizing",
        ),
    ],
)
def test_texts(given: str, text: str) -> None:
    """As the releases word them."""
    assert given == text
