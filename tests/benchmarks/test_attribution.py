"""What neighbouring releases answer differently is explained by the changes between them."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from benchmarks.attribution import Changes, attributed, main, rows_of
from kubescheduler.releases.lookup import Witness, witnesses

TINY = "1.34"
"""A release whose witnesses are explained here."""
CASES = [name for name, found in witnesses(TINY).items() if isinstance(found, Witness) and not found.beside]


@pytest.mark.parametrize("change", CASES)
def test_a_witness_is_explained_by_its_change(change: str) -> None:
    """By it alone, whatever explained others."""
    witness = witnesses(TINY)[change]
    assert isinstance(witness, Witness)
    for known in (Counter[Changes](), Counter[Changes]({("gates-of-1-34",): 2})):
        assert attributed(witness.scenario(), "1.33", TINY, known) == {"q": (change,)}
        assert known[change,] >= 1


def test_what_is_the_same_needs_no_change() -> None:
    """Neither does a scenario that no release can read."""
    scenario: dict[str, Any] = {"id": "s", "cluster": {}, "queries": [{"id": "q", "pod": {"metadata": {"name": "p"}}}]}
    assert attributed(scenario, "1.33", TINY, Counter()) == {}


def test_a_release_may_name_itself_in_its_answer() -> None:
    """What it does not read is the same fault in the release that has all changes taken back."""
    config = {"apiVersion": "kubescheduler.config.k8s.io/v1alpha2", "kind": "KubeSchedulerConfiguration"}
    query = {"id": "q", "pod": {"metadata": {"name": "p"}}, "componentConfig": config}
    scenario: dict[str, Any] = {"id": "s", "cluster": {}, "queries": [query]}
    changes = attributed(scenario, "1.16", "1.18", Counter())["q"]
    assert changes is not None
    assert {"configurations-of-v1alpha2", "plugins-in-profiles"} < set(changes)


def test_a_sequence_is_explained_as_one() -> None:
    """All that differs in it has the same changes."""
    witness = witnesses(TINY)["nodes-too-small-are-unresolvable"]
    assert isinstance(witness, Witness)
    scenario = witness.scenario()
    twice = [{**scenario["queries"][0], "id": name} for name in ("one", "two")]
    found = attributed({**scenario, "sequence": True, "queries": twice}, "1.33", TINY, Counter())
    assert found == dict.fromkeys(("one", "two"), ("nodes-too-small-are-unresolvable",))


def test_the_table(tmp_path: Path) -> None:
    """A row for the step, of recordings that only one of the releases has."""
    witness = witnesses(TINY)["nodes-too-small-are-unresolvable"]
    assert isinstance(witness, Witness)
    for release, rows in (("1.33", []), (TINY, [{"scenario": witness.scenario(), "results": []}])):
        (tmp_path / release).mkdir()
        with gzip.open(tmp_path / release / "tiny.jsonl.gz", "wt") as lines:
            lines.writelines(json.dumps(row) + "\n" for row in rows)
    assert rows_of(tmp_path / TINY).keys() == {"tiny/witness"}
    outcome = CliRunner().invoke(main, [str(tmp_path), TINY, "--save", str(tmp_path / "found.json")])
    assert outcome.exit_code == 0, outcome.output
    assert "| 1.33 → 1.34 | 1 of either | 1 | 1 | nodes-too-small-are-unresolvable 1 |" in outcome.output
    assert json.loads((tmp_path / "found.json").read_text())[0]["scenario"] == "tiny/witness of 1.34"
