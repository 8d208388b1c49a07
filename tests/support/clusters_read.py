"""The objects of files, as every reader of clusters decodes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kubescheduler.releases.lookup import release_named
from kubescheduler.sources.cluster_input import ClusterInput, decode_items
from kubescheduler.sources.files import Readable, read_items


def read_cluster(paths: Sequence[str], *, stdin: Readable | None = None, **options: Any) -> ClusterInput:
    """As release 1.16 fills them in. options: of ``decode_items``."""
    return decode_items(*read_items(paths, stdin), filling=release_named("1.16").filling, **options)
