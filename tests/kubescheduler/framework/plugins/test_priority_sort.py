"""PrioritySort."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kubescheduler.framework.plugins.queue_and_bind import priority_sort
from tests.support.build import make_pod
from tests.support.custom.extender_asking import HANDLE


def queued(priority: int | None, timestamp: float) -> Any:
    return SimpleNamespace(pod=make_pod(priority=priority), timestamp=timestamp)


@pytest.mark.parametrize(
    ("first", "second", "less"),
    [
        pytest.param(queued(2, 5), queued(1, 1), True, id="higher"),
        pytest.param(queued(1, 1), queued(2, 5), False, id="lower"),
        pytest.param(queued(1, 1), queued(1, 2), True, id="earlier"),
        pytest.param(queued(1, 2), queued(1, 1), False, id="later"),
        pytest.param(queued(1, 1), queued(1, 1), False, id="equal"),
        pytest.param(queued(None, 2), queued(-1, 1), True, id="no-priority-is-0"),
    ],
)
def test_priority_counts_before_age(first: Any, second: Any, less: bool) -> None:
    """Age decides among equals."""
    assert priority_sort(None, HANDLE).less(first, second) == less
