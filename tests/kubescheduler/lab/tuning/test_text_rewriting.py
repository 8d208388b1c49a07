"""Texts that are altered in place, and those that are written anew."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from kubescheduler.lab.tuning.text_rewriting import rewritten

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
    out = rewritten(POLICY, lambda document: {**document, **change})
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
    out = rewritten(text, lambda _: after)
    assert out.text == (
        '{\n  "priorities": [\n    {"name": "X", "weight": 3},\n    {"name":"Z","weight":1}\n  ],\n  "b": true\n}\n'
    )


def test_text_that_cannot_be_altered_is_written_anew() -> None:
    """A value behind an alias is in two places; TOML is written as YAML; both are said."""
    shared = "a: &x {w: 1}\nb: *x\n"
    out = rewritten(shared, lambda document: {**document, "b": {"w": 2}})
    assert not out.kept
    assert yaml.safe_load(out.text) == {"a": {"w": 1}, "b": {"w": 2}}
    toml = rewritten('kind = "Policy"\n', lambda document: {**document, "apiVersion": "v1"})
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
@settings(max_examples=300, deadline=None)
def test_the_content_is_always_what_was_wanted(before: Any, after: Any, style: str) -> None:
    """Whatever is written, and however it changes."""
    written = yaml.safe_dump(before, default_flow_style=None if style == "mixed" else False)
    text = json.dumps(before) if style == "json" else f"# ours\n{written}"
    out = rewritten(text, lambda _: after)
    assert yaml.safe_load(out.text) == after
