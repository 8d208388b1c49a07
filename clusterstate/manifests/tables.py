"""Tables of fields: what a kind of API object is read from and written as, a line a field.

A ``FieldTable`` pairs a record of ``clusterstate.objects`` with its fields. It reads a record and notes every fault
(``read``), writes the manifest that is read back as the same record (``write``), makes the types by which msgspec
reads objects by the thousand (``struct``), and says what the texts in its fields are, for those who replace names
(``roles``). The tables themselves are in ``clusterstate.manifests.kinds``.

A field that an object leaves out has the record's default, and a field that has its default is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, Literal, TypeVar

import attrs
import msgspec

from clusterstate.manifests.fields import Fields
from clusterstate.objects import NO_LABELS, FrozenMap, ResourceList
from clusterstate.quantity import amount_text, format_quantity

T = TypeVar("T")

Role = Literal["name", "word", "image", "labels", "address", "as written", "amounts", "keys", "dropped"]
"""What stands in a field, for those who replace names: a name that users choose, or several in a text; a word of the
API, an amount, a time, a driver or a key of labels; an image; labels; an address of a host; what devices are chosen by;
amounts, where it is an object; an object whose keys are names; what nothing but a driver reads."""

Roles = tuple[tuple[str, Role], ...]
"""(key, what stands there) of each text."""

Read = Callable[[Fields, str], Any]
"""Reads a key of an object."""

REQUIRED: Any = msgspec.NODEFAULT
"""The default of a field that a record cannot be without."""


Write = Callable[[Any, dict[str, Any]], None]
"""Puts what a record says into the object that is written."""


StructField = tuple[str, Any, Any]
"""(key, type, default) as msgspec reads it."""


def struct_of(name: str, *fields: StructField, frozen: bool = False) -> Any:
    """A type of msgspec; of a key that is there twice the last counts. Fields stand in the order of their names, as
    servers write them: msgspec looks for the next one first."""
    by_key = {field[0]: field for field in fields}
    in_order = [by_key[key] for key in sorted(by_key)]
    return msgspec.defstruct(name, in_order, frozen=frozen, gc=not frozen, omit_defaults=True)


class TablePart:
    """Something of a table: what of a record stands where in an object."""

    key = ""
    """Where; empty: among the fields of the object itself."""
    name = ""
    """The field of the record; empty: there are several."""
    roles: Roles = ()
    tables: tuple[FieldTable[Any], ...] = ()
    """Of the records in it."""

    def reading(self, defaults: Mapping[str, Any]) -> tuple[Read, bool]:
        """How it is read, and whether also where the key is not there. Of several fields a dictionary is read."""
        raise NotImplementedError

    def writing(self, defaults: Mapping[str, Any]) -> Write:
        """How it is written."""
        raise NotImplementedError

    def struct_field(self, _: Any) -> StructField:
        """How msgspec reads it."""
        return self.key, Any, None


class KeyedField(TablePart):
    """One field under a key. ``reader`` makes its ``Read`` of the record's default, ``writer`` its value in JSON.

    always: it is written also where it has its default.
    """

    def __init__(
        self,
        key: str,
        name: str,
        reader: Callable[[Any], Read],
        writer: Callable[[Any], Any],
        *,
        roles: Roles = (),
        tables: tuple[FieldTable[Any], ...] = (),
        shape: Any = Any,
        always: bool = False,
    ) -> None:
        self.key = key
        self.name = name or re.sub(r"(?<=[a-z])[A-Z]+", lambda capitals: f"_{capitals[0].lower()}", key)
        self.roles = roles
        self.tables = tables
        self._reader, self._writer, self._shape, self._always = reader, writer, shape, always

    def reading(self, defaults: Mapping[str, Any]) -> tuple[Read, bool]:
        default = defaults[self.name]
        return self._reader(default), default is REQUIRED

    def writing(self, defaults: Mapping[str, Any]) -> Write:
        name, key, writer, always, default = self.name, self.key, self._writer, self._always, defaults[self.name]

        def write(record: Any, out: dict[str, Any]) -> None:
            value = getattr(record, name)
            if always or value != default:
                out[key] = writer(value)

        return write

    def struct_field(self, default: Any) -> StructField:
        if self._shape in (str, bool) and default is not None:
            return self.key, self._shape, self._shape() if default is REQUIRED else default
        return self.key, Any if self._shape is Any else self._shape | None, None


class Group(TablePart):
    """The fields of an object in the object, which the record has among its own.

    written: see ``FieldTable``. dropped: it is not written where nothing is in it.
    """

    def __init__(self, key: str, parts: Sequence[TablePart], written: str, dropped: bool) -> None:
        self.key = key
        self.roles = tuple(role for part in parts for role in part.roles)
        self.tables = tuple(table for part in parts for table in part.tables)
        self._parts, self._written, self._dropped = parts, written, dropped

    def reading(self, defaults: Mapping[str, Any]) -> tuple[Read, bool]:
        readings = _readings(self._parts, defaults)
        return lambda fields, key: _given(fields.inside(key), readings), any(needed for *_, needed in readings)

    def writing(self, defaults: Mapping[str, Any]) -> Write:
        key, dropped, writings = self.key, self._dropped, _writings(self._parts, self._written, defaults)

        def write(record: Any, out: dict[str, Any]) -> None:
            inside: dict[str, Any] = {}
            for each_part in writings:
                each_part(record, inside)
            if inside or not dropped:
                out[key] = inside

        return write


class Inline(TablePart):
    """One field of the record that has its fields among those of the object; where it is None, none are written."""

    def __init__(
        self,
        name: str,
        read: Callable[[Fields], Any],
        write: Callable[[Any], dict[str, Any]],
        tables: tuple[FieldTable[Any], ...] = (),
    ) -> None:
        self.name, self.tables = name, tables
        self._read, self._write = read, write

    def reading(self, _: Mapping[str, Any]) -> tuple[Read, bool]:
        return lambda fields, __: self._read(fields), True

    def writing(self, _: Mapping[str, Any]) -> Write:
        def write(record: Any, out: dict[str, Any]) -> None:
            value = getattr(record, self.name)
            if value is not None:
                out.update(self._write(value))

        return write


Readings = list[tuple[str, str, Read, bool]]
"""(field, key, how it is read, whether also where the key is not there) of each part."""


def _readings(parts: Iterable[TablePart], defaults: Mapping[str, Any]) -> Readings:
    return [(part.name, part.key, *part.reading(defaults)) for part in parts]


def _writings(parts: Sequence[TablePart], written: str, defaults: Mapping[str, Any]) -> list[Write]:
    first = written.split()
    in_order = sorted(parts, key=lambda part: first.index(part.key) if part.key in first else len(first))
    return [part.writing(defaults) for part in in_order]


def _given(fields: Fields, readings: Readings) -> dict[str, Any]:
    """Field → value of what an object has; what it leaves out is at the record's default."""
    data = fields.data
    out: dict[str, Any] = {}
    for name, key, read, needed in readings:
        if needed or key in data:
            if name:
                out[name] = read(fields, key)
            else:
                out |= read(fields, key)
    return out


def _defaults_of(record: Any) -> dict[str, Any]:
    if attrs.has(record):
        return {each.name: REQUIRED if each.default is attrs.NOTHING else each.default for each in attrs.fields(record)}
    names, defaults = record.__struct_fields__, record.__struct_defaults__
    return dict.fromkeys(names, REQUIRED) | dict(zip(reversed(names), reversed(defaults), strict=False))


class FieldTable(Generic[T]):
    """The fields of one record, in the order in which their faults are reported.

    written: the keys that come first where they are written in another order.
    """

    def __init__(self, record: Callable[..., T], *parts: TablePart, written: str = "") -> None:
        self.record = record
        self._parts = parts
        self._defaults = _defaults_of(record)
        self._readings = _readings(parts, self._defaults)
        self._writings = _writings(parts, written, self._defaults)

    def read(self, fields: Fields) -> T:
        """The record of an object; what is wrong with it is noted in ``fields.faults``."""
        return self.record(**_given(fields, self._readings))

    def write(self, record: T) -> dict[str, Any]:
        """The object of a record."""
        out: dict[str, Any] = {}
        for write in self._writings:
            write(record, out)
        return out

    @property
    def keys(self) -> list[str]:
        """The keys that are read, but for those of records whose fields stand among its own."""
        return [part.key for part in self._parts if part.key]

    def struct(self, name: str, *others: StructField, frozen: bool = False) -> Any:
        """A type of msgspec for what is read of the object, with ``others`` beside or instead of its own fields.

        It is looser than the API and checks nothing: what it cannot hold is read by the table, which finds the
        faults. frozen: it can be a key, and holds nothing but texts.
        """
        own = [part.struct_field(self._defaults.get(part.name)) for part in self._parts]
        return struct_of(name, *own, *others, frozen=frozen)

    def roles(self) -> Iterator[tuple[str, Role]]:
        """(key, what stands there) of all texts in the object, also deep inside."""
        for part in self._parts:
            yield from part.roles
            for table in part.tables:
                yield from table.roles()


# --- kinds of fields -------------------------------------------------------------------------


def at(key: str, *parts: TablePart, written: str = "", dropped: bool = False) -> Group:
    """The fields of an object under a key, see ``Group``."""
    return Group(key, parts, written, dropped)


def text(key: str, name: str = "", role: Role = "name", always: bool = False) -> KeyedField:
    """A text."""

    def reader(default: Any) -> Read:
        if default is None:
            return Fields.text_or_none
        return (lambda fields, key: fields.text(key, default)) if default not in ("", REQUIRED) else Fields.text

    return KeyedField(key, name, reader, str, roles=((key, role),), shape=str, always=always)


def word(key: str, name: str = "", always: bool = False) -> KeyedField:
    """A text that no user has made up, see ``Role``."""
    return text(key, name, "word", always)


def flag(key: str, name: str = "", always: bool = False) -> KeyedField:
    """A bool."""

    def reader(default: Any) -> Read:
        if default is None:
            return lambda fields, key: fields.flag(key) if fields.has(key) else None
        return (lambda fields, key: fields.flag(key, True)) if default is True else Fields.flag

    return KeyedField(key, name, reader, bool, shape=bool, always=always)


def integer(key: str, name: str = "", always: bool = False) -> KeyedField:
    """A whole number of 64 bits."""

    def reader(default: Any) -> Read:
        if default is None:
            return Fields.integer_or_none
        least = 0 if default is REQUIRED else default
        return lambda fields, key: fields.integer(key, least)

    return KeyedField(key, name, reader, int, always=always)


def quantity(key: str, name: str = "") -> KeyedField:
    """An amount in thousandths, written as one of bytes."""

    def reader(default: Any) -> Read:
        return _if_there(Fields.quantity) if default is None else Fields.quantity

    return KeyedField(key, name, reader, bytes_text, roles=((key, "word"),))


def texts(key: str, name: str = "", role: Role = "name") -> KeyedField:
    """A list of texts."""

    def reader(default: Any) -> Read:
        return _if_there(Fields.texts) if default is None else Fields.texts

    return KeyedField(key, name, reader, list, roles=((key, role),), shape=tuple[str, ...])


def words(key: str, name: str = "") -> KeyedField:
    """A list of texts that no user has made up."""
    return texts(key, name, "word")


def labels(key: str, name: str = "") -> KeyedField:
    """An object of texts."""

    def reader(default: Any) -> Read:
        def read(fields: Fields, key: str) -> Any:
            pairs = fields.text_map(key)
            return FrozenMap(pairs) if pairs else default if pairs is None else NO_LABELS

        return read

    return KeyedField(key, name, reader, dict, roles=((key, "labels"),), shape=dict[str, str])


def resources(key: str, name: str = "", role: Role = "amounts") -> KeyedField:
    """Amounts by resource, in thousandths; written by the units that fit each."""
    return KeyedField(key, name, lambda _: Fields.resources, resources_text, roles=((key, role),), shape=dict[str, str])


def child(key: str, table: FieldTable[Any], name: str = "") -> KeyedField:
    """A record of its own; where that is not required, none is None."""

    def reader(default: Any) -> Read:
        if default is REQUIRED:
            return lambda fields, key: table.read(fields.inside(key))

        def read(fields: Fields, key: str) -> Any:
            found = fields.child(key)
            return default if found is None else table.read(found)

        return read

    return KeyedField(key, name, reader, table.write, tables=(table,))


def each(key: str, table: FieldTable[Any], name: str = "", always: bool = False) -> KeyedField:
    """A list of records."""

    def reader(_: Any) -> Read:
        return lambda fields, key: tuple(map(table.read, fields.children(key)))

    return KeyedField(
        key, name, reader, lambda records: [table.write(r) for r in records], tables=(table,), always=always
    )


def texts_of(key: str, member: str, name: str, role: Role) -> KeyedField:
    """A list of objects of which one text is read, that under ``member``."""
    return KeyedField(
        key,
        name,
        lambda _: lambda fields, key: tuple([entry.text(member) for entry in fields.children(key)]),
        lambda values: [{member: value} for value in values],
        roles=((member, role),),
    )


def own(
    key: str,
    read: Read,
    write: Callable[[Any], Any],
    name: str = "",
    role: Role | None = None,
    tables: tuple[FieldTable[Any], ...] = (),
    always: bool = False,
) -> KeyedField:
    """A field that is read and written in a way of its own."""
    roles: Roles = ((key, role),) if role else ()
    return KeyedField(key, name, lambda _: read, write, roles=roles, tables=tables, always=always)


def inline(name: str, table: FieldTable[Any]) -> Inline:
    """A record whose fields stand among the others, see ``Inline``."""
    return Inline(name, table.read, table.write, tables=(table,))


def _if_there(read: Read) -> Read:
    """None where nothing is there, or null."""
    return lambda fields, key: read(fields, key) if fields.has(key) else None


def bytes_text(milli: int) -> str:
    """A quantity of bytes."""
    return format_quantity(milli, binary=True)


def resources_text(amounts: ResourceList) -> dict[str, str]:
    """Quantities by resource name, bytes with binary suffixes."""
    return {name: amount_text(name, milli) for name, milli in amounts.items()}
