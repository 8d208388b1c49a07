"""What is logged of a server that does not answer."""

from __future__ import annotations

from kubescheduler.live.informers.server_outage import ServerOutages
from kubescheduler.live.transport.api_answers import ApiError
from tests.support.live.live_clock import StoodClock

GONE = ApiError("Get /a: refused", unanswered=True)
FORBIDDEN = ApiError("pods is forbidden", 403, "Forbidden")
HERE, THERE = "http://here", "http://there"


class Logged:
    """The outages of a process, and its log."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.clock = StoodClock()
        self.outages = ServerOutages(
            self.clock, lambda text: self.lines.append(f"E {text}"), lambda text: self.lines.append(f"I {text}")
        )

    def taken(self) -> list[str]:
        lines, self.lines = self.lines, []
        return lines


def test_one_line_as_it_begins_and_one_as_it_ends() -> None:
    """However many informers try in vain, and however often."""
    logged = Logged()
    logged.outages.of(HERE).answered()
    for _ in range(20):
        logged.outages.of(HERE).failed(GONE, "of one kind")
        logged.clock.moment += 0.5
    logged.outages.of(HERE).answered()
    logged.outages.of(HERE).answered()
    assert logged.taken() == [
        "E The API server cannot be reached; asking it again until it answers: Get /a: refused",
        "I The API server answers again, after 10.0 s",
    ]
    logged.outages.of(HERE).failed(GONE, "of one kind")
    assert len(logged.taken()) == 1


def test_refusals_are_always_logged() -> None:
    """In the release's words, also while others get no answer; they end no outage."""
    logged = Logged()
    for error in (FORBIDDEN, GONE, FORBIDDEN, GONE, FORBIDDEN):
        logged.outages.of(HERE).failed(error, "Failed to list *v1.Pod: pods is forbidden")
    assert [line[:16] for line in logged.taken()] == ["E Failed to list", "E The API server", *["E Failed to list"] * 2]


def test_servers_have_outages_of_their_own() -> None:
    """One that answers says nothing of another one."""
    logged = Logged()
    logged.outages.of(HERE).failed(GONE, "of one kind")
    logged.outages.of(THERE).answered()
    logged.outages.of(THERE).failed(GONE, "of one kind")
    assert len(logged.taken()) == 2
