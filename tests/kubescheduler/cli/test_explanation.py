"""Explanations on terminals of 80, 120 and 200 columns, in every release."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

import kubescheduler as ks
from kubescheduler.cli.explanation import refusals
from kubescheduler.cli.output import columns
from tests.kubescheduler.cli.conftest import ROOT, Run
from tests.support.processes.disturbed_processes import Shown, here_on_a_terminal
from tests.support.releases_tried import RELEASES_TRIED

WIDTHS = (80, 120, 200)
EXAMPLE = (str(ROOT / "policy_examples" / "cluster.yaml"), "--pod", str(ROOT / "policy_examples" / "pod.yaml"))
LONG = "ip-10-0-123-{}.eu-central-1.compute.internal.cluster-of-the-payments-department.example.com"
ESCAPE = "\x1b"


def shown(*arguments: str, width: int, **environment: str) -> Shown:
    return here_on_a_terminal(["schedule", *arguments], width=width, **environment)


def words(lines: Sequence[str]) -> set[str]:
    return {word for line in lines for word in line.split()}


@pytest.fixture
def crowd(folder: Path) -> str:
    """Forty nodes with long names, of which every fourth is too small."""
    nodes = [
        {
            "kind": "Node",
            "metadata": {"name": LONG.format(number)},
            "status": {"allocatable": {"cpu": "4" if number % 4 else "100m", "memory": f"{number + 2}Gi", "pods": "9"}},
        }
        for number in range(40)
    ]
    (folder / "crowd.json").write_text(json.dumps({"kind": "List", "items": nodes}))
    return "crowd.json"


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("release", RELEASES_TRIED)
@pytest.mark.parametrize("option", ["--explain", "--top=2", "--node=worker-1"])
def test_explanations_fit_the_screen(release: str, width: int, option: str, kubescheduler: Run) -> None:
    """No line is wider than the terminal, and it says what a pipe gets: all words of that, long ones perhaps broken."""
    arguments = (*EXAMPLE, "--release", release, option)
    found = shown(*arguments, width=width)
    assert found.status == 0
    assert max(map(columns, found.lines)) <= width
    piped = kubescheduler("schedule", *arguments).out
    assert "chosen" in piped or option == "--node=worker-1"
    assert {word for word in words(piped.splitlines()) if word.isdecimal()} <= words(found.lines)


@pytest.mark.parametrize("width", [20, *WIDTHS])
def test_long_names_of_many_nodes(crowd: str, width: int) -> None:
    """Names that are wider than the screen are broken, and none is lost."""
    found = shown(crowd, "--pod", "pod.yaml", "--explain", width=width)
    assert max(map(columns, found.lines)) <= width
    text = "".join(line.strip() for line in found.lines)
    assert all(LONG.format(number) in text for number in range(40))
    assert found.raw.count("chosen") == 1


def test_a_transposed_table(crowd: str) -> None:
    """Rules stand one below the other where a line for each node would be too wide."""
    lines = shown(*EXAMPLE, "--top=2", width=80).lines
    assert ["NODE", "worker-1", "worker-5"] in [line.split() for line in lines]
    assert ["LeastRequestedPriority*1", "7", "4"] in [line.split() for line in lines]


def test_a_terminal_that_does_not_say_how_wide_it_is() -> None:
    """It is taken to have 80 columns; COLUMNS says otherwise."""
    assert shown(*EXAMPLE, "--explain", width=0).lines == shown(*EXAMPLE, "--explain", width=80).lines
    assert shown(*EXAMPLE, "--explain", width=80, COLUMNS="200").lines == shown(*EXAMPLE, "--explain", width=200).lines


def test_the_same_in_every_pipe(kubescheduler: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody looks neither COLUMNS nor a terminal elsewhere changes a byte, and there are no colours."""
    first = kubescheduler("schedule", *EXAMPLE, "--explain").out
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "xterm-256color")
    assert kubescheduler("schedule", *EXAMPLE, "--explain").out == first
    assert ESCAPE not in first
    assert max(map(len, first.splitlines())) > 120


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)],
    ids=["terminal", "NO_COLOR", "empty NO_COLOR", "dumb terminal"],
)
def test_colours(environment: dict[str, str], *, coloured: bool) -> None:
    """The chosen node is green on a terminal that has colours, unless NO_COLOR says no."""
    found = shown(*EXAMPLE, "--explain", width=120, **environment)
    assert ("\x1b[32mchosen\x1b[0m" in found.raw) is coloured
    assert (ESCAPE in found.raw) is coloured


# --- which nodes ---------------------------------------------------------------------------


def test_top(crowd: str, kubescheduler: Run) -> None:
    """The best of those that fit, the first of those that do not, and what is left out in a line each."""
    outcome = kubescheduler("schedule", crowd, "--pod", "pod.yaml", "--top", "2")
    named = [line.split()[0] for line in outcome.out.splitlines() if line.startswith("ip-")]
    assert len(named) == 4
    assert "28 more nodes fit, with totals of " in outcome.out
    assert "\n8 more nodes do not fit: 8 Insufficient cpu.\n" in outcome.out
    document = json.loads(kubescheduler("schedule", crowd, "--pod", "pod.yaml", "--top", "3", "-o", "json").out)
    evidence = document["items"][0]["evidence"]
    assert [("scores" in found) for found in evidence.values()] == [True] * 3 + [False] * 3


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_one_node_in_full(release: str, kubescheduler: Run) -> None:
    """Every score with its formula and inputs, every refusal with its facts, and where more is said of the rule."""
    outcome = kubescheduler(
        "schedule", *EXAMPLE, "--release", release, "--node", "worker-1", "--node", "worker-6", "-o", "table"
    )
    assert outcome.status == 0
    assert "worker-1 fits: total " in outcome.out
    assert "worker-6 does not fit" in outcome.out
    assert "    cpu: requested 1000m, allocatable 4000m\n" in outcome.out
    assert "wants a toleration of dedicated=batch:NoSchedule" in outcome.out
    assert "see: kubescheduler explain " in outcome.out
    assert "worker-2" not in outcome.out


def test_one_node_in_documents(kubescheduler: Run) -> None:
    """Only its evidence is there."""
    outcome = kubescheduler("schedule", *EXAMPLE, "--node", "worker-6", "-o", "json")
    assert list(json.loads(outcome.out)["items"][0]["evidence"]) == ["worker-6"]


def test_the_scores_of_a_node_are_those_before_the_pod_was_bound(folder: Path, kubescheduler: Run) -> None:
    """Several pods are one run; each is explained as the cluster was when it was decided."""
    again = (folder / "pod.yaml").read_text().replace("name: web", "name: again")
    (folder / "two.yaml").write_text(f"{(folder / 'pod.yaml').read_text()}---\n{again}")
    outcome = kubescheduler("schedule", "cluster.yaml", "--pod", "two.yaml", "--node", "n1")
    assert outcome.status == 0
    requested = [line for line in outcome.out.splitlines() if line.startswith("    cpu: requested")]
    assert requested[0] == "    cpu: requested 500m, allocatable 4000m"
    assert "    cpu: requested 1000m, allocatable 4000m" in requested


def test_a_node_that_is_not_there(kubescheduler: Run) -> None:
    """A fault that names the nearest."""
    outcome = kubescheduler("schedule", *EXAMPLE, "--node", "worker-11")
    assert outcome.status == 2
    assert outcome.err.startswith(
        "error: --node worker-11: the cluster has no node of this name; did you mean worker-1"
    )


def test_what_is_foreign_cannot_move_the_cursor(folder: Path) -> None:
    """A label's value with an escape sequence is shown as text."""
    node = {
        "kind": "Node",
        "metadata": {"name": "n1"},
        "spec": {"taints": [{"key": "a", "value": "\x1b[2Jgone", "effect": "NoSchedule"}]},
        "status": {"allocatable": {"cpu": "4", "pods": "9"}},
    }
    (folder / "hostile.json").write_text(json.dumps(node))
    found = shown("hostile.json", "--pod", "pod.yaml", "--explain", width=120, NO_COLOR="1")
    assert found.status in (1, 2)
    assert ESCAPE not in found.raw


def test_refusals_are_read_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many nodes refuse a pod, what is said of all of them is not asked for again with each."""
    cluster = ks.Cluster(release="1.36").pod("big", cpu=9)
    for number in range(30):
        cluster = cluster.node(f"n{number:02}", cpu=1)
    decision = ks.why(cluster, "big").decision
    asked: list[object] = []
    reasons, checks = decision.reasons(), decision.checks()
    monkeypatch.setattr(type(decision), "reasons", lambda each: (asked.append(each), reasons)[1])
    monkeypatch.setattr(type(decision), "checks", lambda each: (asked.append(each), checks)[1])
    section = refusals(decision, 10)
    assert (len(section.rows), section.texts) == (11, ["20 more nodes do not fit: 20 Insufficient cpu."])
    assert len(asked) <= 4
