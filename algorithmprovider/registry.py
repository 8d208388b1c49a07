"""Which algorithms there are: maps from names to factories and providers, and how users add to them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from clusterstate.errors import RegistryError, nearest
from predicates.labels import label_presence_factory
from predicates.service_affinity import service_affinity_factory
from predicates.types import FitPredicateFactory
from priorities.capacity_ratio import capacity_ratio_factory
from priorities.node_label import node_label_factory
from priorities.service_anti_affinity import service_anti_affinity_factory
from priorities.types import PriorityConfigFactory, PriorityFactory

CapacityRatioFactory = Callable[[str, Sequence[tuple[int, int]], Iterable[tuple[str, int]]], PriorityFactory]
"""Of (utilization, score) points and (resource, weight) pairs."""

NAME = re.compile("^[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])$")


class Provider(msgspec.Struct, frozen=True):
    """A named bundle of keys into the maps."""

    predicates: frozenset[str]
    priorities: frozenset[str]


class Arguments(msgspec.Struct, frozen=True):
    """What a policy entry's argument is made into: functions of the entry's name and the argument's members."""

    label_presence: Callable[[str, tuple[str, ...], bool], FitPredicateFactory] = label_presence_factory
    service_affinity: Callable[[str, tuple[str, ...]], FitPredicateFactory] = service_affinity_factory
    label_preference: Callable[[str, str, bool], PriorityFactory] = node_label_factory
    service_anti_affinity: Callable[[str, str], PriorityFactory] = service_anti_affinity_factory
    capacity_ratio: CapacityRatioFactory | None = capacity_ratio_factory
    """What becomes of requestedToCapacityRatioArguments; None where the release does not know it."""


class Registry(msgspec.Struct):
    """Everything one release can be configured with."""

    fit_predicates: dict[str, FitPredicateFactory]
    """Name → factory of a FitPredicate."""
    priorities: dict[str, PriorityConfigFactory]
    """Name → factory of a PriorityConfig, and its default weight."""
    providers: dict[str, Provider]
    """Name → the keys it bundles."""
    ordering: list[str]
    """The order in which predicates run on a node; a name that is not in it never runs."""
    mandatory: frozenset[str] = frozenset()
    """Predicates that join whatever was selected."""
    unresolvable: frozenset[str] = frozenset()
    """Reasons that taking pods away cannot mend."""
    runs_any_name: bool = False
    """A policy's own predicates run under any name, behind those of the ordering."""
    arguments: Arguments = Arguments()
    """What becomes of policy entries with an argument."""

    def add_predicate(self, name: str, factory: FitPredicateFactory) -> None:
        """Registers or replaces; a name new to the ordering goes to its end, so that it runs."""
        self.fit_predicates[valid_name(name)] = factory
        if name not in self.ordering:
            self.ordering.append(name)

    def provider(self, name: str) -> Provider:
        """A provider by name. Upstream: 1.16 GetAlgorithmProvider."""
        provider = self.providers.get(name)
        if provider is None:
            raise RegistryError(f'plugin "{name}" has not been registered{nearest(name, self.providers)}')
        return provider


class Additions(msgspec.Struct, frozen=True):
    """What is registered besides, and is in every provider."""

    predicates: Mapping[str, FitPredicateFactory] = {}
    """Name → factory; in place of one that is there."""
    priorities: Mapping[str, PriorityConfigFactory] = {}
    """Name → factory with its default weight, likewise."""
    mandatory: frozenset[str] = frozenset()
    """Predicates that join whatever was selected."""


NOTHING = Additions()


class Gated(msgspec.Struct, frozen=True):
    """What a feature gate changes of what is registered."""

    default: bool
    """What it is when nobody sets it."""
    on: Additions = NOTHING
    off: Additions = NOTHING


class Algorithms(msgspec.Struct, frozen=True):
    """What one release has to be configured with, before users register theirs."""

    predicates: Mapping[str, FitPredicateFactory]
    """Name → factory, of every predicate that is registered whatever the gates are."""
    priorities: Mapping[str, PriorityConfigFactory]
    """Name → factory with its default weight, likewise."""
    default_predicates: frozenset[str]
    """Those of both providers."""
    default_priorities: frozenset[str]
    """Those of DefaultProvider."""
    ordering: tuple[str, ...]
    """The order in which predicates run on a node; a name that is not in it never runs."""
    unresolvable: frozenset[str] = frozenset()
    """Reasons that taking pods away cannot mend."""
    runs_any_name: bool = False
    """A policy's own predicates run under any name, behind those of the ordering."""
    arguments: Arguments = Arguments()
    """What becomes of policy entries with an argument."""
    gated: Mapping[str, Gated] = {}
    """Feature gate → what it changes."""

    def names(self) -> frozenset[str]:
        """Every predicate and priority that some feature gates register."""
        added = [each for gate in self.gated.values() for each in (gate.on, gate.off)]
        return frozenset(self.predicates).union(
            self.priorities, *(each.predicates for each in added), *(each.priorities for each in added)
        )

    def registry(self, gates: Mapping[str, bool]) -> Registry:
        """What is registered under these feature gates. Upstream: 1.16 defaults.ApplyFeatureGates."""
        settings = ((gate, gates.get(name, gate.default)) for name, gate in self.gated.items())
        added = [gate.on if on else gate.off for gate, on in settings]
        predicates, priorities = dict(self.predicates), dict(self.priorities)
        for each in added:
            predicates |= each.predicates
            priorities |= each.priorities
        mandatory = frozenset[str]().union(*(each.mandatory for each in added))
        provided = self.default_predicates.union(mandatory, *(each.predicates for each in added))
        scored = self.default_priorities.union(*(each.priorities for each in added))
        autoscaler = scored - {"LeastRequestedPriority"} | {"MostRequestedPriority"}
        return Registry(
            fit_predicates=predicates,
            priorities=priorities,
            providers={
                "DefaultProvider": Provider(provided, scored),
                "ClusterAutoscalerProvider": Provider(provided, autoscaler),
            },
            ordering=list(self.ordering),
            mandatory=mandatory,
            unresolvable=self.unresolvable,
            runs_any_name=self.runs_any_name,
            arguments=self.arguments,
        )


def valid_name(name: str) -> str:
    """The name itself, if upstream would register it."""
    if not NAME.match(name):
        raise RegistryError(f'Algorithm name {name} does not match the name validation regexp "{NAME.pattern}".')
    return name
