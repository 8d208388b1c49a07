"""The causes that a user accepts as no difference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from clusterstate.errors import nearest
from kubescheduler.comparison.outcomes import TOLERABLE, Cause


def faults_of_tolerated(names: Iterable[str]) -> Iterator[str]:
    """What is wrong with each name that is no cause, or one that cannot be accepted."""
    known = [str(cause) for cause in TOLERABLE]
    for name in names:
        if name == Cause.ERROR:
            yield "an error cannot be tolerated: nothing was compared"
        elif name not in known:
            yield f"{name} is no cause{nearest(str(name), known) or '; causes are ' + ', '.join(known)}"
