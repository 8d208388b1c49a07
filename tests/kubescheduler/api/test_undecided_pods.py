"""What Python code gets of a pod that an error kept from being decided: never a node, a count or a sameness."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import kubescheduler as ks
from clusterstate.errors import KubeSchedulerError
from tests.support.custom.extender_process import extender
from tests.support.references.error_kinds import KINDS, ErrorKind

ATTEMPTS = {name: kind for name, kind in KINDS.items() if kind.in_attempt}
FAULTS = {name: kind for name, kind in KINDS.items() if not kind.in_attempt and not kind.files}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """An extender that errs as the path says."""
    with extender() as found:
        yield found


def _options(kind: ErrorKind, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What decides; the plugin as a class."""
    if kind.policy is not None:
        return {"policy": str(folder / "policy.json")}
    monkeypatch.syspath_prepend(folder)
    module = kind.module(folder)
    importlib.invalidate_caches()
    return {"config": str(folder / "config.json"), "plugins": [importlib.import_module(module).Mine]}


def _cluster(kind: ErrorKind) -> ks.Cluster:
    return ks.Cluster(release="1.16" if kind.policy is not None else "1.36").node("n1").node("n2")


@pytest.mark.parametrize("kind", ATTEMPTS.values(), ids=ATTEMPTS)
def test_errors_of_attempts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, kind: ErrorKind) -> None:
    """A decision has the error and no node; runs, rooms and comparisons say so too."""
    kind.write(tmp_path, address)
    options, cluster, pod = _options(kind, tmp_path, monkeypatch), _cluster(kind), ks.pod("web")
    decision = ks.Scheduler(cluster, **options).decide(pod)
    assert decision.host is None
    assert kind.text in (decision.error or "")
    report = ks.simulate(cluster, pod, **options)
    assert [(record.standing, kind.text in record.message) for record in report.pods] == [("error", True)]
    assert report.counts()["error"] == 1
    room = ks.capacity(cluster, pod, **options)
    assert kind.text in (room.error or "")
    found = ks.compare(cluster, pod, old=options, new=options)
    assert (found.same, len(found.errors), found.moved) == (False, 1, ())


@pytest.mark.parametrize("kind", FAULTS.values(), ids=FAULTS)
def test_faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, kind: ErrorKind) -> None:
    """Everything else is raised, as an error that a caller can catch."""
    kind.write(tmp_path, address)
    options, cluster, pod = _options(kind, tmp_path, monkeypatch), _cluster(kind), ks.pod("web")
    calls: dict[str, Callable[[], object]] = {
        "decide": lambda: ks.Scheduler(cluster, **options).decide(pod),
        "run": lambda: ks.Scheduler(cluster, **options).run(pod),
        "simulate": lambda: ks.simulate(cluster, pod, **options),
        "capacity": lambda: ks.capacity(cluster, pod, **options),
        "compare": lambda: ks.compare(cluster, pod, old=options, new=options),
    }
    for call in calls.values():
        with pytest.raises(KubeSchedulerError) as raised:
            call()
        assert kind.text in str(raised.value)
