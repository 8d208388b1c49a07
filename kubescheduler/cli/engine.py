"""The options that choose an algorithm, for commands that run a scheduler, and the scheduler they make."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import attrs
import click

from kubescheduler.cli.options import FAILURE_DOMAINS, FEATURE_GATES, FILE, PLUGIN, RELEASE, OneOf

if TYPE_CHECKING:
    from clusterstate.objects import ClusterObject
    from kubescheduler.core.algorithm import Algorithm
    from kubescheduler.core.scheduler import GenericScheduler
    from kubescheduler.core.selection import TieBreak


@attrs.frozen
class EngineFlags:
    """What the options say, by their names."""

    release: str
    algorithm_provider: str | None
    policy_config_file: str | None
    policy_configmap: str | None
    feature_gates: str
    hard_pod_affinity_symmetric_weight: int
    failure_domains: str
    percentage_of_nodes_to_score: int
    tie_break: str
    seed: int | None
    plugin: tuple[str, ...]

    def algorithm(self) -> Algorithm:
        """Raises ConfigError with every problem. A plugin is loaded first."""
        import os

        from kubescheduler.cli.plugins import load_plugins
        from kubescheduler.config.algorithm import AlgorithmOptions, algorithm_from_files, max_pd_volumes
        from kubescheduler.config.gates import parse_gates

        load_plugins(self.plugin)
        options = AlgorithmOptions(
            release=self.release,
            feature_gates=parse_gates(self.release, self.feature_gates),
            hard_pod_affinity_symmetric_weight=self.hard_pod_affinity_symmetric_weight,
            percentage_of_nodes_to_score=self.percentage_of_nodes_to_score,
            failure_domains=tuple(self.failure_domains.split(",")),
            max_pd_volumes=max_pd_volumes(os.environ),
        )
        policy = (self.policy_config_file, self.policy_configmap)
        return algorithm_from_files(options, self.algorithm_provider, *policy, remark)

    def scheduler(self, algorithm: Algorithm, objects: Iterable[ClusterObject]) -> GenericScheduler:
        """A scheduler over a cluster of these objects, seen as the release sees them."""
        from algorithmprovider import reading
        from clusterstate.cache import ClusterCache
        from kubescheduler.config.gates import parse_gates
        from kubescheduler.core.scheduler import GenericScheduler

        eyes = reading(self.release, parse_gates(self.release, self.feature_gates))
        return GenericScheduler(algorithm, ClusterCache.of(objects, eyes), self._tie_break(algorithm))

    def _tie_break(self, algorithm: Algorithm) -> TieBreak:
        import random

        from kubescheduler.core.selection import FirstByName, RandomTie

        rng = random.Random(self.seed)
        if self.tie_break == "first":
            return FirstByName()
        return RandomTie(rng) if self.tie_break == "random" else algorithm.behaviour.upstream_tie(rng)


def remark(text: str) -> None:
    """On standard error; no error."""
    click.echo(f"note: {text}", err=True)


_OPTIONS = (
    RELEASE,
    click.option("--algorithm-provider", metavar="NAME", help="A provider.  [default: DefaultProvider]"),
    click.option("--policy-config-file", metavar="FILE", type=FILE, help="A Policy: JSON, YAML or TOML."),
    click.option(
        "--policy-configmap", metavar="FILE", type=FILE, help="A ConfigMap manifest with the Policy under policy.cfg."
    ),
    FEATURE_GATES,
    click.option(
        "--hard-pod-affinity-symmetric-weight",
        type=int,
        default=1,
        show_default=True,
        metavar="1-100",
        help="What a running pod's required affinity to the new pod counts.",
    ),
    click.option(
        "--failure-domains",
        default=FAILURE_DOMAINS,
        show_default=True,
        metavar="KEY,KEY",
        help="What an empty topologyKey stands for, in release 1.4.",
    ),
    click.option(
        "--percentage-of-nodes-to-score",
        type=click.IntRange(0, 100),
        default=100,
        show_default=True,
        metavar="0-100",
        help="Below 100 stop looking once enough nodes fit; 0 is upstream's adaptive share.",
    ),
    click.option(
        "--tie-break",
        type=OneOf(["first", "random", "upstream"]),
        default="first",
        show_default=True,
        help="Among equal totals: the first by name, any, or as the release does it.",
    ),
    click.option("--seed", type=int, metavar="NUMBER", help="Makes random and upstream ties repeatable."),
    PLUGIN,
)


def engine_options(command: Callable[..., int]) -> Callable[..., int]:
    """Gives a command the options, as one argument ``engine``."""

    @functools.wraps(command)
    def called(**given: Any) -> int:
        flags = {field.name: given.pop(field.name) for field in attrs.fields(EngineFlags)}
        return command(engine=EngineFlags(**flags), **given)

    decorated: Callable[..., int] = called
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated
