"""Texts with other content, and problems at their places in a text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterstate.errors import ConfigError
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.lab.form_rows import SideKind, SideText
from kubescheduler.lab.scene.tune_verbs import form_of
from kubescheduler.lab.text_patches import placed_problems, rewritten

POLICY = """# ours
kind: Policy   # the kind
apiVersion: v1
predicates:
- name: A
# about B
- name: B
priorities:
  - name: X   # best
    weight: 2 # two
  - {name: Z, weight: 1}

# the end
"""

CASES: dict[str, tuple[Mapping[str, Any], str]] = {
    "a number": ({"priorities": [{"name": "X", "weight": 7}, {"name": "Z", "weight": 1}]}, "weight: 7 # two"),
    "in braces": ({"priorities": [{"name": "X", "weight": 2}, {"name": "Z", "weight": 5}]}, "{name: Z, weight: 5}"),
    "one less": ({"predicates": [{"name": "B"}]}, "predicates:\n# about B\n- name: B"),
    "one more": ({"predicates": [{"name": "A"}, {"name": "B"}, {"name": "C"}]}, "- name: B\n- name: C\npriorities:"),
    "one more before": ({"predicates": [{"name": "0"}, {"name": "A"}, {"name": "B"}]}, "- name: '0'\n- name: A"),
    "another key": ({"hard": {"a": [1]}}, "weight: 1}\nhard:\n  a:\n  - 1\n\n# the end"),
    "none": ({"predicates": []}, "predicates: []\npriorities:"),
}


@pytest.mark.parametrize(("change", "found"), CASES.values(), ids=CASES.keys())
def test_what_does_not_change_stays_as_it_was_written(change: Mapping[str, Any], found: str) -> None:
    """Comments and layout are kept, and the content is exactly what was wanted."""
    out = rewritten(POLICY, {**yaml.safe_load(POLICY), **change})
    assert out.kept
    assert found in out.text
    assert yaml.safe_load(out.text) == {**yaml.safe_load(POLICY), **change}
    assert {"# ours", "# the end", "# the kind"} <= {
        part.strip() for line in out.text.split("\n") for part in (line, line[15:])
    }


def test_json_stays_json() -> None:
    """Also with more in it."""
    text = '{\n  "priorities": [\n    {"name": "X", "weight": 2}\n  ]\n}\n'
    after = {"priorities": [{"name": "X", "weight": 3}, {"name": "Z", "weight": 1}], "b": True}
    out = rewritten(text, after)
    assert out.text == (
        '{\n  "priorities": [\n    {"name": "X", "weight": 3},\n    {"name":"Z","weight":1}\n  ],\n  "b": true\n}\n'
    )


def test_text_that_cannot_be_altered_is_written_anew() -> None:
    """A value behind an alias is in two places; TOML is written as YAML; both are said."""
    shared = "a: &x {w: 1}\nb: *x\n"
    out = rewritten(shared, {"a": {"w": 1}, "b": {"w": 2}})
    assert not out.kept
    assert yaml.safe_load(out.text) == {"a": {"w": 1}, "b": {"w": 2}}
    toml = rewritten('kind = "Policy"\n', {"kind": "Policy", "apiVersion": "v1"})
    assert (toml.kept, toml.text) == (False, "kind: Policy\napiVersion: v1\n")


plain = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 99) | st.text("ab: #'\n-", max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "name", "c d"]), inner, max_size=3)
    ),
    max_leaves=12,
)
documents = st.dictionaries(st.sampled_from(["a", "b", "c"]), plain, min_size=1)


@given(before=documents, after=documents, style=st.sampled_from(["block", "mixed", "json"]))
@settings(max_examples=100)
def test_the_content_is_always_what_was_wanted(before: Any, after: Any, style: str) -> None:
    """Whatever is written, and however it changes."""
    written = yaml.safe_dump(before, default_flow_style=None if style == "mixed" else False)
    text = json.dumps(before) if style == "json" else f"# ours\n{written}"
    out = rewritten(text, after)
    assert yaml.safe_load(out.text) == after


CONFIG = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n- plugins:\n"
POLICY_WITH_PROBLEMS = "kind: Policy\napiVersion: v1\npriorities:\n"

PLACES: dict[str, tuple[str, SideKind, str, str | None, int | None]] = {
    "a value": ("1.36", "config",
        f"{CONFIG}    score:\n      enabled:\n      - name: ImageLocality\n        weight: x\n",
        "profiles[0].plugins.score.enabled[0].weight", 8),
    "an entry": ("1.16", "policy", f"{POLICY_WITH_PROBLEMS}- name: A\n  weight: 1\n", "priorities[0]", 4),
    "a weight": ("1.16", "policy", f"{POLICY_WITH_PROBLEMS}- name: EqualPriority\n  weight: 0\n",
        "priorities[0].weight", 5),
    "no YAML": ("1.36", "config", "a: [\nb", None, 3),
    "no kind": ("1.36", "config", "profiles: []\n", None, None),
}  # fmt: skip


@pytest.mark.parametrize(("release", "kind", "text", "path", "line"), PLACES.values(), ids=PLACES.keys())
def test_a_problem_is_placed(release: str, kind: SideKind, text: str, path: str | None, line: int | None) -> None:
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
