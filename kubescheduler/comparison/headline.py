"""The result of a comparison in one sentence."""

from __future__ import annotations

from collections.abc import Iterator

from kubescheduler.comparison.comparison import Comparison
from kubescheduler.comparison.outcomes import Cause


def headline(comparison: Comparison) -> str:
    """``2 of 9 pods go elsewhere, 1 is refused for different reasons``, without a full stop."""
    moved, count = len(comparison.moved), len(comparison.pods)
    if count and len(comparison.errors) == count:
        return f"none of {count:,} {'pod' if count == 1 else 'pods'} could be compared"
    first = (
        f"{moved:,} of {count:,} {'pod' if moved == count == 1 else 'pods'} {'goes' if moved == 1 else 'go'} elsewhere"
    )
    return ", ".join([first, *_besides(comparison)])


def _besides(comparison: Comparison) -> Iterator[str]:
    still = [pod.causes for pod in comparison.pods if not pod.moved and not pod.error]
    chance = sum(Cause.COULD_HAVE_BEEN in causes for causes in still)
    if chance:
        yield f"{chance:,} could have been there before, but {_have(chance)} other equal best nodes now"
    if ties := sum(Cause.DIFFERENT_TIES in causes for causes in still):
        yield f"{ties:,} {'stays' if ties == 1 else 'stay'} by name, but {_have(ties)} other equal best nodes now"
    refused = sum(Cause.DIFFERENT_REASONS in causes for causes in still)
    evicting = sum(Cause.DIFFERENT_VICTIMS in causes for causes in still)
    if refused:
        yield f"{refused:,} {_be(refused)} refused for different reasons"
    if evicting:
        yield f"{evicting:,} {'evicts' if evicting == 1 else 'evict'} other pods"
    if errors := len(comparison.errors):
        yield f"{errors:,} could not be compared"


def _have(count: int) -> str:
    return "has" if count == 1 else "have"


def _be(count: int) -> str:
    return "is" if count == 1 else "are"
