"""The output that kube-scheduler-simulator reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kubescheduler.report.simulator_export import PREFIX
from tests.kubescheduler.cli.conftest import Run


@pytest.mark.parametrize("release", ["1.4", "1.16", "1.20", "1.36"])
@pytest.mark.parametrize("command", [("schedule", "--pod"), ("simulate", "--workload")], ids=["schedule", "simulate"])
def test_an_export_goes_in_again(folder: Path, command: tuple[str, str], release: str, kubescheduler: Run) -> None:
    """What comes out is a cluster in which the pod runs, with its results on it."""
    name, flag = command
    done = kubescheduler(name, "cluster.yaml", flag, "pod.yaml", "--release", release, "-o", "simulator")
    assert (done.status, done.err) == (0, "")
    export = json.loads(done.out)
    [pod] = export["pods"]
    assert pod["spec"]["nodeName"] == pod["metadata"]["annotations"][PREFIX + "selected-node"]
    assert bool(export["schedulerConfig"]) == (release in ("1.20", "1.36"))
    (folder / "export.json").write_text(done.out)
    (folder / "next.yaml").write_text((folder / "pod.yaml").read_text().replace("name: web", "name: next"))
    again = kubescheduler("schedule", "export.json", "--pod", "next.yaml", "--release", release, "-o", "json")
    assert again.status == 0
