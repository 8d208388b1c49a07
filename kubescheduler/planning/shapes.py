"""What nodes there are to choose from: shapes, written as Node manifests or in a few words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import count
from typing import Any

import msgspec

from clusterstate.errors import DecodeError, attempt, nearest
from clusterstate.manifests.decode import Decoder, Item, parse_json
from clusterstate.manifests.fields import STRICT, Strictness, describe
from clusterstate.objects import FrozenMap, Node
from clusterstate.quantity import parse_quantity
from kubecel.api_names import is_object_name
from kubescheduler.given import Given
from kubescheduler.manifest_builders import HOSTNAME, PODS_A_NODE, node, taint
from kubescheduler.releases.lookup import release_named

PRICE, MOST = "kubescheduler/price", "kubescheduler/max"
"""Annotations of a Node manifest: what a node costs, and how many there may be at most."""
KEYS = ("name", "cpu", "memory", "pods", "resources", "labels", "annotations", "taints", "zones", "price", "max")
"""What a short entry may say; ``cpu`` and ``memory`` it has to."""
NEEDED = ("cpu", "memory")
EXAMPLE = "- {name: small, cpu: 4, memory: 16Gi}"
LARGEST_PRICE = 10**9


class Shape(msgspec.Struct, frozen=True, eq=False):
    """Nodes that are alike, of which there may be any number or ``most``."""

    name: str
    node: Node
    """One of them, as the release reads it; its name is the shape's."""
    price: Fraction | None = None
    """What each costs, in whatever unit; None: only how many there are counts."""
    most: int | None = None

    @property
    def template(self) -> Node:
        """One of the nodes, under a name that no node of a cluster has."""
        return self.named(f"{self.name}.shape")

    def named(self, name: str) -> Node:
        """One of the nodes, under a name of its own."""
        labels = FrozenMap(
            {key: name if key == HOSTNAME else value for key, value in self.node.metadata.labels.items()}
        )
        metadata = msgspec.structs.replace(self.node.metadata, name=name, uid="", labels=labels)
        return msgspec.structs.replace(self.node, metadata=metadata, manifest=None)


def shapes_in(given: Given, release: str, strictness: Strictness = STRICT) -> list[Shape]:
    """The shapes of things that were read, in order. Raises one DecodeError with every fault.

    Node manifests that are alike in everything but their name are one shape, with the name of the first. A short entry
    with several ``zones`` is a shape in each, which has ``max`` nodes of its own.
    """
    reading = _Reading(release, strictness, [*given.problems])
    for item in given.items:
        reading.add(item)
    for obj in given.objects:
        if isinstance(obj, Node):
            reading.put(f"Node {obj.name}", obj)
        else:
            reading.problems.append(f"shapes: expected nodes, found the {type(obj).__name__} {obj.metadata.name}")
    reading.check()
    return reading.shapes


def one_shape(given: Given, release: str) -> Shape:
    """The only shape of things that were read. Raises DecodeError with every fault, also where there are several."""
    shapes = shapes_in(given, release)
    if len(shapes) > 1:
        names = ", ".join(shape.name for shape in shapes)
        raise DecodeError(f"shapes: expected one, found {len(shapes)}: {names}")
    return shapes[0]


class _Reading:
    """One pass over what was given."""

    def __init__(self, release: str, strictness: Strictness, problems: list[str]) -> None:
        self.problems = problems
        self.shapes: list[Shape] = []
        self._decoder = Decoder(prepare=release_named(release).filling.others, strictness=strictness)
        self._alike: set[object] = set()
        self._places: list[str] = []

    def add(self, item: Item) -> None:
        """A manifest or a short entry."""
        content = parse_json(item.source, item.content) if isinstance(item.content, msgspec.Raw) else item.content
        kind = content.get("kind") or item.kind
        where = ": ".join(part for part in (item.source, item.place) if part) or "shapes"
        if kind == "Node":
            found = self._decoded(Item(item.source, {"kind": kind, **content}, item.place))
            if found is not None:
                self.put(f"{where}: Node {found.name}", found)
        elif kind:
            self.problems.append(f"{where}: expected a Node, or an entry with cpu and memory, found a {kind}")
        else:
            self._short(where, content)

    def _decoded(self, item: Item) -> Node | None:
        found = attempt(self.problems, self._decoder.decode_item, item)
        assert found is None or isinstance(found, Node)
        return found

    def put(self, where: str, found: Node) -> None:
        """A node, if none was alike."""
        labels = tuple(sorted((key, text) for key, text in found.metadata.labels.items() if key != HOSTNAME))
        key = (labels, found.taints, found.unschedulable, found.allocatable)
        if key in self._alike:
            return
        self._alike.add(key)
        said = found.metadata.annotations
        price = self._price(f"{where}: metadata.annotations[{PRICE}]", said.get(PRICE))
        most = self._most(f"{where}: metadata.annotations[{MOST}]", said.get(MOST))
        self._append(where, Shape(found.name, found, price, most))

    def _append(self, where: str, shape: Shape) -> None:
        self.shapes.append(shape)
        self._places.append(where)

    def _short(self, where: str, said: Mapping[str, Any]) -> None:
        """A short entry: a shape, or one for each of its zones."""
        if not any(key in said for key in KEYS):
            self.problems.append(f"{where}: this is no shape; write a list of entries such as {EXAMPLE}")
            return
        before = len(self.problems)
        known = f"; known are {', '.join(KEYS)}"
        for key in said:
            if key not in KEYS:
                self.problems.append(f"{where}: {key}: there is no such key{nearest(str(key), KEYS) or known}")
        self.problems += [f"{where}: {key}: missing" for key in NEEDED if said.get(key) is None]
        self.problems += [f"{where}: {fault}" for fault in _faults(said)]
        price, most = self._price(f"{where}: price", said.get("price")), self._most(f"{where}: max", said.get("max"))
        if len(self.problems) > before:
            return
        name = said.get("name") or f"{said['cpu']}-cpu-{said['memory']}".lower()
        for zone in said.get("zones") or [None]:
            own = name if zone is None or len(said["zones"]) == 1 else f"{name}-{zone}".lower()
            if not is_object_name(own):
                self.problems.append(f"{where}: name: {describe(own)} can be no node's name; use a-z, 0-9, - and .")
                continue
            found = self._decoded(Item(where, _manifest(own, zone, said)))
            if found is not None:
                self._append(where, Shape(own, found, price, most))

    def _price(self, where: str, given: object) -> Fraction | None:
        if given is None:
            return None
        try:
            price = Fraction(str(given)) if not isinstance(given, bool) else None
        except (ValueError, ZeroDivisionError):
            price = None
        if price is None or not 0 < price <= LARGEST_PRICE:
            self.problems.append(f"{where}: must be a number above 0, at most {LARGEST_PRICE:,}, not {describe(given)}")
            return None
        return price

    def _most(self, where: str, given: object) -> int | None:
        if given is None:
            return None
        text = str(given)
        if isinstance(given, bool) or not text.isdecimal():
            self.problems.append(f"{where}: must be a whole number from 0 on, not {describe(given)}")
            return None
        return int(text)

    def check(self) -> None:
        """What is wrong with all together. Raises DecodeError with every fault."""
        seen: set[str] = set()
        for where, shape in zip(self._places, self.shapes, strict=True):
            if shape.name in seen:
                self.problems.append(f"{where}: name: there are two shapes {shape.name}; give one another name")
            seen.add(shape.name)
        priced = [shape.price is not None for shape in self.shapes]
        if any(priced) and not all(priced):
            without = ", ".join(shape.name for shape in self.shapes if shape.price is None)
            self.problems.append(f"shapes: price: give all of them one, or none; {without} has none")
        if not self.shapes and not self.problems:
            self.problems.append("shapes: there are none; give Node manifests, or entries with cpu and memory")
        if self.problems:
            raise DecodeError(self.problems)


def _faults(said: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the values of a short entry, each with its path."""
    for keys, kind, what in (
        (("resources", "labels", "annotations"), Mapping, "a mapping"),
        (("taints", "zones"), list | tuple, "a list"),
        (("name",), str, "a text"),
    ):
        wrong = (key for key in keys if said.get(key) is not None and not isinstance(said[key], kind))
        yield from (f"{key}: must be {what}, not {describe(said[key])}" for key in wrong)
    yield from _faulty_amounts(said)
    zones, taints = said.get("zones"), said.get("taints")
    for at, zone in enumerate(zones if isinstance(zones, list) else ()):
        if not isinstance(zone, str):
            yield f"zones[{at}]: must be a text, not {describe(zone)}"
    for at, each in enumerate(taints if isinstance(taints, list) else ()):
        yield from (f"taints[{at}]: {fault}" for fault in _faulty_taint(each))


def _faulty_amounts(said: Mapping[str, Any]) -> Iterator[str]:
    resources = said.get("resources")
    more = resources.items() if isinstance(resources, Mapping) else ()
    amounts = {key: said.get(key) for key in (*NEEDED, "pods")} | {f"resources.{key}": amount for key, amount in more}
    for path, amount in amounts.items():
        try:
            if amount is not None and parse_quantity(amount) < 0:
                yield f"{path}: must not be negative, found {describe(amount)}"
        except ValueError as error:
            yield f"{path}: {error}"


def _faulty_taint(given: Any) -> Sequence[str]:
    if not isinstance(given, str | Mapping):
        return (f"must be a text like key=value:NoSchedule or a mapping, not {describe(given)}",)
    try:
        taint(given)
    except DecodeError as error:
        return error.problems
    return ()


def _manifest(name: str, zone: str | None, said: Mapping[str, Any]) -> dict[str, Any]:
    made = node(
        name,
        cpu=said["cpu"],
        memory=said["memory"],
        pods=said.get("pods") or PODS_A_NODE,
        resources=said.get("resources"),
        labels=said.get("labels"),
        annotations=said.get("annotations"),
        taints=said.get("taints") or (),
        zone=zone,
    )
    made["status"]["capacity"] = made["status"]["allocatable"]
    return made


def free_names(shape: Shape, taken: Iterable[str]) -> Iterator[str]:
    """Names for nodes of a shape, ``<shape>-1`` on, but for those that are taken."""
    others = frozenset(taken)
    return (name for number in count(1) if (name := f"{shape.name}-{number}") not in others)


def prices_of(shapes: Sequence[Shape]) -> list[Fraction]:
    """What each shape's nodes cost: their price, or 1 where none has a price."""
    return [Fraction(1) if shape.price is None else shape.price for shape in shapes]
