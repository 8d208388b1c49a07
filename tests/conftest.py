"""Settings of hypothesis, and where the recorded decisions are."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import HealthCheck, settings

pytest_plugins = ["pytester"]

settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ci" if os.environ.get("CI") else "local")


def vectors_dir() -> Path:
    """The folder of ``<release>/<theme>.jsonl.gz``: what the real kube-scheduler of a release decided."""
    return Path(__file__).parent / "vectors"
