"""How long elections take, and in what those of the releases differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from kubescheduler.live.logs.log_lines import LogLine, Severity, structured

JITTER = 1.2
"""A candidate waits for the retry period times 1 to 1 + this."""


class ElectionTiming(msgspec.Struct, frozen=True):
    """In seconds."""

    lease: float = 15.0
    """For how long others leave a leader alone."""
    renew: float = 10.0
    """For how long a leader tries to renew before it gives up."""
    retry: float = 2.0
    """Between two tries."""

    def fault(self) -> str:
        """Why an elector cannot be made, empty if it can; upstream's text."""
        if self.lease <= self.renew:
            return "leaseDuration must be greater than renewDeadline"
        if self.renew <= self.retry * JITTER:
            return "renewDeadline must be greater than retryPeriod*JitterFactor"
        return ""


class ElectionRules(msgspec.Struct, frozen=True, eq=False):
    """In what the releases' elections differ."""

    trusts_record: bool
    """Whether the record says for how long it is to be left alone (1.36), or each candidate's own setting does."""
    fast_path: bool
    """Whether a leader writes at once what it wrote last, without reading it (1.36)."""
    log: Callable[[str, str, str], LogLine | None]
    """Of (what happened, the lock's name, the error): the line; see ``log_1_16``."""


# --- what is logged ------------------------------------------------------------------------------------

LINES_1_16 = {
    "seeking": (Severity.INFO, "attempting to acquire leader lease  {lock}..."),
    "acquired": (Severity.INFO, "successfully acquired lease {lock}"),
    "lost": (Severity.INFO, "failed to renew lease {lock}: {error}"),
    "reading failed": (Severity.ERROR, "error retrieving resource lock {lock}: {error}"),
    "creating failed": (Severity.ERROR, "error initially creating leader election record: {error}"),
    "writing failed": (Severity.ERROR, "Failed to update lock: {error}"),
    "releasing failed": (Severity.ERROR, "Failed to release lock: {error}"),
}
"""What happened → the line of 1.16."""
LINES_1_20 = {**LINES_1_16, "seeking": (Severity.INFO, "attempting to acquire leader lease {lock}...")}
"""The same of 1.20, which has one blank less."""
MESSAGES_1_36 = {
    "seeking": LogLine(Severity.INFO, "Attempting to acquire leader lease..."),
    "acquired": LogLine(Severity.INFO, "Successfully acquired lease"),
    "lost": LogLine(Severity.ERROR, "Failed to renew lease"),
    "reading failed": LogLine(Severity.ERROR, "Error retrieving lease lock"),
    "creating failed": LogLine(Severity.ERROR, "Error initially creating lease lock"),
    "writing failed": LogLine(Severity.ERROR, "Failed to update lease"),
    "fast path": LogLine(Severity.INFO, "Failed to update lease optimistically, falling back to slow path", 2),
    "releasing failed": LogLine(Severity.ERROR, "Failed to release lease"),
}
"""What happened → the message of 1.36, without its keys."""


def log_1_16(what: str, lock: str, error: str) -> LogLine | None:
    """A line of 1.16; None for what it does not log."""
    return _plain(LINES_1_16, what, lock, error)


def log_1_20(what: str, lock: str, error: str) -> LogLine | None:
    """A line of 1.20; None for what it does not log."""
    return _plain(LINES_1_20, what, lock, error)


def log_1_36(what: str, lock: str, error: str) -> LogLine | None:
    """A line of 1.36; None for what it does not log."""
    line = MESSAGES_1_36.get(what)
    if line is None:
        return None
    if what == "lost":
        error = "context deadline exceeded"
    pairs = {"err": error, "lock": lock} if error else {"lock": lock}
    return LogLine(line.severity, structured(line.text, **pairs), line.level)


def _plain(lines: Mapping[str, tuple[Severity, str]], what: str, lock: str, error: str) -> LogLine | None:
    if what not in lines:
        return None
    severity, text = lines[what]
    return LogLine(severity, text.format(lock=lock, error=error))
