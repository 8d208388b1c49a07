"""Hints at names that somebody may have meant."""

from __future__ import annotations

import pytest

from clusterstate.errors import nearest


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
