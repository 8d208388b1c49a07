"""The text of a rule is its docstring up to where it names its source, and every registered rule has one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from algorithmprovider.algorithms import FIT_PREDICATES, FIT_PREDICATES_1_4, PRIORITIES, PRIORITIES_1_4
from kubescheduler.report.rule_pages import (
    PREDICATE_MAKERS,
    PREDICATE_MAKERS_1_4,
    PRIORITY_MAKERS,
    PRIORITY_MAKERS_1_4,
    predicate_texts_1_4,
    priority_texts_1_4,
    rule_text,
)
from priorities.requested import BALANCED_WITH_VOLUMES

RULES: dict[str, Mapping[str, Callable[..., Any]]] = {
    "1.4 predicates": {**FIT_PREDICATES_1_4, **PREDICATE_MAKERS_1_4},
    "1.4 priorities": {**{name: factory.make for name, factory in PRIORITIES_1_4.items()}, **PRIORITY_MAKERS_1_4},
    "1.16 predicates": {**FIT_PREDICATES, **PREDICATE_MAKERS},
    "1.16 priorities": {**{name: factory.make for name, factory in PRIORITIES.items()}, **PRIORITY_MAKERS},
    "1.16 priorities under gates": {name: factory.make for name, factory in BALANCED_WITH_VOLUMES.items()},
}
"""Release and kind → name → what is registered under it."""


@pytest.mark.parametrize(
    ("release", "rule"),
    [
        pytest.param(kind.partition(" ")[0], rule, id=f"{kind} {name}")
        for kind, rules in RULES.items()
        for name, rule in rules.items()
    ],
)
def test_every_rule_says_what_it_does(release: str, rule: Callable[..., Any]) -> None:
    """A sentence for users comes first, then which function of which release it is."""
    text = rule_text(rule)
    assert text[:1].isalnum() or text[:1] == "(", text
    assert text.endswith("."), text
    assert "Upstream" not in text
    assert f"Upstream: {release}" in (rule.__doc__ or "") or f"and {release}" in (rule.__doc__ or "")


def test_rules_that_did_not_change_have_nothing_to_add() -> None:
    """A rule that 1.16 took over as it was says nothing of 1.4, any other does."""
    texts = {**predicate_texts_1_4(), **priority_texts_1_4()}
    older = {**RULES["1.4 predicates"], **RULES["1.4 priorities"]}
    newer = {**RULES["1.16 predicates"], **RULES["1.16 priorities"]}
    assert {name for name, text in texts.items() if not text} == {
        name for name, rule in older.items() if rule is newer.get(name)
    }
    assert not texts["LeastRequestedPriority"]
    assert texts["PodFitsPorts"].startswith("PodFitsHostPorts under an old name")


def documented() -> None:
    """The first paragraph.

        formula = 1

    The last one. Upstream: 1.16 Rule. shape: (n,).
    """


def undocumented() -> None: ...


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        pytest.param(documented, "The first paragraph.\n\n    formula = 1\n\nThe last one.", id="up to its source"),
        pytest.param(undocumented, "", id="no docstring"),
    ],
)
def test_text_of_a_rule(rule: Callable[..., Any], text: str) -> None:
    """Formulas keep their indentation, what is for developers is left out."""
    assert rule_text(rule) == text


def test_without_docstrings() -> None:
    """Where Python strips docstrings a rule has no text, and its page the rest."""
    command = [sys.executable, "-OO", "-m", "kubescheduler", "explain", "PodFitsHostPorts"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("PodFitsHostPorts: predicate of 1.4 to 1.16\n\nReasons:\n")
