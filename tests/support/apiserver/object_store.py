"""What tests ask of the objects of a server, whether it is in this process or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

Document = dict[str, Any]


class ObjectStore(Protocol):
    """Objects by the path of their collection, without its namespace. Everything raises StatusError."""

    listeners: list[Callable[[], None]]
    """Called after each write, in any thread."""

    @property
    def version(self) -> int:
        """The resourceVersion of now."""
        ...

    def all(self, path: str, namespace: str = "") -> list[Document]:
        """The objects of a collection, by namespace and name; none where the server does not have it."""
        ...

    def get(self, path: str, namespace: str, name: str) -> Document:
        """One object."""
        ...

    def create(self, path: str, namespace: str, obj: Document) -> Document:
        """Makes an object, with its status."""
        ...

    def replace(self, path: str, namespace: str, name: str, obj: Document) -> Document:
        """Replaces an object, but for its status."""
        ...

    def change(self, path: str, namespace: str, name: str, edit: Callable[[Document], None]) -> Document:
        """Replaces an object by what ``edit`` makes of a copy: pods are bound, and statuses written, if need be."""
        ...

    def delete(self, path: str, namespace: str, name: str) -> Document:
        """Deletes an object at once."""
        ...

    def compact(self) -> None:
        """Forgets what happened until now: a watch from before is refused with 410."""
        ...
