"""Algorithms of a user's own, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.kubescheduler.cli.conftest import Outcome, Run, in_a_process, pod

pytestmark = pytest.mark.usefixtures("own_algorithms")

PLUGIN = '''\
"""A workshop's first algorithms: a disk for everyone who wants one, and the emptiest node."""

from algorithmprovider import (
    get_algorithm_provider,
    register_algorithm_provider,
    register_fit_predicate,
    register_priority_function,
)


def fits_disk(pod, meta, node_info):
    wanted = pod.labels.get("disk")
    fits = wanted is None or node_info.node.metadata.labels.get("disk") == wanted
    return fits, [] if fits else [f"no {wanted} here"]


def idle_cpu(pod, meta, node_info):
    return (node_info.allocatable["cpu"] - node_info.requested["cpu"]) // 1000


def register():
    default = get_algorithm_provider("DefaultProvider")
    register_algorithm_provider(
        "Workshop",
        default.predicates | {register_fit_predicate("FitsDisk", fits_disk)},
        {register_priority_function("IdleCPU", idle_cpu, weight=3)},
    )
'''
POLICY = {
    "kind": "Policy",
    "apiVersion": "v1",
    "predicates": [{"name": "FitsDisk"}, {"name": "PodFitsResources"}],
    "priorities": [{"name": "IdleCPU", "weight": 7}],
}


@pytest.fixture(autouse=True)
def plugin(folder: Path) -> None:
    (folder / "plugin_workshop.py").write_text(PLUGIN)
    (folder / "policy.json").write_text(json.dumps(POLICY))
    (folder / "hdd.yaml").write_text(pod("archive", metadata=", labels: {disk: hdd}"))
    (folder / "tape.yaml").write_text(pod("tape", metadata=", labels: {disk: tape}"))


@pytest.mark.parametrize(
    ("arguments", "weight"),
    [(("--algorithm-provider", "Workshop"), 3), (("--policy-config-file", "policy.json"), 7)],
    ids=["provider", "policy"],
)
def test_own_algorithms(schedule: Run, arguments: tuple[str, ...], weight: int) -> None:
    """A predicate and a priority written per node decide, bundled in a provider or named in a policy."""
    plugin = ("--plugin", "plugin_workshop:register", *arguments)
    outcome = schedule(*("--pod", "pod.yaml", "--pod", "hdd.yaml", "--pod", "tape.yaml"), *plugin, "-o", "json")
    assert (outcome.status, outcome.err) == (1, "")
    web, archive, tape = json.loads(outcome.out)["items"]
    assert (web["host"], archive["host"], tape["host"]) == ("n1", "n2", None)
    assert web["scores"] == {"IdleCPU": {"n1": 4, "n2": 2}}
    assert web["weights"] == {"IdleCPU": weight}
    assert web["total"] == {"n1": 4 * weight, "n2": 2 * weight}
    assert archive["checks"] == {"n1": {"FitsDisk": ["no hdd here"]}}
    assert tape["message"] == "0/2 nodes are available: 2 no tape here."


def test_each_decision_sees_the_last(folder: Path, schedule: Run) -> None:
    """A per-node priority sees what the run has bound so far."""
    (folder / "pods.yaml").write_text("".join(pod(f"p{i}", "1") for i in range(4)))
    outcome = schedule(
        *("--pod", "pods.yaml", "-o", "name", "--plugin", "plugin_workshop:register"),
        *("--algorithm-provider", "Workshop"),
    )
    assert outcome.out.split()[1::2] == ["n1", "n1", "n1", "n2"]


def test_registry_lists_them(kubescheduler: Run) -> None:
    """The registry has what a plugin registers."""
    outcome = kubescheduler("registry", "--plugin", "plugin_workshop:register")
    assert ["predicate", "FitsDisk", "Workshop"] in outcome.lines
    assert ["priority", "IdleCPU", "3", "Workshop"] in outcome.lines
    assert ["provider", "Workshop"] in outcome.lines


def test_entry_points(folder: Path, schedule: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package is loaded without being named."""
    monkeypatch.syspath_prepend(folder)
    info = folder / "plugin_workshop-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin-workshop\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[kubescheduler.algorithms]\nworkshop = plugin_workshop:register\n")
    outcome = schedule("--pod", "hdd.yaml", "--algorithm-provider", "Workshop", "-o", "name")
    assert outcome == Outcome(0, "default/archive n2\n", "")
    (info / "entry_points.txt").write_text("[kubescheduler.algorithms]\nworkshop = plugin_workshop:registr\n")
    outcome = schedule("--pod", "hdd.yaml")
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.startswith("error: entry point workshop = plugin_workshop:registr: AttributeError: ")


def test_settings_name_plugins(folder: Path, kubescheduler: Run) -> None:
    """A settings file that was named on the command line names plugins in a list, or just one."""
    command = ("--settings", "kubescheduler.toml", "schedule", "cluster.yaml", "--pod", "hdd.yaml")
    for plugins in ('"plugin_workshop:register"', '["plugin_workshop:register"]'):
        (folder / "kubescheduler.toml").write_text(
            f'[schedule]\nplugin = {plugins}\nalgorithm-provider = "Workshop"\noutput = "name"\n'
        )
        assert kubescheduler(*command) == Outcome(0, "default/archive n2\n", "")


@pytest.mark.parametrize("table", ["", "[schedule]\n"], ids=["for all commands", "for one"])
def test_settings_that_were_only_found_run_no_code(folder: Path, schedule: Run, table: str) -> None:
    """A plugin in a settings file that nobody named is refused, and the message says how to allow it."""
    (folder / "plugin_trap.py").write_text("open('trapped', 'w')\ndef register(): pass\n")
    (folder / "kubescheduler.toml").write_text(f'{table}plugin = "plugin_trap:register"\n')
    schedule("--pod", "hdd.yaml").refused("to allow it: --settings kubescheduler.toml")
    assert not (folder / "trapped").exists()


NAMES = ("yaml", "toml", "tomllib", "gzip", "msgspec", "urllib3", "numpy", "click", "attrs", "json", "rich")


@pytest.mark.parametrize(
    "arguments",
    [(), ("--policy-config-file", "policy.toml", "--plugin", "plugin_workshop:register")],
    ids=["no plugin", "a plugin"],
)
def test_modules_of_the_folder_do_not_run(folder: Path, arguments: tuple[str, ...]) -> None:
    """Files beside the cluster that are called like modules are not imported, with --plugin neither."""
    for name in NAMES:
        (folder / f"{name}.py").write_text("open('trapped', 'w')\n")
    (folder / "policy.toml").write_text('apiVersion = "v1"\n[[predicates]]\nname = "FitsDisk"\n')
    outcome = in_a_process("schedule", "cluster.yaml", "--pod", "pod.yaml", *arguments, cwd=folder)
    assert (outcome.status, outcome.err) == (0, "")
    assert not (folder / "trapped").exists()


def test_safe_path(folder: Path) -> None:
    """With PYTHONSAFEPATH, as with python -P, all starts as ever, and --plugin finds its module."""
    arguments = ("schedule", "cluster.yaml", "--pod", "pod.yaml", "--plugin", "plugin_workshop:register")
    outcome = in_a_process(*arguments, cwd=folder, env={"PYTHONSAFEPATH": "1"})
    assert (outcome.status, outcome.err) == (0, "")
