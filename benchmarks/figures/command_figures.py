"""The figures of commands from start to end, and the files that they read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

from benchmarks.child_process import HERE
from benchmarks.figures.headline import SECONDS, Headline, Measurement
from benchmarks.figures.samples import sample_command
from benchmarks.kubectl_lists import listed_manifests, written_cluster
from benchmarks.workloads import node, pod

NODES, PODS, YAML_NODES = 5_000, 50_000, 1_000


class CommandFiles:
    """The files that commands read, each made when it is asked for first.

    folder: they are made there.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pod = folder / "pod.json"
        self.cluster = folder / "cluster.json"
        """5,000 nodes and 50,000 pods as kubectl prints them, 420 MB."""
        self.empty = folder / "nodes.json"
        """5,000 nodes without pods."""
        self.yaml = folder / "nodes.yaml"
        """1,000 nodes as kubectl prints them."""
        self.json = folder / "same-nodes.json"
        """The same."""
        self._made = cache(self._make)

    def making(self, *paths: Path) -> Callable[[], None]:
        """What makes these files and the pod's."""
        return partial(self._all, (self.pod, *paths))

    def _all(self, paths: tuple[Path, ...]) -> None:
        for path in paths:
            self._made(path)

    def _make(self, path: Path) -> None:
        with path.open("w", encoding="utf-8") as file:
            if path == self.cluster:
                written_cluster(file, NODES, PODS)
            elif path == self.pod:
                json.dump({"apiVersion": "v1", **pod("waiting", "default")}, file)
            elif path == self.empty:
                json.dump(_listed({"apiVersion": "v1", **node(index, ())} for index in range(NODES)), file)
            elif path == self.json:
                json.dump(_listed(listed_manifests(YAML_NODES, 0)), file)
            else:
                _write_yaml(file)


def _listed(items: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "List", "items": list(items)}


def _write_yaml(file: Any) -> None:
    import yaml

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    yaml.dump(_listed(listed_manifests(YAML_NODES, 0)), file, Dumper=dumper, sort_keys=False)


def commands(folder: Path, openb: tuple[Path, Path] | None) -> Iterator[Measurement]:
    """Every command; those that read openb's trace (its files of nodes and pods) only where it is given."""
    files, example = CommandFiles(folder), HERE / "policy_examples"
    yield _command("kubescheduler --help", ["--help"], "0.1 s", repeat=3)
    for release in ("1.16", "1.36"):
        shown = ["schedule", str(example / "cluster.yaml"), "--pod", str(example / "pod.yaml"), "--release", release]
        yield _command(f"{release} schedule, the example", shown, "0.25 s", repeat=3)
    for release in ("1.16", "1.36"):
        for piped in (None, str(files.cluster)):
            way = "a file" if piped is None else "a pipe"
            read = [str(files.cluster) if piped is None else "-", "--pod", str(files.pod), "--release", release]
            title = f"{release} schedule, 5,000 nodes, 50,000 pods, {way}"
            made = files.making(files.cluster)
            yield _command(title, ["schedule", *read], "2 s, 400 MB", seconds=9, prepare=made, piped=piped)
    for path in (files.yaml, files.json):
        shown = ["schedule", str(path), "--pod", str(files.pod)]
        title = f"schedule, 1,000 nodes of {path.suffix.removeprefix('.').upper()}"
        yield _command(title, shown, seconds=3, prepare=files.making(path))
    for release in ("1.16", "1.36"):
        shown = ["capacity", str(files.empty), "--pod", str(files.pod), "--release", release]
        made = files.making(files.empty)
        yield _command(f"{release} capacity of 5,000 nodes", shown, "2 s", seconds=24, prepare=made, rounds_before=2)
    for release in ("1.16", "1.36") if openb else ():
        nodes, pods = map(str, openb or ())
        shown = ["simulate", nodes, "--workload", pods, "--release", release]
        yield _command(f"{release} simulate, the openb trace", shown, "2 s", seconds=13)


def _command(
    title: str,
    arguments: list[str],
    aim: str = "",
    *,
    seconds: float = 2,
    prepare: Callable[[], None] | None = None,
    rounds_before: int | None = None,
    **more: Any,
) -> Measurement:
    """more: further arguments of ``sample_command``."""
    headline = Headline(title, unit=SECONDS, aim=aim)
    asked = {"arguments": arguments, **more}
    return Measurement(
        sample_command, asked, (headline,), rounds_before=rounds_before, seconds=seconds, prepare=prepare
    )
