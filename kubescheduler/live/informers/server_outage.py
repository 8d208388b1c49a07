"""ServerOutage: a server that does not answer is logged once for all informers together, and once when it is back."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from kubescheduler.live.contract.wall_clock import WallClock
from kubescheduler.live.transport.api_answers import ApiError


@attrs.define(eq=False)
class ServerOutage:
    """What the informers of one server log of tries that failed; for the I/O thread.

    Upstream each reflector logs each of its tries.
    """

    clock: WallClock
    trouble: Callable[[str], None]
    """Logs what went wrong."""
    recovered: Callable[[str], None]
    """Logs that the server answers again."""
    _since: float | None = None
    """When the first try went without an answer, by the monotonic clock; None: the server answers."""

    def failed(self, error: ApiError, text: str) -> None:
        """A try failed. text: the release's line, for an answer that says no, which concerns one kind alone."""
        if not error.unanswered:
            self.trouble(text)
        elif self._since is None:
            self._since = self.clock.monotonic()
            self.trouble(f"The API server cannot be reached; asking it again until it answers: {error}")

    def answered(self) -> None:
        """A list or a watch was granted."""
        if self._since is not None:
            seconds = self.clock.monotonic() - self._since
            self._since = None
            self.recovered(f"The API server answers again, after {seconds:.1f} s")


@attrs.define(eq=False)
class ServerOutages:
    """The outages of every server that a process reads, by its address."""

    clock: WallClock
    trouble: Callable[[str], None]
    recovered: Callable[[str], None]
    _known: dict[str, ServerOutage] = attrs.field(factory=dict)

    def of(self, base_url: str) -> ServerOutage:
        """That of one server, which all who read it share."""
        return self._known.setdefault(base_url, ServerOutage(self.clock, self.trouble, self.recovered))
