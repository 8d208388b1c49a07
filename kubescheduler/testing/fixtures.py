"""What the fixtures give, by the markers and the settings of the test that asks."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import attrs
import pytest

from clusterstate.errors import ConfigError, attempt
from kubescheduler.comparison.comparison import Comparison
from kubescheduler.comparison.outcomes import INDEPENDENT
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.testing.compared_sides import to_compare
from kubescheduler.testing.named_inputs import SharedCluster, cluster_of, spec_of
from kubescheduler.testing.placements import PlacementRecords, Placer, names_of
from kubescheduler.testing.running_session import UsageErrors, faults, judgement, note

CLUSTER, SCHEDULER = "cluster", "scheduler"
"""Names of markers and fixtures."""
CLUSTER_SETTING, SCHEDULER_SETTING = "kubescheduler_cluster", "kubescheduler_scheduler"
EXTENDERS_SETTING = "kubescheduler_extenders"

Read = dict[tuple[Any, ...], SharedCluster]
"""(path, time, size) of every file, and the folders → the cluster of them: read once, as nothing changes it."""


def folders_of(request: pytest.FixtureRequest) -> tuple[Path, ...]:
    """Where names of files are looked for: beside the test, then in pytest's root folder."""
    return tuple(dict.fromkeys((request.path.parent, request.config.rootpath)))


def cluster_for(request: pytest.FixtureRequest, read: Read) -> SharedCluster:
    """Fails the test with every fault, those of the scheduler too if it asks for one."""
    problems: list[str] = []
    cluster = attempt(problems, _cluster, request, read)
    if SCHEDULER in request.fixturenames:
        spec = attempt(problems, _spec, request)
        if problems and spec is not None:
            attempt(problems, spec.engine, lambda _: None)
    if cluster is None or problems:
        _fail(problems)
    return cluster


def scheduler_for(request: pytest.FixtureRequest, cluster: Any) -> Placer:
    """cluster: what the fixture of that name gives, which a project may have replaced by its own."""
    problems: list[str] = []
    spec = attempt(problems, _spec, request)
    shared = attempt(problems, cluster_of, cluster, folders_of(request))
    placer = None if spec is None or shared is None else attempt(problems, Placer, spec, shared)
    if placer is None:
        _fail(problems)
    note(placer.notes)
    return placer


def comparer_for(request: pytest.FixtureRequest) -> Callable[..., Comparison]:
    """The fixture ``compare_placements`` for a test."""

    def compare(  # noqa: PLR0913
        old: Any,
        new: Any,
        pods: Any = None,
        *,
        running: bool | str = False,
        cluster: Any = None,
        mode: str = INDEPENDENT,
        preempt: bool = False,
        extenders: str | None = None,
        validate: str | None = None,
    ) -> Comparison:
        """See ``kubescheduler.testing.compare_placements``."""
        __tracebackhide__ = True
        where = request.getfixturevalue(CLUSTER) if cluster is None else cluster
        with UsageErrors():
            asked = _extenders(request) if extenders is None else extenders
            folders = folders_of(request)
            how: dict[str, Any] = {"mode": mode, "folders": folders, "extenders": asked, "validate": validate}
            compared = to_compare(old, new, where, pods, running=running, **how)
            return compared.comparison(preempt=preempt)

    compare.__qualname__ = "compare_placements"
    return compare


def records_for(request: pytest.FixtureRequest, *, update: bool, notes: list[str]) -> PlacementRecords:
    """The fixture ``placements`` for a test."""
    return PlacementRecords(
        file=request.path,
        test=".".join(names_of(request.node)),
        typed="::".join([os.path.relpath(request.path, request.config.invocation_params.dir), *names_of(request.node)]),
        update=update,
        notes=notes,
    )


def _fail(problems: Sequence[str]) -> NoReturn:
    pytest.fail(faults(problems), pytrace=False)


# --- markers and settings --------------------------------------------------------------------


def _cluster(request: pytest.FixtureRequest, read: Read) -> SharedCluster:
    """Raises InputError with every fault."""
    marker = request.node.get_closest_marker(CLUSTER)
    given = request.config.getini(CLUSTER_SETTING) if marker is None else marker.args
    if marker is not None and (marker.kwargs or not given):
        raise ConfigError('@pytest.mark.cluster: name files, as in @pytest.mark.cluster("cluster.yaml")')
    if not given:
        raise ConfigError(
            f'no cluster: mark the test with @pytest.mark.cluster("cluster.yaml"), or set {CLUSTER_SETTING} in '
            "pytest's settings"
        )
    folders = folders_of(request) if marker is not None else [request.config.rootpath]
    named = cluster_of(given, folders, judgement())
    return _once(attrs.evolve(named, folders=folders_of(request)), read)


def _once(named: SharedCluster, read: Read) -> SharedCluster:
    """The cluster of the same files if it was read before. Raises DecodeError if it cannot be read."""
    key: tuple[Any, ...] = (named.folders, named.validate)
    paths = [Path(file) for file in named.files]
    plain = not named.manifests and not named.given and all(path.is_file() for path in paths)
    if plain:
        stats = [path.stat() for path in paths]
        key += tuple((str(p), stat.st_mtime_ns, stat.st_size) for p, stat in zip(paths, stats, strict=True))
        if key in read:
            return read[key]
    _ = named.objects
    if plain:
        read[key] = named
    return named


def _extenders(request: pytest.FixtureRequest) -> str:
    """How extenders are asked where a test does not say it."""
    return str(request.config.getini(EXTENDERS_SETTING))


def _spec(request: pytest.FixtureRequest) -> EngineSpec:
    """Raises ConfigError with every fault."""
    marker = request.node.get_closest_marker(SCHEDULER)
    if marker is None:
        said = request.config.getini(SCHEDULER_SETTING)
        return spec_of(said or EngineSpec(), [request.config.rootpath], _extenders(request))
    if marker.args and not marker.kwargs and len(marker.args) == 1:
        return spec_of(marker.args[0], folders_of(request), _extenders(request))
    if marker.kwargs and not marker.args:
        text = ",".join(f"{key.replace('_', '-')}={value}" for key, value in marker.kwargs.items())
        return spec_of(text, folders_of(request), _extenders(request))
    raise ConfigError(
        "@pytest.mark.scheduler: describe one scheduler, as in "
        '@pytest.mark.scheduler("release=1.16,policy=policy.json")'
    )
