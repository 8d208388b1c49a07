"""Every change has a witness, which both releases answer as it says, for that change alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clusterstate.errors import ConfigError
from kubescheduler.engine.evaluate_protocol import evaluate
from kubescheduler.releases.lookup import RELEASES, NoWitness, Witness, release_named, witnesses
from kubescheduler.releases.names import RELEASE_NAMES, TAKEN_BACK, place

CASES = [
    pytest.param(release, name, id=f"{release} {name}")
    for release in RELEASE_NAMES
    for name, found in witnesses(release).items()
    if isinstance(found, Witness)
]


def answer(witness: Witness, release: str) -> dict[str, Any]:
    """What a release answers, without what is empty; one that reads gates at its start is started with them."""
    line, gates = json.dumps(witness.scenario()).encode(), ""
    if release_named(release).reads_gates_at_start:
        gates = ",".join(f"{name}={value}" for name, value in witness.feature_gates.items())
    try:
        [found] = evaluate([line], release, gates)
    except ConfigError:  # it does not know them, as it says of the scenario's
        [found] = evaluate([line], release)
    return {part: said for part, said in found.items() if part not in {"release", "notes"} and said}


def at(said: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        said = (said or {}).get(key)
    return said


@pytest.mark.parametrize(("release", "change"), CASES)
def test_witness(release: str, change: str) -> None:
    """The older release answers as before, the newer one otherwise; with the change taken back wholly as the older one.

    Of two refusals the texts are not compared beyond the place where the witness looks.
    """
    witness = witnesses(release)[change]
    assert isinstance(witness, Witness)
    alone = witness.alone(release)
    names = (RELEASE_NAMES[place(release) - 1], release, alone, f"{alone}{TAKEN_BACK}{change}")
    older, newer, only, back = (answer(witness, name) for name in names)
    found = [at(said, witness.differs) for said in (older, newer, only)]
    assert found == [witness.before, witness.after, witness.after]
    assert at(back, witness.differs) != at(only, witness.differs)
    if not (older.get("error") and back.get("error")):
        assert back == older


def test_every_change_has_one() -> None:
    """Or it says why none is possible; there is none of anything else."""
    for release, record in RELEASES.items():
        assert sorted(witnesses(release)) == sorted(change.name for change in record.changes), release


def test_changes_without_one() -> None:
    """Few, and each with a reason."""
    every = [found for release in RELEASE_NAMES for found in witnesses(release).values()]
    lacking = [found for found in every if isinstance(found, NoWitness)]
    assert len(lacking) <= 36
    assert all(len(found.none) > len("it is about") for found in lacking)
