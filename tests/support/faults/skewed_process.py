"""``python -m tests.support.faults.skewed_process SECONDS …``: the command line, with a clock that is off."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta

from kubescheduler.live.transport.io_thread import WallClock


def main() -> None:
    """Runs the command line with the rest of the arguments."""
    ahead = timedelta(seconds=float(sys.argv.pop(1)))

    def now(self: WallClock) -> datetime:
        return datetime.now(UTC) + ahead

    WallClock.now = now  # type: ignore[method-assign]
    from kubescheduler.__main__ import main as command

    command()


if __name__ == "__main__":
    main()
