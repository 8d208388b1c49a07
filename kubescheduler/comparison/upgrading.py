"""The report of an upgrade: what the configuration has to become, which pods move, what comes and goes on the way.

Pods and configurations are those of ``timeline``; the rest is read off the releases' records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import msgspec

from clusterstate.objects import ClusterObject, Pod
from kubescheduler.comparison.release_steps import ConfigurationStep, Timeline, timeline
from kubescheduler.engine.spec import EngineSpec, no_notice
from kubescheduler.releases.lookup import release_named
from kubescheduler.releases.names import RELEASE_NAMES, place
from kubescheduler.releases.release import Release
from kubescheduler.translate.translation_model import default_weights


class Appearance(msgspec.Struct, frozen=True):
    """What comes or goes at a step."""

    release: str
    what: str
    """``gates gone`` and the like."""
    names: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """As data."""
        return {"release": self.release, "what": self.what, "names": list(self.names)}


class Upgrade(msgspec.Struct, frozen=True):
    """The whole report."""

    before: str
    """The release that runs now."""
    to: str
    timeline: Timeline
    """Which pods move, at which step and why, and what configures the releases."""
    appearances: tuple[Appearance, ...]
    """Versions of the configuration, plugins, weights and feature gates that come, go or change, step by step."""
    unknown: tuple[str, ...]
    """What has a part in an upgrade and cannot be worked out here."""

    @property
    def configurations(self) -> tuple[ConfigurationStep, ...]:
        """The releases at which the configuration has to change."""
        return self.timeline.configurations

    def document(self) -> dict[str, Any]:
        """All of it as data."""
        return {
            "from": self.before,
            "to": self.to,
            **self.timeline.document(),
            "appearances": [each.document() for each in self.appearances],
            "unknown": list(self.unknown),
        }


def upgrade(
    objects: Iterable[ClusterObject],
    pods: Sequence[Pod],
    old: EngineSpec,
    to: str,
    *,
    preempt: bool = False,
    progress: Callable[[int, int], None] | None = None,
    notice: Callable[[str], None] = no_notice,
) -> Upgrade:
    """What an upgrade of the scheduler from the old one's release to a later one means for some pods of a cluster.

    Every release between decides every pod on the same cluster, configured by what the old scheduler is configured by,
    as long as it takes that, then by what ``migrate`` makes of it. preempt, progress, notice: as for ``timeline``.
    Raises ConfigError as that does.
    """
    new = EngineSpec(
        release=to,
        plugins=old.plugins,
        extenders=old.extenders,
        max_pd_volumes=old.max_pd_volumes,
        percentage_of_nodes_to_score=old.percentage_of_nodes_to_score,
        certificate_places=old.certificate_places,
    )
    found = timeline(objects, pods, old, new, preempt=preempt, progress=progress, notice=notice)
    steps = [release_named(name) for name in RELEASE_NAMES[place(old.release) : place(new.release) + 1]]
    appearing = tuple(each for before, after in pairwise(steps) for each in _appearances(before, after))
    return Upgrade(old.release, new.release, found, appearing, tuple(_unknown(old, found)))


# --- what comes and goes -------------------------------------------------------------------------


def _appearances(before: Release, after: Release) -> Iterator[Appearance]:
    found = {
        **_names("configuration", _versions(before), _versions(after)),
        **_names("plugins", _plugins(before), _plugins(after)),
        "default weights": _changed(_weights(before), _weights(after)),
        **_names("gates", before.gates.gates, after.gates.gates),
        "gates locked": [
            name
            for name, gate in after.gates.gates.items()
            if gate.locked and name in before.gates.gates and not before.gates.gates[name].locked
        ],
        "gate defaults": _changed(_defaults(before), _defaults(after)),
    }
    for what, names in found.items():
        if names:
            yield Appearance(after.name, what, tuple(names))


def _names(what: str, before: Iterable[str], after: Iterable[str]) -> dict[str, list[str]]:
    """The names that are new, and those that are gone."""
    old, new = list(before), list(after)
    return {
        f"{what} new": [name for name in new if name not in old],
        f"{what} gone": [name for name in old if name not in new],
    }


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """``name from old to new`` of what both have."""
    return [
        f"{name} from {before[name]} to {after[name]}"
        for name in before
        if name in after and before[name] != after[name]
    ]


def _versions(record: Release) -> list[str]:
    """What can configure it."""
    policies = ["Policy"] if record.reads_policies else []
    if record.framework is None:
        return policies
    versions = [version.rpartition("/")[2] for version in record.framework.component.versions]
    providers = sorted(record.framework.component.providers) if record.reads_policies else []
    return [*versions, *policies, *(providers if len(providers) > 1 else ())]


def _plugins(record: Release) -> list[str]:
    """Those that some version of the configuration can name."""
    if record.framework is None:
        return []
    form = record.framework.component
    return [name for name in form.plugins if form.can_name(name)]


def _weights(record: Release) -> Mapping[str, int]:
    return {} if record.framework is None else default_weights(record.framework.component)


def _defaults(record: Release) -> dict[str, str]:
    return {name: "on" if gate.default else "off" for name, gate in record.gates.gates.items()}


# --- what nobody can know ------------------------------------------------------------------------


def _unknown(old: EngineSpec, found: Timeline) -> Iterator[str]:
    engine = old.engine(no_notice)
    own = [option.name for option in old.plugins]
    if own:
        yield f"whether your own plugins ({', '.join(own)}) build against each release's framework and answer as here"
    for extender in dict.fromkeys(one.config.name for one in engine.extenders):
        yield f"what the extender {extender} answers to each release, and whether it reads what that sends"
    yield (
        "what runs by chance: where several nodes have the highest total a scheduler draws one, and here each release "
        "takes the first by name"
    )
    yield (
        "the order in which pods come: each is decided alone on the cluster as it is, and not on what others have left "
        "(compare --mode sequence decides them one after another)"
    )
    yield "whom preemption would evict where the cluster's files do not say when pods started"
    yield (
        "what else the upgrade changes: API server, kubelets, CSI drivers and controllers, and with them labels, "
        "taints, CSINodes and the defaults of new pods"
    )
    if old.plugins or found.configurations:
        yield "whether the scheduler's manifest gives it the files, flags and rights that its new configuration needs"
