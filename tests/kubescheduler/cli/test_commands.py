"""The other commands: help, version, settings, registry, completion."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import click
import pytest

import kubescheduler as package
from kubescheduler.cli import COMMANDS, cli
from kubescheduler.cli.help_groups import COMMAND_GROUPS, OPTION_GROUPS
from tests.kubescheduler.cli.conftest import Outcome, Run, in_a_process


def test_version(kubescheduler: Run) -> None:
    """The version of the package."""
    assert kubescheduler("--version") == Outcome(0, f"kubescheduler {package.__version__}\n", "")


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help(kubescheduler: Run, command: str) -> None:
    """Every help has an example to copy, says something of every option, and comes with -h too."""
    arguments = [command] if command else []
    outcome = kubescheduler(*arguments, "--help")
    assert (outcome.status, outcome.err) == (0, "")
    assert re.search(rf"Examples?:\n +.*kubescheduler {command}", outcome.out)
    assert not re.search(r"^  (-\w, )?--[\w-]+( \S+)?$\n  -", outcome.out, re.MULTILINE), "an option without help"
    assert kubescheduler(*arguments, "-h") == outcome


def test_help_without_arguments(kubescheduler: Run) -> None:
    """No arguments at all ask for help."""
    assert kubescheduler() == kubescheduler("--help")


# --- settings ------------------------------------------------------------------------------


def test_settings(folder: Path, schedule: Run, kubescheduler: Run) -> None:
    """kubescheduler.toml of the folder holds defaults, --settings names another; the command line wins."""
    (folder / "kubescheduler.toml").write_text('release = "1.16"\n[schedule]\noutput = "name"\n')
    (folder / "other.toml").write_text('[schedule]\noutput = "wide"\ntie-break = "random"\nseed = 3\n')
    assert schedule("--pod", "pod.yaml").out == "default/web n1\n"
    assert schedule("--pod", "pod.yaml", "-o", "wide").lines[0][4] == "TOTAL"
    other = kubescheduler("--settings", "other.toml", "schedule", "cluster.yaml", "--pod", "pod.yaml")
    assert other.lines[0][4] == "TOTAL"


def test_settings_of_flags(folder: Path, schedule: Run) -> None:
    """Flags and options that can be repeated have defaults too."""
    (folder / "kubescheduler.toml").write_text('[schedule]\npod = "pod.yaml"\nexplain = true\n')
    assert schedule().out.startswith("default/web: n1 (2/2 nodes fit)\n")


# --- registry ------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["option", "settings"])
def test_names_of_releases(folder: Path, kubescheduler: Run, where: str) -> None:
    """A version is its release; one that is not there is answered with its neighbours, not with what looks like it."""

    def registry(release: str) -> Outcome:
        if where == "option":
            return kubescheduler("registry", "--release", release)
        (folder / "kubescheduler.toml").write_text(f'release = "{release}"\n')
        return kubescheduler("registry")

    assert "SchedulingGates" in registry("v1.36.2").out
    asked = registry("1.17")
    asked.refused("it is between 1.16 and 1.18, more like 1.18")
    assert "did you mean" not in asked.err


def test_registry(kubescheduler: Run) -> None:
    """Predicates, priorities and providers as a table."""
    outcome = kubescheduler("registry")
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.lines[0] == ["KIND", "NAME", "WEIGHT", "PROVIDERS"]
    assert ["predicate", "GeneralPredicates", "ClusterAutoscalerProvider,DefaultProvider"] in outcome.lines
    assert ["predicate", "HostName", "<none>"] in outcome.lines
    assert ["priority", "MostRequestedPriority", "1", "ClusterAutoscalerProvider"] in outcome.lines
    assert ["provider", "DefaultProvider"] in outcome.lines
    assert all(line == line.rstrip() for line in outcome.out.splitlines())


@pytest.mark.parametrize("gate", [False, True], ids=["off", "on"])
def test_registry_document(kubescheduler: Run, gate: bool) -> None:
    """As JSON, with the order in which predicates run; a gate adds what it brings."""
    arguments = ("--feature-gates", "EvenPodsSpread=true") if gate else ()
    document = json.loads(kubescheduler("registry", "-o", "json", *arguments).out)
    assert document["release"] == "1.16"
    predicates = {p["name"]: p for p in document["predicates"]}
    assert predicates["CheckNodeUnschedulable"]["mandatory"]
    assert predicates["CheckNodeUnschedulable"]["runs"]
    assert ("EvenPodsSpread" in predicates) is gate
    assert [p["name"] for p in document["providers"]] == ["ClusterAutoscalerProvider", "DefaultProvider"]
    assert document["ordering"].index("GeneralPredicates") < document["ordering"].index("MatchInterPodAffinity")
    weights = {p["name"]: p["weight"] for p in document["priorities"]}
    assert weights["NodePreferAvoidPodsPriority"] == 10000


# --- completion ----------------------------------------------------------------------------


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_completion_script(kubescheduler: Run, shell: str) -> None:
    """The script of a shell; bash is asked for its version first, so that one is printed in a test of its own."""
    outcome = kubescheduler("completion", shell)
    assert (outcome.status, outcome.err) == (0, "")
    assert f"_KUBESCHEDULER_COMPLETE={shell}_complete" in outcome.out


@pytest.mark.parametrize("command", ["schedule", "compare", "simulate", "capacity", "sweep"])
def test_many_errors(kubescheduler: Run, folder: Path, command: str) -> None:
    """Every fault is told; a row of a sweep has the first twenty and counts the others."""
    faulty = "".join(
        f"---\napiVersion: v1\nkind: Pod\nmetadata: {{name: p{at}}}\nspec: {{nodeName: 5}}\n" for at in range(50)
    )
    (folder / "pods.yaml").write_text(faulty)
    more = {"compare": ["--new", "release=1.36"], "sweep": ["--out", "rows.csv"]}.get(command, [])
    found = kubescheduler(command, "cluster.yaml", "--pods", "pods.yaml", *more)
    assert found.status == 2
    if command == "sweep":
        assert "and 30 more" in found.err
    else:
        assert [f"Pod default/p{at}: spec.nodeName" in line for at, line in enumerate(found.err.splitlines())] == [
            True
        ] * 50


def test_every_command_is_in_one_group(kubescheduler: Run) -> None:
    """And the program's help shows each once, below the example of its group."""
    assert len(COMMANDS) == sum(len(group.commands) for group in COMMAND_GROUPS)
    shown = kubescheduler("--help").out
    for name in COMMANDS:
        assert len(re.findall(rf"^  {name} +[A-Z]", shown, re.M)) == 1
    for title, example, _ in COMMAND_GROUPS:
        assert f"{title}, as {example}:" in shown


@pytest.mark.parametrize("example", [example for _, example, _ in COMMAND_GROUPS])
def test_examples_of_commands_work(kubescheduler: Run, example: str) -> None:
    """In a folder with the files that they name."""
    program, *arguments = shlex.split(example)
    assert program == "kubescheduler"
    assert kubescheduler(*arguments).status == 0


@pytest.mark.parametrize("name", COMMANDS)
def test_options_are_shown_once(kubescheduler: Run, name: str) -> None:
    """Grouped or not, none is lost and none stands twice."""
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    shown = kubescheduler(name, "--help").out
    for param in command.params:
        if isinstance(param, click.Option):
            assert len(re.findall(rf"^  {param.opts[0]}(?=[, /\n])", shown, re.M)) == 1, param.opts


def test_groups_of_options(kubescheduler: Run) -> None:
    """The many options of schedule are grouped, each group with an example of options that the command has."""
    shown = kubescheduler("schedule", "--help").out
    assert "\nWhat is decided, as --pod web.yaml:\n" in shown
    assert "\nWhat decides, as --release 1.36 --config scheduler.yaml:\n" in shown
    assert "\nWhat is shown, as --top 5 -o json:\n" in shown
    assert "\nWhat" not in kubescheduler("evaluate", "--help").out


def test_an_option_is_in_one_group_at_most() -> None:
    """Otherwise it would be shown where it was not looked for."""
    names = [name for group in OPTION_GROUPS for name in group.options]
    assert len(names) == len(set(names))


def completed(*words: str) -> list[str]:
    """What bash gets for the last of the words."""
    environment = {
        "_KUBESCHEDULER_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(("kubescheduler", *words)),
        "COMP_CWORD": str(len(words)),
    }
    outcome = in_a_process(env=environment)
    return [line.partition(",")[2] for line in outcome.out.splitlines() if line]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param(
            ("schedule", "--algorithm-provider", "Cl"), ["ClusterAutoscalerProvider"], id="providers of the default"
        ),
        pytest.param(("schedule", "--release", "1.36", "--algorithm-provider", "D"), [], id="1.36 has no providers"),
        pytest.param(("schedule", "--feature-gates", "EvenPods"), ["EvenPodsSpread="], id="gates"),
        pytest.param(
            ("schedule", "--feature-gates", "TaintNodesByCondition=false,EvenPodsSpread="),
            ["TaintNodesByCondition=false,EvenPodsSpread=true", "TaintNodesByCondition=false,EvenPodsSpread=false"],
            id="values of a gate",
        ),
        pytest.param(("compare", "--old", "rel"), ["release="], id="keys of a scheduler"),
        pytest.param(("compare", "-o", "json", "-o", "json", "--old", "rel"), ["release="], id="after an option twice"),
        pytest.param(("compare", "--new", "release=1.2"), [f"release=1.2{at}" for at in range(10)], id="releases"),
        pytest.param(
            ("sweep", "--config-spec", "release=1.16,provider=C"),
            ["release=1.16,provider=ClusterAutoscalerProvider"],
            id="providers of the release that stands there",
        ),
        pytest.param(("explain", "PodFitsR"), ["PodFitsResources"], id="predicates"),
        pytest.param(("explain", "LeastR"), ["LeastRequestedPriority"], id="priorities"),
        pytest.param(("explain", "NodeResourcesF"), ["NodeResourcesFit"], id="plugins"),
        pytest.param(("ex",), ["explain"], id="commands"),
        pytest.param(("schedule", "--poli"), ["--policy-config-file", "--policy-configmap"], id="options"),
        pytest.param(("schedule", "--tie-break", "u"), ["upstream"], id="choices"),
        pytest.param(("schedule", "--pod", "p"), ["p"], id="files"),
    ],
)
def test_completions(words: tuple[str, ...], expected: list[str]) -> None:
    """Those that begin like what stands there, and no others."""
    assert completed(*words) == expected
