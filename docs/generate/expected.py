"""The decisions of ``policy_examples``: what the command line prints for each provider, policy and configuration."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from docs.generate.blocks import PORT, ROOT

EXAMPLES = ROOT / "policy_examples"
PROVIDERS = ("DefaultProvider", "ClusterAutoscalerProvider")
POLICIES = ("classic-default.json", "parameterised.yaml", "bin-packing.json", "spread-first.toml", "extenders.json")
CONFIGS = {"bin-packing-1.36.yaml": "1.36", "racks-1.20.yaml": "1.20"}
"""KubeSchedulerConfiguration → the release it is for."""

WITH_EXTENDER = "extenders.json"


def names() -> list[str]:
    return [*PROVIDERS, *POLICIES, *CONFIGS]


def expected_file(name: str) -> Path:
    """Where the decision of a provider, policy or configuration is kept."""
    return EXAMPLES / "expected" / f"{name if name in PROVIDERS else Path(name).stem}.txt"


def decision(name: str, folder: Path) -> str:
    """What is printed; ``folder`` is for a copy of the policy with the extender's true port."""
    if name in PROVIDERS:
        return _schedule("--algorithm-provider", name)
    if name in CONFIGS:
        return _schedule("--release", CONFIGS[name], "--config", str(EXAMPLES / name))
    if name != WITH_EXTENDER:
        return _schedule("--policy-config-file", str(EXAMPLES / name))
    with extender() as port:
        copy = folder / name
        copy.write_text((EXAMPLES / name).read_text(encoding="utf-8").replace(str(PORT), str(port)), encoding="utf-8")
        return _schedule("--policy-config-file", str(copy)).replace(str(port), str(PORT))


@contextmanager
def extender() -> Iterator[int]:
    """``policy_examples/extender.py`` as a process; its port."""
    process = subprocess.Popen(
        [sys.executable, str(EXAMPLES / "extender.py"), "--port", "0"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline().rsplit(":", 1)[1])
    finally:
        process.terminate()
        process.communicate()


def _schedule(*options: str) -> str:
    program = shutil.which("kubescheduler", path=str(Path(sys.executable).parent))
    assert program is not None, "kubescheduler is not installed beside this Python; run pip install -e ."
    files = [str(EXAMPLES / "cluster.yaml"), "--pod", str(EXAMPLES / "pod.yaml")]
    done = subprocess.run(
        [program, "schedule", *files, *options, "--explain"], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == "", done.stderr
    return done.stdout
