"""The lab: a cluster's scheduling in a browser, and exercises that check themselves.

Nothing here decides; engines are asked by ``import kubescheduler``.
"""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).parent / "page"
"""The browser's side: ES modules, styles and what they are built on, as they are served; nothing there is compiled."""

BUNDLED_CLUSTER = Path(__file__).parent / "bundled/cluster.yaml"
"""Manifests of what opens when no cluster is named: a shop's pods on twelve nodes in three zones."""
BUNDLED_TITLE = "A small shop"
BUNDLED_RELEASE = "1.36"
"""Whose rules decide in it unless something else is said."""
