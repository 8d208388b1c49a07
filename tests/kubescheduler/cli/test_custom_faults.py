"""Plugins, predicates and priorities of users that are wrong: one message, and never an answer."""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import pytest

from tests.kubescheduler.cli.conftest import Run

pytestmark = pytest.mark.usefixtures("own_algorithms")

CONFIGURATION = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": "Mine", "weight": 1}]}}}],
}


def written(folder: Path, code: str) -> str:
    """The name of a module with the code; another for other code, as Python imports a module once."""
    name = f"plugin_{zlib.crc32(code.encode())}"
    (folder / f"{name}.py").write_text(code)
    return name


def plugin(method: str, name: str = 'name = "Mine"') -> str:
    return f"class Mine:\n    {name}\n\n    {method}\n"


@pytest.mark.parametrize(
    ("code", "messages"),
    [
        pytest.param(
            plugin("def filter(self, state, pod, node_info): return {}['no']"),
            [".py, line 4: plugin Mine, filter, pod default/web, node n1: KeyError: 'no'"],
            id="raises",
        ),
        pytest.param(
            plugin("def filter(self, state, pod, node_info): return True"),
            [".py, line 4: plugin Mine, filter, pod default/web, node n1: it answers None or a Status, not True"],
            id="true",
        ),
        pytest.param(
            plugin("def score(self, state, pod, node_info): return 0.5"),
            ["plugin Mine, score, pod default/web, node n1: a score is a whole number, not 0.5"],
            id="a float",
        ),
        pytest.param(
            plugin("def pre_filter(self, state, pod, snapshot): raise ValueError('odd')"),
            [".py, line 4: plugin Mine, pre_filter, pod default/web: ValueError: odd"],
            id="raises before",
        ),
        pytest.param(
            plugin("def filter(self, pod): return None"),
            ["filter is called with 3 arguments, and does not take them"],
            id="signature",
        ),
        pytest.param(
            plugin("def filtr(self, state, pod, node_info): return None"),
            [".py, line 4: there is no extension point filtr; did you mean filter?"],
            id="filtr",
        ),
        pytest.param(
            plugin("def preFilter(self, state, pod, snapshot): return None"),
            ["there is no extension point preFilter; did you mean pre_filter?"],
            id="preFilter",
        ),
        pytest.param(
            plugin("def filter(self, state, pod, node_info): return None", name="nme = 1"),
            ["Mine has no name; give it one: name = 'Mine'"],
            id="no name",
        ),
    ],
)
def test_plugins(kubescheduler: Run, folder: Path, code: str, messages: list[str]) -> None:
    """File, line, plugin, pod and node, and exit status 2."""
    module = written(folder, code)
    Path("mine.json").write_text(json.dumps(CONFIGURATION))
    options = ["--release", "1.36", "--config", "mine.json", "--plugin", f"Mine={module}:Mine"]
    outcome = kubescheduler("schedule", "cluster.yaml", "--pod", "pod.yaml", *options)
    assert (outcome.status, outcome.out) == (2, "")
    for message in messages:
        assert message in outcome.err
    assert "Traceback" not in outcome.err


def rule(answer: str, register: str) -> str:
    return (
        f"import algorithmprovider as a\n\ndef rule(pod, meta, node_info): {answer}\n\ndef mine():\n    a.{register}\n"
    )


PREDICATE = "register_fit_predicate('Mine', rule)"
PRIORITY = "register_priority_function('Mine', rule)"


@pytest.mark.parametrize(
    ("code", "message"),
    [
        pytest.param(rule("return None", PREDICATE), "it answers (whether it fits, reasons), not None", id="None"),
        pytest.param(rule("return True", PREDICATE), "it answers (whether it fits, reasons), not True", id="True"),
        pytest.param(
            rule("return False, 'no'", PREDICATE), "the reasons are a list of texts, not 'no'", id="a text as reasons"
        ),
        pytest.param(rule("return 1 / 0", PREDICATE), "ZeroDivisionError: division by zero", id="raises"),
        pytest.param(rule("return 0.5", PRIORITY), "a score is a whole number, not 0.5", id="a float"),
        pytest.param(rule("return True", PRIORITY), "a score is a whole number, not True", id="True as a score"),
        pytest.param(rule("return 50", PRIORITY), "a score is from 0 to 10, not 50", id="50 of 10"),
    ],
)
def test_rules(kubescheduler: Run, folder: Path, code: str, message: str) -> None:
    """File, line, rule, node and pod, and exit status 2."""
    module = written(folder, code)
    key = "predicates" if "fit_predicate" in code else "priorities"
    Path("mine.json").write_text(
        json.dumps({"kind": "Policy", "apiVersion": "v1", key: [{"name": "Mine", "weight": 1}]})
    )
    options = ["--policy-config-file", "mine.json", "--plugin", f"{module}:mine"]
    outcome = kubescheduler("schedule", "cluster.yaml", "--pod", "pod.yaml", *options)
    assert (outcome.status, outcome.out) == (2, "")
    assert f"{module}.py, line 3: " in outcome.err
    assert "Mine, node n1" in outcome.err
    assert message in outcome.err
    assert "(pod default/web)" in outcome.err
