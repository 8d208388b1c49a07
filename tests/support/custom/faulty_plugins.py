"""Plugins, predicates and priorities that answer what they must not, and what is to be said of each.

Then all kinds of errors that keep a pod from being decided, each as the files that bring it about.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

IMPORTS = "import numpy as np\nfrom kubescheduler.core.status import Code, Status\n"


@attrs.frozen
class Fault:
    """One point and one answer."""

    method: str
    """With its arguments, as ``filter(self, state, pod, node_info)``."""
    answer: str
    """A statement, the body of the method."""
    text: str
    """What is wrong, as the message ends."""
    node: str = ""
    """The node that the message names."""
    besides: str = ""
    """More lines of the class."""

    @property
    def name(self) -> str:
        return self.method.partition("(")[0]

    @property
    def id(self) -> str:
        return f"{self.name}: {self.answer}"


STATUS = "it answers None or a Status, not {}"
SCORE = "a score is a whole number, not {}"
SCORES = "the scores are 2 whole numbers, one for each node, not {}"
MASK = "the mask of 'no' has one True or False for each of 2 nodes, and is not {}"
RANGE = (
    'applying score defaultWeights on Score plugins: plugin "Mine" returns an invalid score {}, it should in the range '
    "of [0, 100] after normalizing"
)
RAISES = ("return {}['no']", "KeyError: 'no'")
NO_MASKS = "it answers a mapping from each reason to a mask, true where a node fails, not {}"

STATUS_FAULTS = (
    RAISES,
    ("return True", STATUS.format("True")),
    ("return 'no'", STATUS.format("'no'")),
    ("return Status(Code.Unschedulable, 'no')", "the reasons of a Status are texts, not 'no'"),
    ("return Status.unschedulable(['no'])", "the reasons of a Status are texts, not (['no'],)"),
    ("return Status(2, ('no',))", "the code of a Status is one of Code, not 2"),
    ("return Status.failure(KeyError('no'))", "the error of a Status is a text, not KeyError('no')"),
)
NOTHING_FAULTS = (RAISES, ("return True", "it answers nothing, not True"))
COLUMN_SCORE_FAULTS = (
    RAISES,
    ("return None", SCORES.format("None")),
    ("return 5", SCORES.format("5")),
    ("return np.array([1])", SCORES.format("an array of int64 with shape 1")),
    ("return np.zeros((2, 2), np.int64)", SCORES.format("an array of int64 with shape 2 × 2")),
    ("return np.array([0.5, 1])", SCORES.format("an array of float64 with shape 2")),
    ("return np.array([True, False])", SCORES.format("an array of bool with shape 2")),
    ("return ['a', 'b']", SCORES.format("['a', 'b']")),
    ("return [[1], [2, 3]]", SCORES.format("[[1], [2, 3]]")),
    ("return np.array([2**64 - 1, 0], np.uint64)", "a score has 64 bits, and 18446744073709551615 has more"),
)
BOTH, MODERN = ("1.20", "1.36"), ("1.36",)


def _all(method: str, faults: Sequence[tuple[str, str]], node: str = "", besides: str = "") -> list[Fault]:
    return [Fault(method, answer, text, node, besides) for answer, text in faults]


def _scores(method: str, node: str) -> list[Fault]:
    ones = "def score(self, state, pod, node_info): return 1"
    besides = ones if method.startswith("normalize") else ""
    wrong = Fault(method, "return np.array([100, 101])", RANGE.format(101), node, besides)
    return [*_all(method, COLUMN_SCORE_FAULTS, besides=besides), wrong]


ON_NODES = "(self, state, pod, node_info)"
ON_NAME = "(self, state, pod, node_name)"

DECIDING: list[Fault] = [
    *_all(
        "pre_filter(self, state, pod, snapshot)",
        [
            RAISES,
            ("return True", "it answers None, a Status or a PreFilterResult, not True"),
            ("return PreFilterResult('n1')", "the node_names of a PreFilterResult are a set of names, not 'n1'"),
            ("return PreFilterResult({1})", "the node_names of a PreFilterResult are a set of names, not {1}"),
            ("return PreFilterResult({'n1'}), 5", STATUS.format("5")),
        ],
    ),
    *_all(f"filter{ON_NODES}", STATUS_FAULTS, "n1"),
    *_all(
        "filter_nodes(self, state, pod, snapshot)",
        [
            RAISES,
            ("return None", NO_MASKS.format("None")),
            ("return True", NO_MASKS.format("True")),
            ("return ['no']", NO_MASKS.format("['no']")),
            ("return np.array([True, False])", NO_MASKS.format("an array of bool with shape 2")),
            ("return {'no': None}", MASK.format("None")),
            ("return {'no': True}", MASK.format("True")),
            ("return {'no': np.array([True])}", MASK.format("an array of bool with shape 1")),
            ("return {'no': np.array([1, 0])}", MASK.format("an array of int64 with shape 2")),
            ("return {'no': np.array([0.5, 0.0])}", MASK.format("an array of float64 with shape 2")),
            ("return {'no': [[True], [True, False]]}", MASK.format("[[True], [True, False]]")),
            ("return {5: np.array([True, False])}", "a reason is a text, not 5"),
            ("return {Status(2, ('no',)): np.array([True, False])}", "the code of a Status is one of Code, not 2"),
        ],
    ),
    *_all("pre_score(self, state, pod, snapshot)", STATUS_FAULTS),
    *_all(
        f"score{ON_NODES}",
        [
            RAISES,
            ("return None", SCORE.format("None")),
            ("return 0.5", SCORE.format("0.5")),
            ("return True", SCORE.format("True")),
            ("return np.array([5])", SCORE.format("an array of int64 with shape 1")),
            ("return 2**70", "a score has 64 bits, and 1180591620717411303424 has more"),
            ("return 101", RANGE.format(101)),
            ("return -1", RANGE.format(-1)),
        ],
        "n1",
    ),
    *_scores("score_nodes(self, state, pod, snapshot)", "n2"),
    *_scores("normalize_scores(self, state, pod, scores)", "n2"),
]
"""What ``schedule`` meets, too."""

REFUSING = "def filter(self, state, pod, node_info): return Status.unschedulable('no')"
FAILING = "def pre_bind(self, state, pod, node_name): return Status.unschedulable('no')"
POST = "it answers (node name or None, Status or None), not {}"
LESS = "it answers whether the pod is tried before default/web-0, True or False"
WAITS = "it answers (Status or None, seconds), not {}"

CYCLES: list[Fault] = [
    *_all("less(self, first, second)", [RAISES, ("return None", f"{LESS}, not None"), ("return 1", f"{LESS}, not 1")]),
    *_all(
        "post_filter(self, state, pod, statuses)",
        [
            RAISES,
            ("return None", POST.format("None")),
            ("return 'n1'", POST.format("'n1'")),
            ("return 'n1', None, 5", POST.format("('n1', None, 5)")),
            ("return 5, None", "the nominated node is a name or None, not 5"),
            ("return None, 'no'", STATUS.format("'no'")),
        ],
        besides=REFUSING,
    ),
    *_all(f"reserve{ON_NAME}", STATUS_FAULTS, "n1"),
    *_all(f"unreserve{ON_NAME}", NOTHING_FAULTS, "n1", f"def reserve{ON_NAME}: pass\n    {FAILING}"),
    *_all(
        f"permit{ON_NAME}",
        [
            RAISES,
            ("return None", WAITS.format("None")),
            ("return Status(Code.Wait)", WAITS.format("Status(code=<Code.Wait: 4>, reasons=(), error=None, plugin='…")),
            ("return Status(Code.Wait), None", "the seconds are a number, not None"),
            ("return Status(Code.Wait), '5'", "the seconds are a number, not '5'"),
            ("return Status(Code.Wait), float('nan')", "the seconds are a number, not nan"),
            ("return True, 5", STATUS.format("True")),
        ],
        "n1",
    ),
    *_all(f"pre_bind{ON_NAME}", STATUS_FAULTS, "n1"),
    *_all(f"bind{ON_NAME}", STATUS_FAULTS, "n1"),
    *_all(f"post_bind{ON_NAME}", NOTHING_FAULTS, "n1"),
]
"""What only a whole scheduler meets."""

ONLY_1_36: list[Fault] = [
    *_all("pre_enqueue(self, pod)", STATUS_FAULTS),
    *_all(
        f"pre_bind_pre_flight{ON_NAME}",
        [
            RAISES,
            ("return True", "it answers None, a Status or a PreFlight, not True"),
            ("return PreFlight(5)", STATUS.format("5")),
            ("return PreFlight(None, 5)", "allow_parallel is True or False, not 5"),
        ],
        "n1",
        f"def pre_bind{ON_NAME}: pass",
    ),
]


def plugin_module(folder: Path, fault: Fault) -> str:
    """Writes a module with the class Mine, and gives its name; another for other code."""
    code = (
        f"{IMPORTS}from kubescheduler.framework.contract.plugin import PreFilterResult, PreFlight\n\n\n"
        f'class Mine:\n    name = "Mine"\n\n    {fault.besides}\n\n    def {fault.method}:\n        {fault.answer}\n'
    )
    return written(folder, code)


def line_of(folder: Path, module: str, text: str) -> int:
    """In which line of a module a text stands."""
    lines = (folder / f"{module}.py").read_text().splitlines()
    return next(at for at, line in enumerate(lines, start=1) if text in line)


def written(folder: Path, code: str) -> str:
    """The name of a module with the code; another for other code, as Python imports a module once."""
    name = f"plugin_{zlib.crc32(code.encode())}"
    (folder / f"{name}.py").write_text(code)
    return name


ADDRESS = "@ADDRESS@"
"""Where the address of a running extender comes in."""
CONFIGURATION = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": "Mine", "weight": 1}]}}}],
}


@attrs.frozen
class ErrorKind:
    """One kind of error."""

    text: str
    """What the message says of it."""
    policy: Mapping[str, Any] | None = None
    """What a Policy has; None: a plugin decides, with release 1.36."""
    plugin: str = ""
    """A method of the plugin."""
    files: Mapping[str, str] = attrs.field(factory=dict)
    """Files in place of those that are there; empty text: the file is not there."""
    in_attempt: bool = False
    """Whether it ends an attempt of a release as it would in a cluster; otherwise nothing is decided at all."""

    def write(self, folder: Path, address: str) -> None:
        """The files, in a folder that has cluster.yaml and pod.yaml already."""
        for name, text in self.files.items():
            (folder / name).write_text(text) if text else (folder / name).unlink()
        if self.policy is not None:
            document = {"kind": "Policy", "apiVersion": "v1", **self.policy}
            (folder / "policy.json").write_text(json.dumps(document).replace(ADDRESS, address))
        else:
            (folder / "config.json").write_text(json.dumps(CONFIGURATION))

    def module(self, folder: Path) -> str:
        """The module with the plugin Mine; empty for none."""
        imports = "from kubescheduler.core.status import Status\n\n\n"
        return written(folder, f'{imports}class Mine:\n    name = "Mine"\n\n    {self.plugin}\n') if self.plugin else ""

    @property
    def spec(self) -> str:
        """What decides, as ``--new`` takes it."""
        return "release=1.16,policy=policy.json" if self.policy is not None else "release=1.36,config=config.json"


def extenders(behaviour: str, address: str = ADDRESS) -> dict[str, Any]:
    """What a Policy has with an extender of that behaviour."""
    return {"extenders": [{"urlPrefix": f"{address}/{behaviour}", "filterVerb": "filter"}]}


KINDS = {
    "a dead extender": ErrorKind("Connection refused", extenders("x", "http://127.0.0.1:1"), in_attempt=True),
    "an extender with status 500": ErrorKind("code 500", extenders("500"), in_attempt=True),
    "an extender with broken JSON": ErrorKind("cannot read the extender's answer", extenders("garbage"),
        in_attempt=True),
    "an extender with an error": ErrorKind("95%", extenders("error"), in_attempt=True),
    "a Filter that raises": ErrorKind("ZeroDivisionError: division by zero",
        plugin="def filter(self, state, pod, node_info): return 1 / 0"),
    "a Score that raises": ErrorKind("ZeroDivisionError: division by zero",
        plugin="def score(self, state, pod, node_info): return 1 / 0"),
    "a plugin that answers something else": ErrorKind("it answers None or a Status, not True",
        plugin="def filter(self, state, pod, node_info): return True"),
    "a Filter that answers an error": ErrorKind("no such disk",
        plugin="def filter(self, state, pod, node_info): return Status.failure('no such disk')", in_attempt=True),
    "a fault of the policy": ErrorKind("PodFitsHostPort", {"predicates": [{"name": "PodFitsHostPort"}]}),
    "a fault of the cluster": ErrorKind("did you mean labels?", {},
        files={"cluster.yaml": "kind: Node\nmetadata: {name: n1, label: {a: b}}\n"}),
    "a cluster that is missing": ErrorKind("cluster.yaml", {}, files={"cluster.yaml": ""}),
}  # fmt: skip
