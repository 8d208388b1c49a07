"""Dry runs in tests: engines, and results that are kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clusterstate.cache import ClusterCache
from clusterstate.manifests.decode import Decoder, Item
from clusterstate.manifests.kinds import KINDS
from clusterstate.objects import Pod
from kubescheduler.comparison.dry_run_results import DryRunResults, RealChoices
from kubescheduler.engine.spec import EngineSpec, PodScheduler
from kubescheduler.live.shadow_scheduler import ShadowScheduler
from kubescheduler.live.stored_objects import Inbox, ObjectChange
from tests.support.live.live_cluster import StoodClock


def scheduler_of(spec: EngineSpec) -> PodScheduler:
    """A scheduler over an empty cache."""
    return spec.engine(lambda _: None).scheduler(ClusterCache(spec.release_view()))


class Shadow:
    """A dry run of ``new`` beside a real scheduler that is said to be ``old``; changes are given by hand."""

    def __init__(self, new: str = "release=1.36", old: str = "release=1.36") -> None:
        ours, model = EngineSpec.parse(new), EngineSpec.parse(old)
        later, modelled = scheduler_of(ours), scheduler_of(model)
        self.lines: list[dict[str, Any]] = []
        self.results = DryRunResults(RealChoices(modelled, later), self.lines.append, keep=True)
        self.told: list[bool] = []
        """Of each attempt but those of deleted pods: whether both did the same."""
        self.clock = StoodClock()
        self.shadow = ShadowScheduler(
            scheduler_of(ours),
            [modelled.cache, later.cache],
            Inbox(),
            self.results.ended,
            self.clock,
            queue_order=ours.record.queue_order,
            tell=lambda agreement: None if agreement is None else self.told.append(agreement.agrees),
        )

    def comes(self, *objects: Any) -> None:
        """Objects are there."""
        self.changes(*((None, obj) for obj in objects))

    def changes(self, *pairs: tuple[Any, Any]) -> None:
        """(as it was, as it is) of objects."""
        self.shadow.take_in([ObjectChange(type(old if new is None else new).__name__, old, new) for old, new in pairs])

    def binds(self, pod: Pod, node: str) -> None:
        """The real scheduler binds a pod."""
        self.changes((pod, pod.on(node)))

    @property
    def causes(self) -> Sequence[str]:
        """Of the attempts, in order."""
        return [line.get("cause", line["real"]["end"]) for line in self.lines]


def read(document: Any, kind: str) -> Any:
    """An object of a document as a server stores it."""
    return Decoder().decode_item(Item("", {"apiVersion": KINDS[kind].api_version, "kind": kind, **document}))
