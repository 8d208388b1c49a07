"""``kubescheduler evaluate``: scenarios in, results out, whatever comes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.kubescheduler.cli.conftest import COMMAND, ENVIRONMENT, Run

NODE = {"metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}}


def query(name: str, cpu: str = "1", **more: Any) -> dict[str, Any]:
    container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
    meta = {"name": name, "namespace": "default", "uid": f"u-{name}"}
    return {"id": name, "pod": {"metadata": meta, "spec": {"containers": [container]}}, **more}


def scenario(name: str, *queries: dict[str, Any], **more: Any) -> str:
    return json.dumps({"id": name, "cluster": {"nodes": [NODE]}, "queries": queries, **more})


def ask(kubescheduler: Run, release: str, *lines: str) -> list[dict[str, Any]]:
    """The answers of a release."""
    outcome = kubescheduler("evaluate", "--release", release, stdin="\n".join(lines).encode())
    assert (outcome.status, outcome.err) == (0, "")
    return [json.loads(line) for line in outcome.out.splitlines()]


def test_one_line_per_query(kubescheduler: Run) -> None:
    """Results come in order, one for each query; empty lines are passed over."""
    found = ask(kubescheduler, "1.16", scenario("a", query("p"), query("q", "64")), "", scenario("b", query("r")))
    assert [(r["scenario"], r["query"], r["best"], r["error"]) for r in found] == [
        ("a", "p", ["n1"], None),
        ("a", "q", [], None),
        ("b", "r", ["n1"], None),
    ]
    assert found[1]["failed"] == {"n1": ["Insufficient cpu"]}


def test_a_sequence_is_one_run(kubescheduler: Run) -> None:
    """In a sequence each pod is bound before the next; otherwise every query sees the cluster as it was."""
    queries = (query("p", "3"), query("q", "3"))
    assert [r["best"] for r in ask(kubescheduler, "1.16", scenario("a", *queries))] == [["n1"], ["n1"]]
    assert [r["best"] for r in ask(kubescheduler, "1.16", scenario("a", *queries, sequence=True))] == [["n1"], []]


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("{", ["truncated"]),
        ("[]", []),
        ('{"id": "x", "cluster": {"nodes": [{"metadata": {}}]}, "queries": [{"id": "y"}]}', ["nodes[0]", "name"]),
        (scenario("x", query("y", "1O0m")), ['quantity "1O0m"']),
        (scenario("x", query("y", provider="DefaultProvder")), ['"DefaultProvder"']),
        (scenario("x", query("y", policy={"kind": "Policy", "apiVersion": "v2"})), ['"v2"']),
        (scenario("x", query("y", provider="DefaultProvider", policy={})), ["only one"]),
        ("5", ["a line: must be an object, not 5"]),
        ('"abc"', ['a line: must be an object, not "abc"']),
        ("[null]", ["a line: must be an object, not a list"]),
        ('{"queries": [5]}', ["queries[0]: must be an object, not 5"]),
        ('{"queries": 5}', ["queries: must be a list, not 5"]),
        ('{"queries": [{"pod": 5, "provider": {}}]}', ["queries[0].pod: must be an object",
         "].provider: must be text"]),
        ('{"cluster": [], "featureGates": {"A": 1}, "queries": [{}]}', ["cluster: must be", "featureGates.A: must be"]),
        ("[" * 100_000, ["nested too deeply"]),
        ('{"scenario": {"queries": [{}]}}', ["queries: missing"]),
        (scenario("x", query("y", provder="DefaultProvider")),
         ["queries[0].provder: unknown key; did you mean provider"]),
        (scenario("x", query("y"), featureGate={}), ["featureGate: unknown key; did you mean featureGates?"]),
        ('{"cluster": {"node": [], "configMaps": []}, "queries": [{}]}',
         ["cluster.node: unknown key; did you mean nodes?", "cluster.configMaps: unknown key"]),
        (scenario("x", query("y", now="today")), ['now: "today" is no time; write it as 2020-01-31T12:00:00Z']),
        (scenario("x", query("y", now="2020-01-31")), ["is no time"]),
        (scenario("x", query("y", events=[5, {"after": True, "knew": {}}])),
         ["events[0]: must be an object", "events[1].after: must be a number", "events[1].knew: unknown key"]),
        (scenario("x", query("y", events=[{"after": 5}, {"after": 1, "new": {"kind": "Node"}}])),
         ["events[1].after: must be from 5", "events[1].new: manifest: Node: metadata.name"]),
        (scenario("x", query("y", events=[{"old": {**NODE, "kind": "Node"}, "new": {**NODE, "kind": "Service"}}])),
         ["events[0]: old and new must be of one kind"]),
    ],
    ids=[
        *("no JSON", "no scenario", "bad cluster", "bad pod", "bad provider", "bad policy", "two configurations"),
        *("a number", "a text", "a list", "a number as query", "a number as queries", "types of a query"),
        *("types of a line", "nesting", "no queries", "key of a query", "key of a line", "keys of a cluster"),
        *("no time", "no zone", "events", "order of events", "kinds of an event"),
    ],
)  # fmt: skip
def test_faults_do_not_end_it(kubescheduler: Run, line: str, parts: list[str]) -> None:
    """A bad line or query is answered with its error, and what follows is answered as ever."""
    bad, good = ask(kubescheduler, "1.16", line, scenario("b", query("p")))
    assert bad["error"]
    assert all(part in bad["error"] for part in parts)
    assert not any(word in bad["error"] for word in ("Error", "NoneType", ".py", "object has no"))
    assert (bad["fits"], bad["best"], bad["release"]) == ([], [], "1.16")
    assert (good["scenario"], good["best"], good["error"]) == ("b", ["n1"], None)


def test_a_line_that_is_not_utf_8(kubescheduler: Run) -> None:
    """It is answered with its error in words of ours, and the next line as ever."""
    lines = b'{"id": "\xff"}\n' + scenario("b", query("p")).encode()
    bad, good = map(json.loads, kubescheduler("evaluate", stdin=lines).out.splitlines())
    assert bad["error"] == "a line: it is not UTF-8 text"
    assert (good["scenario"], good["best"]) == ("b", ["n1"])


def test_answers_come_at_once(folder: Path) -> None:
    """Each line is answered before the next is asked for, so that another program can hold a conversation."""
    with subprocess.Popen(
        [*COMMAND, "evaluate"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder, env=ENVIRONMENT
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for name in ("a", "b", "c"):
            process.stdin.write(scenario(name, query("p")).encode() + b"\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["scenario"] == name
        process.stdin.close()
        assert process.stdout.read() == b""
        assert process.wait() == 0


# --- configurations, events and notes ------------------------------------------------------


def v1alpha1(**keys: Any) -> dict[str, Any]:
    """A configuration of 1.16."""
    return {"apiVersion": "kubescheduler.config.k8s.io/v1alpha1", "kind": "KubeSchedulerConfiguration", **keys}


def test_1_16_decides_by_its_configuration(kubescheduler: Run) -> None:
    """Its algorithmSource says what decides; what it ignores is noted; a policy that is elsewhere is an error."""
    source = {"provider": "ClusterAutoscalerProvider"}
    elsewhere = {"policy": {"configMap": {"name": "scheduler-policy"}}}
    found = ask(
        kubescheduler,
        "1.16",
        scenario(
            "a",
            query("p", componentConfig=v1alpha1(algorithmSource=source, metadata={})),
            query("q", componentConfig=v1alpha1(algorithmSource=elsewhere)),
            query("r", componentConfig=v1alpha1(hardPodAffinitySymmetricWeight=200)),
        ),
    )
    assert "MostRequestedPriority" in found[0]["weights"]
    assert found[0]["notes"] == ["metadata: unknown key: release 1.16 ignores it"]
    assert found[1]["error"].startswith("algorithmSource.policy: it is elsewhere, in kube-system/scheduler-policy")
    assert "must be in the range 1-100" in found[2]["error"]


def test_disabled_preemption_of_a_1_16_configuration(kubescheduler: Run) -> None:
    """disablePreemption counts as in every other command."""
    full = [{"name": "c", "resources": {"requests": {"cpu": "4"}}}]
    low = {
        "metadata": {"name": "low", "namespace": "d", "uid": "low"},
        "spec": {"nodeName": "n1", "priority": 0, "containers": full},
    }
    asked = query("p", "2", preempt=True)
    asked["pod"]["spec"]["priority"] = 5
    line = {"cluster": {"nodes": [NODE], "pods": [low]}}
    on, off = ask(
        kubescheduler,
        "1.16",
        *(
            json.dumps({**line, "queries": [{**asked, "componentConfig": v1alpha1(disablePreemption=off)}]})
            for off in (False, True)
        ),
    )
    assert on["preemption"]["chosen"] == ["n1"]
    assert not (off["preemption"] or {}).get("chosen")


@pytest.mark.parametrize(
    ("release", "configuration", "error"),
    [
        ("1.4", {"componentConfig": v1alpha1()}, "release 1.4 has no component configuration to decide by"),
        ("1.36", {"provider": "ClusterAutoscalerProvider"}, "release 1.36 knows no provider ClusterAutoscalerProvider"),
        ("1.36", {"policy": {"kind": "Policy"}}, "release 1.36 reads no Policy"),
        ("1.36", {"componentConfig": v1alpha1()}, 'no kind "KubeSchedulerConfiguration" is registered for version'),
    ],
    ids=["1.4 configuration", "1.36 provider", "1.36 policy", "1.36 v1alpha1"],
)
def test_what_a_release_does_not_know(
    kubescheduler: Run, release: str, configuration: dict[str, Any], error: str
) -> None:
    """It is an error of the query."""
    (found,) = ask(kubescheduler, release, scenario("a", query("p", **configuration)))
    assert found["error"].startswith(error)


def test_the_default_provider_is_known_to_every_release(kubescheduler: Run) -> None:
    """In 1.36 it is the default profile, so that one scenario can be asked of all releases."""
    for release in ("1.4", "1.16", "1.20", "1.36"):
        named, plain = ask(kubescheduler, release, scenario("a", query("p", provider="DefaultProvider"), query("p")))
        assert named == plain


def test_gates_without_effect_are_noted(kubescheduler: Run) -> None:
    """A gate away from its default whose feature is not worked out is named in every answer."""
    gates = {"CSINodeInfo": False, "EvenPodsSpread": True}
    first, second = ask(kubescheduler, "1.16", scenario("a", query("p"), query("q"), featureGates=gates))
    assert first["notes"] == second["notes"]
    assert [note.partition(" has no effect")[0] for note in first["notes"]] == ["feature gate CSINodeInfo=false"]
    assert "notes" not in ask(kubescheduler, "1.16", scenario("a", query("p")))[0]


def node_event(after: float, old: dict[str, str] | None, new: dict[str, str] | None) -> dict[str, Any]:
    """A node whose labels change, that comes or goes."""
    sides = {"old": old, "new": new}
    made = {
        side: {**NODE, "kind": "Node", "metadata": {"name": "n1", "labels": labels}}
        for side, labels in sides.items()
        if labels is not None
    }
    return {"after": after, **made}


def selecting(**more: Any) -> dict[str, Any]:
    """A pod that no node is labelled for."""
    asked = query("p", **more)
    asked["pod"]["spec"]["nodeSelector"] = {"zone": "a"}
    return asked


def test_events_move_a_pod_that_fits_nowhere(kubescheduler: Run) -> None:
    """1.36 asks the plugins that refused it whether an event helps; time alone does after five minutes."""
    moved = [
        {"after": 1, "new": {"kind": "Service", "metadata": {"name": "s", "namespace": "d"}}},
        node_event(2, {}, {"zone": "a"}),
    ]
    (found,) = ask(kubescheduler, "1.36", scenario("a", selecting(events=moved)))
    assert found["queue"] == ["unschedulable", "unschedulable", "active"]
    waits = [{"after": 299}, {"after": 700}]
    (found,) = ask(kubescheduler, "1.36", scenario("a", selecting(events=waits)))
    assert found["queue"] == ["unschedulable", "unschedulable", "active"]


def test_any_event_moves_a_pod_in_1_16(kubescheduler: Run) -> None:
    """A service, which no check of the pod looks at, has it tried again all the same, after its back-off."""
    events = [{"after": 0, "new": {"kind": "Service", "metadata": {"name": "s", "namespace": "d"}}}, {"after": 20}]
    (found,) = ask(kubescheduler, "1.16", scenario("a", selecting(events=events)))
    assert found["queue"][0] == "unschedulable"
    assert found["queue"][-1] == "active"


def test_events_leave_the_scenario_alone(kubescheduler: Run) -> None:
    """They come after the decision, for one query alone; a pod that fits is in no queue."""
    gone = [node_event(1, {}, None)]
    first, second = ask(kubescheduler, "1.20", scenario("a", selecting(events=gone), query("q", events=gone)))
    assert first["fits"] == []
    assert (second["fits"], second["queue"]) == (["n1"], [None, None])


def test_events_see_the_pods_that_a_sequence_has_bound(kubescheduler: Run) -> None:
    """What was bound before takes room in the cluster of the events, too."""
    asked = query("q", "3", events=[{"after": 400}])
    _, found = ask(kubescheduler, "1.20", scenario("a", query("p", "3"), asked, sequence=True))
    assert (found["fits"], found["queue"][0]) == ([], "unschedulable")


CLAIM: dict[str, Any] = {
    "metadata": {"name": "c", "namespace": "default", "uid": "c"},
    "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}},
    "status": {
        "allocation": {"allocationTimestamp": "2026-01-01T00:00:00Z",
            "devices": {"results": [{"request": "r", "driver": "d", "pool": "n1", "device": "gpu-0",
            "bindingConditions": ["Ready"], "bindingFailureConditions": ["Broken"]}]},
            "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In",
            "values": ["n1"]}]}]}},
        "reservedFor": [{"resource": "pods", "name": "p", "uid": "u-p"}],
    },
}  # fmt: skip


def test_now_says_which_time_outs_have_passed(kubescheduler: Run) -> None:
    """A device that was not ready ten minutes after it was given out is taken back; a minute after it is not."""
    cluster = {
        "nodes": [NODE],
        "resourceClaims": [CLAIM],
        "deviceClasses": [{"metadata": {"name": "gpu"}, "spec": {}}],
        "resourceSlices": [
            {
                "metadata": {"name": "s"},
                "spec": {
                    "driver": "d",
                    "nodeName": "n1",
                    "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1},
                    "devices": [
                        {"name": "gpu-0", "bindingConditions": ["Ready"], "bindingFailureConditions": ["Broken"]}
                    ],
                },
            }
        ],
    }
    asked = query("p")
    asked["pod"]["spec"]["resourceClaims"] = [{"name": "c", "resourceClaimName": "c"}]
    queries = [{**asked, "now": now} for now in ("2026-01-01T00:01:00Z", "2026-01-01T01:00:00Z")]
    early, late = ask(kubescheduler, "1.36", json.dumps({"id": "a", "cluster": cluster, "queries": queries}))
    assert (early["fits"], early["error"]) == (["n1"], None)
    assert (late["fits"], late["error"]) == ([], None)
