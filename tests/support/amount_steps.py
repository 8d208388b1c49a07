"""Steps of a cluster, as the laws of kept totals take them, about nodes of which nothing but the amounts changes."""

from __future__ import annotations

WITHOUT_TAINTS = [("put", (2, 0, "")), ("put", (5, 1, ""))]
"""From here on all nodes score alike by their taints, so that most totals follow from the amounts on a row."""
BY_AMOUNTS = [
    *WITHOUT_TAINTS,
    *[("run", kind, 3) for kind in ("plain", "owned", "plain", "image", "large", "bare large", "plain")],
    *[("drop", 3), ("run", "plain", 2), ("drop", 0), ("drop", 5), ("run", "owned", 2), ("run", "image", 2)],
    *[("put", (1, 1, "hard")), ("run", "plain", 3), ("run", "owned", 3), ("put", (1, 1, "")), ("run", "plain", 2)],
    *[("run", "large", 6), ("drop", 2), ("run", "bare large", 4), ("drop", 0), ("drop", 1), ("run", "large", 3)],
    *[("run", "apart from z", 1), ("run", "owned", 2), ("run", "plain", 2), ("service", False), ("run", "owned", 4)],
    *[("drop", at) for at in (0, 0, 0, 0, 0)],
    *[("run", kind, 3) for kind in ("plain", "bare large", "owned", "large", "disk", "image")],
]
"""Nodes fill up and empty again, on which nothing but amounts changes."""
BEYOND_AMOUNTS = [
    *[("service", False), *WITHOUT_TAINTS, ("run", "owned", 4), ("run", "apart", 2), ("run", "owned", 4)],
    *[("run", "likes", 2), ("run", "owned", 5), ("drop", 0), ("drop", 1), ("run", "owned", 3)],
    *[("run", "plain", 3), ("run", "port", 3), ("run", "plain", 3), ("run", "port", 6)],
]
"""What looks at more than amounts has a say, or comes to have one."""
STEADY_REFUSALS = [
    *[("service", False), *WITHOUT_TAINTS, ("run", "plain", 9), ("put", (1, 1, "hard")), ("put", (3, 1, "cordoned"))],
    *[("run", "plain", 3), *[("drop", 0)] * 6, ("run", "plain", 5)],
]
"""Pods leave nodes that are refused whatever the amounts on them."""
FULL_DISKS = [
    *[("service", False), *WITHOUT_TAINTS, ("put", (1, 0, "disk")), ("put", (4, 0, "")), ("put", (7, 1, ""))],
    *[("run", "disk", 8), *[("drop", 0), ("run", "disk", 1)] * 3],
]
"""The one node that is preferred fills up, so that all others score alike until a pod leaves it."""
REFUSED_LONG_AGO = [
    *[("service", False), *WITHOUT_TAINTS, ("run", "disk", 6), ("run", "image", 1), ("run", "bare large", 4)],
    *[("run", "large", 1), ("run", "bare large", 5)],
]
"""What refuses a node is noted once more after several other changes."""
ALONE_ONCE_FULL = [
    *[("service", False), *WITHOUT_TAINTS, ("run", "bare large", 8), ("drop", 7), ("drop", 0), ("run", "bare large", 2)]
]
"""A full node is the only one that has changed, and has room again."""
LIKED_AND_FULL = [
    *[("service", False), *WITHOUT_TAINTS, ("run", "likes", 1), ("run", "owned", 14), ("put", (4, 0, ""))],
    *[("run", "owned", 3), ("drop", 1), ("run", "owned", 2)],
]
"""The one node whose pod likes others is full when totals are begun; the others score alike until a pod leaves it."""
