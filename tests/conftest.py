"""Settings of hypothesis, signals, and where the recorded decisions are."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from hypothesis import HealthCheck, settings

pytest_plugins = ["pytester"]

settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ci" if os.environ.get("CI") else "local")


# A shell that starts the tests in the background ignores SIGINT, and so would every process that they interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def vectors_dir() -> Path:
    """The folder of ``<release>/<theme>.jsonl.gz``: what the real kube-scheduler of a release decided."""
    return Path(__file__).parent / "vectors"
