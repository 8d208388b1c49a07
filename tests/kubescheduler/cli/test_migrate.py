"""``kubescheduler migrate``."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from kubescheduler.config.load_config import component_config_from, read_component_config
from kubescheduler.releases.names import RELEASE_NAMES
from tests.kubescheduler.cli.conftest import ROOT, Run
from tests.support.configuring.component_build import format_of

POLICY = """\
kind: Policy
apiVersion: v1
predicates: [{name: GeneralPredicates}]
priorities: [{name: MostRequestedPriority, weight: 3}]
"""
EXACT = "kind: Policy\napiVersion: v1\npredicates: [{name: GeneralPredicates}]\npriorities: []\n"


@pytest.fixture
def migrate(kubescheduler: Run, folder: Path) -> Run:
    """``kubescheduler migrate`` with arguments; policy.yaml and exact.yaml are there."""
    (folder / "policy.yaml").write_text(POLICY)
    (folder / "exact.yaml").write_text(EXACT)
    return lambda *args, stdin=b"": kubescheduler("migrate", *args, stdin=stdin)


@pytest.mark.parametrize("to", ["1.20", "1.36"])
def test_the_configuration(migrate: Run, folder: Path, to: str) -> None:
    """YAML that the target reads, with comments; each note once; status 1, as scores have a scale."""
    outcome = migrate("policy.yaml", "--to", to)
    (folder / "scheduler.yaml").write_text(outcome.out)
    read_component_config(folder / "scheduler.yaml", format_of(to))
    assert outcome.status == 1
    assert "# from priorities[0] MostRequestedPriority (weight 3)\n" in outcome.out
    assert "# always added\n" in outcome.out
    assert outcome.out.startswith(f"# policy.yaml, as release 1.16 reads it, for release {to}.\n")
    scale = "approximate: priorities: scores run from 0 to 100"
    assert (outcome.out.count(scale), outcome.err.count(scale)) == (1, 0)
    assert re.fullmatch(r"note: notes at the head of the configuration: \d+, \d on what is not the same\n", outcome.err)
    bare = migrate("policy.yaml", "--to", to, "--bare")
    assert (bare.out.count(scale), bare.err.count(scale)) == (0, 1)


def test_an_exact_translation(migrate: Run) -> None:
    """Status 0."""
    assert migrate("exact.yaml").status == 0


def test_json(migrate: Run) -> None:
    """The document, the notes and the shares; nothing on standard error."""
    outcome = migrate("policy.yaml", "-o", "json")
    found = json.loads(outcome.out)
    assert (outcome.status, outcome.err) == (1, "")
    assert list(found) == ["source", "from", "to", "exact", "document", "notes", "scores"]
    assert (found["from"], found["to"], found["exact"]) == ("1.16", RELEASE_NAMES[-1], False)
    assert found["document"] == yaml.safe_load(migrate("policy.yaml").out)
    assert set(found["notes"][0]) == {"kind", "path", "text", "advice"}
    assert found["scores"]["before"] == [
        {"name": "MostRequestedPriority", "weight": 3, "share": 100.0, "role": "packs"}
    ]


def test_table(migrate: Run) -> None:
    """The notes as a list, the shares as a table."""
    outcome = migrate("policy.yaml", "-o", "table")
    assert outcome.out.endswith(
        "RELEASE         SCORE                              WEIGHT   SHARE   EFFECT\n"
        "1.16 (before)   MostRequestedPriority              3        100%    packs\n"
        f"{RELEASE_NAMES[-1]} (after)    NodeResourcesFit (MostAllocated)   3        100%    packs\n"
    )
    assert outcome.out.startswith("- ")


SPREADING = """\
{"kind": "Policy", "apiVersion": "v1", "predicates": [{"name": "GeneralPredicates"}],
 "priorities": [{"name": "SelectorSpreadPriority", "weight": 1}]}
"""


@pytest.mark.parametrize(
    ("gates", "before", "told", "untold"),
    [
        ("", "PodTopologySpread (System)   1", "1.24 rounds", "not two to one"),
        (
            "DefaultPodTopologySpread=false",
            "SelectorSpread ",
            f"--feature-gates DefaultPodTopologySpread=false: {RELEASE_NAMES[-1]}",
            "rounds",
        ),
    ],
    ids=["PodTopologySpread", "SelectorSpread"],
)
def test_spreading_of_1_20(migrate: Run, gates: str, before: str, told: str, untold: str) -> None:
    """What SelectorSpreadPriority is there depends on a feature gate."""
    outcome = migrate("-", "--from", "1.20", "-o", "table", "--feature-gates", gates, stdin=SPREADING.encode())
    assert f"1.20 (before)   {before}" in outcome.out
    assert told in outcome.out
    assert untold not in outcome.out


def test_a_provider(migrate: Run) -> None:
    """With the weights that keep packing on top."""
    outcome = migrate("--algorithm-provider", "ClusterAutoscalerProvider", "--keep-emphasis", "-o", "json")
    document = json.loads(outcome.out)["document"]
    config = component_config_from(document, format_of("1.36"), all_problems=True)
    assert {p.name: p.weight for p in config.profiles[0].multi_point}["NodeResourcesFit"] == 2


def test_standard_input(migrate: Run) -> None:
    """A ConfigMap as kubectl prints it."""
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"policy.cfg": POLICY}}
    outcome = migrate("-", "--to", "1.20", stdin=json.dumps(config_map).encode())
    assert outcome.out.startswith("# ConfigMap standard input[policy.cfg], as release 1.16 reads it")


EXAMPLES = ["bin-packing.json", "classic-default.json", "extenders.json", "parameterised.yaml", "spread-first.toml"]


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("to", ["1.20", "1.36"])
def test_the_examples(migrate: Run, name: str, to: str) -> None:
    """Every example policy can be translated."""
    outcome = migrate(str(ROOT / "policy_examples" / name), "--to", to)
    assert outcome.status == 1
    config = component_config_from(yaml.safe_load(outcome.out), format_of(to), all_problems=True)
    assert config.release == to


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "say what to migrate: a FILE with a Policy, a KubeSchedulerConfiguration or the manifest of a "),
        (["policy.yaml", "--algorithm-provider", "DefaultProvider"], "give one of them"),
        (["policy.yaml", "--to", "1.16"], "'1.16' is not one of 1.18, 1.19, 1.20,"),
        (["none.yaml"], "none.yaml: No such file or directory"),
        (["--algorithm-provider", "DefaultProvide"], "did you mean DefaultProvider?"),
        (["policy.yaml", "--feature-gates", "NoGate=true"], "NoGate"),
        (["policy.yaml", "--hard-pod-affinity-symmetric-weight", "101"], "must be in the range 1-100"),
        (["cluster.yaml"], "there is no Policy, KubeSchedulerConfiguration or kube-scheduler in it"),
        (["-"], "byte 0 is not UTF-8"),
    ],
)
def test_wrong_input(migrate: Run, args: list[str], message: str) -> None:
    """Status 2, one message, no traceback."""
    migrate(*args, stdin=b"\xff").refused(message)


def test_packed_input_that_is_cut_off(migrate: Run) -> None:
    """It is wrong input as in a file."""
    outcome = migrate("-", stdin=b"\x1f\x8b\x08xxxxx")
    assert outcome.status == 2
    assert outcome.err == "error: standard input: it cannot be read as text or as gzip\n"


def test_the_table_of_several_profiles(migrate: Run, folder: Path) -> None:
    """Each profile has its own rows."""
    profiles = "profiles: [{schedulerName: one}, {schedulerName: two}]\n"
    head = "apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration\n"
    (folder / "beta.yaml").write_text(head + profiles)
    lines = migrate("beta.yaml", "--to", "1.36", "-o", "table", "--keep-emphasis").out.splitlines()
    releases = [line.partition("   ")[0] for line in lines if re.search("ImageLocality +1", line)]
    assert releases == ["1.28 one (before)", "1.36 one (after)", "1.28 two (before)", "1.36 two (after)"]


# --- against a cluster ---------------------------------------------------------------------

LOSING = """\
kind: Policy
apiVersion: v1
predicates: [{name: GeneralPredicates}, {name: CheckServiceAffinity, argument: {serviceAffinity: {labels: [rack]}}}]
priorities: [{name: NodePreferAvoidPodsPriority, weight: 1}, {name: SelectorSpreadPriority, weight: 1}]
"""
MARKED = """\
apiVersion: v1
kind: Node
metadata:
  name: n1
  annotations: {scheduler.alpha.kubernetes.io/preferAvoidPods: "{}"}
---
apiVersion: v1
kind: Node
metadata: {name: n2}
"""
SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: web, namespace: default}
spec: {selector: {app: web}}
"""
WEIGHED = {
    "one file": ({"c.yaml": MARKED}, "1 of 2 nodes carry the annotation", "nobody uses it: no service selects pods"),
    "several": ({"c.yaml": MARKED, "s.yaml": SERVICE}, "1 of 2 nodes carry the annotation", "1 services select pods"),
    "nobody": ({"s.yaml": SERVICE}, "nobody uses it", "1 services select pods"),
}


@pytest.mark.parametrize(("files", "annotated", "services"), WEIGHED.values(), ids=WEIGHED.keys())
@pytest.mark.parametrize("output", ["yaml", "json", "table"])
def test_notes_weighed_against_a_cluster(
    migrate: Run, folder: Path, files: dict[str, str], annotated: str, services: str, output: str
) -> None:
    """Every output says who uses what is lost; the files of a cluster may be several."""
    (folder / "losing.yaml").write_text(LOSING)
    asked: list[str] = []
    for name, text in files.items():
        (folder / name).write_text(text)
        asked += ["--cluster", name]
    outcome = migrate("losing.yaml", "-o", output, *asked)
    said = " ".join(outcome.out.replace("#", " ").split())
    assert outcome.status == 1
    assert f"here {annotated}" in said
    assert f"here {services}" in said
    assert "; here " not in migrate("losing.yaml", "-o", output).out


def test_the_document_is_the_same_beside_a_cluster(migrate: Run, folder: Path) -> None:
    """Only the notes look at it."""
    (folder / "losing.yaml").write_text(LOSING)
    (folder / "c.yaml").write_text(MARKED)
    assert migrate("losing.yaml", "--bare", "--cluster", "c.yaml").out == migrate("losing.yaml", "--bare").out


def test_a_faulty_cluster(migrate: Run, folder: Path) -> None:
    """It ends in an error, and what is odd in it is noted."""
    (folder / "c.yaml").write_text(MARKED.replace("name: n2", "nam: n2"))
    migrate("policy.yaml", "--cluster", "c.yaml").refused("metadata.nam")
    (folder / "c.yaml").write_text(MARKED.replace("name: n2", "name: n2, name: n3"))
    assert "c.yaml: document 2: metadata.name: set twice" in migrate("policy.yaml", "--cluster", "c.yaml").err


@pytest.mark.parametrize("release", ["1.4", "1.16", "1.22"])
@pytest.mark.parametrize("name", ["PodFitsResorces", "podFitsResources", "PodsFitResource"])
def test_a_misspelt_predicate(kubescheduler: Run, folder: Path, release: str, name: str) -> None:
    """Its own release refuses the policy, and so does migrating it."""
    (folder / "policy.json").write_text(
        json.dumps({"kind": "Policy", "apiVersion": "v1", "predicates": [{"name": name}]})
    )
    given = ("--pod", "pod.yaml", "--policy-config-file", "policy.json", "--release", release)
    refused = kubescheduler("schedule", "cluster.yaml", *given)
    outcome = kubescheduler("migrate", "policy.json", "--from", release)
    assert (outcome.status, outcome.out, outcome.err) == (2, "", refused.err)
    assert "redicate type not found for" in outcome.err
    assert "did you mean PodFitsResources?" in outcome.err
