"""Keys of the requirements of selectors, which the args of several plugins have."""

from __future__ import annotations

from clusterstate.objects import Requirement
from kubescheduler.framework.args.document_schema import TEXT, Field, Kind, ListOf, Struct


def _requirement(key: str = "", operator: str = "", values: tuple[str, ...] = ()) -> Requirement:
    return Requirement(key, operator, values)


def requirements(name: str) -> Kind:
    """A list of requirements; ``name``: Go's name of their type."""
    return ListOf(
        Struct(
            name,
            _requirement,
            (Field("key", "key", TEXT), Field("operator", "operator", TEXT), Field("values", "values", ListOf(TEXT))),
        )
    )
