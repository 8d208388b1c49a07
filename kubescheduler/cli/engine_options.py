"""The options that choose what decides, for commands that run a scheduler, and the scheduler they make."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

import click

from kubescheduler.cli.common_options import (
    EXTENDERS,
    FOUND,
    NO_DEFAULTING,
    PLUGIN,
    VALIDATE,
    choice_option,
    file_option,
    spec_option,
    with_options,
)
from kubescheduler.engine.spec_fields import SPEC_FIELDS

if TYPE_CHECKING:
    from clusterstate.manifests.fields import Judgement
    from kubescheduler.api.cluster import Cluster
    from kubescheduler.core.selection import TieBreak
    from kubescheduler.engine.spec import Engine, EngineSpec, PodScheduler


class Reading(TypedDict):
    """How manifests are read for a scheduler."""

    release: str
    defaulting: bool
    validate: Judgement | None
    gates: Mapping[str, bool]


class EngineOptions(NamedTuple):
    """What the options say of one scheduler, and what only a command needs."""

    said: Mapping[str, Any]
    """Field of ``EngineSpec`` → what its option says."""
    plugin: tuple[str, ...]
    """The names of custom plugins."""
    write_config_to: str | None = None
    """Where the completed configuration is written instead of running the command."""
    tie_break: str = "first"
    """Which of equal nodes is taken: first, random or upstream."""
    seed: int | None = None
    """Makes random ties repeatable."""
    no_defaulting: bool = False
    """Manifests are taken as they are."""
    validate: Judgement | None = None
    """How they are judged; None: by where they come from."""

    @property
    def release(self) -> str:
        """Whose rules decide."""
        release: str = self.said["release"]
        return release

    @property
    def gates(self) -> Mapping[str, bool]:
        """Every feature gate; the defaults where an option is wrong, as ``engine`` reports."""
        from clusterstate.errors import ConfigError
        from kubescheduler.releases.lookup import release_named

        known = release_named(self.release).gates
        try:
            return known.parse(self.said["feature_gates"] or "")
        except ConfigError:
            return known.resolve({})

    @property
    def reading(self) -> Reading:
        """How the cluster and its pods are read."""
        return Reading(
            release=self.release, defaulting=not self.no_defaulting, validate=self.validate, gates=self.gates
        )

    def spec(self) -> EngineSpec:
        """What the options describe; plugins are loaded first. Raises ConfigError with every one that cannot be."""
        from kubescheduler.engine.engine_flags import max_pd_volumes
        from kubescheduler.engine.plugin_options import plugins_for
        from kubescheduler.engine.spec import EngineSpec

        plugins = plugins_for(self.release, self.plugin)
        return EngineSpec(**self.said, max_pd_volumes=max_pd_volumes(os.environ), plugins=plugins)

    def engine(self) -> Engine:
        """Raises ConfigError with every problem."""
        return self.spec().engine(remark)

    def notes(self, engine: Engine) -> list[str]:
        """What every output of a command has to say of the answers."""
        note = self.spec().extender_note(engine)
        return [note] if note else []

    def ties(self, engine: Engine) -> TieBreak:
        """What takes one of equal nodes, in one run."""
        from kubescheduler.api.engine_choice import tie_break_of

        return tie_break_of(engine, self.tie_break, self.seed)

    def scheduler(self, engine: Engine, cluster: Cluster) -> PodScheduler:
        """The engine's scheduler over a cluster of its release."""
        from kubescheduler.api.scheduler import Scheduler

        return Scheduler.of_engine(engine, cluster, self.ties(engine)).running

    def write_config(self) -> None:
        """Writes the completed configuration where ``--write-config-to`` says. Raises InputError."""
        from clusterstate.errors import InputError
        from kubescheduler.sources.files import write_whole

        assert self.write_config_to is not None
        spec = self.spec()
        text = spec.written_config(remark)
        if self.write_config_to == "-":
            click.echo(text, nl=False)
            return
        try:
            write_whole(self.write_config_to, text)
        except OSError as error:
            raise InputError(
                f"--write-config-to {self.write_config_to}: cannot be written: {error.strerror}"
            ) from error


def remark(text: str) -> None:
    """On standard error; no error."""
    from kubescheduler.sources.untrusted import shown

    click.echo(f"note: {shown(text)}", err=True)


def remarks(texts: Iterable[str]) -> None:
    """Notes on what was read; of a long list the first, and how many more there are."""
    from clusterstate.errors import listed

    for text in listed(texts):
        remark(text)


class _Needed(click.Parameter):
    """A parameter that a command needs, but not where one of some options takes its place."""

    instead: tuple[str, ...] = ("write_config_to",)
    """These options: the configuration alone is written."""

    def process_value(self, ctx: click.Context, value: Any) -> Any:
        try:
            return super().process_value(ctx, value)
        except click.MissingParameter:
            if not any(isinstance(ctx.params.get(name), str) for name in self.instead):
                raise
            return ()


class NeededOption(_Needed, click.Option):
    """See the base."""


class WorkloadOption(_Needed, click.Option):
    """Files of a workload, which nobody has to name who names a mirror."""

    instead = ("write_config_to", "mirror")


class ClusterArgument(_Needed, click.Argument):
    """Files of a cluster, which nobody has to name who names a server or a mirror."""

    instead = ("write_config_to", "kubeconfig", "context", "mirror")


_WRITE_CONFIG_TO = file_option(
    "--write-config-to",
    is_eager=True,
    help="Only write the configuration with all defaults; - is standard output.  [not in 1.4]",
)
_FOR_DECISIONS = ("percentage_of_nodes_to_score", "extenders")
"""Fields that only matter for decisions."""


def _selection() -> Iterator[Callable[..., Any]]:
    for each in SPEC_FIELDS:
        if each.field not in _FOR_DECISIONS:
            yield spec_option(each.field)
        if each.field == "config_file":
            yield _WRITE_CONFIG_TO


_SELECTION = tuple(_selection())
_CHOICE = (
    spec_option("percentage_of_nodes_to_score"),
    choice_option(
        "--tie-break",
        choices=["first", "random", "upstream"],
        help="Among equal totals: the first by name, any, or as the release does it.",
    ),
    click.option("--seed", type=int, metavar="NUMBER", help="Makes random and upstream ties repeatable."),
    EXTENDERS,
)


def _only_found(ctx: click.Context) -> bool:
    """Whether a settings file that nobody named says by what is decided, and nobody typed how extenders are asked."""
    from click.core import ParameterSource

    if FOUND not in ctx.meta or ctx.get_parameter_source("extenders") is ParameterSource.COMMANDLINE:
        return False
    sources = (ctx.get_parameter_source(each.parameter) for each in SPEC_FIELDS if each.kind == "file")
    return ParameterSource.DEFAULT_MAP in sources


def engine_options(command: Callable[..., int]) -> Callable[..., int]:
    """Gives a command the options, as one argument ``engine``. With --write-config-to the command does not run."""
    return _with_options(command, (*_SELECTION, *_CHOICE, PLUGIN))


def question_options(command: Callable[..., int]) -> Callable[..., int]:
    """The same with how manifests are read: what every command has that asks a scheduler about a cluster."""
    return _with_options(command, (*_SELECTION, *_CHOICE, PLUGIN, NO_DEFAULTING, VALIDATE))


def selection_options(command: Callable[..., int]) -> Callable[..., int]:
    """The same without what only matters for decisions."""
    return _with_options(command, (*_SELECTION, PLUGIN))


def taken(given: dict[str, Any]) -> EngineOptions:
    """What a command was given that says what decides; it is taken out of what was given."""
    if given.get("extenders") == "live" and _only_found(click.get_current_context()):
        from kubescheduler.extender.access import FORBIDDEN

        given["extenders"] = FORBIDDEN
    said = {each.field: given.pop(each.parameter) for each in SPEC_FIELDS if each.parameter in given}
    own = [name for name in EngineOptions._fields if name in given]
    return EngineOptions(said, **{name: given.pop(name) for name in own})


def _with_options(command: Callable[..., int], options: Iterable[Callable[..., Any]]) -> Callable[..., int]:
    @functools.wraps(command)
    def called(**given: Any) -> int:
        chosen = taken(given)
        if chosen.write_config_to is not None:
            chosen.write_config()
            return 0
        return command(engine=chosen, **given)

    return with_options(called, options)
