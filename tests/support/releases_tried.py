"""The releases over which tests run that hold for every release.

They are the ones that are farthest apart. What the releases between them do otherwise is held by the recorded answers
of each (``tests/test_conformance.py``) and by the tables of cases of the rules that changed.
"""

from __future__ import annotations

from pathlib import Path

from kubescheduler.releases.names import FRAMEWORK_RELEASES, LEGACY_RELEASES, POLICY_RELEASES

RELEASES_TRIED = ("1.4", "1.16", "1.20", "1.36")
"""Oldest first."""
LEGACY_TRIED = tuple(name for name in RELEASES_TRIED if name in LEGACY_RELEASES)
FRAMEWORKS_TRIED = tuple(name for name in RELEASES_TRIED if name in FRAMEWORK_RELEASES)
POLICIES_TRIED = tuple(name for name in RELEASES_TRIED if name in POLICY_RELEASES)


def vectors_dir() -> Path:
    """The folder of ``<release>/<theme>.jsonl.gz``: what the real kube-scheduler of a release decided."""
    return Path(__file__).parents[1] / "vectors"
