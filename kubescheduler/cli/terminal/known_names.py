"""What a shell can complete: providers, gates, keys of specs. Looked up when a shell asks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import click

Completions = list[str]


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
    from kubescheduler.engine.spec_fields import KEYS

    before, comma, last = begun.rpartition(",")
    key, given, value = last.partition("=")
    said = dict(pair.partition("=")[::2] for pair in before.split(",") if pair)
    if not given:
        found = [f"{name}=" for name in beginning(key, (name for name in KEYS if name not in said))]
    else:
        found = [f"{key}={choice}" for choice in beginning(value, _values(key, value, _release(said)))]
    return [f"{before}{comma}{text}" for text in found]


def _values(key: str, value: str, release: str) -> Iterable[str]:
    """What a key of a spec can be; nothing for files."""
    from kubescheduler.releases.names import RELEASE_NAMES

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
    policies = record.framework_rules.policies
    return [] if policies is None else sorted(policies.providers)


def _gates(release: str) -> list[str]:
    from kubescheduler.releases.lookup import RELEASES

    return sorted(RELEASES[release].gates.gates)


def _release(said: Any) -> str:
    """The release that is chosen; the default while there is none."""
    from clusterstate.versions import DEFAULT_RELEASE, minor
    from kubescheduler.releases.names import RELEASE_NAMES

    chosen = minor(said.get("release"))
    return chosen if chosen in RELEASE_NAMES else DEFAULT_RELEASE


def beginning(begun: str, names: Iterable[str]) -> Completions:
    """The names that begin like what stands there."""
    return [name for name in names if name.startswith(begun)]
