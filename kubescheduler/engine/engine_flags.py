"""What a user says of one scheduler."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Self

import msgspec

from clusterstate.errors import ConfigError, attempt, nearest
from clusterstate.objects import FrozenMap
from clusterstate.selectors.affinity_1_4 import FAILURE_DOMAINS
from kubescheduler.engine.spec_fields import FILES, KEYS, SPEC_FIELDS
from kubescheduler.extender.access import LIVE, ExtenderAccess
from kubescheduler.releases.lookup import release_named
from kubescheduler.releases.names import DEFAULT_RELEASE, RELEASE_NAMES, minor, place

if TYPE_CHECKING:
    from clusterstate.cache import ClusterCache
    from clusterstate.podinfo import ReleaseView
    from kubescheduler.framework.plugin_loading import PluginOption
    from kubescheduler.releases.release import Release

Notice = Callable[[str], None]
"""Is called with what a reader would not expect."""

ALL_NODES = 100
"""Percentage of nodes to score when nobody says otherwise: every node is looked at."""


class EngineFlags(msgspec.Struct, frozen=True, dict=True):
    """What flags say of one scheduler, each as ``SPEC_FIELDS`` names it. Files are paths."""

    release: str = DEFAULT_RELEASE
    """Whose rules decide."""
    provider: str | None = None
    """The name of a provider."""
    policy_file: str | None = None
    """A Policy: JSON, YAML or TOML."""
    policy_configmap: str | None = None
    """A ConfigMap's manifest with the policy under policy.cfg."""
    config_file: str | None = None
    """A KubeSchedulerConfiguration: YAML, JSON or TOML."""
    feature_gates: str | Mapping[str, bool] = ""
    """As ``--feature-gates`` takes them, or name → whether it is on; the others are at their defaults."""
    hard_pod_affinity_symmetric_weight: int | None = None
    """What a running pod's required affinity to the new pod counts, 1-100; None: the release's default."""
    failure_domains: tuple[str, ...] = FAILURE_DOMAINS
    """What an empty topology key stands for; 1.4 only."""
    percentage_of_nodes_to_score: int = ALL_NODES
    """Below 100 the search ends once enough nodes fit; 0 is upstream's adaptive share."""
    samples_by_default: bool = False
    """Whether a component configuration that leaves the percentage at 0 means the adaptive share, as in kube-scheduler,
    and not every node.
    """
    use_legacy_policy_config: bool = False
    """The policy file goes before the ConfigMap."""
    max_pd_volumes: int | None = None
    """The environment's KUBE_MAX_PD_VOLS; None when it is not a positive integer."""
    strict: bool = False
    """Keys that the release ignores are faults."""
    plugins: tuple[PluginOption, ...] = ()
    """Custom plugins; releases with plugins only."""
    policy: Mapping[str, Any] | None = None
    """A Policy's document, in place of its file."""
    component: Mapping[str, Any] | None = None
    """A KubeSchedulerConfiguration's document, in place of its file."""
    scheduler_name: str | None = None
    """What the scheduler is called, ``default-scheduler`` when None; pods that name another one are left alone."""
    extenders: str = LIVE
    """How extenders are asked: ``live``, ``pass``, ``record FILE`` or ``replay FILE``."""
    certificate_places: Mapping[str, str] = FrozenMap()
    """Certificate or key file as an extender's tlsConfig names it → where it is here; others are where that says."""

    def __post_init__(self) -> None:
        """A version is its release: everything asks for that."""
        if self.release not in RELEASE_NAMES and (release := minor(self.release)):
            msgspec.structs.force_setattr(self, "release", release)

    @classmethod
    def parse(cls, text: str, **usual: Any) -> Self:
        """From ``release=1.16,policy=policy.json``; usual: fields that it need not say.

        Several feature gates are separated by ``;``. Raises ConfigError with every fault.
        """
        given: dict[str, Any] = {}
        problems: list[str] = []
        for part in filter(None, (piece.strip() for piece in text.split(","))):
            key, equals, value = part.partition("=")
            if not equals:
                problems.append(f"{part}: write it as key=value; keys are {', '.join(KEYS)}")
            elif key not in KEYS:
                problems.append(f"{key}: there is no such key{nearest(key, KEYS) or '; keys are ' + ', '.join(KEYS)}")
            elif not value.strip() and key != "feature-gates":
                problems.append(f"{key}: it has no value; leave the key out for the default")
            else:
                given[KEYS[key].field] = value
        for key, named in KEYS.items():
            if named.kind == "whole" and named.field in given:
                try:
                    given[named.field] = int(given[named.field])
                except ValueError:
                    problems.append(f"{key}: expected a whole number, found {given[named.field]!r}")
        attempt(problems, release_named, given.get("release", DEFAULT_RELEASE))
        if problems:
            raise ConfigError(f"{text}: {problem}" for problem in problems)
        given["feature_gates"] = given.get("feature_gates", "").replace(";", ",")
        return cls(**{**usual, **given})

    def asking(self, extenders: str) -> Self:
        """The same with its extenders asked so, unless it says how."""
        return msgspec.structs.replace(self, extenders=extenders) if self.extenders == LIVE else self

    @property
    def files(self) -> dict[str, str]:
        """Field → the file that it names."""
        return {field: name for field in FILES if (name := getattr(self, field)) is not None}

    @property
    def text(self) -> str:
        """What is not as usual in one line, the release first; files without their folders."""
        said = {"release": self.release}
        for key, named in KEYS.items():
            if (value := self.said(named.field)) is not None:
                said[key] = PurePath(value).name if named.kind == "file" else str(value)
        return ",".join(f"{key}={value}" for key, value in said.items())

    def said(self, field: str) -> Any:
        """What a field says; None if that is the default."""
        value = getattr(self, field)
        return None if value == DEFAULTS[field] else value

    def options_given(self, *fields: str) -> list[str]:
        """The options of those fields that say something, also where a document stands in place of a file."""
        named = [each for field in fields for each in SPEC_FIELDS if each.field == field]
        return [
            each.option
            for each in named
            if self.said(each.field) is not None or (each.document and self.said(each.document) is not None)
        ]

    @property
    def extender_access(self) -> ExtenderAccess:
        """The same, read. Raises ConfigError for what is none of these, InputError for a record that cannot be read."""
        return msgspec.structs.replace(ExtenderAccess.parse(self.extenders), places=self.certificate_places)

    @cached_property
    def record(self) -> Release:
        """The release's record. Raises ConfigError for a release that is not known."""
        return release_named(self.release)

    @property
    def registering_gates(self) -> Mapping[str, bool]:
        """Every gate as it was when predicates and priorities were registered."""
        return self.gates

    @cached_property
    def gates(self) -> FrozenMap[str, bool]:
        """Every gate of the release. Raises ConfigError for gates that the release does not know."""
        gates, given = self.record.gates, self.feature_gates
        return gates.parse(given) if isinstance(given, str) else gates.resolve(given)

    @property
    def hard_weight(self) -> int:
        """What a running pod's required affinity counts when no policy says so."""
        weight = self.hard_pod_affinity_symmetric_weight
        return 1 if weight is None else weight

    def release_view(self) -> ReleaseView:
        """How the release reads objects. Raises ConfigError for gates that the release does not know."""
        return self.record.view(self.gates)


DEFAULTS: dict[str, Any] = dict(zip(EngineFlags.__struct_fields__, EngineFlags.__struct_defaults__, strict=True))
"""Field → what it is where nobody says otherwise."""


def max_pd_volumes(environment: Mapping[str, str]) -> int | None:
    """KUBE_MAX_PD_VOLS if it is a positive integer."""
    text = environment.get("KUBE_MAX_PD_VOLS", "")
    return int(text) if text.isascii() and text.isdigit() and int(text) > 0 else None


def gates_text(gates: Mapping[str, bool] | str | None) -> str:
    """Feature gates as the flag has them: ``A=true,B=false``."""
    if gates is None or isinstance(gates, str):
        return gates or ""
    return ",".join(f"{name}={str(on).lower()}" for name, on in gates.items())


def newest_gates(several: Iterable[EngineFlags]) -> Mapping[str, bool]:
    """The feature gates that any scheduler of the newest release among some has on; nothing without any.

    Raises ConfigError for gates that a release does not know.
    """
    given = list(several)
    if not given:
        return {}
    last = max((flags.release for flags in given), key=place)
    every = [flags.gates for flags in given if flags.release == last]
    return {name: any(gates[name] for gates in every) for name in every[0]}


def check_view(cache: ClusterCache, view: ReleaseView, release: str) -> None:
    """Raises ConfigError for a cache of another release or other feature gates, which see objects differently."""
    if cache.view != view:
        raise ConfigError(
            f"the cluster's cache is not as release {release} sees objects under its feature gates; "
            "make it with the view of the engine: cache_for(engine, objects)"
        )
