"""Hints as a table, as JSON and YAML, and as changed manifests."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence

from clusterstate.errors import InputError
from clusterstate.objects import Node
from kubescheduler.cli.list_documents import list_document
from kubescheduler.cli.tables import ERROR, NONE, table
from kubescheduler.cli.terminal.screen import Screen, screen_of
from kubescheduler.hinting.changed_manifests import manifests_of
from kubescheduler.hinting.proposals import PodHints
from kubescheduler.sources.foreign_text import json_text, yaml_dumper


def rendered_hints(found: Iterable[PodHints], output: str, notes: Sequence[str] = ()) -> Iterator[str]:
    """The hints in pieces; output: table, json or yaml."""
    if output != "table":
        head = {"kind": "HintList", **({"notes": list(notes)} if notes else {})}
        yield from list_document(head, (one.to_dict() for one in found), output)
        return
    screen = screen_of(sys.stdout)
    yield from (f"{screen.filled(f'! {note}')}\n" for note in notes)
    for number, one in enumerate(found):
        yield "\n" if number else ""
        yield from _of_pod(one, screen)


def _of_pod(one: PodHints, screen: Screen) -> Iterator[str]:
    if one.reached:
        yield f"{screen.filled(f'{one.pod.key}: goes to {one.host}; nothing needs to change')}\n"
        return
    message = " ".join(one.message.split()) or f"goes to {one.host}, not to {one.goal.node}"
    alike = f" and {len(one.others)} more alike" if one.others else ""
    yield f"{screen.filled(f'{one.pod.key}{alike}: {message}')}\n"
    if not one.hints:
        text = f"{ERROR}: see below" if one.errors else f"{NONE}: no change that is searched does it"
        yield f"{screen.filled(text)}\n"
        return
    rows = [(str(at), hint.text, hint.host, hint.effect) for at, hint in enumerate(one.hints, 1)]
    yield table([("#", "CHANGE", "THEN GOES TO", "AND"), *rows], screen, gives_way=1, keys=1) + "\n"
    if one.left_out:
        yield f"{screen.filled(f'! {one.left_out}')}\n"


def applied_text(found: Sequence[PodHints], number: int, nodes: Iterable[Node], output: str) -> Iterator[str]:
    """The changed manifests of each pod's hint of a number, from 1. Raises InputError where there is no such hint."""
    by_name = {node.name: node for node in nodes}
    needing = [one for one in found if not one.reached]
    if problems := [
        f"{one.pod.key}: there are {len(one)} hints, none is {number}" for one in needing if len(one) < number
    ]:
        raise InputError(problems)
    documents = [each for one in needing for each in manifests_of(one[number - 1], one.pod, by_name)]
    if output == "json":
        for document in documents:
            yield json_text(document, 2) + "\n"
        return
    dump = yaml_dumper()
    for at, document in enumerate(documents):
        yield ("---\n" if at else "") + dump(document)
