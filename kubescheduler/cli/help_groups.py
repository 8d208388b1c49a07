"""Help in groups: commands by what they are for, options by what they are about, each group with an example."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import click

from kubescheduler.engine.spec_fields import SPEC_FIELDS

MAY_BE_EMPTY = frozenset({"feature_gates", "tolerate", "flags"})
"""Parameters that list what may be none, and the flags of ``run``, which kube-scheduler's own rules read."""

EMPTY = "it is empty; leave it out for the default, or see to the variable that it comes from"


def check_values(ctx: click.Context) -> None:
    """Raises BadParameter for a name, file or text that is empty, wherever it was said."""
    for param in ctx.command.params:
        value = ctx.params.get(str(param.name))
        values = value if isinstance(value, tuple) else (value,)
        if param.name not in MAY_BE_EMPTY and any(isinstance(one, str) and not one.strip(" ,") for one in values):
            raise click.BadParameter(EMPTY, ctx, param)


class CheckedCommand(click.Command):
    """A command that does not run with empty values, nor with two values for an option that takes one."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does, which takes the last value. Raises UsageError for an option that is given more than once."""
        given = Counter(() if ctx.resilient_parsing else self.make_parser(ctx).parse_args(list(args))[2])
        left = super().parse_args(ctx, args)
        for param, times in given.items():
            one = isinstance(param, click.Option) and not (param.multiple or param.is_flag or param.count)
            if one and times > 1:
                raise click.UsageError(f"{param.opts[0]} is given {times} times and takes one value", ctx)
        return left

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command. Raises BadParameter for an empty value."""
        check_values(ctx)
        return super().invoke(ctx)


class OptionGroup(NamedTuple):
    """Options that are read together."""

    title: str
    """What they are about."""
    example: dict[str, str]
    """Option → how it is used; a command shows those that it has."""
    options: tuple[str, ...]
    """Parameters of commands."""


GROUPED_FROM = 8
"""Options; fewer are easier to read in one list."""

OPTION_GROUPS = (
    OptionGroup(
        "What is decided",
        {"pod": "--pod web.yaml", "pod_files": "--pods web.yaml", "workload_files": "--workload jobs.yaml"},
        (
            *("kubeconfig", "context", "mirror", "pod", "pod_files", "pending", "workload_files", "selector"),
            *("ignore_daemonsets", "delete_emptydir_data", "force", "disable_eviction", "pod_selector", "grace_period"),
            *("order", "batch", "surge", "shape", "kubernetes_upgrade", "shape_files", "tries", "remove", "threshold"),
            *(
                "rebalance",
                "acting",
                "expander",
                "priorities",
                "max_nodes_per_scaleup",
                "zone",
                "names",
                "named",
                "each",
            ),
            *("unreachable", "validate", "no_defaulting", "preempt", "bind", "whole_folders", "grace", "limit"),
        ),
    ),
    OptionGroup(
        "What decides",
        {
            "release": "--release 1.36",
            "config": "--config scheduler.yaml",
            "old": "--old release=1.20",
            "new": "--new release=1.36",
            "from_release": "--from 1.22",
            "config_specs": "--config-spec release=1.36",
            "seeds": "--seeds 0..9",
        },
        (
            *(each.parameter for each in SPEC_FIELDS),
            *("from_release", "to", "write_config_to", "tie_break", "seed", "seeds", "runs", "plugin", "old", "new"),
            *("config_specs", "grid_files"),
        ),
    ),
    OptionGroup(
        "What is shown",
        {"top": "--top 5", "output": "-o json", "out": "--out rows.csv"},
        ("output", "explain", "top", "node", "save", "out", "placements", "timings", "plot", "pairs", "applied"),
    ),
)


class CommandGroup(NamedTuple):
    """Commands that do alike."""

    title: str
    """What they are for."""
    example: str
    """How one is used."""
    commands: tuple[str, ...]
    """Each is in the module of its name, ``run`` in ``run_command``, as this package has a function ``run``."""


COMMAND_GROUPS = (
    CommandGroup(
        "Decide",
        "kubescheduler schedule cluster.yaml --pod pod.yaml --explain",
        ("schedule", "why", "hint", "simulate", "capacity", "evaluate"),
    ),
    CommandGroup(
        "Change a scheduler",
        "kubescheduler compare cluster.yaml --pods pod.yaml --new release=1.36",
        ("compare", "sweep", "migrate", "upgrade"),
    ),
    CommandGroup("Plan nodes", "kubescheduler nodes cluster.yaml --shapes shapes.yaml", ("nodes", "drain", "outage")),
    CommandGroup("Run in a cluster", "kubescheduler run --release 1.36 -- --help", ("run", "snapshot")),
    CommandGroup("Learn", "kubescheduler lab start taints my-taints", ("lab",)),
    CommandGroup(
        "Look up", "kubescheduler explain NodeResourcesFit", ("explain", "mcp", "registry", "releases", "completion")
    ),
)
"""Every command there is, in the order of the help."""


class GroupedCommand(CheckedCommand):
    """A command whose help has its options in groups."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The groups in order, then what is in none of them."""
        records = {
            str(param.name): record
            for param in self.get_params(ctx)
            if isinstance(param, click.Option) and (record := param.get_help_record(ctx)) is not None
        }
        for title, names in _grouped(records):
            with formatter.section(title):
                formatter.write_dl([records[name] for name in names])


def _grouped(records: Mapping[str, tuple[str, str]]) -> Iterator[tuple[str, list[str]]]:
    """(heading, parameters) of each group that has some."""
    left = dict.fromkeys(records)
    for group in OPTION_GROUPS if len(records) >= GROUPED_FROM else ():
        names = [name for name in records if name in group.options]
        example = " ".join(text for name, text in group.example.items() if name in records)
        if names:
            yield (f"{group.title}, as {example}" if example else group.title), names
        for name in names:
            del left[name]
    if left:
        yield "Options", list(left)


def write_commands(commands: Mapping[str, click.Command], formatter: click.HelpFormatter) -> None:
    """The commands of the program by what they are for."""
    longest = max(map(len, commands))
    for title, example, names in COMMAND_GROUPS:
        with formatter.section(f"{title}, as {example}"):
            short = {name: commands[name].get_short_help_str(formatter.width - 6 - longest) for name in names}
            formatter.write_dl([(name.ljust(longest), text) for name, text in short.items()])
