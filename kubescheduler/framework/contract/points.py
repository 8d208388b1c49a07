"""The extension points: where plugins take part in an attempt, in the order they run."""

from __future__ import annotations

import enum


class Point(enum.Enum):
    """An extension point; the value is its member name in a profile's ``plugins``."""

    __hash__ = object.__hash__  # that of an enumeration is worked out from its name each time

    PRE_ENQUEUE = "preEnqueue"
    QUEUE_SORT = "queueSort"
    PRE_FILTER = "preFilter"
    FILTER = "filter"
    POST_FILTER = "postFilter"
    PRE_SCORE = "preScore"
    SCORE = "score"
    RESERVE = "reserve"
    PERMIT = "permit"
    PRE_BIND = "preBind"
    BIND = "bind"
    POST_BIND = "postBind"
    PLACEMENT_GENERATE = "placementGenerate"
    PLACEMENT_SCORE = "placementScore"

    @property
    def kind(self) -> str:
        """What error texts call a plugin of this point, as ``PreFilterPlugin``."""
        return f"{self.value[0].upper()}{self.value[1:]}Plugin"


METHODS: dict[Point, tuple[str, ...]] = {
    Point.PRE_ENQUEUE: ("pre_enqueue",),
    Point.QUEUE_SORT: ("less",),
    Point.PRE_FILTER: ("pre_filter",),
    Point.FILTER: ("filter", "filter_nodes"),
    Point.POST_FILTER: ("post_filter",),
    Point.PRE_SCORE: ("pre_score",),
    Point.SCORE: ("score", "score_nodes"),
    Point.RESERVE: ("reserve",),
    Point.PERMIT: ("permit",),
    Point.PRE_BIND: ("pre_bind",),
    Point.BIND: ("bind",),
    Point.POST_BIND: ("post_bind",),
    Point.PLACEMENT_GENERATE: ("generate_placements",),
    Point.PLACEMENT_SCORE: ("score_placement",),
}
"""Point → the methods by any of which a class takes part in it."""
