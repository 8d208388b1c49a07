"""What is told of a scene as a whole."""

from __future__ import annotations

import msgspec
import pytest

import kubescheduler as ks
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.verbs import VERBS

COUNTS = {"few": (20, []), "many": (23, ["and 3 more"])}


@pytest.mark.parametrize(("count", "end"), COUNTS.values(), ids=COUNTS.keys())
def test_a_list_of_notes_ends(count: int, end: list[str]) -> None:
    """After twenty, with how many more there are."""
    notes = tuple(f"note {at}" for at in range(count))
    state = Scene.opened(ks.Cluster(release="1.36").node("a")).state
    answer = VERBS["state"](Scene(msgspec.structs.replace(state, notes=notes)), {})
    assert answer["notes"] == [*notes[:20], *end]
