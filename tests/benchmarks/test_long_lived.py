"""Random histories: played again the same, quiet where schedulers agree, and loud where one does not."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from benchmarks.long_lived import History, documents, history, main


@pytest.mark.parametrize("name", ["1.4/mixed/3", "1.16/services/1", "1.20/spread/2", "1.36/dra/643"])
def test_a_history_is_the_same_each_time(name: str) -> None:
    """A name and a seed say all of it; in 1.36/dra/643 a decision takes devices back."""
    scenarios = documents([name.partition("/")[0]])
    steps = list(history(1, name, scenarios))
    assert len(steps) >= 10
    assert list(history(1, name, scenarios)) == steps


def test_a_difference_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new scheduler to which no pod was added disagrees; the steps up to there are printed."""
    monkeypatch.setattr(History, "happens", lambda self, method, *arguments: getattr(self.cache, method)(*arguments))
    ran = CliRunner().invoke(main, ["--history", "1.16/resources/0"])
    assert ran.exit_code == 1
    assert "1.16/resources/0: the schedulers differ after step" in ran.output
    assert ran.output.splitlines()[-1].endswith(", 1 differ")
