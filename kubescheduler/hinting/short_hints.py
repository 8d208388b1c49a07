"""The smallest hint for each of some pods, in words that are short and name no node: a metric's labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from clusterstate.cache import ClusterCache
from clusterstate.objects import ClusterObject, Pod
from kubescheduler.engine.engine_contract import Engine, cache_for
from kubescheduler.hinting.hint_search import HintSearch
from kubescheduler.hinting.proposals import POD, Hint
from kubescheduler.live.observers import ShortHint

LONGEST = 100
"""Characters of a text."""
OTHERS = {
    "taint": "remove a taint from a node",
    "cordon": "uncordon a node",
    "label": "label a node otherwise",
    "size": "make a node larger",
    "node": "add one more node",
    "claim": "create the PersistentVolumeClaim",
    "pod": "run a pod that it has to be near to",
    "eviction": "evict running pods",
}
"""Kind of a change that is not of the pod → its words; the hint's own name the node."""


def short_hints(
    engine: Engine, objects: Sequence[ClusterObject], pods: Sequence[Pod], pause: Callable[[], None]
) -> list[ShortHint | None]:
    """For each pod what the smallest single change is that makes it fit in a cluster of these objects; None: it fits,
    or none does it. pause: is called before each decision.

    Nobody's extenders and plugins are asked what if: where there are any, there are no hints.
    """
    if engine.extenders or engine.scheduler(ClusterCache(engine.view)).has_custom_plugins:
        return [None] * len(pods)
    search = HintSearch(engine, cache_for(engine, objects), pause)
    return [_short(search, pod) for pod in pods]


def _short(search: HintSearch, pod: Pod) -> ShortHint | None:
    found = search.hints(pod, top=1, pairs=False, quick=True, message="fits nowhere")
    return shortened(found[0]) if found else None


def shortened(hint: Hint) -> ShortHint:
    """The words of a hint of one change."""
    (change,) = hint.changes
    text = change.text if change.target == POD else OTHERS.get(change.kind, "change the configuration")
    return ShortHint(change.kind, text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…")
