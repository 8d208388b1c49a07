"""The cluster that the lab opens when none is named: a shop's pods on twelve nodes in three zones."""

from __future__ import annotations

from pathlib import Path

CLUSTER = Path(__file__).with_name("cluster.yaml")
"""Its manifests."""

TITLE = "A small shop"
"""What it is called."""

RELEASE = "1.36"
"""Whose rules decide in it unless something else is said."""
