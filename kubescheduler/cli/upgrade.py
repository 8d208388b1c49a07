"""``kubescheduler upgrade``: the whole report of an upgrade of the scheduler from one release to a later one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from kubescheduler.cli.cluster_options import check_standard_input, cluster_options
from kubescheduler.cli.common_options import (
    EXTENDERS,
    FEATURE_GATES,
    NO_DEFAULTING,
    PLUGIN,
    PREEMPT,
    RUNNING,
    VALIDATE,
    ReleaseName,
    answer_option,
    file_option,
    number_option,
    pod_files_option,
    spec_option,
)
from kubescheduler.cli.compare import PodOptions
from kubescheduler.cli.engine_options import remark, remarks, taken
from kubescheduler.cli.help_groups import GroupedCommand
from kubescheduler.releases.names import RELEASE_NAMES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterstate.objects import ClusterObject, Pod
    from kubescheduler.comparison.upgrading import Upgrade
    from kubescheduler.engine.spec import EngineSpec

MANY = 200
"""Pods that take long enough to decide for a progress bar."""


@click.command(
    cls=GroupedCommand,
    short_help="Say what an upgrade from one release to a later one means.",
    epilog="Exit status: 0 no pod would move, 1 some would, 2 an error: wrong input or usage, or one that kept a pod "
    "from being decided.",
)
@cluster_options
@click.option(
    "--from", "from_release", type=ReleaseName(RELEASE_NAMES), required=True, help="The release that runs now."
)
@click.option("--to", type=ReleaseName(RELEASE_NAMES), required=True, help="The release that it is to become.")
@spec_option("provider")
@spec_option("policy_file")
@spec_option("policy_configmap")
@spec_option("config_file")
@FEATURE_GATES
@spec_option("hard_pod_affinity_symmetric_weight")
@pod_files_option("pod_files", "--pods", "Pods to decide: manifests, controllers with a pod template, or a .csv trace.")
@click.option("--pending", is_flag=True, help="Decide every pending pod of the cluster.")
@RUNNING
@number_option("--limit", help="Only so many pods, the first ones.")
@PREEMPT
@NO_DEFAULTING
@EXTENDERS
@VALIDATE
@PLUGIN
@file_option(
    "--write-config-to",
    metavar="DIR",
    help="Write every configuration that it has to become into this folder, as RELEASE.yaml.",
)
@answer_option(help="json and yaml have the configurations and every pod's way")
def upgrade(from_release: str, to: str, preempt: bool, write_config_to: str | None, output: str, **said: Any) -> int:
    """Report what an upgrade of the scheduler of CLUSTER means: configuration, pods, plugins and feature gates.

    Every release from the old to the new one decides the same pods, each alone on the same cluster: all running ones,
    or the pending ones where none runs, unless others are named. What configures the old release goes along as long as
    releases take it; the first that does not gets what migrate makes of it. Without a configuration each release runs
    by its defaults.

    \b
    Examples:
      kubescheduler upgrade cluster.yaml --from 1.22 --to 1.31 --policy-config-file policy.json
      kubescheduler upgrade cluster.yaml --from 1.24 --to 1.29 --config scheduler.yaml --write-config-to configs
      kubescheduler upgrade cluster.yaml --from 1.20 --to 1.36 --running metadata.namespace=shop -o json
      kubescheduler upgrade --kubeconfig ~/.kube/config --from 1.28 --to 1.32
    """
    from kubescheduler.cli.cluster_files import nothing_collected
    from kubescheduler.cli.compare_output import rendered_upgrade
    from kubescheduler.cli.decision_output import exit_status
    from kubescheduler.cli.output import echo
    from kubescheduler.cli.progress import progress
    from kubescheduler.comparison.upgrading import upgrade as run
    from kubescheduler.engine.spec import EngineSpec

    asked = PodOptions(**{name: said.pop(name) for name in PodOptions._fields})
    if asked.named > 1:
        raise click.UsageError("say which pods to decide: one of --pods FILE, --pending and --running")
    if RELEASE_NAMES.index(from_release) >= RELEASE_NAMES.index(to):
        raise click.UsageError(f"--from {from_release} --to {to}: an upgrade leads to a later release")
    check_standard_input(asked.cluster, asked.pod_files)
    with nothing_collected():
        old = taken({**said, "release": from_release}).spec()
        old.engine(remark)
        specs = [old, EngineSpec(release=to)]
        objects, pods = asked.read(specs) if asked.named else _running_or_pending(asked, specs)
        with progress("deciding", sys.stderr, smallest=MANY) as tell:
            found = run(objects, pods[: asked.limit], old, to, preempt=preempt, progress=tell)
    files = {} if write_config_to is None else _written(found, write_config_to)
    echo(rendered_upgrade(found, output, files))
    return exit_status(found.timeline.errors, fine=not found.timeline.moved)


def _running_or_pending(asked: PodOptions, specs: Sequence[EngineSpec]) -> tuple[list[ClusterObject], list[Pod]]:
    """The cluster's objects and the pods that run, or else wait. Raises DecodeError with every fault, ConfigError where
    there is no pod."""
    from clusterstate.errors import ConfigError
    from kubescheduler.cli.cluster_files import notes_on_cluster, read_shown
    from kubescheduler.comparison.running_pods import any_runs, asked_pods

    there = read_shown(asked.cluster, **asked.reading(specs))
    running = any_runs(there)
    found = asked_pods(there, there.release, running=running)
    if not found.pods:
        raise ConfigError("no pod of the cluster runs or waits; name some with --pods FILE")
    remarks(
        [*notes_on_cluster(there), *found.notes, *([] if running else ["no pod runs: the pending ones are decided"])]
    )
    return found.objects, found.pods


def _written(found: Upgrade, folder: str) -> dict[str, str]:
    """Writes every configuration; release → its file. Raises InputError for a folder that cannot be written to."""
    from pathlib import Path

    from clusterstate.errors import InputError
    from kubescheduler.sources.files import write_whole

    files: dict[str, str] = {}
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        for step in found.configurations:
            if step.yaml:
                files[step.release] = str(Path(folder) / f"{step.release}.yaml")
                write_whole(files[step.release], step.yaml)
    except OSError as error:
        raise InputError(f"--write-config-to {folder}: cannot be written: {error.strerror}") from error
    return files
