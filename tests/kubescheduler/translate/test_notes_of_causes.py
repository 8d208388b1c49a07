"""Every cause that ``compare`` finds between two releases has a note in ``migrate``, or a reason why it has none."""

from __future__ import annotations

import gzip
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clusterstate.manifests.decode import decode_cluster, decode_object
from clusterstate.objects import ClusterObject, Container, FrozenMap, Pod
from kubescheduler.comparison.comparing import compare
from kubescheduler.comparison.outcomes import TOLERABLE, Cause
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.translate.migration import MigrationOptions, migrated
from kubescheduler.translate.policy_source import provider_source
from kubescheduler.translate.translating import translate, weighed
from priorities.avoided_nodes import ANNOTATION
from tests.support.comparisons import node, pod
from tests.support.configuring.translating import moved
from tests.support.releases_tried import FRAMEWORKS_TRIED, POLICIES_TRIED, RELEASES_TRIED

VECTORS = Path(__file__).parents[2] / "vectors"
PAIRS = [
    (old, new)
    for old in POLICIES_TRIED
    for new in FRAMEWORKS_TRIED
    if RELEASES_TRIED.index(old) < RELEASES_TRIED.index(new)
]
LEGACY, FROM_1_20 = ("1.4", "1.16"), ("1.20",)
TO_1_20, TO_1_36 = ("1.20",), ("1.36",)
ANY = ("1.4", "1.16", "1.20")
TO_ANY = ("1.20", "1.36")

NOTES: list[tuple[Cause, tuple[str, ...], tuple[str, ...], str]] = [
    (Cause.FILTERED_NOW, LEGACY, TO_ANY, "init containers of running pods count against their nodes"),
    (Cause.FILTERED_NOW, ("1.4",), TO_ANY, "1.6 (affinity, tolerations and taints are fields of pods and nodes"),
    (Cause.FILTERED_NOW, LEGACY, TO_1_20, "EvenPodsSpread is new in it"),
    (Cause.FILTERED_NOW, LEGACY, TO_1_36, "pods are held to their own DoNotSchedule constraints"),
    (Cause.FILTERED_NOW, ANY, TO_1_36, "1.31 sees such volumes as CSI volumes"),
    (Cause.NO_LONGER_FILTERED, ANY, TO_1_36, "a request of 0 is not compared with a node that has too little"),
    (Cause.NO_LONGER_FILTERED, ("1.4",), TO_1_20, "1.12 (conditions of nodes become taints)"),
    (Cause.SCORE_RESOLUTION, LEGACY, TO_ANY, "scores run from 0 to 100 instead of 0 to 10"),
    (Cause.CHANGED_WEIGHT, LEGACY, TO_1_20, "PodTopologySpread has weight 2 in it"),
    (Cause.CHANGED_FORMULA, LEGACY, TO_ANY, "PodTopologySpread with its system defaults"),
    (Cause.CHANGED_FORMULA, ANY, TO_1_36, "1.36 scores how much the pod would change the balance"),
    (Cause.CHANGED_FORMULA, ("1.16",), TO_1_20, "the size for the highest score grows with the number of containers"),
    (Cause.CHANGED_FORMULA, FROM_1_20, TO_1_36, "1.24 rounds the score by the pods in a zone or on a node"),
    (Cause.ADDED_PRIORITY, LEGACY, TO_1_20, "the default list of 1.20 stands in place"),
    (Cause.ADDED_PRIORITY, LEGACY, TO_1_36, "it also scores pods by the ScheduleAnyway constraints of their own"),
    (Cause.REMOVED_PRIORITY, ANY, TO_1_36, "does not read the annotation scheduler.alpha"),
    (Cause.NORMALISATION, ANY, TO_1_36, "1.21 spreads the scores from the lowest sum to the highest"),
    (Cause.EXTENDER_SCALING, LEGACY, TO_ANY, "an extender still answers 0 to 10"),
    (Cause.TIE_BREAK, LEGACY, TO_ANY, "nodes that were equal may differ"),
    (Cause.TIE_BREAK, ANY, TO_1_36, "nodes with equal totals are not drawn by lot"),
    (Cause.OWN_CONSTRAINTS, LEGACY, TO_ANY, "constraints of a pod's own switch default spreading off for it"),
    (Cause.DIFFERENT_REASONS, LEGACY, TO_ANY, "reasons are worded differently"),
    (Cause.DIFFERENT_REASONS, FROM_1_20, TO_1_36, "reasons are worded differently"),
    (Cause.DIFFERENT_VICTIMS, LEGACY, TO_ANY, "preemption looks for victims on a share of the nodes"),
    (Cause.DIFFERENT_VICTIMS, ANY, TO_1_36, "other victims are chosen where disruption budgets are hurt"),
    (Cause.NOT_TRIED, ANY, TO_1_36, "pods with scheduling gates wait"),
    (Cause.KEPT_RANKING, ANY, TO_1_36, "may take the next node of its ranking"),
]
"""(cause, releases before, releases after, what the note says)."""

BLAMED: list[tuple[str, str]] = [
    ("GeneralPredicates", "a request of 0 is not compared with a node that has too little"),
    ("GeneralPredicates", "pods ask for their overhead too"),
    ("NodeResourcesFit", "init containers of running pods count against their nodes"),
    ("NodeResourcesFit", "a request of 0 is not compared with a node that has too little"),
    ("LeastRequestedPriority", "init containers of running pods count against their nodes"),
    ("NodeResourcesLeastAllocated", "a pod's overhead of cpu scores in full"),
    ("NodeResourcesLeastAllocated", "init containers of running pods count against their nodes"),
    ("BalancedResourceAllocation", "init containers of running pods count against their nodes"),
    ("NodeResourcesBalancedAllocation", "BalancedResourceAllocation"),
    ("NodeAffinityPriority", "preferred node affinity goes by matchFields too"),
    ("PodToleratesNodeTaints", "1.6 (affinity, tolerations and taints are fields of pods and nodes"),
]
"""(rule that ``compare`` blames, what the note says whose text does not name the rule)."""
OF_ALL = {Cause.SCORE_RESOLUTION: "scores run from 0 to 100 instead of 0 to 10"}
"""Cause → the note that says it of every rule."""

REASONS: list[tuple[Cause, tuple[str, ...], tuple[str, ...], str]] = [
    (Cause.EARLIER_CHOICES, ANY, TO_ANY, "it follows from the other causes of the pods before, in a sequence"),
    (Cause.COULD_HAVE_BEEN, ANY, TO_ANY, "it is no move: the older scheduler itself takes any of its equal best"),
    (Cause.NO_START_TIMES, ANY, TO_ANY, "it is said of dry runs alone, where victims have not started"),
    (Cause.DIFFERENT_TIES, ANY, TO_ANY, "it is no move either, and said only where ties are compared strictly"),
    (Cause.SCORE_RESOLUTION, FROM_1_20, TO_1_36, "both score from 0 to 100"),
    (Cause.CHANGED_WEIGHT, ANY, TO_1_36, "every weight of the source is written out"),
    (Cause.ADDED_PRIORITY, FROM_1_20, TO_1_36, "nothing is enabled that scores pods of 1.20: they have no claims"),
    (Cause.EXTENDER_SCALING, FROM_1_20, TO_1_36, "both multiply an extender's answers by ten"),
    (Cause.OWN_CONSTRAINTS, FROM_1_20, TO_1_36, "they switch default spreading off in both"),
    (Cause.REMOVED_PRIORITY, LEGACY, TO_1_20, "1.20 has every default priority of older releases"),
    (Cause.NORMALISATION, LEGACY, TO_1_20, "scores are normalised by the same rules"),
    (Cause.NOT_TRIED, LEGACY, TO_1_20, "neither has scheduling gates, and schedulerName is the same field"),
    (Cause.KEPT_RANKING, LEGACY, TO_1_20, "only 1.36 keeps a ranking"),
    (Cause.NO_LONGER_FILTERED, ("1.16",), TO_1_20, "every default predicate of 1.16 is a filter of 1.20"),
]
"""(cause, releases before, releases after, why no note is needed)."""

SCENARIOS = 2
"""Of each theme, the first ones."""
THEMES = ("avoid", "images", "interpod", "mixed", "resources", "services", "spread", "taints", "volumes")


def blamed(old: str, config: Path, new: str) -> Iterator[tuple[Cause, str]]:
    """(cause, rule on either side) of what ``compare`` finds where recorded pods are decided by both."""
    sides = EngineSpec(release=old), [EngineSpec(release=new, config_file=str(config))]
    for theme in THEMES:
        recorded = (VECTORS / old / f"{theme}.jsonl.gz").read_bytes()
        for line in gzip.decompress(recorded).splitlines()[:SCENARIOS]:
            scenario = msgspec.json.decode(line)["scenario"]
            asked = [decode_object({"kind": "Pod", "apiVersion": "v1", **one["pod"]}) for one in scenario["queries"]]
            pods = [pod for pod in asked if isinstance(pod, Pod)][:2]
            for found in compare(decode_cluster(scenario["cluster"]), pods, *sides).pods:
                yield from (
                    (change.cause, check.partition(" (")[0])
                    for change in found.changes
                    for check in (
                        change.reasons if change.cause in (Cause.FILTERED_NOW, Cause.NO_LONGER_FILTERED) else ()
                    )
                )
                yield from (
                    (step.cause, name) for change in found.changes for step in change.steps for name in step.names
                )


@pytest.mark.parametrize(("old", "new"), [("1.16", "1.20"), ("1.16", "1.36"), ("1.20", "1.36")])
def test_every_rule_that_is_blamed_has_a_note(old: str, new: str, tmp_path: Path) -> None:
    """Not only the cause: what moves recorded pods stands in a note that names the rule, or in one that means it."""
    translation = translate(provider_source("DefaultProvider", old, MigrationOptions(old, new).gates()), new)
    said = [str(note) for note in translation.notes]
    config = tmp_path / "config.json"
    config.write_bytes(msgspec.json.encode(translation.plain()))
    found = set(blamed(old, config, new))
    assert len(found) >= 5

    def is_said(cause: Cause, rule: str) -> bool:
        names = re.split(r" -> | \+ ", rule)
        texts = [*names, *(text for name, text in BLAMED if name in names), OF_ALL.get(cause, names[0])]
        return any(text in note for text in texts for note in said)

    assert [one for one in sorted(found) if not is_said(*one)] == []


EXTENDER = {
    "kind": "Policy",
    "apiVersion": "v1",
    "extenders": [{"urlPrefix": "http://x", "prioritizeVerb": "p", "weight": 1}],
}


def notes(old: str, new: str) -> list[str]:
    """What is said of the default provider, and of a policy with an extender."""
    options = MigrationOptions(old, new)
    provider = translate(provider_source("DefaultProvider", old, options.gates()), new)
    return [str(note) for each in (provider, moved(EXTENDER, release=old, to=new)) for note in each.notes]


@pytest.mark.parametrize(("old", "new"), PAIRS, ids=[f"{old} to {new}" for old, new in PAIRS])
def test_every_cause_has_a_note(old: str, new: str) -> None:
    """What ``compare`` may find between the releases is said by ``migrate``, or there is a reason why it is not."""
    said = notes(old, new)
    texts, reasons = (
        [(cause, text) for cause, before, after, text in table if old in before and new in after]
        for table in (NOTES, REASONS)
    )
    assert [text for _, text in texts if not any(text in note for note in said)] == []
    assert {*TOLERABLE} - {cause for cause, _ in (*texts, *reasons)} == set()


@pytest.mark.parametrize(("old", "new"), PAIRS, ids=[f"{old} to {new}" for old, new in PAIRS])
def test_each_note_once(old: str, new: str) -> None:
    """No note is there twice."""
    options = MigrationOptions(old, new)
    said = Counter(translate(provider_source("DefaultProvider", old, options.gates()), new).notes)
    assert [note for note, times in said.items() if times > 1] == []


POLICY = """\
kind: Policy
apiVersion: v1
predicates: [{name: PodFitsResources}, {name: CheckServiceAffinity, argument: {serviceAffinity: {labels: [rack]}}}]
priorities: [{name: NodePreferAvoidPodsPriority, weight: 1}, {name: SelectorSpreadPriority, weight: 1}]
"""


def counted(*objects: ClusterObject) -> dict[str, Any]:
    """Path → what is said of the cluster."""
    return {
        note.path: note.text.rpartition("; here ")[2]
        for note in weighed(migrated([("policy.yaml", POLICY)], MigrationOptions("1.16", "1.36")).notes, objects)
        if "; here " in note.text
    }


def test_nobody_uses_it() -> None:
    """An empty cluster."""
    found = counted(node("n1"))
    assert found["priorities[0] NodePreferAvoidPodsPriority"] == "nobody uses it"
    assert found["predicates[1] CheckServiceAffinity"] == "nobody uses it: no service selects pods"


def test_somebody_does() -> None:
    """Nodes with the annotation, nodes without the labels that spreading needs, pods that rely on missing filters."""
    plain = node("n1")
    marked = msgspec.structs.replace(
        node("n2"),
        metadata=msgspec.structs.replace(
            node("n2").metadata, annotations=FrozenMap({ANNOTATION: "{}"}), labels=FrozenMap()
        ),
    )
    found = counted(plain, marked, pod("web"))
    assert found["priorities[0] NodePreferAvoidPodsPriority"] == "1 of 2 nodes carry the annotation"
    assert "2 nodes lack topology.kubernetes.io/zone" in found["priorities[1] SelectorSpreadPriority"]
    assert found["predicates"] == "0 of 1 pods use claims, 0 have DoNotSchedule constraints"


def test_init_containers_of_running_pods() -> None:
    """The running pods that count for more than before; pending ones are no part of it."""
    waiting = pod("waiting")
    waiting = msgspec.structs.replace(
        waiting, spec=msgspec.structs.replace(waiting.spec, init_containers=(Container(),))
    )
    running = msgspec.structs.replace(waiting, node_name="n1")
    found = counted(node("n1"), pod("web"), waiting, running)
    assert found["releases after 1.16"] == "1 of 3 pods run and have init containers"
