"""Placements in tests: ``assert_same_placements`` and ``compare_placements``, beside the pytest plugin.

Nothing else of the project imports pytest, and this package imports the rest only when it is used.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from kubescheduler.testing.running_session import UsageErrors

if TYPE_CHECKING:
    from kubescheduler.comparison.comparison import Comparison

__all__ = ["assert_same_placements", "compare_placements"]


def compare_placements(  # noqa: PLR0913
    old: Any,
    new: Any,
    cluster: Any,
    pods: Any = None,
    *,
    running: bool | str = False,
    mode: str = "independent",
    preempt: bool = False,
    tie_break: str = "first",
    seeds: int | None = None,
    ties: str = "loose",
    extenders: str = "live",
    validate: str | None = None,
) -> Comparison:
    """Who goes elsewhere under the new scheduler, and why.

    old, new: text like ``release=1.16,policy=policy.json``, or an EngineSpec. cluster: the fixture of that name, a
    ``kubescheduler.Cluster``, or like pods: file names, manifests, YAML texts, objects, one or several. Names of files
    are looked for where the fixture looks for them, otherwise in the working directory. A pod that runs is taken out of
    the cluster and decided anew; running: so are, instead of pods, all running ones (True), or those of a selector:
    ``app=web``, ``deployment/web``. mode: ``independent``, each pod
    on the same cluster, or ``sequence``, each scheduler running on from its own earlier choices. preempt: a pod that
    fits nowhere takes the place of lower ones. tie_break: ``upstream`` also draws among equal nodes as each release
    does, in as many runs as ``seeds`` says (10), and every change then has the share of runs in which the pod moves.
    ties: ``strict``: a pod that stays by name differs where other nodes have the highest total than before.
    validate: what unknown fields of manifests are, ``strict``, ``warn`` or ``ignore``; by default as the marker or the
    setting says it. Raises pytest.UsageError with every fault.
    """
    __tracebackhide__ = True
    from kubescheduler.testing.fixtures import to_compare

    with UsageErrors():
        compared = to_compare(
            old, new, cluster, pods, running=running, mode=mode, extenders=extenders, validate=validate
        )
        return compared.comparison(preempt=preempt, tie_break=tie_break, seeds=seeds, ties=ties)


def assert_same_placements(  # noqa: PLR0913
    old: Any,
    new: Any,
    cluster: Any,
    pods: Any = None,
    *,
    running: bool | str = False,
    tolerate: str | Collection[str] = (),
    mode: str = "independent",
    preempt: bool = False,
    tie_break: str = "first",
    seeds: int | None = None,
    ties: str = "loose",
    steps: bool = False,
    extenders: str = "live",
    validate: str | None = None,
) -> Comparison:
    """Fails if something differs under the new scheduler, or could not be compared; the message says why.

    Returns the comparison.

    tolerate: causes for which a pod may go elsewhere, such as ``tie-break``. steps: the message also says at which
    release from the old to the new one each pod moves, and by which change; that is found when the assertion fails, and
    is about pods that are decided independently. For the others see ``compare_placements``.
    """
    __tracebackhide__ = True
    from clusterstate.errors import ConfigError
    from kubescheduler.testing.fixtures import faults_of_steps, to_compare

    with UsageErrors():
        compared = to_compare(
            old,
            new,
            cluster,
            pods,
            running=running,
            mode=mode,
            tolerate=tolerate,
            extenders=extenders,
            validate=validate,
        )
        if steps and (faults := list(faults_of_steps(compared.specs, mode, tie_break, ties))):
            raise ConfigError(faults)
        comparison = compared.comparison(preempt=preempt, tie_break=tie_break, seeds=seeds, ties=ties)
        difference = compared.difference(comparison, steps=steps, preempt=preempt)
    if difference:
        raise AssertionError(difference)
    return comparison
