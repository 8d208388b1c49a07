"""A scheduler for tests: it decides, it runs on, what it did can be asserted on, and a failure says why."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
import msgspec
import pytest

from clusterstate.errors import ConfigError, DecodeError, InputError, attempt
from clusterstate.manifests.fields import describe
from clusterstate.objects import Pod
from kubescheduler.api.scheduler import Scheduler
from kubescheduler.comparison.differences import refusals
from kubescheduler.core.decision import Decision, gave_up
from kubescheduler.engine.spec import EngineSpec, PodScheduler, place
from kubescheduler.sources.files import whole_file
from kubescheduler.sources.yaml_stream import parse_yaml
from kubescheduler.testing.named_inputs import SharedCluster, pods_of
from kubescheduler.testing.running_session import UsageErrors, judgement

MOST_PRIORITIES = 4
"""Of one decision, in a text."""
EXTENDERS = "extenders"


# --- one decision ----------------------------------------------------------------------------


def why_not(decision: Decision, expected: str | None) -> list[str]:
    """Lines on why the pod is not on the expected node (None: not without a node)."""
    if expected is None:
        return [f"it fits on {len(decision.fits())} of {decision.nodes_total} nodes"]
    if expected not in decision.names:
        return [f"there is no node {expected} in the cluster", *_message(decision)]
    row = decision.names.index(expected)
    if row not in decision.feasible:
        reasons = refusals(decision, row, expected)
        said = "; ".join(f"{check}: {', '.join(texts)}" for check, texts in reasons.items())
        return [f"{expected} is refused: {said}", *_message(decision)]
    if decision.host is None:
        return _message(decision)
    return list(_outscored(decision, expected, decision.host))


def _message(decision: Decision) -> list[str]:
    return [*([decision.message.rstrip()] if decision.message else []), *(f"! {note}" for note in decision.notes)]


def _outscored(decision: Decision, expected: str, host: str) -> Iterator[str]:
    totals = decision.total()
    ahead = totals.get(host, 0) - totals.get(expected, 0)
    if not ahead:
        yield f"both have a total of {totals.get(host, 0)}; among equal nodes the first by name is taken"
        return
    yield f"{host} has a total of {totals[host]}, {expected} {totals[expected]}:"
    terms = sorted(_terms(decision, expected, host, ahead), key=lambda term: -abs(term[0]))
    for gain, text in terms[:MOST_PRIORITIES]:
        yield f"  {gain:+d}  {text}"
    if rest := sum(gain for gain, _ in terms[MOST_PRIORITIES:]):
        yield f"  {rest:+d}  others"


def _terms(decision: Decision, expected: str, host: str, ahead: int) -> Iterator[tuple[int, str]]:
    """(what it adds to the host's lead, text) of each priority by which the nodes differ."""
    for name in decision.scores:
        scores, weight = decision.score(name), decision.weights.get(name, 1)
        gain = (scores[host] - scores[expected]) * weight
        ahead -= gain
        if gain:
            yield gain, f"{name}: {scores[host]} against {scores[expected]}, weight {weight}"
    if ahead:
        yield ahead, EXTENDERS


class UndecidedError(InputError):
    """An error ended the attempt of a pod."""


class Placements(dict[str, str | None]):
    """Pod (``namespace/name``) → node, None for a pod without one; in the order in which they were placed.

    decisions: pod → the decision behind it.
    """

    def __init__(self, decisions: Mapping[str, Decision]) -> None:
        super().__init__({key: decision.host for key, decision in decisions.items()})
        self.decisions = dict(decisions)

    def differences(self, expected: Mapping[Any, Any]) -> list[str]:
        """What differs from the expected hosts, explained by the decisions; several lines a pod."""
        lines = []
        for key, host in expected.items():
            if key not in self:
                lines.append(f"{key}: expected {shown(host)}, but it is not among the pods")
            elif self[key] != host:
                lines += [f"{key}: expected {shown(host)}, found {shown(self[key])}"]
                lines += [f"  {line}" for line in why_not(self.decisions[key], host)]
        lines += [f"{key}: not expected, found {shown(host)}" for key, host in self.items() if key not in expected]
        return lines


def shown(host: Any) -> str:
    """A host as messages name it."""
    return "no node" if host is None else str(host)


class Placer:
    """A scheduler with its own copy of a cluster; ``place`` changes it, ``schedule`` does not.

    spec, cluster: what it was made of. running: the scheduler itself, with its ``cache`` and ``algorithm``.
    notes: what its configuration had to say. Raises InputError with every fault of the configuration and the cluster.
    """

    def __init__(self, spec: EngineSpec, cluster: SharedCluster) -> None:
        problems: list[str] = []
        self.spec = spec
        self.cluster = cluster
        self.notes: list[str] = []
        engine = attempt(problems, spec.engine, self.notes.append)
        there = attempt(problems, cluster.cluster_for, spec.release)
        if engine is None or there is None:
            raise DecodeError(problems)
        self.running: PodScheduler = Scheduler.of_engine(engine, there).running

    def __repr__(self) -> str:
        return f"<Placer of release {self.spec.release}>"

    def schedule(
        self, pod: Any, *, thorough: bool = False, preempt: bool = False, validate: str | None = None
    ) -> Decision:
        """The decision on one pod, given as object, manifest, YAML text or file name; the cluster stays as it is.

        thorough: have every check judge every node. preempt: say which pods would have to go for one that fits nowhere.
        validate: what unknown fields of the manifest are, ``strict``, ``warn`` or ``ignore``; by default as the marker
        or the setting says it.
        Raises pytest.UsageError with every fault.
        """
        __tracebackhide__ = True
        with UsageErrors():
            pods = self._pods(pod, validate)
            if len(pods) != 1:
                found = f"{', '.join(pod.key for pod in pods)}; use place for several" if pods else "none"
                raise DecodeError(f"schedule takes one pod, found {found}")
            return self.running.decide(pods[0], thorough=thorough, preempt=preempt)

    def place(self, *pods: Any, validate: str | None = None) -> Placements:
        """Decides one pod after the other; each that has a node runs there from then on.

        validate, and what is raised: as for ``schedule``; also when an error ends an attempt, as of a pod that nobody
        decided on it is not known whether it has a node.
        """
        __tracebackhide__ = True
        decisions: dict[str, Decision] = {}
        with UsageErrors():
            for pod in self._pods(pods, validate):
                decision = decisions[pod.key] = self.running.decide(pod, in_sequence=True)
                if gave_up(decision):
                    raise UndecidedError(f"no decision on {pod.key}: {decision.message}")
                if decision.host is not None:
                    place(self.running, pod, decision.host)
        return Placements(decisions)

    def _pods(self, given: Any, validate: str | None) -> list[Pod]:
        to_place = pods_of(given, self.cluster, self.spec.release, validate=judgement(validate), gates=self.spec.gates)
        running = {pod.key: pod.node_name for pod in self.running.cache.pods()}
        if problems := [
            f"Pod {pod.key}: it runs on {running[pod.key]}; remove it there, or give the pod another name"
            for pod in to_place.pods
            if pod.key in running
        ]:
            raise DecodeError(problems)
        for obj in to_place.objects:
            self.running.cache.add(obj)
        return to_place.pods


def explained(left: object, right: object) -> list[str] | None:
    """What ``assert left == right`` shows if one of the two is placements; None for anything else."""
    placements, expected = (left, right) if isinstance(left, Placements) else (right, left)
    if not isinstance(placements, Placements) or not isinstance(expected, Mapping):
        return None
    lines = placements.differences(expected)
    pods = len(
        {key for key in (*placements, *expected) if placements.get(key, placements) != expected.get(key, expected)}
    )
    return [f"{pods} of {len(placements)} pods are elsewhere than expected", *lines] if lines else None


FIXTURE = "placements"
FOLDER = "__placements__"
ENDING = ".yaml"
MARK = "@"
"""Stands between a test's name and that of one of its records."""
LONGEST = 120

_ODD = re.compile(r"[^\w.,=+\-\[\] ]")


def record_path(test_file: Path, test: str, name: str = "") -> Path:
    """``__placements__/<test file>/<test>.yaml`` beside the test file; with a name ``<test>@<name>.yaml``."""
    end = f"{MARK}{name}" if name else ""
    return test_file.parent / FOLDER / test_file.stem / f"{_file_name(test)}{end}{ENDING}"


def _file_name(test: str) -> str:
    """A test's name as that of a file; one that had to be changed gets a few digits that make it unique."""
    plain = _ODD.sub("_", test)[:LONGEST]
    return plain if plain == test else f"{plain}-{hashlib.sha256(test.encode()).hexdigest()[:8]}"


def names_of(item: pytest.Item) -> list[str]:
    """The names of its classes and its own."""
    return [node.name for node in item.listchain() if isinstance(node, pytest.Class | pytest.Item)]


def unused(items: Iterable[pytest.Item]) -> Iterator[Path]:
    """The records of the files of these items that none of the items checks. They have to be all items of a file."""
    used: dict[Path, set[str]] = {}
    files = set()
    for item in items:
        files.add(item.path)
        if FIXTURE in getattr(item, "fixturenames", ()):
            path = record_path(item.path, ".".join(names_of(item)))
            used.setdefault(path.parent, set()).add(path.stem)
    for folder in sorted({file.parent / FOLDER for file in files}):
        if folder.is_dir():
            yield from _unused_in(folder, files, used)


def _unused_in(folder: Path, files: set[Path], used: dict[Path, set[str]]) -> Iterator[Path]:
    looked_at = {file.stem for file in files if file.parent == folder.parent}
    there = {path.stem for path in folder.parent.glob("*.py")}
    for below in sorted(path for path in folder.iterdir() if path.is_dir()):
        if below.name in looked_at or below.name not in there:
            tests = used.get(below, set())
            yield from (path for path in sorted(below.glob(f"*{ENDING}")) if _test_of(path) not in tests)


def _test_of(path: Path) -> str:
    return path.name.removesuffix(ENDING).partition(MARK)[0]


def shortest(path: Path) -> str:
    """From the working directory, if it is below."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


class RecordedPlacement(msgspec.Struct, frozen=True):
    """A pod in a record."""

    pod: str
    host: str | None
    total: int | None = None
    """The host's total; None where nothing was scored."""
    tied: tuple[str, ...] = ()
    """The nodes with that total, the host among them."""
    message: str = ""

    @classmethod
    def of(cls, pod: str, decision: Decision) -> RecordedPlacement:
        """What a decision says of a pod."""
        if decision.host is None:
            return cls(pod, None, message=decision.message)
        return cls(pod, decision.host, decision.total().get(decision.host), tuple(decision.best()))


def placed(placements: Placements) -> list[RecordedPlacement]:
    """The placements as they are recorded."""
    return [RecordedPlacement.of(pod, decision) for pod, decision in placements.decisions.items()]


# --- files -----------------------------------------------------------------------------------


def written(records: Sequence[RecordedPlacement], title: str) -> str:
    """The text of a file of records."""
    import yaml

    class Dumper(yaml.SafeDumper):
        """Blocks, but lists of names on one line and messages of several lines as they are."""

    Dumper.add_representer(tuple, lambda d, v: d.represent_sequence("tag:yaml.org,2002:seq", v, flow_style=True))
    Dumper.add_representer(
        str, lambda d, v: d.represent_scalar("tag:yaml.org,2002:str", v, style="|" if "\n" in v else None)
    )
    document = {"pods": [_fields(record) for record in records]}
    text = yaml.dump(document, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=10**6)
    return f"# {title}\n{text}"


def _fields(record: RecordedPlacement) -> dict[str, Any]:
    fields: dict[str, Any] = {"pod": record.pod, "host": record.host}
    if record.total is not None:
        fields["total"] = record.total
    if record.tied:
        fields["tied"] = record.tied
    if record.message:
        fields["message"] = record.message
    return fields


def read(path: Path) -> dict[str, RecordedPlacement]:
    """Pod → its record. Raises ConfigError with every fault."""
    documents = parse_yaml(str(path), path.read_bytes())
    document = documents[0] if len(documents) == 1 else None
    entries = document.get("pods") if isinstance(document, Mapping) else None
    if not isinstance(entries, list):
        raise ConfigError(f"{path}: pods: must be a list, one entry a pod, not {describe(entries)}")
    problems: list[str] = []
    recorded = {}
    for index, entry in enumerate(entries):
        wrong = list(_entry_faults(entry))
        problems += (f"{path}: pods[{index}]{fault}" for fault in wrong)
        if not wrong:
            tied, message = tuple(entry.get("tied") or ()), entry.get("message") or ""
            recorded[entry["pod"]] = RecordedPlacement(entry["pod"], entry["host"], entry.get("total"), tied, message)
    if problems:
        raise ConfigError(problems)
    return recorded


_TYPES: dict[str, tuple[type, ...]] = {
    "pod": (str,),
    "host": (str, type(None)),
    "total": (int, type(None)),
    "tied": (list, type(None)),
    "message": (str, type(None)),
}


def _entry_faults(entry: Any) -> Iterator[str]:
    if not isinstance(entry, Mapping):
        yield f": must have pod and host, not {describe(entry)}"
        return
    yield from (f".{key}: missing" for key in ("pod", "host") if key not in entry)
    for key, value in entry.items():
        if key not in _TYPES:
            yield f".{key}: there is no such field; fields are {', '.join(_TYPES)}"
        elif not isinstance(value, _TYPES[key]):
            yield f".{key}: {describe(value)} is not possible here"


# --- comparing -------------------------------------------------------------------------------


def differences(recorded: Mapping[str, RecordedPlacement], placements: Placements, *, exact: bool) -> list[str]:
    """What differs from the record, explained; several lines a pod. exact: totals, ties and messages count too."""
    lines: list[str] = []
    for now in placed(placements):
        before = recorded.get(now.pod)
        if before is None:
            lines.append(f"{now.pod}: not recorded, now {shown(now.host)}")
        elif before.host != now.host:
            lines.append(f"{now.pod}: recorded {shown(before.host)}, now {shown(now.host)}")
            lines += (f"  {line}" for line in _why(before, placements.decisions[now.pod]))
        elif exact and before != now:
            lines.append(f"{now.pod}: still {shown(now.host)}, but")
            lines += (f"  {line}" for line in _details(before, now))
    gone = (record for pod, record in recorded.items() if pod not in placements)
    return [*lines, *(f"{record.pod}: recorded {shown(record.host)}, now not among the pods" for record in gone)]


def _why(before: RecordedPlacement, decision: Decision) -> Iterator[str]:
    if before.host is None and before.message:
        yield f"recorded: {before.message.rstrip()}"
    yield from why_not(decision, before.host)


def _details(before: RecordedPlacement, now: RecordedPlacement) -> Iterator[str]:
    for what in ("total", "tied", "message"):
        was, is_now = getattr(before, what), getattr(now, what)
        if was != is_now:
            yield f"{what}: recorded {_said(was)}, now {_said(is_now)}"


def _said(value: Any) -> str:
    return ", ".join(value) if isinstance(value, tuple) else repr(value) if isinstance(value, str) else str(value)


OPTION = "--placements-update"

_NAME = re.compile(r"[\w.-]+")


@attrs.define(eq=False, repr=False)
class PlacementRecords:
    """The records of one test."""

    file: Path
    """The test's file."""
    test: str
    """The test's name."""
    typed: str
    """How the test is selected on the command line."""
    update: bool
    """Whether records are written."""
    notes: list[str]
    """Collects the files that were written."""
    _used: set[Path] = attrs.field(factory=set, init=False)

    def __repr__(self) -> str:
        return f"<PlacementRecords of {self.test}>"

    def check(
        self, scheduler: Placer, pods: Any, *, name: str = "", exact: bool = False, validate: str | None = None
    ) -> Placements:
        """Has the scheduler place the pods, and fails if they go elsewhere than recorded; the message says why.

        With ``--placements-update`` the record is written instead. name: distinguishes several records of one test.
        exact: totals, ties and messages have to be as recorded too. validate: as for ``scheduler.place``. Raises
        pytest.UsageError with every fault.
        """
        __tracebackhide__ = True
        with UsageErrors():
            path = self._path(name)
            if not isinstance(scheduler, Placer):
                found = type(scheduler).__name__
                raise InputError(f"scheduler: expected what the fixture scheduler gives, found {found}")
            placements = scheduler.place(pods, validate=validate)
            with _usable():
                if self.update:
                    self._write(path, placements)
                    return placements
                lines = differences(read(path), placements, exact=exact) if _is_there(path) else None
        command = f"pytest {OPTION} {shlex.quote(self.typed)}"
        if lines is None:
            raise AssertionError(f"no placements are recorded in {shortest(path)}\nto record them: {command}")
        if lines:
            told = "\n".join(lines)
            raise AssertionError(f"not as recorded in {shortest(path)}\n\n{told}\n\nto accept this: {command}")
        return placements

    def _path(self, name: str) -> Path:
        """Raises InputError for a name that cannot be one, or is there twice."""
        if name and not _NAME.fullmatch(name):
            raise InputError(f"name: {name!r}: letters, digits, '_', '.' and '-' are possible")
        path = record_path(self.file, self.test, name)
        if path in self._used:
            raise InputError(f"{shortest(path)}: checked a second time; give each check of a test its own name=")
        self._used.add(path)
        return path

    def _write(self, path: Path, placements: Placements) -> None:
        text = written(placed(placements), f"Where the pods of {self.test} go. To write it anew: pytest {OPTION}")
        if not _is_there(path) or path.read_bytes() != text.encode():
            path.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(path) as file:
                file.write(text.encode())
            self.notes.append(str(path))


def _is_there(path: Path) -> bool:
    """Whether there is a record. Raises InputError for what is no regular file, which nothing is read from."""
    if not path.exists():
        return False
    if not path.is_file():
        raise InputError(f"{shortest(path)}: cannot be used: it is no regular file")
    return True


@contextmanager
def _usable() -> Iterator[None]:
    """Raises InputError where the system refuses a file."""
    try:
        yield
    except OSError as error:
        name = shortest(Path(error.filename)) if error.filename else "the record"
        raise InputError(f"{name}: cannot be used: {error.strerror}") from None
