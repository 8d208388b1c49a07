"""Problems of configurations beside their lines."""

from __future__ import annotations

import pytest

from clusterstate.errors import ConfigError
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.lab.tuning.problem_places import placed_problems
from kubescheduler.lab.tuning.side_text import Kind, SideText
from kubescheduler.lab.tuning.tuning_edits import form_of

CONFIG = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n- plugins:\n"
POLICY = "kind: Policy\napiVersion: v1\npriorities:\n"

CASES: dict[str, tuple[str, Kind, str, str | None, int | None]] = {
    "a value": (
        "1.36",
        "config",
        f"{CONFIG}    score:\n      enabled:\n      - name: ImageLocality\n        weight: x\n",
        "profiles[0].plugins.score.enabled[0].weight",
        8,
    ),
    "an entry": ("1.16", "policy", f"{POLICY}- name: A\n  weight: 1\n", "priorities[0]", 4),
    "a weight": ("1.16", "policy", f"{POLICY}- name: EqualPriority\n  weight: 0\n", "priorities[0].weight", 5),
    "no YAML": ("1.36", "config", "a: [\nb", None, 3),
    "no kind": ("1.36", "config", "profiles: []\n", None, None),
}


@pytest.mark.parametrize(("release", "kind", "text", "path", "line"), CASES.values(), ids=CASES.keys())
def test_a_problem_is_placed(release: str, kind: Kind, text: str, path: str | None, line: int | None) -> None:
    """At the line of the value that it names, or where the text cannot be read."""
    with pytest.raises(ConfigError) as raised:
        form_of(SideText(EngineSpec(release), kind, text))
    found = placed_problems(text, raised.value.problems)
    assert len(found) == len(raised.value.problems)
    if path is not None:
        assert path in [one.path for one in found]
    assert line in [one.line for one in found if path is None or one.path == path]


MANIFESTS = "kind: Node\nmetadata: {name: n}\n---\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers: 7\n"
SAID = {
    "in a file": ("/work/pod.yaml: line 14, column 3: no value", "no value", 14),
    "in a text": ("text: line 2, column 1: no value", "no value", 2),
    "of an object": ("Pod default/web: spec.containers: must be a list", None, 7),
    "of a node": ("Node n: metadata.name: is wrong", None, 2),
    "of an object that is not there": ("Pod default/other: spec.containers: must be a list", None, None),
}


@pytest.mark.parametrize(("problem", "text", "line"), SAID.values(), ids=SAID.keys())
def test_a_problem_of_manifests_is_placed(problem: str, text: str | None, line: int | None) -> None:
    """By the position that it says, or by its object and path; its text says all that the place does not."""
    (found,) = placed_problems(MANIFESTS, [problem])
    assert (found.text, found.line) == (text or problem, line)
