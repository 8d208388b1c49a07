"""Where the recorded decisions of the real schedulers are."""

from __future__ import annotations

from pathlib import Path


def vectors_dir() -> Path:
    """The folder of ``<release>/<theme>.jsonl.gz``: what the real kube-scheduler of a release decided."""
    return Path(__file__).parents[2] / "vectors"
