"""Plugins, predicates and priorities of users that are wrong: one message, and never an answer."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

import kubescheduler as ks
from algorithmprovider.custom_code import CustomCodeError
from tests.kubescheduler.cli.conftest import Run, pod
from tests.support.custom.faulty_plugins import CONFIGURATION, written

pytestmark = pytest.mark.usefixtures("own_algorithms")


def plugin(method: str, name: str = 'name = "Mine"') -> str:
    return f"class Mine:\n    {name}\n\n    {method}\n"


PLUGIN_FAULTS = {
    "signature": (plugin("def filter(self, pod): return None"),
        "filter is called with 3 arguments, and does not take them"),
    "filtr": (plugin("def filtr(self, state, pod, node_info): return None"),
        ".py, line 4: there is no extension point filtr; did you mean filter?"),
    "preFilter": (plugin("def preFilter(self, state, pod, snapshot): return None"),
        "there is no extension point preFilter; did you mean pre_filter?"),
    "no name": (plugin("def filter(self, state, pod, node_info): return None", name="nme = 1"),
        "Mine has no name; give it one: name = 'Mine'"),
}  # fmt: skip


@pytest.mark.parametrize(("code", "message"), PLUGIN_FAULTS.values(), ids=PLUGIN_FAULTS)
def test_plugins(kubescheduler: Run, folder: Path, code: str, message: str) -> None:
    """File, line, plugin, pod and node, and exit status 2."""
    module = written(folder, code)
    Path("mine.json").write_text(json.dumps(CONFIGURATION))
    options = ["--release", "1.36", "--config", "mine.json", "--plugin", f"Mine={module}:Mine"]
    kubescheduler("schedule", "cluster.yaml", "--pod", "pod.yaml", *options).refused(message)


def rule(answer: str, register: str, arguments: str = "pod, meta, node_info") -> str:
    return (
        "import algorithmprovider as a, numpy as np\n"
        "from predicates.types import FitPredicate; from priorities.types import PriorityConfig\n"
        f"def rule({arguments}): {answer}\n"
        f"def score(pod, meta, node_info): return 1\n\ndef mine():\n    a.{register}\n"
    )


def columns(answer: str, register: str) -> str:
    return rule(answer, register, "pod, snapshot")


def reducing(answer: str) -> str:
    return rule(answer, "register_priority_function('Mine', score, rule)", "pod, snapshot, scores")


PREFIX = "register_fit_predicate"
PREDICATE = f"{PREFIX}('Mine', rule)"
ANSWER = "it answers (whether it fits, reasons), not"
PRIORITY = "register_priority_function('Mine', rule)"
MADE_PREDICATE = "register_fit_predicate('Mine', FitPredicate('Mine', rule))"
MADE_PRIORITY = "register_priority_function('Mine', PriorityConfig('Mine', rule))"
NODE = "Mine, node n1"
MASK = "the mask of 'no' has one True or False for each of 2 nodes, and is not"
SCORES = "the scores are 2 whole numbers, one for each node, not"
NO_MASKS = "it answers a mapping from each reason to a mask, true where a node fails, not"


RULE_FAULTS = {
    "None": (rule("return None", PREDICATE), NODE, f"{ANSWER} None"),
    "True": (rule("return True", PREDICATE), NODE, f"{ANSWER} True"),
    "text": (rule("return False, 'no'", PREDICATE), NODE, "the reasons are a list of texts, not 'no'"),
    "no reason": (rule("return False, []", PREDICATE), NODE,
        "a node that does not fit needs a reason, and the list of reasons is empty"),
    "raises": (rule("return 1 / 0", PREDICATE), NODE, "ZeroDivisionError: division by zero"),
    "a float": (rule("return 0.5", PRIORITY), NODE, "a score is a whole number, not 0.5"),
    "True as a score": (rule("return True", PRIORITY), NODE, "a score is a whole number, not True"),
    "50 of 10": (rule("return 50", PRIORITY), NODE, "a score is from 0 to 10, not 50"),
    "70 bits": (rule("return 2**70", PRIORITY), NODE, "a score has 64 bits, and"),
    "columns raise": (columns("return 1 / 0", PREDICATE), "Mine", "ZeroDivisionError"),
    "no masks": (columns("return None", PREDICATE), "Mine", f"{NO_MASKS} None"),
    "one mask for all": (columns("return {'no': True}", PREDICATE), "Mine", f"{MASK} True"),
    "mask of three": (columns("return {'no': np.zeros(3, bool)}", PREDICATE), "Mine",
        f"{MASK} an array of bool with shape 3"),
    "mask of floats": (columns("return {'no': np.zeros(2)}", PREDICATE), "Mine",
        f"{MASK} an array of float64 with shape 2"),
    "no text": (columns("return {1: np.zeros(2, bool)}", PREDICATE), "Mine", "a reason is a text, not 1"),
    "a FitPredicate": (columns("return None", MADE_PREDICATE), "Mine", f"{NO_MASKS} None"),
    "scores raise": (columns("return 1 / 0", PRIORITY), "Mine", "ZeroDivisionError"),
    "no scores": (columns("return None", PRIORITY), "Mine", f"{SCORES} None"),
    "three scores": (columns("return np.zeros(3, int)", PRIORITY), "Mine", f"{SCORES} an array of int64 with shape 3"),
    "floats": (columns("return np.zeros(2)", PRIORITY), "Mine", f"{SCORES} an array of float64 with shape 2"),
    "column of 50": (columns("return np.array([50, 0])", PRIORITY), NODE, "from 0 to 10, not 50"),
    "a PriorityConfig": (columns("return np.zeros(3)", MADE_PRIORITY), "Mine", SCORES),
    "reduced to None": (reducing("return None"), "Mine, reduce", f"{SCORES} None"),
    "reduced to floats": (reducing("return scores / 2"), "Mine, reduce", SCORES),
    "reduced to 50": (reducing("return scores * 50"), "Mine, reduce, node n1", "0 to 10, not 50"),
    "reduce raises": (reducing("return scores['no']"), "Mine, reduce", "IndexError"),
}  # fmt: skip


@pytest.mark.parametrize("release", ["1.4", "1.16"])
@pytest.mark.parametrize(("code", "named", "message"), RULE_FAULTS.values(), ids=RULE_FAULTS)
def test_rules(
    kubescheduler: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, release: str, code: str, named: str, message: str
) -> None:
    """File, line, rule, node and pod, and exit status 2; in Python an error with the same text."""
    module = written(folder, code)
    entries = {"predicates": [{"name": "Mine"}]} if PREFIX in code else {"priorities": [{"name": "Mine", "weight": 1}]}
    policy = {"kind": "Policy", "apiVersion": "v1", **entries}
    Path("mine.json").write_text(json.dumps(policy))
    options = ["--release", release, "--policy-config-file", "mine.json", "--plugin", f"{module}:mine"]
    outcome = kubescheduler("schedule", "cluster.yaml", "--pod", "pod.yaml", *options)
    outcome.refused(f"{module}.py, line 3: ", named, message, "(pod default/web)")
    assert outcome.err.count("\n") == 1
    monkeypatch.syspath_prepend(folder)
    importlib.invalidate_caches()
    importlib.import_module(module).mine()
    scheduler = ks.Scheduler(ks.Cluster.read("cluster.yaml", release=release), policy=policy)
    with pytest.raises(CustomCodeError) as raised:
        scheduler.decide("pod.yaml")
    assert f"error: {raised.value}\n" == outcome.err


FULL = pod("low", "3500m", spec=", nodeName: n1") + pod("tiny", "100m", spec=", nodeName: n1")
TRIED = """\
def add_pod(self, state, pod, added, node_info): pass
    def remove_pod(self, state, pod, removed, node_info): pass
    def pre_filter(self, state, pod, snapshot): pass
    def {}(self, state, pod, changed, node_info): return 'no'
    def filter(self, state, pod, node_info): pass
"""


@pytest.mark.parametrize("release", ["1.20", "1.36"])
@pytest.mark.parametrize("method", ["add_pod", "remove_pod"])
def test_preemption_that_tries(kubescheduler: Run, folder: Path, release: str, method: str) -> None:
    """A plugin that is asked what a pod's leaving changes answers a Status or None."""
    (folder / "cluster.yaml").write_text((folder / "cluster.yaml").read_text() + FULL)
    Path("pod.yaml").write_text(pod("web", "3", spec=", priority: 10"))
    module = written(folder, plugin(TRIED.format(method)))
    version = {"1.20": "v1beta1", "1.36": "v1"}[release]
    points = {point: {"enabled": [{"name": "Mine"}]} for point in ("preFilter", "filter")}
    document = {**CONFIGURATION, "apiVersion": f"kubescheduler.config.k8s.io/{version}"}
    Path("mine.json").write_text(json.dumps({**document, "profiles": [{"plugins": points}]}))
    options = ["--release", release, "--config", "mine.json", "--plugin", f"Mine={module}:Mine", "--preempt"]
    outcome = kubescheduler("schedule", "cluster.yaml", "--pod", "pod.yaml", *options)
    assert (outcome.status, outcome.out) == (2, "")
    text = f"plugin Mine, {method}, pod default/web, node n1: it answers None or a Status, not 'no'\n"
    assert outcome.err.partition(", line ")[2].endswith(f": {text}")


HELPERS = """\
def score(self, state, pod, node_info): return self.scores(1)
    def scores(self, one): return one
    def filters(self): pass
    def check(self, pod): pass
    def scoring(self, pod): pass
    def search(self, pod): pass
    def points(self): pass
"""


@pytest.mark.parametrize("release", ["1.20", "1.36"])
def test_helpers(kubescheduler: Run, folder: Path, release: str) -> None:
    """Methods of a plugin's own may have the names that plugins over columns use inside."""
    module = written(folder, plugin(HELPERS))
    version = {"1.20": "v1beta1", "1.36": "v1"}[release]
    profiles = [{"plugins": {"score": {"enabled": [{"name": "Mine", "weight": 1}]}}}]
    document = {**CONFIGURATION, "apiVersion": f"kubescheduler.config.k8s.io/{version}", "profiles": profiles}
    Path("mine.json").write_text(json.dumps(document))
    options = ["--release", release, "--config", "mine.json", "--plugin", f"Mine={module}:Mine"]
    outcome = kubescheduler("schedule", "cluster.yaml", "--pod", "pod.yaml", *options)
    assert (outcome.status, outcome.err) == (0, "")
