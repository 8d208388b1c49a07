"""What a fault in a file of a user's own says, and for whom."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubescheduler.lab.plugin_file import CodeFault, faults_in

PROBLEMS = {
    "pod and node": ("predicate Odd, pod a/web, node n1: bad", CodeFault("predicate Odd: bad", 9, None, "a/web", "n1")),
    "pod at the end": (
        "predicate Odd, node n1: NameError: no (pod a/web)",
        CodeFault("predicate Odd: NameError: no", 9, None, "a/web", "n1"),
    ),
    "node only": ("predicate Odd, node n1: bad", CodeFault("predicate Odd: bad", 9, None, "", "n1")),
    "neither": ("plugin Mine, filter: bad", CodeFault("plugin Mine, filter: bad", 9)),
    "a message that speaks of a pod": (
        "plugin Mine, filter, pod a/web: no room for it, pod b/db, node n2: first",
        CodeFault("plugin Mine, filter: no room for it, pod b/db, node n2: first", 9, None, "a/web"),
    ),
    "no message": ("it ended", CodeFault("it ended", 9)),
    "several lines": (
        "predicate Odd, node n1: bad\nand worse",
        CodeFault("predicate Odd: bad\nand worse", 9, None, "", "n1"),
    ),
}


@pytest.mark.parametrize(("problem", "fault"), PROBLEMS.values(), ids=PROBLEMS.keys())
def test_pod_and_node_are_said_once(problem: str, fault: CodeFault) -> None:
    """Beside the text, not in it as well; what the message itself says stays."""
    path = Path("/w/rules.py")
    assert list(faults_in(ValueError(), (f"{path}, line 9: {problem}", "elsewhere: bad"), path)) == [fault]
