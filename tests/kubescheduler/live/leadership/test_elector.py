"""Elections: who takes the lock, and when."""

from __future__ import annotations

import asyncio

import pytest

from kubescheduler.live.leadership.elector import ElectionTiming
from kubescheduler.live.leadership.resource_locks import LeaderRecord, lease_time
from kubescheduler.live.transport.api_answers import ApiError
from tests.support.live import live_cluster
from tests.support.live.elections import EVERY, RULES, Candidate, MemoryLock, a_record, candidate
from tests.support.live.live_cluster import EPOCH, StoodClock


@EVERY
def test_a_lock_that_nobody_made_is_made(release: str) -> None:
    """The first candidate leads at once, with no transition, and gives the lock back when it is stopped."""
    one = candidate(release)
    one.led_to = lambda leads: one.stop() if leads else None
    live_cluster.run(one.run())
    assert one.lock.verbs()[:2] == ["GET", "POST"]
    assert one.led == [(True, 0.0), (False, 0.0)]
    assert one.events == ["me became leader"]
    now = lease_time(EPOCH)
    assert one.lock.record == LeaderRecord("", 1, now, now, 0)


@EVERY
@pytest.mark.parametrize("record", [None, a_record(""), a_record("other", 1)], ids=["no lock", "given back", "expired"])
def test_whether_anybody_led_before(release: str, record: LeaderRecord | None) -> None:
    """Whoever finds the lock there may have to learn what was bound until then."""
    one = candidate(release, record)
    one.led_to = lambda leads: one.stop() if leads else None
    live_cluster.run(one.run())
    assert one.elector is not None
    assert one.elector.succeeds is (record is not None)


SEEKING = {
    "1.16": ["I attempting to acquire leader lease  kube-system/kube-scheduler..."],
    "1.20": ["I attempting to acquire leader lease kube-system/kube-scheduler..."],
    "1.36": ['I "Attempting to acquire leader lease..." lock="kube-system/kube-scheduler"'],
}
ACQUIRED = {
    "1.16": "I successfully acquired lease kube-system/kube-scheduler",
    "1.20": "I successfully acquired lease kube-system/kube-scheduler",
    "1.36": 'I "Successfully acquired lease" lock="kube-system/kube-scheduler"',
}


@EVERY
def test_what_is_logged_of_a_success(release: str) -> None:
    """Each release has its own lines."""
    one = candidate(release)
    one.led_to = lambda leads: one.stop() if leads else None
    live_cluster.run(one.run())
    assert one.log == [*SEEKING[release], ACQUIRED[release]]


@EVERY
def test_a_released_lock_is_taken_at_once(release: str) -> None:
    """Nobody holds it: that is one more transition."""
    one = candidate(release, a_record("", seconds=1))
    one.led_to = lambda leads: one.stop() if leads else None
    live_cluster.run(one.run())
    assert one.led[0] == (True, 0.0)
    assert one.lock.record is not None
    assert one.lock.record.transitions == 4


@pytest.mark.parametrize(
    ("release", "seconds", "earliest"),
    [
        pytest.param("1.16", 5, 15.0, id="1.16 by its own setting"),
        pytest.param("1.20", 5, 15.0, id="1.20 by its own setting"),
        pytest.param("1.36", 5, 5.0, id="1.36 by the record"),
        pytest.param("1.36", 30, 30.0, id="1.36 by a longer record"),
    ],
)
@pytest.mark.parametrize("skew", [-3600.0, 0.0, 3600.0], ids=["clock behind", "same clock", "clock ahead"])
def test_a_dead_leader_is_replaced(release: str, seconds: int, earliest: float, skew: float) -> None:
    """Its record is left alone for its time since we saw it; what its machine's clock says does not matter."""
    one = candidate(release, a_record("other", seconds, renewed=skew))
    one.led_to = lambda leads: one.stop() if leads else None
    live_cluster.run(one.run())
    led, at = one.led[0]
    assert led
    assert earliest <= at <= earliest + 4.4
    assert set(one.lock.verbs()[:-2]) <= {"GET", "PUT"}
    assert all(2.0 <= pause <= 4.4 for pause in one.clock.slept)


@EVERY
def test_a_living_leader_is_left_alone(release: str) -> None:
    """Each new version of its record counts anew from when it was seen."""
    one = candidate(release, a_record("other"))

    def renew(what: str) -> None:
        one.lock.record = a_record("other", renewed=one.clock.moment)
        if one.clock.moment > 120:
            one.stop()

    one.lock.before = renew
    live_cluster.run(one.run())
    assert one.led == []
    assert set(one.lock.verbs()) == {"GET"}


@EVERY
def test_a_race_that_is_lost(release: str) -> None:
    """409: somebody else was faster; it is tried again."""
    one = candidate(release, a_record("", seconds=1))
    refused: list[str] = []

    def refuse(what: str) -> None:
        if what == "PUT" and not refused:
            refused.append(what)
            raise ApiError("the object has been modified", 409, "Conflict")

    one.lock.before = refuse
    one.led_to = lambda leads: one.stop() if leads else None
    live_cluster.run(one.run())
    text = {"1.36": '"Failed to update lease" err="the object has been modified"'}
    assert any(text.get(release, "Failed to update lock: the object has been modified") in line for line in one.log)
    assert [leads for leads, _ in one.led] == [True, False]
    assert 2.0 <= one.led[0][1] <= 4.4


@EVERY
def test_a_lock_that_must_not_be_read(release: str) -> None:
    """403: it stands by for ever, with one line each time."""
    one = candidate(release)

    def refuse(what: str) -> None:
        if len(one.lock.asked) == 5:
            one.stop()
        raise ApiError('endpoints "kube-scheduler" is forbidden', 403, "Forbidden")

    one.lock.before = refuse
    live_cluster.run(one.run())
    assert one.led == []
    errors = [line for line in one.log if line.startswith("E")]
    assert len(errors) == 5
    assert all("kube-scheduler" in line and "is forbidden" in line for line in errors)


@EVERY
def test_two_candidates(release: str) -> None:
    """One leads; the other takes over as soon as the first one gave the lock back."""
    clock = StoodClock()
    lock = MemoryLock(clock)
    first, second = (Candidate(lock, clock, RULES[release], name) for name in ("first", "second"))
    together: list[int] = []

    def count(_: bool) -> None:
        leading = [one for one in (first, second) if one.led and one.led[-1][0]]
        together.append(len(leading))
        if second in leading:
            second.stop()

    first.led_to = second.led_to = count

    def end(_: str) -> None:
        if first.led and clock.moment > 60 and not second.led:
            first.stop()

    lock.before = end

    async def both() -> None:
        await asyncio.gather(first.run(), second.run())

    live_cluster.run(both())
    assert max(together) == 1
    assert [leads for leads, _ in first.led] == [True, False]
    assert [leads for leads, _ in second.led] == [True, False]
    assert lock.record is not None
    assert lock.record.transitions == 1


@pytest.mark.parametrize(
    ("timing", "fault"),
    [
        pytest.param(ElectionTiming(), "", id="defaults"),
        pytest.param(
            ElectionTiming(lease=10.0), "leaseDuration must be greater than renewDeadline", id="lease too short"
        ),
        pytest.param(
            ElectionTiming(retry=9.0),
            "renewDeadline must be greater than retryPeriod*JitterFactor",
            id="retries too far between",
        ),
    ],
)
def test_timing_faults(timing: ElectionTiming, fault: str) -> None:
    """Upstream's texts."""
    assert timing.fault() == fault


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
    live_cluster.run(one.run())
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
    live_cluster.run(one.run())
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
    live_cluster.run(one.run())
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
    live_cluster.run(one.run())
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
    live_cluster.run(one.run())
    assert [leads for leads, _ in one.led] == [True, False]
