"""Hints at names that somebody may have meant."""

from __future__ import annotations

import pytest

from clusterstate.errors import DecodeError, listed, nearest


@pytest.mark.parametrize(
    ("name", "known", "hint"),
    [
        pytest.param("PodFitsPort", ["PodFitsHost", "PodFitsPorts"], "; did you mean PodFitsPorts?", id="a letter"),
        pytest.param("podfitsports", ["PodFitsHost", "PodFitsPorts"], "; did you mean PodFitsPorts?", id="case"),
        pytest.param("cpu", ["CPU", "Cpu"], "; did you mean CPU?", id="the first that differs in case only"),
        pytest.param("Zebra", ["PodFitsHost"], "", id="nothing like it"),
        pytest.param("Zebra", [], "", id="nothing known"),
    ],
)
def test_the_nearest_name(name: str, known: list[str], hint: str) -> None:
    """But for case and a letter or two."""
    assert nearest(name, known) == hint


@pytest.mark.parametrize(
    ("count", "end"), [(0, []), (1, ["fault 0"]), (20, ["fault 19"]), (21, ["and 1 more"]), (3841, ["and 3,821 more"])]
)
def test_lists_of_errors_end(count: int, end: list[str]) -> None:
    """Twenty texts are enough; an error keeps all of its problems, and its own text ends as well."""
    faults = [f"fault {at}" for at in range(count)]
    assert listed(faults)[:20] == faults[:20]
    assert (listed(faults)[-1:], len(listed(faults))) == (end, min(count, 21))
    error = DecodeError(faults)
    assert (len(error.problems), str(error).splitlines()) == (count, listed(faults))
