"""The verbs ``drained`` and ``lost``: what would become of pods without their nodes, in the words of the commands.

The scene stays as it is: its cluster is played in the loop of the side's release, as ``drain`` and ``outage`` do it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from clusterstate.errors import InputError
from kubescheduler.api.draining import drain_of, flags_for, named_nodes
from kubescheduler.api.engine_choice import tie_break_of
from kubescheduler.api.outages import lost_nodes, outage_of
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.scene_state import SceneFault
from kubescheduler.lab.scene.verb_contract import MOST_ROWS, Verb, verb
from kubescheduler.planning.drain_report import Drain
from kubescheduler.planning.outage_report import Outage
from kubescheduler.report.displaced_sections import DRAIN_STATUS, OUTAGE_STATUS, drain_sections, outage_sections
from kubescheduler.report.sections import Section

FLAGS = ("--ignore-daemonsets", "--delete-emptydir-data", "--force")
"""With which every pod leaves that drain can move."""


@verb
def drained(scene: Scene, node: str, side: str = "a") -> dict[str, Any]:
    """What happens when a node is drained."""
    cluster, engine = scene.cluster(side), scene.engine(side)
    names = named_nodes(cluster, [node], None)
    flags = flags_for(cluster, names, None, ignore_daemonsets=True, delete_emptydir_data=True, force=True)
    found = drain_of(engine, cluster, names, flags, tie_break_of(engine, "first", None))
    return _answer(["drain", node, *FLAGS], engine.release, found, DRAIN_STATUS, drain_sections(found))


@verb
def lost(scene: Scene, side: str = "a", node: str = "", zone: str = "") -> dict[str, Any]:
    """What happens when a node, or all nodes of a zone, are gone at once."""
    if bool(node) == bool(zone):
        raise SceneFault("say what is lost: node or zone")
    cluster, engine = scene.cluster(side), scene.engine(side)
    name, names = lost_nodes(cluster, [node] if node else [], zone or None, None)
    found = outage_of(engine, cluster, name, names, tie_break_of(engine, "first", None))
    command = ["outage", *(["--zone", zone] if zone else ["--node", node])]
    return _answer(command, engine.release, found, OUTAGE_STATUS, outage_sections(found))


def _answer(
    words: list[str], release: str, found: Drain | Outage, statuses: tuple[str, str], sections: Iterable[Section]
) -> dict[str, Any]:
    """As the command says it. Raises InputError where an error ended attempts, as nobody knows the answer then."""
    errors = [moved for moved in found.nowhere if moved.record is not None and moved.record.gave_up]
    if errors:
        raise InputError(f"no decision on {moved.pod.key}: {moved.message}" for moved in errors)
    status = 0 if found.fine else 1
    return {
        "command": f"kubescheduler {shlex.join([words[0], 'CLUSTER', *words[1:]])} --release {release}",
        "headline": found.summary(),
        "fine": found.fine,
        "status": f"exit status {status}: {statuses[status]}",
        "notes": list(found.notes),
        "sections": [
            {
                "title": section.title,
                "head": list(section.rows[0]) if section.rows else [],
                "rows": [list(row) for row in section.rows[1 : MOST_ROWS + 1]],
                "more": max(0, len(section.rows) - 1 - MOST_ROWS),
                "texts": list(section.texts),
            }
            for section in sections
        ],
    }


VIEWS: Mapping[str, Verb] = {"drained": drained, "lost": lost}
