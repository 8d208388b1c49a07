"""A simulation in words."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kubescheduler.lab.scene.families.run_rows import run_text
from kubescheduler.simulation.pod_records import RUNNING, WAITING

COUNTS = {
    "one of each": ((1, 1, 1), 1, "1 attempt, of 3 pods 1 runs, 1 waits, 1 has gone."),
    "several of each": ((2, 3, 2), 8, "8 attempts, of 7 pods 2 run, 3 wait, 2 have gone."),
    "a single pod": ((0, 1, 0), 2, "2 attempts, of 1 pod 0 run, 1 waits."),
}


@pytest.mark.parametrize(("counts", "tries", "text"), COUNTS.values(), ids=COUNTS.keys())
def test_numbers_and_verbs_agree(counts: tuple[int, int, int], tries: int, text: str) -> None:
    """One pod runs, two run."""
    running, waiting, gone = counts
    outcomes = [RUNNING] * running + [WAITING] * waiting + ["finished"] * gone
    records = [SimpleNamespace(outcome=outcome) for outcome in outcomes]
    run: Any = SimpleNamespace(records=records, attempts=range(tries), ended="")
    assert run_text(run, 5.0) == f"After 5 s and {text}"
