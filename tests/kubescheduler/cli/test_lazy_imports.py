"""What each command imports: what it does not need takes time before it answers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.kubescheduler.cli.conftest import ROOT

SCRIPT = "import sys; from kubescheduler.cli import run; run(sys.argv[1:]); print(*sys.modules)"

OWN = ("algorithmprovider", "clusterstate", "kubescheduler", "predicates", "priorities")

HELP = ("attr", "clusterstate.snapshot", "msgspec", "numpy", "toml", "urllib3", "yaml")
"""What help does without."""

DECIDING = (
    *("aiohttp", "asyncio", "concurrent", "difflib", "fractions", "html", "importlib.metadata"),
    *("kubescheduler.comparison", "kubescheduler.hinting", "kubescheduler.lab", "kubescheduler.live"),
    *("kubescheduler.report", "kubescheduler.sweep", "kubescheduler.translate", "rich", "ssl", "urllib3"),
)
"""What a decision does without."""

WITHOUT_LEGACY = (
    "algorithmprovider.algorithms",
    "kubescheduler.cycle",
    "kubescheduler.queue.entry",
    "predicates.interpod",
)
"""What 1.36 does without: rules of earlier releases, and what only a loop needs."""

WITHOUT_PLUGINS = (
    *("kubescheduler.config.component_format", "kubescheduler.config.config_schema"),
    *("kubescheduler.config.load_config", "kubescheduler.config.v1alpha1", "kubescheduler.cycle"),
    *("kubescheduler.extender.client", "kubescheduler.framework.plugins"),
    *("kubescheduler.framework.plugin_loading", "kubescheduler.framework.profile_map"),
    "kubescheduler.queue.entry",
)
"""What releases of predicates and priorities do without where nobody asks for it."""

SCENARIO = '{"cluster": {"nodes": [{"metadata": {"name": "a"}}]}, "queries": [{"pod": {"metadata": {"name": "p"}}}]}'
"""What evaluate reads; no other command does."""

SCHEDULE = ("schedule", "cluster.yaml", "--pod", "pod.yaml", "--release")

SIMULATE = ("simulate", "cluster.yaml", "--workload", "pod.yaml", "--release")

PRINTED_ONLY = (
    "kubescheduler.report",
    "kubescheduler.simulation.plot",
    "kubescheduler.simulation.mirrored_traffic",
    "kubescheduler.simulation.plot",
)
"""What a simulation of files does without whose report is a table."""

RUNNING = (
    *("aiohttp", "kubescheduler.lab", "kubescheduler.report", "kubescheduler.sweep", "pandas", "requests"),
    *("rich", "urllib3"),
)
"""What a live scheduler does without: it is to bind as soon as it is started."""

STARTING = ("run", "--release", "1.36", "--kubeconfig", "config", "--", "--secure-port=0")

CASES = {
    "run": (STARTING, RUNNING, 640),
    "help": (("--help",), HELP, 40),
    "help of a command": (("schedule", "--help"), HELP, 30),
    "version": (("--version",), HELP, 12),
    "schedule 1.4": ((*SCHEDULE, "1.4"), (*DECIDING, *WITHOUT_PLUGINS[:5]), 290),
    "schedule 1.16": ((*SCHEDULE, "1.16"), (*DECIDING, *WITHOUT_PLUGINS), 292),
    "schedule 1.20": ((*SCHEDULE, "1.20"), (*DECIDING, "kubescheduler.cycle", "kubescheduler.queue.entry"), 460),
    "schedule 1.36": ((*SCHEDULE, "1.36"), (*DECIDING, *WITHOUT_LEGACY), 456),
    "evaluate 1.4": (("evaluate", "--release", "1.4"), (*DECIDING, *WITHOUT_PLUGINS[:5]), 250),
    "evaluate 1.16": (("evaluate", "--release", "1.16"), (*DECIDING, *WITHOUT_PLUGINS), 254),
    "evaluate 1.36": (("evaluate", "--release", "1.36"), (*DECIDING, *WITHOUT_LEGACY), 413),
    "simulate 1.16": (
        (*SIMULATE, "1.16"),
        (*PRINTED_ONLY, *WITHOUT_PLUGINS[:4], "kubescheduler.framework.profile_map"),
        362,
    ),
    "simulate 1.36": ((*SIMULATE, "1.36"), (*PRINTED_ONLY, *WITHOUT_LEGACY[3:]), 495),
    "capacity": (("capacity", "cluster.yaml", "--pod", "pod.yaml"), (*DECIDING, *WITHOUT_PLUGINS[:5]), 294),
    "registry": (("registry", "--release", "1.16"), DECIDING, 300),
}
"""Arguments, what may not be imported, and how many modules of this project may be."""


@pytest.mark.parametrize(("arguments", "absent", "most"), CASES.values(), ids=CASES)
def test_imports(folder: Path, arguments: tuple[str, ...], absent: tuple[str, ...], most: int) -> None:
    """A command imports few modules, and none that it does not use."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *arguments],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        input=SCENARIO,
        capture_output=True,
        text=True,
        check=True,
    )
    modules = done.stdout.splitlines()[-1].split()
    assert [name for name in modules if name.startswith(tuple(f"{each}." for each in absent)) or name in absent] == []
    assert len([name for name in modules if name.split(".")[0] in OWN]) <= most
