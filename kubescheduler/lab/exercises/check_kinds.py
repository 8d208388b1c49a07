"""The kinds of checks, each under its key of ``exercise.yaml``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from clusterstate.errors import nearest
from clusterstate.manifests.fields import NOTHING, Fields
from kubescheduler.lab.exercises.check_contract import ExerciseCheck, FilesRule, RunRule
from kubescheduler.lab.exercises.checked_fields import needed_text, only_keys
from kubescheduler.lab.exercises.file_checks import ForbiddenFields
from kubescheduler.lab.exercises.placement_checks import (
    AllOrNone,
    Apart,
    EveryPlaced,
    HowManyRun,
    NodesUsed,
    OnNodes,
    SpreadOver,
)
from kubescheduler.lab.exercises.reason_checks import (
    AgreesWith,
    Evicts,
    FittingNodes,
    RefusedFor,
    ScoresAre,
    StaysPending,
    Tolerates,
)

KINDS: dict[str, Callable[[Fields], FilesRule | RunRule]] = {
    "placed": EveryPlaced.read,
    "runsOn": partial(OnNodes.read, there=True),
    "runsNotOn": partial(OnNodes.read, there=False),
    "running": HowManyRun.read,
    "nodesUsed": NodesUsed.read,
    "spread": SpreadOver.read,
    "together": AllOrNone.read,
    "apart": Apart.read,
    "refused": RefusedFor.read,
    "accepted": FittingNodes.read,
    "tolerates": Tolerates.read,
    "pending": StaysPending.read,
    "scores": ScoresAre.read,
    "evicts": Evicts.read,
    "agrees": AgreesWith.read,
    "forbidden": ForbiddenFields.read,
}
"""Key → reads the rule under it, noting faults."""


def read_checks(items: Iterable[Fields]) -> tuple[ExerciseCheck, ...]:
    """The checks of a list; faults are noted."""
    return tuple(found for item in items if (found := _read_check(item)) is not None)


def _read_check(item: Fields) -> ExerciseCheck | None:
    kinds = [key for key in item.data if key in KINDS]
    if len(kinds) != 1:
        unknown = [key for key in item.data if key not in (*KINDS, "name", "remark")]
        near = nearest(str(unknown[0]), KINDS) if unknown else ""
        said = f"found {' and '.join(kinds)}" if kinds else f"found {str(unknown[0]) if unknown else 'none'}{near}"
        item.fault("", f"a check has one of {', '.join(KINDS)}; {said}")
        return None
    only_keys(item, (*KINDS, "name", "remark"))
    name = needed_text(item, "name")
    fields = item.child(kinds[0])
    if fields is None and not item.has(kinds[0]):
        fields = Fields(NOTHING, item.faults, item, kinds[0])
    return None if fields is None else ExerciseCheck(name, kinds[0], KINDS[kinds[0]](fields), item.text("remark"))
