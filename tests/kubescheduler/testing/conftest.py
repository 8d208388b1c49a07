"""A project that uses the plugin, in a folder of its own.

Runs of pytest within this process forget what they import, which extension modules do not bear: those that the plugin
imports late are imported here first.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml  # noqa: F401

import kubescheduler.testing.fixtures  # noqa: F401
from kubescheduler.testing import pytest_plugin

LABEL = "kubernetes.io/hostname"


def node(name: str, cpu: str = "4", **spec: Any) -> dict[str, Any]:
    status = {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "10"}}
    return {"kind": "Node", "metadata": {"name": name, "labels": {LABEL: name}}, "spec": spec, "status": status}


def pod(name: str, cpu: str = "1", **spec: Any) -> dict[str, Any]:
    containers = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}]
    return {"kind": "Pod", "metadata": {"name": name}, "spec": {"containers": containers, **spec}}


CLUSTER = [node("n1"), node("n2"), node("full", "1"), pod("old", nodeName="n1"), pod("other", nodeName="full")]
"""Spreading puts a pod on n2, packing on n1."""


class Project:
    """Files of tests, and runs of pytest over them in this process."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.path = pytester.path

    def write(self, name: str, content: Any) -> Path:
        """Text as it is, anything else as JSON."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else msgspec.json.encode(content))
        return path

    def printed(self, *args: str) -> pytest.RunResult:
        """A run as it is."""
        options = ("-p", "no:cacheprovider", "-W", "error", *args)
        return self.pytester.runpytest_inprocess(*options, plugins=[pytest_plugin])

    def run(self, *args: str, **outcomes: int) -> str:
        """What pytest prints; the outcomes, as ``passed=2``, have to be these."""
        result = self.printed(*args)
        result.assert_outcomes(**outcomes)
        return str(result.stdout)

    def test(self, body: str, name: str = "test_it.py") -> None:
        self.write(name, f"import pytest\nfrom kubescheduler.testing import assert_same_placements\n{body}\n")

    def message(self, body: str, *args: str) -> list[str]:
        """What the one failing test has to say: the lines marked by E."""
        self.test(body)
        lines = self.run(*args, failed=1).splitlines()
        found = [line.removeprefix("E").strip() for line in lines if line.startswith("E  ")]
        return [line.replace("_pytest.config.exceptions.", "pytest.") for line in found]

    def fault(self, body: str) -> list[str]:
        """What is said of the one test that could not be set up."""
        self.test(body)
        lines = self.run(errors=1).splitlines()
        start = next(at for at, line in enumerate(lines) if line.startswith("kubescheduler:"))
        end = next(at for at, line in enumerate(lines) if at > start and line.startswith("="))
        return lines[start:end]


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    """With cluster.json and packing.json; tests use no cluster unless they name one."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("COLUMNS", "200")
    project = Project(pytester)
    project.write("cluster.json", CLUSTER)
    policy = {"kind": "Policy", "apiVersion": "v1", "priorities": [{"name": "MostRequestedPriority", "weight": 1}]}
    project.write("packing.json", policy)
    return project


@pytest.fixture
def shop(project: Project) -> Project:
    """With the cluster set for all tests."""
    project.write("pytest.ini", "[pytest]\nkubescheduler_cluster = cluster.json\n")
    return project
