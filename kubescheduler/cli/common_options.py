"""Options that several commands have, types of options, and what a shell completes of them.

At the end is the process of its own in which a command runs a user's own code, where an option names some.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kubescheduler.engine.spec_fields import KEYS, SPEC_FIELDS
from kubescheduler.releases.names import DEFAULT_RELEASE, RELEASE_NAMES, minor

if TYPE_CHECKING:
    from algorithmprovider.code_watch import CodeWatch


Completions = list[str]

Decorated = TypeVar("Decorated", bound=Callable[..., Any] | click.Command)
"""What an option decorates: a function that becomes a command."""


def with_options(command: Callable[..., int], options: Iterable[Callable[..., Any]]) -> Callable[..., int]:
    """The command with options, in the order of its help."""
    for option in reversed(tuple(options)):
        command = option(command)
    return command


def providers(context: click.Context, _: click.Parameter, begun: str) -> Completions:
    """The providers of the release that was chosen."""
    return beginning(begun, _providers(_release(context.params)))


def feature_gates(context: click.Context, _: click.Parameter, begun: str) -> Completions:
    """``GATE=true`` and ``GATE=false`` of the release, behind those that stand there already."""
    before, comma, gate = begun.rpartition(",")
    given = {pair.partition("=")[0] for pair in before.split(",")}
    names = [name for name in _gates(_release(context.params)) if name not in given]
    return [f"{before}{comma}{value}" for value in beginning(gate, _switched(gate, names))]


def specs(_: click.Context, __: click.Parameter, begun: str) -> Completions:
    """``KEY=VALUE,…`` of a scheduler: the keys that are not there yet, and the values of the last one."""
    before, comma, last = begun.rpartition(",")
    key, given, value = last.partition("=")
    said = dict(pair.partition("=")[::2] for pair in before.split(",") if pair)
    if not given:
        values = [f"{name}=" for name in beginning(key, (name for name in KEYS if name not in said))]
    else:
        values = [f"{key}={choice}" for choice in beginning(value, _values(key, value, _release(said)))]
    return [f"{before}{comma}{text}" for text in values]


def _values(key: str, value: str, release: str) -> Iterable[str]:
    """What a key of a spec can be; nothing for files."""
    if key == "release":
        return RELEASE_NAMES
    if key == "provider":
        return _providers(release)
    if key == "feature-gates":
        before, semicolon, gate = value.rpartition(";")
        return [f"{before}{semicolon}{switched}" for switched in _switched(gate, _gates(release))]
    return ()


def _switched(gate: str, names: Iterable[str]) -> list[str]:
    """Names with an equals sign; one that is there in full with both values."""
    name, given, _ = gate.partition("=")
    return [f"{name}=true", f"{name}=false"] if given else [f"{name}=" for name in names]


def _providers(release: str) -> list[str]:
    from kubescheduler.releases.lookup import RELEASES

    record = RELEASES[release]
    if record.framework is None:
        return sorted(record.legacy_rules.registry(record.gates.parse("")).providers)
    return sorted(record.framework_rules.component.providers) if record.reads_policies else []


def _gates(release: str) -> list[str]:
    from kubescheduler.releases.lookup import RELEASES

    return sorted(RELEASES[release].gates.gates)


def _release(said: Any) -> str:
    """The release that is chosen; the default while there is none."""
    chosen = minor(said.get("release"))
    return chosen if chosen in RELEASE_NAMES else DEFAULT_RELEASE


def beginning(begun: str, names: Iterable[str]) -> Completions:
    """The names that begin like what stands there."""
    return [name for name in names if name.startswith(begun)]


Read = TypeVar("Read")

if TYPE_CHECKING:
    from kubescheduler.live.cluster_lists import ListedServer

    _Choice = click.Choice[str]
else:
    _Choice = click.Choice


class OneOf(_Choice):
    """A choice that names the nearest of what there is."""

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None) -> str:  # noqa: ARG002
        """What there is, in a line."""
        return f"It is one of {', '.join(self.choices)}"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value, if it is one of the choices; otherwise the error suggests the nearest one."""
        if value not in self.choices:
            from clusterstate.errors import nearest

            near = nearest(str(value), self.choices)
            self.fail(f"{value!r} is not one of {', '.join(self.choices)}{near}", param, ctx)
        return value


ERROR_STATUS = "2 an error: wrong input or usage, or an attempt that an error ended."
"""What the help of commands that decide says of the exit status that is no answer."""
FOREIGN_STATUS = f"{ERROR_STATUS.removesuffix('.')}, or a pod that no profile of the scheduler takes."
"""The same of those that decide just the pods that are named."""

FILE = click.Path()
"""A file's name as it was given; shells complete it. Whether it is there is seen when it is read."""


CLUSTER = "cluster"
"""As a release: the one of the API server that a kubeconfig names."""


EXTRA = "reading a cluster from its API server needs the extra 'live': pip install 'kubescheduler[live]'"


def asked_server(read: Callable[[ListedServer], Read], kubeconfig: str, context: str | None) -> Read:
    """What is read of the API server that a kubeconfig's context names. Raises InputError."""
    import importlib.util

    from clusterstate.errors import ConfigError, InputError

    if importlib.util.find_spec("httptools") is None:
        raise InputError(EXTRA)
    from kubescheduler.live.cluster_lists import ListedServer
    from kubescheduler.live.transport.api_answers import ApiError
    from kubescheduler.live.transport.server_access import NO_CONFIGURATION

    try:
        return read(ListedServer(kubeconfig, context))
    except ConfigError as error:
        if error.problems != (NO_CONFIGURATION,):
            raise
        raise InputError(f"{NO_CONFIGURATION}: name a kubeconfig with --kubeconfig, or in KUBECONFIG") from None
    except ApiError as error:
        asked = f"{error.url}: " if error.url else ""
        raise InputError(f"the cluster cannot be read: {asked}{error}") from None


def server_version(kubeconfig: str = "", context: str | None = None) -> str:
    """The version that the API server of a kubeconfig's context says it is of. Raises InputError."""

    def version(server: ListedServer) -> str:
        from kubescheduler.live.cluster_lists import read_version

        return read_version(server, os.environ)

    return asked_server(version, kubeconfig, context)


class ReleaseName(OneOf):
    """A choice of releases, each also by a version of it; one that is not there is answered with its neighbours.

    ``cluster`` is the release of the API server that ``--kubeconfig`` or ``--context`` names.
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The minor release that is meant."""
        if value in self.choices:
            return value
        if value == CLUSTER:
            return self.convert(self.of_server(param, ctx), param, ctx)
        from clusterstate.errors import ConfigError
        from kubescheduler.releases.lookup import release_of

        if minor(value) in RELEASE_NAMES:
            if minor(value) in self.choices:
                return minor(value)
            self.fail(f"{value!r} is not one of {', '.join(self.choices)}", param, ctx)
        try:
            return release_of(value, self.choices)
        except ConfigError as error:
            self.fail(str(error), param, ctx)

    def of_server(self, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The version of the API server that the command's other options name."""
        params = {} if ctx is None else ctx.params
        given = {name: params[name] for name in ("kubeconfig", "context") if isinstance(params.get(name), str)}
        if not given:
            self.fail("cluster: it is the release of an API server: give --kubeconfig or --context", param, ctx)
        return server_version(**given)


FOUND = "kubescheduler.found settings"
"""Where a context keeps the name of a settings file that nobody named."""


def file_option(*names: str, **more: Any) -> Callable[[Decorated], Decorated]:
    """An option that is a file's name. more: as click takes it."""
    return click.option(*names, **{"metavar": "FILE", "type": FILE, **more})


def number_option(*names: str, least: int = 1, **more: Any) -> Callable[[Decorated], Decorated]:
    """An option that is a whole number, the least or more. more: as click takes it."""
    kind = click.IntRange(min=least)
    return click.option(*names, **{"type": kind, "metavar": "NUMBER", "show_default": "default" in more, **more})


def choice_option(*names: str, choices: Sequence[str], **more: Any) -> Callable[[Decorated], Decorated]:
    """An option that is one of some words, the first if nobody says. more: as click takes it."""
    return click.option(*names, type=OneOf(choices), default=choices[0], show_default=True, **more)


def output_option(*choices: str, **more: Any) -> Callable[[Decorated], Decorated]:
    """``-o``: in which form the answer is. more: as click takes it."""
    return choice_option("-o", "--output", choices=choices, **more)


PODS_SPELLINGS = ("--pod", "--pods", "--workload")
"""One option: every command takes all three, and names in its help the one that it had first."""


def pod_files_option(name: str, shown: str, text: str, **more: Any) -> Callable[[Decorated], Decorated]:
    """Files with pods, or with what makes pods; the other spellings of the option are understood too.

    name: of the argument. shown: the spelling that comes first.
    """
    spellings = (shown, *(each for each in PODS_SPELLINGS if each != shown))
    help_text = f"{text}  [repeatable]"
    return click.option(*spellings, name, multiple=True, metavar="FILE", type=FILE, help=help_text, **more)


PREEMPT = click.option("--preempt", is_flag=True, help="Pods may take the place of pods with a lower priority.")

NO_DEFAULTING = click.option(
    "--no-defaulting", is_flag=True, help="Take manifests as they are, as an API server stored them."
)

VALIDATE = click.option(
    "--validate",
    type=OneOf(["strict", "warn", "ignore"]),
    help="Whether unknown fields, and values that an API server refuses, are errors, notes or nothing.  [default: "
    "strict for what somebody wrote; in objects with a uid or resourceVersion refused values are noted]",
)


def answer_option(*others: str, help: str = "") -> Callable[[Decorated], Decorated]:  # noqa: A002 - as click calls it
    """``-o`` of a command that answers in sections: table, json, yaml, html, and others. help: on the others."""
    said = "; ".join(filter(None, (help, "html is a page in one file.")))
    return output_option("table", "json", "yaml", "html", *others, help=said)


CI_OUTPUT = answer_option("junit", "github", help="junit and github are for CI")


def _watched(ctx: click.Context, _: click.Parameter, seconds: float) -> None:
    """While the command runs, a call of a user's own code may take so long."""
    from algorithmprovider.custom_code import limited

    ctx.with_resource(limited(seconds))


def _apart(_: click.Context, __: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    """Code of a user's own runs in a process that can be ended."""
    if names:
        in_a_process_of_its_own()
    return names


PATIENCE = click.option(
    "--patience",
    type=click.FloatRange(min=0),
    default=10,
    show_default=True,
    metavar="SECONDS",
    callback=_watched,
    expose_value=False,
    help="How long one call of your own code may take; 0: as long as it likes.",
)


def PLUGIN(command: Callable[..., Any]) -> Callable[..., Any]:  # noqa: N802 - an option like the others, or two
    """The options of users' own algorithms."""
    return _PLUGIN(PATIENCE(command))


_PLUGIN = click.option(
    "--plugin",
    multiple=True,
    callback=_apart,
    metavar="MODULE:NAME",
    help="Your own: a function that registers predicates and priorities (up to 1.16), or, as [NAME=]MODULE:FACTORY, "
    "a plugin (from 1.18 on).  [repeatable]",
)


class ReadsAhead(click.Option):
    """An option that looks at the words behind its value before it is taken."""

    def read(self, value: Any, rest: list[str]) -> Any:
        """What the value is. rest: the words behind it, from which it may take and to which it may give back."""
        raise NotImplementedError

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Has the parser ask first."""
        super().add_to_parser(parser, ctx)
        for name in self.opts:
            taken = parser._long_opt[name]
            plain = taken.process

            def process(value: Any, state: Any, plain: Any = plain) -> None:
                plain(self.read(value, state.rargs), state)

            taken.process = process


class OneOrTwoWords(ReadsAhead):
    """An option whose value takes the next word too after some first words, as ``record FILE`` does."""

    def __init__(self, *args: Any, with_file: tuple[str, ...] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.with_file = with_file

    def read(self, value: Any, rest: list[str]) -> Any:
        return f"{value} {rest.pop(0)}" if value in self.with_file and rest else value


class SelectorOption(ReadsAhead):
    """An option whose value may be left out; the name of something that is there is no selector, but an argument."""

    def read(self, value: Any, rest: list[str]) -> Any:
        if value == "-" or (isinstance(value, str) and "=" not in value and os.path.exists(value)):
            rest.insert(0, value)
            return self.flag_value
        return value


RUNNING = click.option(
    "--running",
    cls=SelectorOption,
    is_flag=False,
    flag_value="all",
    metavar="[SELECTOR]",
    help="Take each running pod out of the cluster and decide it anew: all, or those of app=web, deployment/web, "
    "metadata.namespace=shop, spec.nodeName=n1.",
)


FAILURE_DOMAINS = (
    "kubernetes.io/hostname,failure-domain.beta.kubernetes.io/zone,failure-domain.beta.kubernetes.io/region"
)
"""Spelled out so that ``--help`` imports little; a test holds them to clusterstate's."""

_KINDS: dict[str, dict[str, Any]] = {
    "text": {},
    "file": {"type": FILE},
    "whole": {"type": int},
    "gates": {"default": "", "shell_complete": feature_gates},
    "flag": {"is_flag": True},
}
"""What click has to know of what is said of a scheduler, by its kind."""


_FIELDS: dict[str, dict[str, Any]] = {
    "release": {"type": ReleaseName(RELEASE_NAMES), "default": DEFAULT_RELEASE, "show_default": True},
    "provider": {"shell_complete": providers},
    "failure_domains": {
        "default": FAILURE_DOMAINS,
        "show_default": True,
        "callback": lambda _, __, text: tuple(text.split(",")),
    },
    "percentage_of_nodes_to_score": {"type": click.IntRange(0, 100), "default": 100, "show_default": True},
    "extenders": {"cls": OneOrTwoWords, "with_file": ("record", "replay"), "default": "live", "show_default": True},
}
"""What it has to know of one alone."""


def spec_option(field: str, **more: Any) -> Callable[[Decorated], Decorated]:
    """The option that fills a field of ``EngineSpec``. more: what click has to know of this one."""
    said = next(each for each in SPEC_FIELDS if each.field == field)
    how = {**_KINDS[said.kind], **_FIELDS.get(field, {}), **more}
    return click.option(said.option, metavar=said.metavar, help=said.help, **how)


RELEASE, FEATURE_GATES, EXTENDERS = map(spec_option, ("release", "feature_gates", "extenders"))


_PASSED_ON = {getattr(signal, name, signal.SIGINT) for name in ("SIGINT", "SIGTERM", "SIGHUP")}
_PARENT_DIES = 1
"""PR_SET_PDEATHSIG of Linux."""


def in_a_process_of_its_own() -> None:
    """What follows runs in a child, and this process ends as that does; status 2 where the child was ended."""
    from kubescheduler import cli

    if not cli.console or not hasattr(signal, "sigtimedwait"):
        return
    from algorithmprovider.code_watch import CodeWatch
    from algorithmprovider.custom_code import LIMIT

    watch = CodeWatch()
    sys.stdout.flush()
    sys.stderr.flush()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _PASSED_ON | {signal.SIGCHLD})
    child = os.fork()
    if child == 0:
        _end_with_parent()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        LIMIT.begin(watch)
        return
    status = _awaited(child, watch)
    if status < 0 and -status not in _PASSED_ON:
        ended = f"the process was ended by {signal.Signals(-status).name}, and nothing of it is an answer"
        sys.stderr.write(f"error: {watch.problem(ended)}\n")
        sys.stderr.flush()
        status = 2
    os._exit(status if status >= 0 else 128 - status)


def _awaited(child: int, watch: CodeWatch) -> int:
    """The exit status of the child, to which signals are passed on, and which is ended where a call overruns."""
    from algorithmprovider.code_watch import TICK

    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        watch.look(child)
        told = signal.sigtimedwait(_PASSED_ON | {signal.SIGCHLD}, TICK)
        # Those of a terminal (si_code above 0) have come to the child as well.
        if told is not None and told.si_signo != signal.SIGCHLD and told.si_code <= 0:
            os.kill(child, told.si_signo)


def _end_with_parent() -> None:
    """A parent that is killed takes the child with it, where the system can do that."""
    import contextlib
    import ctypes

    with contextlib.suppress(Exception):
        ctypes.CDLL(None).prctl(_PARENT_DIES, signal.SIGKILL)
