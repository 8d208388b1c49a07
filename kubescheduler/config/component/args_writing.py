"""The args of plugins as a document, in the form they are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kubescheduler.framework.profiles.in_tree_plugins import args_types

if TYPE_CHECKING:
    from kubescheduler.framework.plugins.plugin_record import InTreePlugin


def written_args(args: Any, plugins: Mapping[str, InTreePlugin], version: str) -> Any:
    """Args with their kind and apiVersion; args of a plugin without a type of its own as they are."""
    kind = next((kind for kind in args_types(plugins).values() if kind.record is type(args)), None)
    if kind is None:
        return args
    return {"apiVersion": version, "kind": kind.record.__name__, **kind.document(args)}
