"""The texts of 1.36 for label selectors that cannot be compiled."""

from __future__ import annotations

import pytest

from clusterstate.objects import FrozenMap, LabelSelector, Requirement
from clusterstate.selectors.label_selectors_framework import compile_selector, compile_selector_1_36
from clusterstate.selectors.matching import SelectorError

LABEL = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
SELECTORS = {
    "operator": (
        LabelSelector(match_expressions=(Requirement("a", "Near", ("b",)),)),
        '"Near" is not a valid label selector operator',
    ),
    "value": (
        LabelSelector(FrozenMap({"service": "x y"})),
        f'values[0][service]: Invalid value: "x y": {LABEL}',
    ),
    "no values": (
        LabelSelector(match_expressions=(Requirement("a", "In"),)),
        "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty",
    ),
    "values of Exists": (
        LabelSelector(match_expressions=(Requirement("a", "Exists", ("b",)),)),
        'values: Invalid value: ["b"]: values set must be empty for exists and does not exist',
    ),
    "the first requirement counts": (
        LabelSelector(FrozenMap({"b": "?"}), (Requirement("a", "In"),)),
        f'values[0][b]: Invalid value: "?": {LABEL}',
    ),
    "all its faults": (
        LabelSelector(match_expressions=(Requirement("a", "Exists", ("!",)),)),
        '[values: Invalid value: ["!"]: values set must be empty for exists and does not exist, '
        f'values[0][a]: Invalid value: "!": {LABEL}]',
    ),
}


@pytest.mark.parametrize(("selector", "text"), SELECTORS.values(), ids=SELECTORS.keys())
def test_invalid_selectors(selector: LabelSelector, text: str) -> None:
    """The paths begin at the requirement."""
    with pytest.raises(SelectorError) as caught:
        compile_selector_1_36(selector)
    assert str(caught.value) == text


def test_valid_selectors() -> None:
    """They are the same in both releases."""
    selector = LabelSelector(FrozenMap({"a": "b"}))
    assert compile_selector_1_36(selector) == compile_selector(selector)
    assert compile_selector_1_36(None) == compile_selector(None)
