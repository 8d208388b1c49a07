"""One way from what is given to something that decides, for all releases."""

from __future__ import annotations

import gzip
import json
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import pytest

from algorithmprovider.algorithms import ORDERING
from clusterstate.cache import ClusterCache
from clusterstate.errors import ConfigError
from clusterstate.manifests.decode import Decoder
from clusterstate.objects import Pod
from kubescheduler.core.algorithm import Algorithm
from kubescheduler.engine.engine_flags import EngineFlags, max_pd_volumes
from kubescheduler.engine.evaluate_protocol import CONFIGURATION_FIELDS, Scenario
from kubescheduler.engine.legacy_engine import algorithm_for, algorithm_from_files
from kubescheduler.engine.spec import EngineSpec, PodScheduler, engine_for
from kubescheduler.framework.plugin_loading import with_plugin
from kubescheduler.releases.lookup import RELEASES, release_named
from tests.support.build import make_node, make_pod, resources
from tests.support.references.formulas import hold_to_evidence
from tests.support.releases_tried import vectors_dir

BOTH_RELEASES = ("1.4", "1.16", "1.20", "1.36")


def scheduler_of(spec: EngineSpec, *nodes: Any) -> PodScheduler:
    return spec.engine(print).scheduler(ClusterCache.of(nodes or [make_node("n")], spec.release_view()))


def big(**fields: Any) -> Pod:
    return make_pod("big", requests=resources(cpu=9000), **fields)


@pytest.mark.parametrize(
    ("release", "configuration", "text"),
    [
        ("1.4", {"component": {}}, "release 1.4 has no component configuration to decide by"),
        ("1.36", {"policy": {}}, "release 1.36 reads no Policy; give it a KubeSchedulerConfiguration"),
    ],
)
def test_what_a_release_does_not_read(release: str, configuration: Any, text: str) -> None:
    """It is refused."""
    with pytest.raises(ConfigError) as raised:
        engine_for(EngineSpec(release, **configuration))
    assert raised.value.problems == (text,)


# --- what is decided -------------------------------------------------------------------------


@pytest.mark.parametrize("release", ["1.20", "1.36"])
def test_pods_of_another_scheduler(release: str) -> None:
    """They go nowhere, with the release's words."""
    pod = make_pod("p", scheduler_name='my"own')
    scheduler = scheduler_of(EngineSpec(release))
    for decision in (scheduler.decide(pod), scheduler.decide(pod, thorough=True)):
        assert (decision.host, decision.nodes_total, decision.tried) == (None, 1, False)
        assert decision.message == 'profile not found for scheduler name "my\\"own"'


def test_pods_that_are_held_back() -> None:
    """1.36 does not try them, also when every detail is asked for; earlier releases know no gates."""
    pod = make_pod("p", scheduling_gates=("a", "b"))
    scheduler = scheduler_of(EngineSpec("1.36"))
    for decision in (scheduler.decide(pod), scheduler.decide(pod, thorough=True)):
        assert (decision.host, decision.tried) == (None, False)
        assert decision.message == "waiting for scheduling gates: [a b]"
    assert scheduler_of(EngineSpec("1.20")).decide(pod).host == "n"


@pytest.mark.parametrize("release", BOTH_RELEASES)
def test_the_message_is_complete_and_preemption_is_not_asked_for(release: str) -> None:
    """1.36 ends its message in what preemption says; the decision has that only if it was asked for."""
    scheduler = scheduler_of(EngineSpec(release))
    decision = scheduler.decide(big(priority=5))
    assert decision.preemption is None
    assert ("preemption: " in decision.message) is (release == "1.36")
    asked = scheduler.decide(big(priority=5), preempt=True)
    assert asked.message == decision.message
    assert (asked.preemption is None) is (release == "1.4")


def test_own_plugins_are_told_apart() -> None:
    """A scheduler with one does not know the answer for pods that look alike."""

    class Own:
        name = "Own"

        def filter(self, state: Any, pod: Pod, node_info: Any) -> None: ...

    plain = EngineSpec("1.36")
    assert not scheduler_of(plain).has_custom_plugins
    option = with_plugin("Own", lambda args, handle: Own())
    unused = EngineSpec("1.36", plugins=(option,))
    assert not scheduler_of(unused).has_custom_plugins


OPTIONS = EngineFlags(feature_gates=RELEASES["1.16"].gates.resolve({}))


def policy(**fields: Any) -> dict[str, Any]:
    return {"kind": "Policy", "apiVersion": "v1", **fields}


def predicates(algorithm: Algorithm) -> list[str]:
    return [predicate.name for predicate in algorithm.predicates]


def test_predicates_run_in_the_order_of_the_release() -> None:
    """Whatever the order of the policy."""
    names = [{"name": name} for name in ("NoDiskConflict", "HostName", "GeneralPredicates")]
    found = predicates(algorithm_for(OPTIONS, None, policy(predicates=names)))
    assert found == sorted(found, key=ORDERING.index)
    assert set(found) >= {"CheckNodeUnschedulable", "PodToleratesNodeTaints"}


@pytest.mark.parametrize(
    ("fields", "count", "priorities"),
    [({}, 11, 8), ({"predicates": []}, 2, 8), ({"priorities": []}, 11, 0), ({"predicates": None}, 11, 8)],
    ids=["absent", "no predicates", "no priorities", "null"],
)
def test_absent_lists_are_the_defaults_and_empty_ones_are_none(
    fields: dict[str, Any], count: int, priorities: int
) -> None:
    """Mandatory predicates join an empty list."""
    algorithm = algorithm_for(OPTIONS, None, policy(**fields))
    assert (len(algorithm.predicates), len(algorithm.priorities)) == (count, priorities)


def test_an_unknown_provider_is_named_with_the_nearest() -> None:
    """Upstream's text, and what to type instead."""
    with pytest.raises(ConfigError, match='plugin "DefaultProvidr" has not been registered; did you mean Default'):
        algorithm_for(OPTIONS, "DefaultProvidr", None)


def test_a_predicate_that_never_runs_is_told(tmp_path: Path) -> None:
    """1.16 runs only the names it has a place for."""
    argument = {"labelsPresence": {"labels": ["x"], "presence": True}}
    path = tmp_path / "policy.json"
    path.write_text(json.dumps(policy(predicates=[{"name": "MyLabels", "argument": argument}])))
    told: list[str] = []
    algorithm = algorithm_from_files(OPTIONS, None, str(path), None, told.append)
    assert [predicate.name for predicate in algorithm.idle] == ["MyLabels"]
    assert told == [f"{path}: predicate MyLabels never runs: release 1.16 has no place for that name"]


def test_a_policy_wins_over_the_provider_and_says_so(tmp_path: Path) -> None:
    """As kube-scheduler's flags do."""
    path = tmp_path / "policy.json"
    path.write_text(json.dumps(policy(priorities=[])))
    told: list[str] = []
    algorithm = algorithm_from_files(OPTIONS, "ClusterAutoscalerProvider", str(path), None, told.append)
    assert not algorithm.priorities
    assert told == [f"--algorithm-provider has no effect beside the policy in {path}"]


@pytest.mark.parametrize(("text", "limit"), [("", None), ("12", 12), ("0", None), ("-1", None), ("x", None)], ids=repr)
def test_the_environment_limits_volumes_only_with_a_positive_integer(text: str, limit: int | None) -> None:
    """KUBE_MAX_PD_VOLS."""
    assert max_pd_volumes({"KUBE_MAX_PD_VOLS": text}) == limit


EVERY = 16
"""One scenario of so many is held."""


@pytest.mark.parametrize("release", ["1.4", "1.16", "1.20", "1.36"])
def test_evidence_of_recorded_scenarios(release: str) -> None:
    """Every check of the configuration that the first query of a scenario names, on every node."""
    held = 0
    for path in sorted((vectors_dir() / release).glob("*.jsonl.gz")):
        if path.name.startswith("extender"):
            continue
        for line in islice(gzip.decompress(path.read_bytes()).splitlines(), 0, None, EVERY):
            document = msgspec.json.decode(line)["scenario"]
            query = document["queries"][0]
            scenario = Scenario.of(document, release_named(release))
            pod = Decoder(prepare=scenario.release.decoding).decode_object(
                {"kind": "Pod", **query["pod"]}, keep_manifest=True
            )
            assert isinstance(pod, Pod)
            scheduler = scenario.configured(
                {key: query[key] for key in CONFIGURATION_FIELDS if query.get(key)}
            ).scheduler
            info, snapshot = scenario.cache.info(pod), scenario.cache.snapshot()
            for check in scheduler.algorithm.predicates:
                if check.evidence is not None:
                    held += hold_to_evidence(check, info, snapshot)
    assert held > 50
