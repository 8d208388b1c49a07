"""Placements in tests: what the pytest plugin is made of, and ``assert_same_placements``.

Nothing else of the project imports pytest, and this package imports the rest only when it is used.
"""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("kubescheduler.testing.assertions", "kubescheduler.testing.records")

from kubescheduler.testing.assertions import assert_same_placements, compare_placements  # noqa: E402

__all__ = ["assert_same_placements", "compare_placements"]
