"""Wrong input: one message for each fault, all at once, exit status 2, and nothing on standard output."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import attrs
import click
import pytest

from kubescheduler.cli import COMMANDS
from kubescheduler.cli.help_groups import EMPTY, MAY_BE_EMPTY
from tests.kubescheduler.cli.conftest import CLUSTER, Outcome, Run, in_a_process, pod

SCHEDULE = ("schedule", "cluster.yaml", "--pod", "pod.yaml")
POLICY = (*SCHEDULE, "--policy-config-file", "policy.json")

DECIDING = (
    SCHEDULE,
    ("capacity", *SCHEDULE[1:]),
    ("hint", *SCHEDULE[1:]),
    ("simulate", *SCHEDULE[1:]),
    ("compare", *SCHEDULE[1:], "--old", "release=1.16", "--new", "release=1.36"),
)


@attrs.frozen
class Case:
    """args: the command line. messages: of each fault, what its message holds. files: name → text."""

    args: tuple[str, ...]
    messages: tuple[tuple[str, ...], ...]
    files: dict[str, str] = attrs.field(factory=dict)


def policy(**content: object) -> dict[str, str]:
    return {"policy.json": json.dumps({"apiVersion": "v1", "kind": "Policy", **content})}


BAD_POD = {"kind": "Pod", "metadata": {"name": "b", "namespace": "shop"}, "spec": {"nodeName": 5, "containers": "c"}}
ONE_BAD = {
    "apiVersion": "v1",
    "kind": "List",
    "items": [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n9"}}, {"apiVersion": "v1", **BAD_POD}],
}

KINDS: dict[str, Case] = {
    "missing file": Case(("schedule", "claster.yaml", "--pod", "pod.yaml"),
        (("claster.yaml", "no such file or folder", "use -"),)),
    "empty file": Case(("schedule", "empty.yaml", "--pod", "pod.yaml"), (("empty.yaml", "empty"),), {"empty.yaml": ""}),
    "broken YAML": Case(("schedule", "broken.yaml", "--pod", "pod.yaml"), (("broken.yaml: line 2, column 5: ",),),
        {"broken.yaml": "kind: Node\na: b: c\n"}),
    "broken JSON": Case(("schedule", "broken.json", "--pod", "pod.yaml"), (("broken.json: line 2, column 9: ",),),
        {"broken.json": '{"kind":\n "Node" 5}'}),
    "a List with one bad object": Case(("schedule", "list.json", "--pod", "pod.yaml"),
        (("list.json: Pod shop/b: spec.containers: ", 'must be a list, not "c"'),
        ("list.json: Pod shop/b: spec.nodeName: ", "must be text, not 5", "quotes")),
        {"list.json": json.dumps(ONE_BAD)}),
    "no quantity": Case(SCHEDULE,
        (('pod.yaml: Pod default/web: spec.containers[0].resources.requests.cpu: quantity "1O0m"', "write digits"),),
        {"pod.yaml": pod("web", "1O0m")}),
    "a node that is there twice": Case(("schedule", "cluster.yaml", "more.yaml", "--pod", "pod.yaml"),
        (("more.yaml: Node n1: ", "already in cluster.yaml", "remove one"),
        ("more.yaml: Node n2: ", "already in cluster.yaml", "remove one")), {"more.yaml": CLUSTER}),
    "a pod that is there twice": Case((*SCHEDULE, "--pod", "again.yaml"),
        (("again.yaml: Pod default/web: ", "pod.yaml"),), {"again.yaml": pod("web")}),
    "a pod on an unknown node": Case(("schedule", "cluster.yaml", "lost.yaml", "--pod", "pod.yaml"),
        (('lost.yaml: Pod default/lost: spec.nodeName: node "n11"', "add the node", "did you mean n1?"),),
        {"lost.yaml": pod("lost", spec=", nodeName: n11")}),
    "a pod that runs already": Case(("schedule", "cluster.yaml", "running.yaml", "--pod", "pod.yaml"),
        (("running.yaml: Pod default/web: spec.nodeName: it runs on n2", "remove it"),),
        {"running.yaml": pod("web", metadata=", uid: u1", spec=", nodeName: n2")}),
    "a pod with the uid of another": Case(("schedule", "cluster.yaml", "running.yaml", "--pod", "pod.yaml"),
        (("Pod default/web: metadata.uid: ", "that of Pod default/old", "remove it"),),
        {"running.yaml": pod("old", metadata=", uid: u1", spec=", nodeName: n2"),
        "pod.yaml": pod("web", metadata=", uid: u1")}),
    "a pod without uid": Case((*SCHEDULE, "--no-defaulting"),
        (("Pod /web: metadata.uid: missing", "--no-defaulting"),)),
    **{
        f"{args[0]}: a running pod without uid": Case(
            (*args, "--no-defaulting"),
            (("Pod default/old: metadata.uid: missing", "--no-defaulting"),),
            {
                "cluster.yaml": CLUSTER + "---\n" + pod("old", metadata=", namespace: default", spec=", nodeName: n2"),
                "pod.yaml": pod("web", metadata=", namespace: default, uid: u1"),
            },
        )
        for args in DECIDING
    },
    "capacity: two running pods of one uid": Case(("capacity", "cluster.yaml", "running.yaml", "--pod", "pod.yaml"),
        (("Pod default/b: metadata.uid: it is that of Pod default/a",),),
        {"running.yaml": "---\n".join(pod(name, metadata=", uid: u1", spec=", nodeName: n2") for name in "ab")}),
    "an unknown priority class": Case(SCHEDULE, (("pod.yaml: Pod web: spec.priorityClassName: ", '"hihg"',
        "did you mean high?"),),
        {"cluster.yaml": CLUSTER + "---\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 5\n",
        "pod.yaml": pod("web", spec=", priorityClassName: hihg")}),
    "no pods in the file": Case(("schedule", "cluster.yaml", "--pod", "cluster.yaml"),
        (("cluster.yaml: no pods in it", "2 Node", "kind Pod"),)),
    "an unknown provider": Case((*SCHEDULE, "--algorithm-provider", "DefaultProvder"),
        (('"DefaultProvder"', "did you mean DefaultProvider?"),)),
    "an unknown predicate": Case(POLICY, (("policy.json: predicates[0]: ", "PodFitsHostPort;",
        "did you mean PodFitsHostPorts?"),), policy(predicates=[{"name": "PodFitsHostPort"}])),
    "an unknown field in a Policy": Case((*POLICY, "--strict"),
        (("policy.json: predicate: unknown key", "did you mean predicates?"),), policy(predicate=[])),
    "a Policy that is broken": Case(POLICY, (("policy.json:1:2: ",),), {"policy.json": "{5}"}),
    "no such Policy": Case(POLICY, (("policy.json",),)),
    "a ConfigMap without Policy": Case((*SCHEDULE, "--policy-configmap", "map.yaml"), (('"policy.cfg"',),),
        {"map.yaml": "kind: ConfigMap\ndata: {policy.yaml: '{}'}\n"}),
    "an unknown feature gate": Case((*SCHEDULE, "--feature-gates", "EvenPodSpread=true,PodOverhead"),
        (("--feature-gates: ", "PodOverhead", "write PodOverhead=true"),
        ("--feature-gates: ", "EvenPodSpread", "did you mean EvenPodsSpread?"))),
    "a weight out of range": Case((*SCHEDULE, "--hard-pod-affinity-symmetric-weight", "101"),
        (("101", "in the range 1-100"),)),
    "an unknown option": Case((*SCHEDULE, "--policy-config-fil", "x"),
        (("--policy-config-fil", "--policy-config-file"),)),
    "an option of all commands behind one": Case((*SCHEDULE, "--max", "depth=5"),
        (("--max stands before the command: kubescheduler --max … COMMAND",),)),
    "a file that is given twice": Case(("schedule", "cluster.yaml", "cluster.yaml", "--pod", "pod.yaml"),
        (("cluster.yaml: it is given more than once; leave out all but one",),)),
    "an unknown command": Case(("shedule",), (("'shedule'", "did you mean schedule?"),)),
    "no cluster": Case(("schedule",), (("CLUSTER",),)),
    "a wrong choice": Case((*SCHEDULE, "-o", "jsn"), (("--output", "'jsn'", "did you mean json?"),)),
    "a wrong release": Case((*SCHEDULE, "--release", "1.61"), (("--release", "1.61", "newer than all of them"),)),
    "a wrong number": Case((*SCHEDULE, "--percentage-of-nodes-to-score", "101"),
        (("--percentage-of-nodes-to-score",),)),
    "neither --pod nor --pending": Case(("schedule", "cluster.yaml"), (("either --pod FILE or --pending",),)),
    "both --pod and --pending": Case((*SCHEDULE, "--pending"), (("either --pod FILE or --pending",),)),
    "standard input twice": Case(("schedule", "-", "--pod", "-"), (("give - once",),)),
    "names with an explanation": Case((*SCHEDULE, "-o", "name", "--explain"), (("--explain",),)),
    "no such settings": Case(("--settings", "x.toml", *SCHEDULE), (("x.toml", "No such file"),)),
    "an unknown settings key": Case(SCHEDULE, (("kubescheduler.toml: relese: ", "did you mean release?"),
        ("kubescheduler.toml: [shedule]: ", "did you mean schedule?"),
        ("kubescheduler.toml: schedule.outptu: ", "did you mean output?")),
        {"kubescheduler.toml": 'relese = "1.16"\n[shedule]\na = 1\n[schedule]\noutptu = "wide"\n'}),
    "a wrong setting": Case(SCHEDULE, (("kubescheduler.toml: schedule.output: ", "'wdie'", "did you mean wide?"),),
        {"kubescheduler.toml": '[schedule]\noutput = "wdie"\n'}),
    "no such plugin": Case((*SCHEDULE, "--plugin", "spreadd:register", "--plugin", "json", "--plugin", "json:dmps"),
        (("--plugin spreadd:register: there is no module spreadd", "install it"),
        ("--plugin json: ", "module:function"), ("--plugin json:dmps: ", "no function dmps", "did you mean dumps?"))),
    "a plugin that fails": Case((*SCHEDULE, "--plugin", "plugin_broken:register"),
        (("--plugin plugin_broken:register: ZeroDivisionError: ", "plugin_broken.py, line 2"),),
        {"plugin_broken.py": "def register():\n    1 / 0\n"}),
    "a plugin with a wrong name": Case((*SCHEDULE, "--plugin", "plugin_names:register"),
        (("--plugin plugin_names:register: Algorithm name no_good does not match",),),
        {"plugin_names.py": "from algorithmprovider import register_fit_predicate\n"
        "def register():\n    register_fit_predicate('no_good', lambda pod, meta, node: (True, []))\n"}),
    "a format nobody knows to save in": Case((*SCHEDULE, "--save", "x.txt"), (("--save x.txt: ", ".json, .yaml"),)),
    "a folder to save in that is not there": Case((*SCHEDULE, "--save", "no/x.json"),
        (("--save no/x.json: ", "folder no"),)),
    "a folder to save as": Case((*SCHEDULE, "--save", "x.json"), (("--save x.json: ", "a folder"),), {"x.json/y": ""}),
}  # fmt: skip


def judged(case: Case, outcome: Outcome) -> None:
    errors = [line for line in outcome.err.splitlines() if line.startswith("error: ")]
    assert (outcome.status, outcome.out) == (2, ""), outcome.err
    assert len(errors) == len(case.messages), outcome.err
    for line, parts in zip(errors, case.messages, strict=True):
        assert all(part in line for part in parts), line
    others = [line for line in outcome.err.splitlines() if line not in errors]
    assert all(line.startswith("See 'kubescheduler ") for line in others), outcome.err


def written(case: Case, folder: Path) -> Case:
    for name, text in case.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return case


@pytest.mark.parametrize("case", KINDS.values(), ids=KINDS.keys())
def test_one_message_each(case: Case, folder: Path, kubescheduler: Run, own_algorithms: None) -> None:
    """Every kind of wrong input; nothing is written, and nothing stays behind where Python calls the command line."""
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    judged(written(case, folder), kubescheduler(*case.args))
    left = {path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"}
    assert left == {*before, *(folder / name for name in case.files)}


@pytest.mark.parametrize("name", ["missing file", "an unknown settings key", "a plugin that fails"])
def test_as_a_user_meets_it(name: str, folder: Path) -> None:
    """The same of a process of its own: a fault of a file, of what is read before the command, of a user's code."""
    case = written(KINDS[name], folder)
    judged(case, in_a_process(*case.args, cwd=folder))


def test_all_faults_at_once(folder: Path, kubescheduler: Run) -> None:
    """Faults of the policy, of two cluster files, of the pod and of --save come together, in this order."""
    written(KINDS["an unknown predicate"], folder)
    (folder / "b.yaml").write_text("a: b: c")
    outcome = kubescheduler(
        *("schedule", "a.yaml", "b.yaml", "--pod", "c.yaml", "--save", "x.txt"),
        *("--policy-config-file", "policy.json"),
    )
    places = [line.split(":")[1].strip() for line in outcome.err.splitlines()]
    assert (outcome.status, outcome.out, places) == (
        2,
        "",
        ["policy.json", "a.yaml", "b.yaml", "c.yaml", "--save x.txt"],
    )


def test_a_bad_cluster_hides_no_priority_class(folder: Path, kubescheduler: Run) -> None:
    """When the cluster cannot be read, a pod is not blamed for classes that may well be in it."""
    (folder / "pod.yaml").write_text(pod("web", spec=", priorityClassName: high"))
    outcome = kubescheduler("schedule", "a.yaml", "--pod", "pod.yaml")
    assert outcome.err == "error: a.yaml: no such file or folder; check the path, or use - for standard input\n"


def test_an_unknown_kind_is_left_out(folder: Path, schedule: Run) -> None:
    """A kind that no scheduler reads is no fault: a note says that it was left out."""
    (folder / "cluster.yaml").write_text(CLUSTER + "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n")
    outcome = schedule("--pod", "pod.yaml", "-o", "name")
    assert (outcome.status, outcome.out) == (0, "default/web n1\n")
    assert outcome.err == 'note: kind "Deployment" ignored (1 object): no scheduler reads it\n'


@pytest.mark.parametrize(
    ("command", "pods"),
    [
        ("schedule cluster.yaml --pod pod.yaml -o name", "1 pod"),
        ("simulate cluster.yaml --pod pod.yaml", "1 pod"),
        ("simulate cluster.yaml --pod pod.yaml -o events", "1 pod"),
        ("simulate cluster.yaml --pod pod.yaml -o simulator", "1 pod"),
        ("capacity cluster.yaml --pod pod.yaml --limit 2", "2 pods"),
    ],
)
def test_an_extender_that_is_passed_over(folder: Path, kubescheduler: Run, command: str, pods: str) -> None:
    """The release goes on without an ignorable extender: the decision is an answer, and a note says what it lacks."""
    extender = {"urlPrefix": "http://127.0.0.1:1/all", "filterVerb": "filter", "weight": 1, "ignorable": True}
    (folder / "policy.json").write_text(policy(extenders=[extender])["policy.json"])
    outcome = kubescheduler(*command.split(), "--policy-config-file", "policy.json")
    text = f'went on without its extender: Post "http://127.0.0.1:1/all/filter": Connection refused ({pods})'
    assert (outcome.status, outcome.err) == (0, f"note: {text}\n")


BASES = {
    "schedule": ["schedule", "cluster.yaml", "--pod", "pod.yaml"],
    "simulate": ["simulate", "cluster.yaml", "--workload", "pod.yaml"],
    "capacity": ["capacity", "cluster.yaml", "--pod", "pod.yaml"],
    "compare": ["compare", "cluster.yaml", "--pods", "pod.yaml", "--new", "release=1.20"],
    "evaluate": ["evaluate"],
    "sweep": ["sweep", "cluster.yaml", "--pods", "pod.yaml", "--out", "rows.csv"],
    "migrate": ["migrate", "--algorithm-provider", "DefaultProvider"],
    "explain": ["explain", "NodeResourcesFit"],
    "run": ["run", "--dry-run"],
    "snapshot": ["snapshot", "-o", "saved.json"],
    "registry": ["registry"],
}
TEXTS = (click.types.StringParamType, click.Path)


def _options() -> list[tuple[str, str]]:
    """(command, spelling) of every option that takes a name, a file or another text."""
    found = []
    for name in BASES:
        command: click.Command = getattr(importlib.import_module(COMMANDS[name]), name)
        for param in command.params:
            if isinstance(param, click.Option) and isinstance(param.type, TEXTS) and param.name not in MAY_BE_EMPTY:
                found += [(name, spelling) for spelling in param.opts]
    return found


@pytest.mark.parametrize("value", ["", " "], ids=["empty", "blank"])
@pytest.mark.parametrize(("command", "option"), _options())
def test_every_option(kubescheduler: Run, folder: Path, command: str, option: str, value: str) -> None:
    """The message names the option; nothing is decided, read or written."""
    before = sorted(folder.iterdir())
    base = list(BASES[command])
    if spelling := next((one for one in ({"--output": "-o"}.get(option), option) if one in base), None):
        at = base.index(spelling)
        del base[at : at + 2]
    found = kubescheduler(*base, option, value)
    found.refused(f"{EMPTY}\nSee 'kubescheduler {command} --help' for usage.\n", f"'{option}'")
    assert sorted(folder.iterdir()) == before


def test_one_value_is_not_the_last_of_several(kubescheduler: Run, folder: Path) -> None:
    """What was said first is not passed over in silence; options that are repeatable take all."""
    said = kubescheduler(*BASES["schedule"], "--release", "1.20", "--release", "1.36")
    said.refused("--release is given 2 times and takes one value\nSee 'kubescheduler schedule --help' for usage.\n")
    kubescheduler("--settings", "a.toml", "--settings", "b.toml", *BASES["schedule"]).refused(
        "--settings is given 2 times"
    )
    assert kubescheduler(*BASES["compare"], "--new", "release=1.36").status in (0, 1)
    assert "Usage:" in kubescheduler("schedule", "--release", "1.20", "--release", "1.36", "--help").out


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["schedule", "", "--pod", "pod.yaml"], id="CLUSTER"),
        pytest.param(["schedule", "cluster.yaml", "", "--pod", "pod.yaml"], id="one of CLUSTER"),
        pytest.param(["migrate", ""], id="FILE"),
        pytest.param(["--settings", "", *BASES["schedule"]], id="--settings"),
        pytest.param(["--max", "", *BASES["schedule"]], id="--max"),
        pytest.param([*BASES["compare"][:-1], ","], id="a configuration of nothing"),
    ],
)
def test_arguments(kubescheduler: Run, arguments: list[str]) -> None:
    """Neither the current folder nor a default takes the place of an argument or of an option of all commands."""
    kubescheduler(*arguments).refused(EMPTY)


@pytest.mark.parametrize("key", ["release", "provider", "policy", "policy-configmap", "config", "scheduler-name"])
@pytest.mark.parametrize("option", ["--old", "--new"])
def test_keys_of_a_configuration(kubescheduler: Run, option: str, key: str) -> None:
    """``policy=$POLICY`` without the variable."""
    found = kubescheduler(*BASES["compare"], option, f"{key}=")
    found.refused(f"error: {option}: {key}=: {key}: it has no value; leave the key out for the default\n")


def test_settings(kubescheduler: Run, folder: Path) -> None:
    """A settings file is named with the key."""
    (folder / "kubescheduler.toml").write_text('[schedule]\nalgorithm-provider = ""\n')
    kubescheduler(*BASES["schedule"]).refused(f"kubescheduler.toml: schedule.algorithm_provider: {EMPTY}")


def test_lists_may_be_empty(kubescheduler: Run) -> None:
    """No gates and no tolerated causes are what a pipeline may well have."""
    assert kubescheduler(*BASES["schedule"], "--feature-gates", "").status == 0
    assert kubescheduler(*BASES["compare"], "--tolerate", "").status == 0
