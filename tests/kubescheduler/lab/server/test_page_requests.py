"""Answers of the lab as bytes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kubescheduler.lab.server.page_requests import answer_bytes


@pytest.mark.parametrize(
    ("number", "sent"),
    [
        (2**53 - 1, 2**53 - 1),
        (-(2**53) + 1, -(2**53) + 1),
        (2**53, str(2**53)),
        (-(2**63), str(-(2**63))),
    ],
    ids=["the largest that is exact", "the smallest that is exact", "one more", "the least score"],
)
def test_numbers_that_a_browser_would_round_are_sent_as_text(number: int, sent: Any) -> None:
    """Wherever they stand; texts with many digits stay as they are."""
    answer = msgspec.json.decode(answer_bytes({"nodes": [{"total": number}], "text": "12345678901234567890"}))
    assert answer == {"nodes": [{"total": sent}], "text": "12345678901234567890"}
