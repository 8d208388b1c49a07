"""Every command, the pytest plugin and Python give the same decision on the same pod."""

from __future__ import annotations

import functools
import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import msgspec
import pytest

from clusterstate.errors import InputError
from kubescheduler import Cluster, Scheduler, __version__
from kubescheduler.cli import run
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.sweep.cases import Configuration, SnapshotFiles, SweepOptions, cases_of
from kubescheduler.sweep.run_case import run_case
from kubescheduler.testing.named_inputs import cluster_of
from kubescheduler.testing.placements import Placer
from tests.support.releases_tried import RELEASES_TRIED, vectors_dir

pytestmark = pytest.mark.filterwarnings("ignore:.*of pods ignored")  # of fields that a release does not look at
PAIRS, A_TEST = 80, 20
"""How many pairs of a scenario and a release are tried, and how many of them by one test."""
MOST_PODS = 30
"""Of a scenario that is tried, if it has no policy: a large one says nothing else, and is read eight times."""
LEFT_OUT = ("extender", "large")
"""Themes that need a server, or take long."""
FOREIGN = "another-scheduler"
GATE = "example.com/wait"
GATES = {
    "1.4": {},
    "1.16": {"PodOverhead": True, "EvenPodsSpread": True},
    "1.20": {"DefaultPodTopologySpread": True},
    "1.36": {"NodeInclusionPolicyInPodTopologySpread": True},
}
"""Feature gates that some pairs have switched on."""


@attrs.frozen
class Asked:
    """One pod to be decided in one cluster by one configuration of one release."""

    name: str
    release: str
    cluster: dict[str, Any]
    pod: dict[str, Any]
    configuration: dict[str, Any]
    gates: dict[str, bool]


@attrs.frozen
class Answer:
    """What came of it."""

    host: str | None
    message: str


@functools.cache
def scenarios(release: str) -> list[dict[str, Any]]:
    """The recorded scenarios of a release, in order."""
    paths = sorted((vectors_dir() / release).glob("*.jsonl.gz"))
    names = (path for path in paths if path.name.split(".")[0] not in LEFT_OUT)
    return [msgspec.json.decode(line)["scenario"] for path in names for line in gzip.open(path)]


@functools.cache
def asked() -> list[Asked]:
    """The pairs, always the same ones: one in six has a scheduling gate, one in six names another scheduler."""
    rng = random.Random(500)
    pool = [
        (release, scenario, query)
        for release in RELEASES_TRIED
        for scenario in scenarios(release)
        for query in scenario["queries"]
        if "policy" in query or len((scenario.get("cluster") or {}).get("pods") or ()) <= MOST_PODS
    ]
    out: list[Asked] = []
    for release, scenario, query in rng.sample(pool, len(pool)):
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": {}, **query["pod"]}
        pod.pop("status", None)
        pod["metadata"] = {**pod["metadata"], "name": "asked", "uid": "asked-uid"}
        pod["metadata"].pop("deletionTimestamp", None)
        changed = rng.choice(({}, {}, {}, {"schedulerName": FOREIGN}, {"schedulingGates": [{"name": GATE}]}, {}))
        pod["spec"] = {key: value for key, value in {**pod["spec"], **changed}.items() if key != "nodeName"}
        gates = {**(scenario.get("featureGates") or {}), **(GATES[release] if rng.random() < 0.2 else {})}
        found = Asked(scenario["id"], release, scenario.get("cluster") or {}, pod, query, gates)
        if is_readable(found):
            out.append(found)
        if len(out) == PAIRS:
            return out
    raise AssertionError(f"there are only {len(out)} pairs")


def is_readable(given: Asked) -> bool:
    """Whether files of it can be given to commands; what API servers refuse is recorded too."""
    try:
        cluster = Cluster(given.cluster, release=given.release)
        cluster.pods_from(given.pod)
        policy, config = given.configuration.get("policy"), given.configuration.get("componentConfig")
        if (policy, config) != (None, None):
            Scheduler(cluster, policy=policy, config=config)
    except (InputError, UserWarning):  # a warning is a note on what an API server refuses
        return False
    return True


class Files:
    """A pair as files in a folder, and the answers that each way of asking gives."""

    def __init__(self, given: Asked, folder: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.given = given
        self.capture = capture
        self.cluster = self.written(folder / "cluster.json", given.cluster)
        self.pod = self.written(folder / "pod.json", given.pod)
        self.fields: dict[str, Any] = {"release": given.release}
        self.flags = ["--release", given.release]
        for key, field, flag in (
            ("policy", "policy_file", "--policy-config-file"),
            ("componentConfig", "config_file", "--config"),
        ):
            if given.configuration.get(key) is not None:
                self.fields[field] = self.written(folder / f"{key}.json", given.configuration[key])
                self.flags += [flag, self.fields[field]]
        provider = given.configuration.get("provider")
        if provider is not None and given.release != "1.36":
            self.fields["provider"] = provider
            self.flags += ["--algorithm-provider", provider]
        gates = ",".join(f"{name}={str(on).lower()}" for name, on in given.gates.items())
        if gates:
            self.fields["feature_gates"] = gates
            self.flags += ["--feature-gates", gates]

    @staticmethod
    def written(path: Path, document: Any) -> str:
        path.write_text(json.dumps(document), encoding="utf-8")
        return str(path)

    def answers(self) -> Iterator[tuple[str, Answer]]:
        """(way of asking, answer)."""
        yield "schedule", self.by_schedule()
        yield from self.by_compare()
        yield "simulate", self.by_simulate()
        yield "pytest", self.by_pytest()
        yield "Python", self.by_python()

    def command(self, *args: str) -> Any:
        """What a command prints as JSON."""
        status, document = self.ran(*args)
        assert status in (0, 1, 2)
        return document

    def ran(self, *args: str) -> tuple[int, Any]:
        """(exit status, what a command prints as JSON)."""
        self.capture.readouterr()
        status = run([*args, "-o", "json"])
        captured = self.capture.readouterr()
        assert captured.out, captured.err
        return status, json.loads(captured.out)

    def refused(self, message: str, *args: str) -> None:
        """Holds that nothing is compared, as no scheduler tries the pod, for what it says."""
        assert run([*args, "-o", "json"]) == 2
        captured = self.capture.readouterr()
        assert captured.out == ""
        assert "error: there is no pod to compare" in captured.err
        assert message in captured.err

    def by_schedule(self) -> Answer:
        [item] = self.command("schedule", self.cluster, "--pod", self.pod, *self.flags)["items"]
        return Answer(item["host"], item["message"])

    def by_compare(self) -> Iterator[tuple[str, Answer]]:
        keys = {"policy_file": "policy", "config_file": "config", "feature_gates": "feature-gates"}
        text = ",".join(f"{keys.get(key, key)}={str(value).replace(',', ';')}" for key, value in self.fields.items())
        arguments = ("compare", self.cluster, "--pods", self.pod, "--old", text, "--new", text)
        answer = self.by_schedule()
        if answer.host is None and (FOREIGN in answer.message or GATE in answer.message):
            self.refused(answer.message, *arguments)
            return
        status, document = self.ran(*arguments)
        [pod] = document["pods"]
        assert status == (2 if any(outcome["error"] for outcome in pod["outcomes"]) else 0), "nothing else is new"
        for outcome in pod["outcomes"]:
            yield f"compare {outcome['column']}", Answer(outcome["host"], outcome["message"])

    def by_simulate(self) -> Answer:
        [pod] = self.command("simulate", self.cluster, "--workload", self.pod, *self.flags)["pods"]
        return Answer(pod["node"] or None, pod["message"])

    def by_pytest(self) -> Answer:
        decision = Placer(EngineSpec(**self.fields), cluster_of(self.cluster, [Path(self.cluster).parent])).schedule(
            self.pod
        )
        return Answer(decision.host, decision.message)

    def by_python(self) -> Answer:
        given = self.given
        arguments: dict[str, Any] = {
            "policy": given.configuration.get("policy"),
            "config": given.configuration.get("componentConfig"),
            "provider": self.fields.get("provider"),
        }
        scheduler = Scheduler(Cluster(given.cluster, release=given.release), gates=given.gates, **arguments)
        decision = scheduler.decide(given.pod)
        return Answer(decision.host, decision.message)

    def by_sweep(self) -> str | None:
        """A sweep has hosts only, and nothing of a pod that an error kept from being decided."""
        configuration = Configuration("old", EngineSpec(**self.fields))
        options = SweepOptions((self.pod,), placements=True, version=__version__)
        [case] = cases_of([SnapshotFiles.of(self.cluster)], [configuration], (), options)
        row = run_case(case).row
        if row["error"]:
            assert not row["placements"]
            return None
        [host] = json.loads(str(row["placements"])).values()
        return None if host is None else str(host)


@pytest.mark.parametrize("first", range(0, PAIRS, A_TEST))
def test_all_ways_give_the_same_decision(first: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The host and the message are the same whoever is asked."""
    for at, given in enumerate(asked()[first : first + A_TEST]):
        folder = tmp_path / str(at)
        folder.mkdir()
        files = Files(given, folder, capsys)
        answers = dict(files.answers())
        assert len(set(answers.values())) == 1, (given.name, given.release, given.pod, answers)
        assert files.by_sweep() == answers["schedule"].host, (given.name, given.release)


def test_the_pairs_have_every_kind() -> None:
    """All releases are among the pairs, pods that go somewhere and nowhere, gates, and foreign schedulers."""
    specs = [given.pod["spec"] for given in asked()]
    assert {given.release for given in asked()} == set(RELEASES_TRIED)
    assert sum(spec.get("schedulerName") == FOREIGN for spec in specs) > 10
    assert sum("schedulingGates" in spec for spec in specs) > 10
    assert sum(bool(given.gates) for given in asked()) > 10
    assert sum("policy" in given.configuration for given in asked()) > 2
    assert sum("componentConfig" in given.configuration for given in asked()) > 2
