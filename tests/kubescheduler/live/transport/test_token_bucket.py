"""The client's own limit on requests."""

from __future__ import annotations

import pytest

from kubescheduler.live.transport.token_bucket import Limits, TokenBucket
from tests.support.live.live_clock import StoodClock


@pytest.mark.parametrize(
    ("qps", "burst", "asked_at", "delays"),
    [
        pytest.param(10.0, 2, [0, 0, 0, 0], [0, 0, 0.1, 0.2], id="beyond the burst one every tenth of a second"),
        pytest.param(10.0, 1, [0, 0, 1, 1], [0, 0.1, 0, 0.1], id="a pause gives the burst back"),
        pytest.param(10.0, 2, [0, 0, 100, 100, 100], [0, 0, 0, 0, 0.1], id="a long pause gives no more than the burst"),
        pytest.param(0.0, 0, [0, 0, 0], [0, 0, 0], id="no limit"),
        pytest.param(50.0, 100, [0] * 102, [0] * 100 + [0.02, 0.04], id="upstream's defaults"),
    ],
)
def test_delays(qps: float, burst: int, asked_at: list[float], delays: list[float]) -> None:
    """Requests wait until the bucket has a token for them."""
    clock = StoodClock()
    bucket = TokenBucket(Limits(qps, burst), clock)
    found = []
    for moment in asked_at:
        clock.moment = moment
        found.append(bucket.reserve())
    assert found == pytest.approx(delays)
