"""A cluster that is read from its API server where files could be named."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from kubescheduler.cli.progress import progress

if TYPE_CHECKING:
    from kubescheduler.live.listing.cluster_lists import ClusterLists

LONG = 2000
"""Objects that take long enough to list for a progress bar."""
EXTRA = "reading a cluster from its API server needs the extra 'live': pip install 'kubescheduler[live]'"


class ServerCluster(NamedTuple):
    """The cluster that a kubeconfig's context names."""

    kubeconfig: str = ""
    """A file's path; empty: as kubectl finds it."""
    context: str | None = None
    """None: the current one."""

    def lists(self) -> tuple[str, ClusterLists]:
        """(the server's address, its cluster), with a progress bar on a terminal. Raises InputError."""
        import importlib.util
        import os

        from clusterstate.errors import InputError

        if importlib.util.find_spec("httptools") is None:
            raise InputError(EXTRA)
        from kubescheduler.live.listing.listed_server import ListedServer, read_server
        from kubescheduler.live.transport.api_answers import ApiError

        try:
            with progress("listing", sys.stderr, smallest=LONG) as tell:
                return read_server(ListedServer(self.kubeconfig, self.context), os.environ, tell)
        except ApiError as error:
            raise InputError(f"the cluster cannot be read: {error}") from None

    def open(self) -> BinaryIO:
        """The cluster as a file with a List; what is missing from it is said on standard error. Raises InputError."""
        from kubescheduler.cli.engine_options import remark

        address, found = self.lists()
        for note in found.notes():
            remark(note)
        stream = io.BytesIO(found.document())
        stream.name = address
        return stream


ClusterPlace = str | ServerCluster
"""Where a cluster is: a file's name, a folder's, ``-``, or a server."""
