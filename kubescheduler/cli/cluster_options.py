"""The argument CLUSTER and what takes its place: a kubeconfig's server, a mirror."""

from __future__ import annotations

import functools
import io
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import click
from click.core import ParameterSource

from kubescheduler.cli.common_options import FILE, asked_server, file_option, with_options
from kubescheduler.cli.engine_options import ClusterArgument
from kubescheduler.cli.progress import progress

if TYPE_CHECKING:
    from kubescheduler.live.cluster_lists import ClusterLists, ListedServer


LONG = 2000
"""Objects that take long enough to list for a progress bar."""


class ServerCluster(NamedTuple):
    """The cluster that a kubeconfig's context names."""

    kubeconfig: str = ""
    """A file's path; empty: as kubectl finds it."""
    context: str | None = None
    """None: the current one."""

    def lists(self) -> tuple[str, ClusterLists]:
        """(the server's address, its cluster), with a progress bar on a terminal. Raises InputError."""

        def read(server: ListedServer) -> tuple[str, ClusterLists]:
            from kubescheduler.live.cluster_lists import read_server

            with progress("listing", sys.stderr, smallest=LONG) as tell:
                return read_server(server, os.environ, tell)

        return asked_server(read, *self)

    def namespace(self) -> str:
        """Where the context looks for names without a namespace. Raises InputError."""
        return asked_server(lambda server: server.namespace(os.environ), *self)

    def pod_names(self, namespace: str | None) -> list[str]:
        """The names of pods, for a shell to complete: none where the server cannot be asked at once."""
        from clusterstate.errors import InputError

        def read(server: ListedServer) -> list[str]:
            from kubescheduler.live.cluster_lists import read_pod_names

            return read_pod_names(server, os.environ, namespace or server.namespace(os.environ))

        try:
            return asked_server(read, *self)
        except InputError:
            return []

    def open(self) -> BinaryIO:
        """The cluster as a file with a List; what is missing from it is said on standard error. Raises InputError."""
        from kubescheduler.cli.engine_options import remarks

        address, found = self.lists()
        remarks(found.notes())
        stream = io.BytesIO(found.document())
        stream.name = address
        return stream


ClusterPlace = str | ServerCluster
"""Where a cluster is: a file's name, a folder's, ``-``, or a server."""


KUBECONFIG = file_option(
    "--kubeconfig",
    is_eager=True,
    help="Read the cluster from its API server.  [default with --context: as kubectl finds it]",
)
CONTEXT = click.option(
    "--context", metavar="NAME", is_eager=True, help="The context of the kubeconfig.  [default: its current one]"
)


MIRROR = file_option(
    "--mirror",
    is_eager=True,
    help="A cluster and its pods as run --dry-run recorded them, instead of CLUSTER and files of pods.",
)


def check_mirror(mirror: str | None, *files: Sequence[object]) -> None:
    """Raises UsageError when files are named beside a mirror."""
    if mirror is not None and any(files):
        raise click.UsageError("--mirror has a cluster and its pods: leave out CLUSTER, --kubeconfig and files of pods")


def check_standard_input(*files: Sequence[object]) -> None:
    """Raises UsageError when standard input is named more than once."""
    if sum(list(names).count("-") for names in files) > 1:
        raise click.UsageError("standard input can be read once: give - once")


def cluster_options(command: Callable[..., int], name: str = "cluster", *, required: bool = True) -> Callable[..., int]:
    """Gives a command the argument ``name``: where its cluster is, a ServerCluster or names of files; none if that may
    be left out."""

    @functools.wraps(command)
    def called(*, kubeconfig: str | None, context: str | None, **given: Any) -> int:
        given[name] = _places(given[name], kubeconfig, context, name.upper())
        return command(**given)

    argument = click.argument(name, cls=ClusterArgument, nargs=-1, required=required, type=FILE)
    return with_options(called, (argument, KUBECONFIG, CONTEXT))


def _places(
    files: tuple[str, ...], kubeconfig: str | None, context: str | None, argument: str
) -> tuple[ClusterPlace, ...]:
    """Files that are named go before a kubeconfig that only a settings file names. Raises UsageError for both."""
    if not files:
        return () if kubeconfig is None and context is None else (ServerCluster(kubeconfig or "", context),)
    current = click.get_current_context()
    for name in ("kubeconfig", "context"):
        if current.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"say where the cluster is: either {argument} or --{name}")
    return files
