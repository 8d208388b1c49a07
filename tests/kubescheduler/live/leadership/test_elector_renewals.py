"""Elections: how leadership is kept, and what ends it."""

from __future__ import annotations

import pytest

from kubescheduler.live.leadership.leader_record import LeaderRecord, lease_time
from kubescheduler.live.transport.api_answers import ApiError
from tests.support.live import own_loop
from tests.support.live.elections import EVERY, a_record, candidate
from tests.support.live.live_clock import EPOCH


@pytest.mark.parametrize(
    ("release", "renewal"),
    [
        pytest.param("1.16", ["GET", "PUT"], id="1.16 reads it each time"),
        pytest.param("1.20", ["GET", "PUT"], id="1.20 reads it each time"),
        pytest.param("1.36", ["PUT"], id="1.36 writes at once"),
    ],
)
def test_renewals(release: str, renewal: list[str]) -> None:
    """The first follows at once, each other 2 s after the one before; acquireTime and transitions stay."""
    one = candidate(release, a_record("", seconds=1))
    seen: list[LeaderRecord] = []
    counted: list[str] = []

    def count(what: str) -> None:
        counted.append(what)
        if one.lock.record is not None and one.lock.record.holder:
            seen.append(one.lock.record)
        if counted.count("PUT") == 4:
            one.stop()

    one.lock.before = count
    own_loop.run(one.run())
    assert one.lock.verbs()[2 : 2 + 3 * len(renewal)] == renewal * 3
    assert one.clock.slept[:2] == [2.0, 2.0]
    assert {(record.acquired, record.transitions) for record in seen} == {(lease_time(EPOCH), 4)}


@EVERY
def test_leadership_is_lost_when_it_cannot_be_renewed(release: str) -> None:
    """It gives up after the renew deadline, says so, and leads no more before it tries to give the lock back."""
    one = candidate(release)
    order: list[str] = []
    one.led_to = lambda leads: order.append("leads" if leads else "lost")

    def fail(what: str) -> None:
        order.append(what)
        if one.led and one.clock.moment >= 2.0:
            raise ApiError("the server is gone", 500, "InternalError")

    one.lock.before = fail
    own_loop.run(one.run())
    assert [leads for leads, _ in one.led] == [True, False]
    assert 10.0 <= one.led[1][1] <= 12.5
    assert one.events == ["me became leader", "me stopped leading"]
    lines = {
        "1.36": 'E "Failed to renew lease" err="context deadline exceeded" lock="kube-system/kube-scheduler"',
    }
    other = "I failed to renew lease kube-system/kube-scheduler: timed out waiting for the condition"
    assert lines.get(release, other) in one.log
    assert order.index("lost") < len(order) - 1
    assert order[order.index("lost") + 1 :] == ["GET"]


@EVERY
def test_a_lock_that_somebody_took_is_not_given_back(release: str) -> None:
    """Who has lost the lock to another one leaves that one's record as it is."""
    one = candidate(release)

    def steal(what: str) -> None:
        if one.led and one.clock.moment >= 2.0:
            one.lock.record = a_record("other", renewed=one.clock.moment)
            if what == "PUT":
                raise ApiError("the object has been modified", 409, "Conflict")

    one.lock.before = steal
    own_loop.run(one.run())
    assert [leads for leads, _ in one.led] == [True, False]
    assert one.lock.record is not None
    assert one.lock.record.holder == "other"


def test_a_conflict_on_the_fast_path() -> None:
    """1.36 reads the lock and writes again when what it wrote at once is refused."""
    one = candidate("1.36")
    refused: list[str] = []

    def refuse(what: str) -> None:
        if what == "PUT" and not refused:
            refused.append(what)
            raise ApiError("the object has been modified", 409, "Conflict")
        if what == "PUT" and len(one.lock.asked) > 6:
            one.stop()

    one.lock.before = refuse
    own_loop.run(one.run())
    assert one.lock.verbs()[:5] == ["GET", "POST", "PUT", "GET", "PUT"]
    assert [leads for leads, _ in one.led] == [True, False]


@EVERY
def test_credentials_that_cannot_be_had(release: str) -> None:
    """A candidate does not die of them."""
    one = candidate(release)

    def fail(what: str) -> None:
        if len(one.lock.asked) == 1:
            raise ApiError("getting credentials: exec: no such file")

    one.lock.before = fail
    one.led_to = lambda leads: one.stop() if leads else None
    own_loop.run(one.run())
    assert [leads for leads, _ in one.led] == [True, False]
