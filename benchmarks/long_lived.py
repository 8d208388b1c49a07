"""Random histories of a cluster, and one law: a scheduler that lived through one decides as one that begins now.

    python -m benchmarks.long_lived --seed 1 --minutes 60
    python -m benchmarks.long_lived --seed 1 --history 1.36/spread/42

A history begins with a recorded scenario of a release. Its pods are decided, one by one and in runs, placed, confirmed,
changed and deleted; nodes and all other objects change, go and come back. After each step a new scheduler over a new
cache, to which the same happened, is asked the same. Ends with status 1 where the two differ, and says which history
does; ``--history`` plays that one again and prints its steps.
"""

from __future__ import annotations

import copy
import gzip
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import click
import msgspec

from clusterstate.cache import ClusterCache
from clusterstate.errors import KubeSchedulerError
from clusterstate.manifests.decode import Decoder
from clusterstate.objects import Pod
from kubescheduler import RELEASES
from kubescheduler.core.equal_runs import PlacedRun, placed_in_order
from kubescheduler.engine.evaluate_protocol import CONFIGURATION_FIELDS, Scenario, result_of, scheduler_on
from kubescheduler.releases.lookup import release_named

VECTORS = Path(__file__).resolve().parents[1] / "tests" / "vectors"
LEFT_OUT = ("extender", "large")
"""Themes that need a server, or take long."""
STEPS = (10, 60)
"""The fewest and most steps of a history."""
NOW = 1_767_225_600.0
"""What the clock says in every history, in seconds since the epoch."""

DEALLOCATED = "deallocated"
"""Of a pod's decision that changed the cluster."""
Happening = tuple[str, tuple[Any, ...]]
"""(method of the cache, its arguments)."""
Json = dict[str, Any]


@attrs.frozen
class DifferenceError(Exception):
    """The two schedulers disagree."""

    steps: list[str]
    old: Any
    new: Any

    def __str__(self) -> str:
        """The members that differ."""
        if not isinstance(self.old, dict):
            return f"lived through it: {self.old}\nbegins now:       {self.new}"
        return "\n".join(
            f"{key}\n  lived through it: {self.old[key]}\n  begins now:       {self.new[key]}"
            for key in self.old
            if self.old[key] != self.new[key]
        )


class History:
    """One cluster, the scheduler that lives through what happens to it, and all that happened."""

    def __init__(self, document: Json, release: str, rng: random.Random) -> None:
        """document: a scenario of the evaluate protocol."""
        self.rng = rng
        self.release = release_named(release)
        self.scenario = Scenario.of(document, self.release)
        query = rng.choice(document["queries"])
        self.pods = [query["pod"] for query in document["queries"]]
        chosen = {key: query[key] for key in CONFIGURATION_FIELDS if query.get(key) is not None}
        self.engine = self.scenario.configured(chosen).engine
        self.began_with = list(self.scenario.objects)
        self.cache = self.scenario.cache
        self.scheduler = scheduler_on(self.engine, self.cache, lambda: NOW)
        self.happened: list[Happening] = []
        self.steps: list[str] = []
        lists = [(kind, item) for kind, items in document["cluster"].items() if kind != "kind" for item in items]
        self.manifests = [item for kind, item in lists if kind != "pods"]
        self.absent: list[Json] = []
        self.running = [item for kind, item in lists if kind == "pods" and item.get("spec", {}).get("nodeName")]
        self.running = [
            pod for pod in self.running if pod.get("status", {}).get("phase") not in ("Succeeded", "Failed")
        ]
        self.assumed: list[Json] = []
        self.made = 0

    # --- what happens ----------------------------------------------------------------------

    def play(self) -> Iterator[str]:
        """The steps, each done when it is yielded. Raises DifferenceError."""
        kinds: Sequence[tuple[Callable[[], str], int]] = (
            (self.decide, 6),
            (self.run, 2),
            (self.confirm, 2),
            (self.delete_pod, 2),
            (self.change_pod, 1),
            (self.change_node, 3),
            (self.change_other, 2),
            (self.nominate, 1),
        )
        steps, weights = zip(*kinds, strict=True)
        for _ in range(self.rng.randint(*STEPS)):
            step = self.rng.choices(steps, weights)[0]
            self.steps.append(step())
            yield step.__name__

    def happens(self, method: str, *arguments: Any) -> None:
        """To the cluster, and to those that are made later."""
        getattr(self.cache, method)(*arguments)
        self.happened.append((method, arguments))

    def new_scheduler(self) -> Any:
        """One over a new cache, to which all has happened."""
        cache = ClusterCache.of(self.began_with, self.engine.view)
        for method, arguments in self.happened:
            if method == DEALLOCATED:
                scheduler_on(self.engine, cache, lambda: NOW).decide(*arguments)
            else:
                getattr(cache, method)(*arguments)
        return scheduler_on(self.engine, cache, lambda: NOW)

    def decided(self, pod: Pod, decision: Any) -> None:
        """A decision looks at the cluster; in 1.36 one that finds no node may take a claim's devices back."""
        taken_back = "deallocation of ResourceClaim completed" in decision.message
        self.happened.append((DEALLOCATED, (pod,)) if taken_back else ("snapshot", ()))

    def decode(self, manifest: Json, kind: str = "") -> Any:
        """The object of a manifest, as the release reads it."""
        named = {"kind": kind, **manifest} if kind else manifest
        return Decoder(prepare=self.release.decoding).decode_object(named, keep_manifest=True)

    def new_pod(self, like: Json | None = None) -> Json:
        """A pending pod, as one of the scenario or a little different."""
        pod = copy.deepcopy(like or self.rng.choice(self.pods))
        self.made += 1
        pod["metadata"] |= {"name": f"made-{self.made}", "uid": f"made-{self.made}"}
        pod["spec"].pop("nodeName", None)
        if like is None and self.rng.random() < 0.3:
            self.vary_pod(pod)
        return pod

    def vary_pod(self, pod: Json) -> None:
        """Changes labels or amounts."""
        if self.rng.random() < 0.5:
            labels = pod["metadata"].setdefault("labels", {})
            labels[self.rng.choice([*labels, "app"])] = self.rng.choice(["a", "b", "web"])
        else:
            for container in pod["spec"].get("containers", []):
                container["resources"] = {"requests": {"cpu": f"{self.rng.choice([0, 100, 700, 2500])}m"}}

    # --- steps: each says what it did ------------------------------------------------------

    def decide(self) -> str:
        """One pod, and perhaps it is placed."""
        manifest = self.new_pod()
        pod = self.decode(manifest, "Pod")
        options = {name: self.rng.random() < 0.5 for name in ("preempt", "thorough", "enqueued")}
        new = self.new_scheduler().decide(pod, **options)
        old = self.scheduler.decide(pod, **options)
        self.decided(pod, old)
        step = f"decide {manifest['metadata']['name']} {options} -> {old.host}: {encoded(manifest)}"
        self.compare(step, {**result_of(old), **said(old)}, {**result_of(new), **said(new)})
        best = old.best()
        if best and self.rng.random() < 0.8:
            self.place(manifest, pod, best[0])
        return step

    def place(self, manifest: Json, pod: Pod, node: str) -> None:
        """Assumes a pod."""
        self.happens("assume_pod", pod, node)
        manifest["spec"]["nodeName"] = node
        self.assumed.append(manifest)

    def run(self) -> str:
        """Pods that are alike, or two kinds of them in turn, in bulk where that can be."""
        kinds = [self.new_pod() for _ in range(self.rng.choice([1, 1, 2]))]
        manifests = [self.new_pod(kinds[at % len(kinds)]) for at in range(self.rng.randint(2, 24))]
        pods = [self.decode(manifest, "Pod") for manifest in manifests]
        step = f"run of {len(pods)}: {encoded(kinds)}"
        new = self.new_scheduler()
        expected = []
        for pod in pods:
            decision = new.decide(pod, in_sequence=True)
            expected.append((decision.host, decision.message))
            if decision.host is not None:
                new.cache.assume_pod(pod, decision.host)
        found: list[tuple[str | None, str]] = []
        for part in placed_in_order(self.scheduler.place_run, pods, self.one):
            if isinstance(part, PlacedRun):
                for placement in part.placements():
                    self.happened += [("snapshot", ()), ("assume_pod", (pods[len(found)], placement.host))]
                    found.append((placement.host, ""))
            else:
                pod = pods[len(found)]
                self.decided(pod, part)
                if part.host is not None:
                    self.happened.append(("assume_pod", (pod, part.host)))
                found.append((part.host, part.message))
        for manifest, (host, _) in zip(manifests, found, strict=True):
            if host is not None:
                manifest["spec"]["nodeName"] = host
                self.assumed.append(manifest)
        self.compare(step, found, expected)
        return step

    def one(self, pod: Pod) -> Any:
        """A pod of a run that is placed by itself."""
        decision = self.scheduler.decide(pod, in_sequence=True)
        if decision.host is not None:
            self.cache.assume_pod(pod, decision.host)
        return decision

    def confirm(self) -> str:
        """An assumed pod is seen to be bound, or is forgotten."""
        if not self.assumed:
            return "confirm: none"
        manifest = self.assumed.pop(self.rng.randrange(len(self.assumed)))
        pod = self.decode(manifest, "Pod")
        if self.rng.random() < 0.2:
            self.happens("forget_pod", pod)
            return f"forget {manifest['metadata']['name']}"
        self.happens("add_pod", pod)
        self.running.append(manifest)
        return f"confirm {manifest['metadata']['name']}"

    def delete_pod(self) -> str:
        """A running pod is gone."""
        if not self.running:
            return "delete: none"
        manifest = self.running.pop(self.rng.randrange(len(self.running)))
        self.happens("remove_pod", self.decode(manifest, "Pod"))
        return f"delete {manifest['metadata']['name']}"

    def change_pod(self) -> str:
        """A running pod has other labels or amounts, or is being deleted."""
        if not self.running:
            return "change: none"
        at = self.rng.randrange(len(self.running))
        manifest = self.running[at] = copy.deepcopy(self.running[at])
        if self.rng.random() < 0.2:
            manifest["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        else:
            self.vary_pod(manifest)
        self.happens("update_pod", self.decode(manifest, "Pod"))
        return f"change {encoded(manifest)}"

    def change_node(self) -> str:
        """A node changes, goes or comes back."""
        nodes = [item for item in self.manifests if item["kind"] == "Node"]
        if not nodes or self.rng.random() < 0.1:
            return self.change_other(nodes)
        manifest = self.rng.choice(nodes)
        changed = copy.deepcopy(manifest)
        spec, status = changed.setdefault("spec", {}), changed.setdefault("status", {})
        labels = changed["metadata"].setdefault("labels", {})
        match self.rng.randrange(6):
            case 0:
                spec["unschedulable"] = not spec.get("unschedulable", False)
            case 1:
                effect = self.rng.choice(["NoSchedule", "PreferNoSchedule", "NoExecute"])
                spec["taints"] = self.rng.choice([[], [{"key": "dedicated", "value": "x", "effect": effect}]])
            case 2:
                of_another = self.rng.choice(nodes)["metadata"].get("labels", {})
                if of_another:
                    key = self.rng.choice(list(of_another))
                    labels[key] = of_another[key]
            case 3:
                if labels:
                    del labels[self.rng.choice(list(labels))]
            case 4:
                amounts = {**status.get("allocatable", {}), "cpu": self.rng.choice(["1", "4", "16"])}
                status["allocatable"] = amounts | {"pods": str(self.rng.choice([2, 10, 110]))}
            case _:
                status["images"] = self.rng.choice(nodes).get("status", {}).get("images", [])
        self.manifests[self.manifests.index(manifest)] = changed
        self.happens("add_node", self.decode(changed))
        return f"change {encoded(changed)}"

    def change_other(self, among: Sequence[Json] | None = None) -> str:
        """An object goes or comes back."""
        if self.absent and self.rng.random() < 0.5:
            manifest = self.absent.pop(self.rng.randrange(len(self.absent)))
            self.manifests.append(manifest)
            self.happens("add", self.decode(manifest))
            return f"add {manifest['kind']} {manifest['metadata']['name']}"
        there = [item for item in self.manifests if item["kind"] != "Node"] if among is None else among
        if not there:
            return "remove: none"
        manifest = self.rng.choice(there)
        self.manifests.remove(manifest)
        self.absent.append(manifest)
        self.happens("remove", self.decode(manifest))
        return f"remove {manifest['kind']} {manifest['metadata']['name']}"

    def nominate(self) -> str:
        """A pending pod is nominated to a node."""
        nodes = [item["metadata"]["name"] for item in self.manifests if item["kind"] == "Node"]
        if not nodes:
            return "nominate: none"
        manifest, node = self.new_pod(), self.rng.choice(nodes)
        self.happens("nominate", self.decode(manifest, "Pod"), node)
        return f"nominate {encoded(manifest)} on {node}"

    def compare(self, step: str, old: Any, new: Any) -> None:
        """Raises DifferenceError."""
        if old != new:
            raise DifferenceError([*self.steps, step], old, new)


def said(decision: Any) -> Json:
    """What a decision says besides what ``evaluate`` prints."""
    return {"host": decision.host, "message": decision.message, "notes": decision.notes}


def encoded(manifest: Any) -> str:
    return msgspec.json.encode(manifest).decode()


# --- many of them ------------------------------------------------------------------------------


def documents(releases: Sequence[str]) -> dict[str, list[Json]]:
    """``release/theme`` → the recorded scenarios of it."""
    found: dict[str, list[Json]] = {}
    for release in releases:
        for path in sorted((VECTORS / release).glob("*.jsonl.gz")):
            theme = path.name.removesuffix(".jsonl.gz")
            if theme not in LEFT_OUT:
                with gzip.open(path) as lines:
                    found[f"{release}/{theme}"] = [msgspec.json.decode(line)["scenario"] for line in lines]
    return found


def history(seed: int, name: str, scenarios: Mapping[str, Sequence[Json]]) -> Iterator[str]:
    """Plays one; its name is ``release/theme/number``. Raises DifferenceError."""
    theme = name.rpartition("/")[0]
    rng = random.Random(f"{seed}/{name}")
    document = copy.deepcopy(rng.choice(scenarios[theme]))
    try:
        played = History(document, theme.split("/")[0], rng)
    except KubeSchedulerError:
        yield "refused"
        return
    yield from played.play()


@click.command(help=__doc__, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--minutes", type=float, default=1.0, show_default=True, help="how long to go on beginning histories")
@click.option("--release", "releases", multiple=True, type=click.Choice(RELEASES), default=RELEASES, help="all of them")
@click.option("--history", "only", metavar="RELEASE/THEME/NUMBER", help="this one alone, with its steps")
def main(seed: int, minutes: float, releases: Sequence[str], only: str | None) -> None:
    scenarios = documents([only.split("/")[0]] if only else releases)
    ends, said_at = time.monotonic() + 60 * minutes, time.monotonic()
    steps: Counter[str] = Counter()
    differing: list[str] = []
    number = 0
    try:
        while only or time.monotonic() < ends:
            name = only or f"{list(scenarios)[number % len(scenarios)]}/{number}"
            number += 1
            try:
                for step in history(seed, name, scenarios):
                    steps[step] += 1
            except DifferenceError as error:
                differing.append(name)
                click.echo(f"{name}: the schedulers differ after step {len(error.steps)}\n{error}")
                if only:
                    click.echo("\n".join(error.steps))
            if only:
                break
            if time.monotonic() - said_at > 30:
                said_at = time.monotonic()
                click.echo(f"{number} histories, {steps.total()} steps, {len(differing)} differ", err=True)
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
    counts = ", ".join(f"{count} {kind}" for kind, count in steps.most_common())
    click.echo(f"seed {seed}: {number} histories, {steps.total()} steps ({counts}), {len(differing)} differ")
    sys.exit(bool(differing) or not steps.total())


if __name__ == "__main__":
    main()
