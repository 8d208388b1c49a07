"""Plugins, predicates and priorities of users, with answers that no scheduler expects."""

from __future__ import annotations

from random import Random

from benchmarks.fuzzing.fuzz_cases import Case
from benchmarks.fuzzing.fuzz_documents import MINE, MY_POLICY, dumped
from kubescheduler.framework.contract.points import POINTS_1_20
from kubescheduler.releases.lookup import RELEASES

ANSWERS = (
    *("None", "True", "False", "0", "1", "-1", "50", "2**70", "0.5", "float('nan')", "float('inf')", "'no'", "b'no'"),
    *("[]", "{}", "()", "set()", "[None]", "{'n1': 1}", "(True, [])", "(False, ['no'])", "(False, 'no')", "(1, 2, 3)"),
    *("(False, [None])", "(None, 5)", "('n1', None)", "('n9', None)", "(None, 0.5)", "(None, -1)", "(None, 10**30)"),
    *("object()", "object", "lambda *_: 0", "(i for i in range(3))", "NotImplemented", "...", "Odd()", "arguments[-1]"),
    *("np.zeros(2)", "np.zeros(2, np.int64)", "np.ones(2, bool)", "np.zeros((2, 2), int)", "np.array(['a', 'b'])"),
    *("np.array([2**62, 2**62])", "np.int64(5)", "np.bool_(True)", "{'no': np.ones(2, bool)}", "{5: np.ones(2, bool)}"),
    *(
        "{'no': np.ones(9, bool)}",
        "{'no': [True, False]}",
        "{'no': 5}",
        "{Status.unschedulable('x'): np.ones(2, bool)}",
    ),
    *("Status.unschedulable('no')", "Status.unresolvable('no')", "Status.failure('no')", "Status(Code.Wait)"),
    *("Status(Code.Skip)", "Status.unschedulable(5)", "Status.unschedulable('\\x1b[31m\\u202e\\0a\\nb')", "Status(99)"),
    *(
        "PreFilterResult(frozenset())",
        "PreFilterResult(frozenset({'n9'}))",
        "PreFilterResult(5)",
        "PreFilterResult(['n1'])",
    ),
    *("raised(ValueError('odd'))", "raised(KeyError())", "raised(SystemExit(0))", "raised(SystemExit('bye'))"),
    *("raised(StopIteration())", "raised(GeneratorExit())", "raised(RecursionError())", "raised(MemoryError())"),
    *("raised(OSError(28, 'No space left'))", "raised(BrokenPipeError())", "raised(SchedulingError('no'))"),
    *("raised(Silent())", "raised(UnicodeDecodeError('utf-8', b'x', 0, 1, 'odd'))", "raised(AssertionError)"),
    *(
        "1 / 0",
        "deeper()",
        "open('/nowhere')",
        "[][0]",
        "'x' * 100_000",
        "'\\x1b]0;title\\x07'",
        "__import__('nowhere')",
    ),
)
CODE = """\
import numpy as np
from algorithmprovider import register_fit_predicate, register_priority_function
from clusterstate.errors import SchedulingError
from kubescheduler.core.status import Code, Status
from kubescheduler.framework.contract.plugin import PreFilterResult

class Silent(Exception):
    def __str__(self): raise ValueError

class Odd:
    def __repr__(self): raise ValueError
    def __bool__(self): raise ValueError
    def __eq__(self, other): raise ValueError
    __hash__ = None

def raised(error): raise error

def deeper(): return deeper()

"""
METHODS = {
    "pre_enqueue": "pod",
    "less": "first, second",
    "pre_filter": "state, pod, snapshot",
    "filter": "state, pod, node_info",
    "filter_nodes": "state, pod, snapshot",
    "post_filter": "state, pod, statuses",
    "pre_score": "state, pod, snapshot",
    "score": "state, pod, node_info",
    "score_nodes": "state, pod, snapshot",
    "normalize_scores": "state, pod, scores",
    "reserve": "state, pod, node_name",
    "permit": "state, pod, node_name",
    "pre_bind_pre_flight": "state, pod, node_name",
    "pre_bind": "state, pod, node_name",
    "bind": "state, pod, node_name",
    "post_bind": "state, pod, node_name",
}
COMMANDS = (
    ("schedule", "busy.yaml", "--pod", "pod.yaml", "--explain"),
    ("schedule", "busy.yaml", "--pending", "--preempt", "-o", "json"),
    ("simulate", "busy.yaml", "--workload", "workload.yaml", "--pending", "--preempt"),
    ("capacity", "given.yaml", "--pod", "pod.yaml", "--limit", "3"),
)


def plugin_case(rng: Random) -> Case:
    """A framework plugin with one to three methods that answer something odd."""
    lines = [rng.choice(["name = 'Mine'"] * 12 + ["name = 5", "name = ''", "nme = 1", "name = '\\x1b[31m'", ""])]
    for method in rng.sample(list(METHODS), rng.randint(1, 3)):
        arguments = METHODS[method] if rng.random() < 0.9 else rng.choice(["pod", "*rest", "a, b, c, d", "*, key"])
        lines += _method(rng, method if rng.random() < 0.97 else method[:-1], f"self, {arguments}")
    if rng.random() < 0.1:
        lines += [f"def __init__(self, *arguments): {rng.choice(ANSWERS)}"]
    if rng.random() < 0.1:
        lines += [f"points = {rng.choice(['[]', '5', 'None', '[5]', '{0}'])}"]
    code = CODE + "class Mine:\n" + "".join(f"    {line}\n" for line in lines)
    factory = rng.choice(["Mine"] * 9 + ["Gone", "raised", "CODE", "np", "5"])
    release = rng.choice(["1.20", "1.36", "1.36", "1.36"])
    config = _points(rng) if RELEASES[release].reads_policies else MINE
    return _case(rng, code, dumped(config), ("--release", release, "--config", "mine.json"), f"Mine={{}}:{factory}")


def rule_case(rng: Random) -> Case:
    """A predicate and a priority of 1.4 or 1.16 that answer something odd."""
    arguments = ["pod, meta, node_info", "pod, meta, node_info", "pod, snapshot", "*arguments", "pod", ""]
    lines = [*_method(rng, "fits", rng.choice(arguments)), *_method(rng, "scores", rng.choice(arguments))]
    register = [
        f"register_fit_predicate({rng.choice(['`Mine`'] * 9 + ['5', '``', '`a b`'])}, fits)",
        f"register_priority_function({rng.choice(['`Mine`'] * 9 + ['5', 'None'])}, scores)",
        rng.choice(["pass"] * 9 + list(ANSWERS)),
    ]
    lines += ["def register():", *(f"    {line.replace('`', chr(39))}" for line in register)]
    code = CODE + "".join(f"{line}\n" for line in lines)
    policy = dumped(MY_POLICY)
    return _case(
        rng,
        code,
        policy,
        ("--policy-config-file", "mine.json", "--release", rng.choice(["1.4", "1.16"])),
        "{}:register",
    )


def _method(rng: Random, name: str, arguments: str) -> list[str]:
    answer = rng.choice(ANSWERS)
    if "arguments" not in arguments:
        answer = answer.replace("arguments[-1]", arguments.rsplit(", ", maxsplit=1)[-1].lstrip("*") or "None")
    kind = rng.random()
    if kind < 0.03:
        return [f"{name} = {answer if 'raised' not in answer and '/' not in answer else 5}"]
    return [f"{'async ' if kind < 0.06 else ''}def {name}({arguments}): return {answer}"]


def _points(rng: Random) -> object:
    """A configuration of 1.20, which names a plugin at every point."""
    points = [point.value for point in POINTS_1_20]
    chosen = rng.sample(points, rng.randint(1, len(points)))
    plugins = {point: {"enabled": [{"name": "Mine", "weight": 1}]} for point in chosen}
    if "queueSort" in plugins:
        plugins["queueSort"]["disabled"] = [{"name": "*"}]
    return {**MINE, "apiVersion": "kubescheduler.config.k8s.io/v1beta1", "profiles": [{"plugins": plugins}]}


def _case(rng: Random, code: str, config: bytes, options: tuple[str, ...], plugin: str) -> Case:
    module = f"fuzz_plugin_{rng.getrandbits(60)}"
    if rng.random() < 0.05:
        code = code[: rng.randrange(len(code))]
    files = {f"{module}.py": code.encode(), "mine.json": config}
    return Case((*rng.choice(COMMANDS), *options, "--plugin", plugin.format(module)), files)
