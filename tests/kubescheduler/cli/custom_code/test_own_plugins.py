"""Framework plugins of a user's own, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kubescheduler.releases.names import RELEASE_NAMES
from tests.kubescheduler.cli.conftest import Run, pod

pytestmark = pytest.mark.usefixtures("own_algorithms")

PLUGIN = '''\
"""A disk for everyone who wants one."""

from kubescheduler.core.status import Status


class WantedDisk:
    name = "WantedDisk"

    def __init__(self, args, handle):
        self.label = (args or {}).get("label", "disk")

    def filter(self, state, pod, node_info):
        wanted = pod.metadata.labels.get(self.label)
        if wanted is not None and node_info.node.metadata.labels.get(self.label) != wanted:
            return Status.unschedulable(f"no {wanted} here")
        return None

    def score(self, state, pod, node_info):
        return 10 * len(node_info.node.metadata.name)


def disks(args, handle):
    plugin = WantedDisk(args, handle)
    plugin.name = "Disks"
    return plugin


def register():
    """Predicates and priorities, for releases 1.4 and 1.16."""


def broken(args, handle):
    raise ValueError("not today")


def three(one, two, three):
    """Not a factory."""
'''
VERSIONS = {"1.20": "v1beta1", "1.36": "v1"}


def configuration(release: str, name: str) -> str:
    points = ("filter", "score") if release == "1.20" else ("multiPoint",)
    plugins = {
        point: {"enabled": [{"name": name, "weight": 3} if point != "filter" else {"name": name}]} for point in points
    }
    document = {
        "apiVersion": f"kubescheduler.config.k8s.io/{VERSIONS[release]}",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "profiles": [{"schedulerName": "default-scheduler", "plugins": plugins}],
    }
    return json.dumps(document)


@pytest.fixture(autouse=True)
def plugin(folder: Path) -> None:
    (folder / "plugin_disks.py").write_text(PLUGIN)
    (folder / "hdd.yaml").write_text(pod("archive", metadata=", labels: {disk: hdd}"))
    (folder / "tape.yaml").write_text(pod("tape", metadata=", labels: {disk: tape}"))


@pytest.mark.parametrize("release", list(VERSIONS))
@pytest.mark.parametrize(
    ("given", "name"),
    [("plugin_disks:WantedDisk", "WantedDisk"), ("Disks=plugin_disks:disks", "Disks")],
    ids=["a class", "a function under a name"],
)
def test_own_plugins(folder: Path, schedule: Run, release: str, given: str, name: str) -> None:
    """A Filter and a Score in one, enabled in a profile: a class, or made by a function under the name it is given."""
    (folder / "config.json").write_text(configuration(release, name))
    arguments = ("--plugin", given, "--config", "config.json", "--release", release, "-o", "json")
    outcome = schedule("--pod", "hdd.yaml", "--pod", "tape.yaml", *arguments)
    assert (outcome.status, outcome.err) == (1, "")
    archive, tape = json.loads(outcome.out)["items"]
    assert (archive["host"], archive["failed"]) == ("n2", {"n1": ["no hdd here"]})
    assert tape["message"].startswith("0/2 nodes are available: 2 no tape here.")


def test_registry_lists_them(folder: Path, kubescheduler: Run) -> None:
    """With the points that their methods say, whether or not a profile enables them."""
    named = ("--release", "1.36", "--plugin", "plugin_disks:WantedDisk")
    outcome = kubescheduler("registry", *named)
    assert ["WantedDisk", "filter,score", "<none>"] in outcome.lines
    assert outcome.err == "note: plugin WantedDisk is known, but no profile enables it; enable it with --config\n"
    (folder / "config.json").write_text(configuration("1.36", "WantedDisk"))
    lines = kubescheduler("registry", *named, "--config", "config.json").lines
    assert ["default-scheduler", "score", "WantedDisk", "3"] in lines


def test_entry_points(folder: Path, schedule: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package's plugins are known without being named."""
    monkeypatch.syspath_prepend(folder)
    info = folder / "plugin_disks-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin-disks\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[kubescheduler.plugins]\nDisks = plugin_disks:disks\n")
    (folder / "config.json").write_text(configuration("1.36", "Disks"))
    arguments = ("--config", "config.json", "--release", "1.36", "-o", "name")
    assert schedule("--pod", "hdd.yaml", *arguments).out == "default/archive n2\n"
    (info / "entry_points.txt").write_text("[kubescheduler.plugins]\nDisks = plugin_disks:Wanted\n")
    outcome = schedule("--pod", "hdd.yaml", *arguments)
    assert outcome.status == 2
    assert outcome.err.startswith("error: entry point Disks = plugin_disks:Wanted: AttributeError: ")


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("plugin_disks", "write it as module:Factory, or NAME=module:Factory"),
        ("plugin_disk:WantedDisk", "there is no module plugin_disk here; run this in its folder, or install it"),
        ("plugin_disks:Wanted", "module plugin_disks has no factory Wanted; did you mean WantedDisk?"),
        ("plugin_disks:three", "a factory takes (args, handle) or nothing, this one takes 3 arguments"),
    ],
)
def test_what_cannot_be_loaded(schedule: Run, given: str, text: str) -> None:
    """The option, and what to type next."""
    outcome = schedule("--pod", "pod.yaml", "--release", "1.36", "--plugin", given)
    assert (outcome.status, outcome.err) == (2, f"error: --plugin {given}: {text}\n")


def test_the_wrong_kind(schedule: Run) -> None:
    """A function that registers predicates is no plugin, and a plugin decides nothing in legacy releases."""
    outcome = schedule("--pod", "pod.yaml", "--release", "1.36", "--plugin", "plugin_disks:register")
    assert outcome.status == 2
    assert outcome.err.startswith("error: plugin register: what it makes takes part in no extension point; ")
    assert "for releases 1.4 and 1.16" in outcome.err
    for given, what in (
        ("plugin_disks:WantedDisk", "WantedDisk makes a framework plugin"),
        ("plugin_disks:broken", "broken makes a framework plugin"),
        ("Disks=plugin_disks:WantedDisk", "a name belongs to a framework plugin"),
    ):
        outcome = schedule("--pod", "pod.yaml", "--plugin", given)
        assert outcome.status == 2
        assert outcome.err.startswith(f"error: --plugin {given}: {what}; predicates and priorities decide in releases")
        assert f"choose --release 1.18 to {RELEASE_NAMES[-1]}" in outcome.err


def test_factories_that_fail(schedule: Run) -> None:
    """No traceback, and where a plugin takes part can be said without making it."""
    outcome = schedule("--pod", "pod.yaml", "--release", "1.36", "--plugin", "plugin_disks:broken")
    assert outcome.status == 2
    assert outcome.err.startswith("error: plugin broken: its factory cannot do without args (")
    assert "plugin_disks.py, line " in outcome.err
    assert ": ValueError: not today); give it an attribute points" in outcome.err


# --- migration -----------------------------------------------------------------------------

RULES = """\
from algorithmprovider import register_fit_predicate, register_priority_function


def register():
    register_fit_predicate("WantedDisk", lambda pod, meta, node_info: (True, []))
    register_priority_function("DiskPriority", lambda pod, meta, node_info: 1, None, 1)
"""
OWN_POLICY = {
    "kind": "Policy",
    "apiVersion": "v1",
    "predicates": [{"name": "PodFitsResources"}, {"name": "WantedDisk"}],
    "priorities": [{"name": "LeastRequestedPriority", "weight": 1}, {"name": "Disks", "weight": 5}],
}


@pytest.mark.parametrize("to", ["1.20", "1.36"])
def test_rules_of_a_policy_become_plugins(to: str, kubescheduler: Run, folder: Path) -> None:
    """Without --plugin each is a place-holder with notes; with it the plugin stands there, and decides."""
    (folder / "plugin_disks.py").write_text(PLUGIN)
    (folder / "policy.json").write_text(json.dumps(OWN_POLICY))
    bare = kubescheduler("migrate", "policy.json", "--to", to, "-o", "json")
    answer = json.loads(bare.out)
    plugins = answer["document"]["profiles"][0]["plugins"]
    assert bare.status == 1
    assert {"name": "WantedDisk"} in plugins["filter"]["enabled"]
    assert {"name": "Disks", "weight": 5} in plugins["score"]["enabled"]
    kinds = {
        name: [note["kind"] for note in answer["notes"] if name in note["path"]] for name in ("WantedDisk", "Disks")
    }
    assert kinds == {"WantedDisk": ["check", "lost"], "Disks": ["check", "lost"]}

    given = ("--plugin", "WantedDisk=plugin_disks:WantedDisk", "--plugin", "Disks=plugin_disks:disks")
    brought = kubescheduler("migrate", "policy.json", "--to", to, "--bare", *given)
    assert "it is no rule of kube-scheduler" not in brought.err
    assert "the plugin of --plugin stands in its place" in brought.err
    (folder / "migrated.yaml").write_text(brought.out)
    run = ("schedule", "cluster.yaml", "--pod", "pod.yaml", "--release", to, "--config", "migrated.yaml", "--explain")
    decided = kubescheduler(*run, *given)
    assert (decided.status, "Disks" in decided.out) == (0, True), decided.err


def test_registered_rules_are_known(kubescheduler: Run, folder: Path) -> None:
    """A function that registers them has their names checked; what is in the wrong list stays an error."""
    (folder / "plugin_rules.py").write_text(RULES)
    (folder / "policy.json").write_text(
        json.dumps({**OWN_POLICY, "priorities": [{"name": "DiskPriority", "weight": 2}]})
    )
    known = kubescheduler("migrate", "policy.json", "--plugin", "plugin_rules:register", "--bare")
    assert "DiskPriority" in known.out
    assert "taken for one of your own" not in known.err
    (folder / "policy.json").write_text(json.dumps({**OWN_POLICY, "predicates": [{"name": "LeastRequestedPriority"}]}))
    kubescheduler("migrate", "policy.json").refused("it is a priority: move it to priorities")
