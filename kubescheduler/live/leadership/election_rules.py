"""How long elections take, and in what those of the releases differ."""

from __future__ import annotations

from collections.abc import Callable

import attrs

JITTER = 1.2
"""A candidate waits for the retry period times 1 to 1 + this."""


@attrs.frozen
class ElectionTiming:
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


@attrs.frozen(eq=False)
class ElectionRules:
    """In what the releases' elections differ."""

    trusts_record: bool
    """Whether the record says for how long it is to be left alone (1.36), or each candidate's own setting does."""
    fast_path: bool
    """Whether a leader writes at once what it wrote last, without reading it (1.36)."""
    log: Callable[[str, str, str], str]
    """Of (what happened, the lock's name, the error): the line; see ``log_1_16``."""


# --- what is logged ------------------------------------------------------------------------------------

LINES_1_16 = {
    "seeking": "attempting to acquire leader lease  {lock}...",
    "acquired": "successfully acquired lease {lock}",
    "lost": "failed to renew lease {lock}: {error}",
    "reading failed": "error retrieving resource lock {lock}: {error}",
    "creating failed": "error initially creating leader election record: {error}",
    "writing failed": "Failed to update lock: {error}",
}
LINES_1_20 = {**LINES_1_16, "seeking": "attempting to acquire leader lease {lock}..."}
LINES_1_36 = {
    "seeking": '"Attempting to acquire leader lease..." lock="{lock}"',
    "acquired": '"Successfully acquired lease" lock="{lock}"',
    "lost": '"Failed to renew lease" lock="{lock}" err="context deadline exceeded"',
    "reading failed": '"Error retrieving lease lock" err="{error}" lock="{lock}"',
    "creating failed": '"Error initially creating lease lock" err="{error}" lock="{lock}"',
    "writing failed": '"Failed to update lease" err="{error}" lock="{lock}"',
    "releasing failed": '"Failed to release lease" err="{error}" lock="{lock}"',
}


def log_1_16(what: str, lock: str, error: str) -> str:
    """A line of 1.16; empty for what it does not log."""
    return LINES_1_16.get(what, "").format(lock=lock, error=error)


def log_1_20(what: str, lock: str, error: str) -> str:
    """A line of 1.20; empty for what it does not log."""
    return LINES_1_20.get(what, "").format(lock=lock, error=error)


def log_1_36(what: str, lock: str, error: str) -> str:
    """A line of 1.36; empty for what it does not log."""
    return LINES_1_36.get(what, "").format(lock=lock, error=error)


RULES_1_16 = ElectionRules(trusts_record=False, fast_path=False, log=log_1_16)
RULES_1_20 = ElectionRules(trusts_record=False, fast_path=False, log=log_1_20)
RULES_1_36 = ElectionRules(trusts_record=True, fast_path=True, log=log_1_36)
