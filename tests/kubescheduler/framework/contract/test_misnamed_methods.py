"""Which methods of a custom plugin are slips, and which are helpers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubescheduler.framework.contract.custom_plugins import meant_method, misnamed_methods, nearest_methods
from kubescheduler.framework.contract.plugin import METHOD_ARGUMENTS


def none(self): ...  # type: ignore[no-untyped-def]
def one(self, a): ...  # type: ignore[no-untyped-def]
def two(self, a, b): ...  # type: ignore[no-untyped-def]
def three(self, a, b, c): ...  # type: ignore[no-untyped-def]
def four(self, a, b, c, d): ...  # type: ignore[no-untyped-def]


ARGUMENTS = (none, one, two, three, four)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("Filter", "filter"),
        ("FILTER", "filter"),
        ("fliter", "filter"),
        ("fitler", "filter"),
        ("prefilter", "pre_filter"),
        ("preFilter", "pre_filter"),
        ("PreFilter", "pre_filter"),
        ("pre_fitler", "pre_filter"),
        ("socre", "score"),
        ("ScoreNodes", "score_nodes"),
        ("normalise_scores", "normalize_scores"),
        ("normalizeScores", "normalize_scores"),
        ("Less", "less"),
        ("bnid", "bind"),
        ("postbind", "post_bind"),
        ("PreBindPreFlight", "pre_bind_pre_flight"),
        ("un_reserve", "unreserve"),
        ("addPod", "add_pod"),
        ("reomve_pod", "remove_pod"),
        ("PreEnqueue", "pre_enqueue"),
    ],
)
def test_certain_slips(name: str, meant: str) -> None:
    """Whatever their arguments are."""
    assert [meant_method(name, method) for method in ARGUMENTS] == [meant] * 5


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("filtr", "filter"),
        ("filtter", "filter"),
        ("fikter", "filter"),
        ("filter_", "filter"),
        ("scor", "score"),
        ("permt", "permit"),
        ("reserv", "reserve"),
        ("score_node", "score_nodes"),
        ("filter_node", "filter_nodes"),
        ("normalize_score", "normalize_scores"),
        ("NormalizeScore", "normalize_scores"),
        ("normalise_score", "normalize_scores"),
        ("pre_filters", "pre_filter"),
        ("pre_enqueu", "pre_enqueue"),
        ("add_pods", "add_pod"),
        ("queue_sort", "less"),
        ("QueueSort", "less"),
        ("lesss", "less"),
    ],
)
def test_slips_by_their_arguments(name: str, meant: str) -> None:
    """A name that a helper may have is a slip when the method is called as the point is."""
    expected = [meant if METHOD_ARGUMENTS[meant] == count else "" for count in range(5)]
    assert [meant_method(name, method) for method in ARGUMENTS] == expected


HELPERS = """
filters filtered filtering filter_by filter_pods scores scored scorer score_of score_pod
scope store core rescore sort_nodes binds binding find kind bin
loss mess lesson unless permits permitted reserves reserved reverse preserve
nodes normalize prepare post check search points queue waiting
"""


def test_names_of_helpers() -> None:
    """They are let be, whatever their arguments are."""
    assert [name for name in HELPERS.split() for method in ARGUMENTS if meant_method(name, method)] == []


@given(st.sampled_from(list(METHOD_ARGUMENTS)), st.data())
def test_swapped_letters(known: str, data: st.DataObject) -> None:
    """Two neighbouring letters in the other order are a slip of that method, wherever they are."""
    at = data.draw(st.integers(0, len(known) - 2))
    name = known[:at] + known[at + 1] + known[at] + known[at + 2 :]
    if name.replace("_", "") != known.replace("_", ""):
        assert meant_method(name, none) == known


def test_a_class() -> None:
    """Only functions with public names, with file and line; others are only hinted at where nothing else is there."""

    class Mine:
        filtr = 5

        def _filtr(self, state: int, pod: int, node: int) -> None: ...

        def fliter(self) -> None: ...

        def filterNode(self) -> None: ...  # noqa: N802

    place = f"{__file__}, line "
    (slip,) = misnamed_methods(Mine)
    assert slip.startswith(place)
    assert slip.endswith(": there is no extension point fliter; did you mean filter?")
    assert [text.partition("; ")[2] for text in nearest_methods(Mine)] == [
        "did you mean filter_nodes?",
        "did you mean filter?",
    ]
