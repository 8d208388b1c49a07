"""Locks as objects of the API, and elections: who takes the lock, and when."""

from __future__ import annotations

import asyncio
import json

import pytest

from kubescheduler.live.leadership import (
    KINDS_1_20,
    LEADER_ANNOTATION,
    ElectionTiming,
    LeaderRecord,
    ResourceLock,
    lease_time,
    resource_lock,
)
from kubescheduler.live.transport.api_answers import ApiError
from kubescheduler.live.transport.api_client import ApiClient
from kubescheduler.live.transport.io_thread import IoThread
from tests.support.apiserver import FrontServer
from tests.support.live import live_cluster
from tests.support.live.elections import EVERY, RULES, Candidate, MemoryLock, a_record, candidate
from tests.support.live.live_cluster import EPOCH, StoodClock

LEASES, ENDPOINTS, CONFIG_MAPS = "/apis/coordination.k8s.io/v1/leases", "/api/v1/endpoints", "/api/v1/configmaps"
PATHS = {
    "leases": (LEASES,),
    "endpoints": (ENDPOINTS,),
    "configmaps": (CONFIG_MAPS,),
    "endpointsleases": (ENDPOINTS, LEASES),
    "configmapsleases": (CONFIG_MAPS, LEASES),
}
EVERY_LOCK = pytest.mark.parametrize("name", list(PATHS))
TIME, LATER = "2026-01-01T00:00:00Z", "2026-01-01T00:00:02Z"
MICRO_TIME = "2026-01-01T00:00:00.000000Z"


def lock_of(api: ApiClient, name: str) -> ResourceLock:
    return resource_lock(api, KINDS_1_20[name], "kube-system", "kube-scheduler", {}, "10s")


def lead_once(one: Candidate) -> None:
    """It is stopped as soon as it leads."""
    one.led_to = lambda leads: one.stop() if leads else None
    live_cluster.run(one.run())


def holder(api_server: FrontServer, path: str) -> str:
    document = api_server.storage.get(path, "kube-system", "kube-scheduler")
    if path == LEASES:
        return str(document["spec"]["holderIdentity"])
    return str(json.loads(document["metadata"]["annotations"][LEADER_ANNOTATION])["holderIdentity"])


@EVERY_LOCK
def test_a_record_is_made_read_and_written(io: IoThread, api_server: FrontServer, api: ApiClient, name: str) -> None:
    """What is written is what another candidate reads, in every object of the lock."""
    lock, other = lock_of(api, name), lock_of(api, name)
    read = MICRO_TIME if name == "leases" else TIME
    io.wait(lock.create(LeaderRecord("me", 15, TIME, TIME, 0)))
    assert io.wait(other.get()).holder == "me"
    io.wait(other.update(LeaderRecord("other", 15, TIME, TIME, 1)))
    assert io.wait(lock.get()) == LeaderRecord("other", 15, read, read, 1)
    assert [holder(api_server, path) for path in PATHS[name]] == ["other"] * len(PATHS[name])


@EVERY_LOCK
def test_a_write_that_comes_too_late(io: IoThread, api: ApiClient, name: str, api_server: FrontServer) -> None:
    """409 for who did not see the last version."""
    lock, other = lock_of(api, name), lock_of(api, name)
    io.wait(lock.create(LeaderRecord("me", 15, TIME, TIME, 0)))
    io.wait(other.get())
    io.wait(lock.update(LeaderRecord("me", 15, TIME, LATER, 0)))
    with pytest.raises(ApiError) as caught:
        io.wait(other.update(LeaderRecord("other", 15, TIME, TIME, 1)))
    assert caught.value.code == 409


@EVERY_LOCK
def test_a_lock_that_is_not_there(io: IoThread, api: ApiClient, name: str, api_server: FrontServer) -> None:
    """404, so that it is made."""
    with pytest.raises(ApiError) as caught:
        io.wait(lock_of(api, name).get())
    assert caught.value.code == 404


def test_a_twofold_lock_moves_by_its_second_object(io: IoThread, api_server: FrontServer, api: ApiClient) -> None:
    """A leader of before has the first object alone: the second is made with the next write."""
    io.wait(lock_of(api, "endpoints").create(LeaderRecord("old", 15, TIME, TIME, 0)))
    lock = lock_of(api, "endpointsleases")
    assert io.wait(lock.get()).holder == "old"
    io.wait(lock.update(LeaderRecord("new", 15, TIME, TIME, 1)))
    assert [holder(api_server, path) for path in (ENDPOINTS, LEASES)] == ["new", "new"]


def test_a_twofold_lock_that_disagrees(io: IoThread, api_server: FrontServer, api: ApiClient) -> None:
    """Two holders are one that nobody knows, so that both wait."""
    io.wait(lock_of(api, "endpoints").create(LeaderRecord("one", 15, TIME, TIME, 0)))
    io.wait(lock_of(api, "leases").create(LeaderRecord("two", 15, TIME, TIME, 0)))
    assert io.wait(lock_of(api, "endpointsleases").get()).holder not in ("", "one", "two")


@pytest.mark.parametrize("text", ["no JSON", "[]"], ids=["no JSON", "a list"])
def test_an_annotation_that_is_no_record(io: IoThread, api_server: FrontServer, api: ApiClient, text: str) -> None:
    """An error of the try, which ends nothing."""
    document = {"metadata": {"name": "kube-scheduler", "annotations": {LEADER_ANNOTATION: text}}}
    api_server.storage.create(ENDPOINTS, "kube-system", document)
    with pytest.raises(ApiError, match="the leader's record is not readable"):
        io.wait(lock_of(api, "endpoints").get())


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
def test_a_lock_that_nobody_made_is_made(release: str) -> None:
    """The first candidate leads at once, with no transition, gives the lock back when it is stopped, and logs both."""
    one = candidate(release)
    lead_once(one)
    assert one.lock.verbs()[:2] == ["GET", "POST"]
    assert one.led == [(True, 0.0), (False, 0.0)]
    assert one.events == ["me became leader"]
    now = lease_time(EPOCH)
    assert one.lock.record == LeaderRecord("", 1, now, now, 0)
    assert one.log == [*SEEKING[release], ACQUIRED[release]]


@EVERY
@pytest.mark.parametrize(
    "record", [None, a_record("", 1), a_record("other", 1)], ids=["no lock", "given back", "expired"]
)
def test_whether_anybody_led_before(release: str, record: LeaderRecord | None) -> None:
    """Whoever finds the lock there may have to learn what was bound until then; a released one is had at once."""
    one = candidate(release, record)
    lead_once(one)
    assert one.elector.succeeds is (record is not None)
    assert one.lock.record.transitions == (0 if record is None else 4)
    assert (one.led[0] == (True, 0.0)) is (record is None or not record.holder)


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
    lead_once(one)
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
    lead_once(one)
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
    lines = {"1.36": 'E "Failed to renew lease" err="context deadline exceeded" lock="kube-system/kube-scheduler"'}
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
    lead_once(one)
    assert [leads for leads, _ in one.led] == [True, False]
