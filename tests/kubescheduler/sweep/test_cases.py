"""Cases: which there are, and what their ids stand for."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from clusterstate.errors import ConfigError, InputError
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.sweep.cases import Configuration, SweepOptions, cases_of, find_snapshots, parse_seeds
from kubescheduler.sweep.weights import grid_of, read_grid
from tests.support.comparisons import OPTIONS, node_manifest, one_case, write, write_snapshots


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


# --- snapshots ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "whole", "names"),
    [
        pytest.param(["snaps"], False, ["snaps/big", "snaps/s0.json", "snaps/s1.json"], id="folder"),
        pytest.param(["snaps"], True, ["snaps"], id="whole-folder"),
        pytest.param(["snaps/s*.json"], False, ["snaps/s0.json", "snaps/s1.json"], id="glob"),
        pytest.param(["**/n?.json"], False, ["snaps/big/n1.json", "snaps/big/n2.json"], id="deep-glob"),
        pytest.param(["snaps/s1.json", "snaps"], True, ["snaps/s1.json", "snaps"], id="order"),
        pytest.param(["snaps/s1.json", "snaps/*.json"], False, ["snaps/s1.json", "snaps/s0.json"], id="once"),
    ],
)
def test_snapshots(folder: Path, arguments: list[str], whole: bool, names: list[str]) -> None:
    """Files and globs are snapshots; in a folder every manifest and every folder is one, hidden ones are not."""
    write_snapshots(folder / "snaps", 2)
    write(folder / "snaps" / "big" / "n1.json", node_manifest("n1"))
    write(folder / "snaps" / "big" / "n2.json", node_manifest("n2"))
    write(folder / "snaps" / ".git" / "n3.json", node_manifest("n3"))
    (folder / "snaps" / "notes.txt").write_text("not a manifest")
    assert [snapshot.name for snapshot in find_snapshots(arguments, whole_folders=whole)] == names


def test_a_folder_is_read_whole(folder: Path) -> None:
    """A folder's manifests, at any depth, make one snapshot."""
    write(folder / "all" / "n1.json", node_manifest("n1"))
    write(folder / "all" / "more" / "n2.json", node_manifest("n2"))
    write(folder / "all" / ".cache" / "n3.json", node_manifest("n3"))
    (snapshot,) = find_snapshots(["all"], whole_folders=True)
    assert snapshot.files == ("all/more/n2.json", "all/n1.json")


def test_arguments_that_name_nothing(folder: Path) -> None:
    """Every argument that names no snapshot is told."""
    (folder / "empty").mkdir()
    with pytest.raises(InputError) as error:
        find_snapshots(["gone.json", "empty", "no*"])
    assert error.value.problems == (
        "gone.json: no such file or folder; check the path",
        "empty: no snapshots in this folder; they end in .json, .yaml or .yml, also with .gz",
        "no*: no such file or folder; check the path",
    )


# --- ids ---------------------------------------------------------------------------------------


def test_ids_stand_for_contents(folder: Path) -> None:
    """Names and places of files do not matter, what is in them does."""
    write(folder / "a.json", node_manifest("n1"))
    (folder / "policy.json").write_text('{"kind": "Policy"}')
    before = one_case("a.json", "release=1.16,policy=policy.json")
    (folder / "else").mkdir()
    shutil.copy("a.json", "else/b.json")
    shutil.copy("policy.json", "else/p.json")
    assert one_case("else/b.json", "policy=else/p.json").id == before.id
    (folder / "policy.json").write_text('{"kind": "Policy", "priorities": []}')
    assert one_case("a.json", "policy=policy.json").id != before.id
    write(folder / "else" / "b.json", node_manifest("n2"))
    assert one_case("else/b.json", "policy=else/p.json").id != before.id


def test_ids_differ(folder: Path) -> None:
    """Release, seed, rule of ties, pods, how they are read and placed, and weights each make another case."""
    name = write(folder / "a.json", node_manifest("n1"))
    pods = (write(folder / "pods.json", node_manifest("n1")),)
    weighted = Configuration("release=1.16", EngineSpec(), (("ImageLocalityPriority", 0),))
    cases = [
        one_case(name),
        one_case(name, "release=1.20"),
        one_case(name, seed=0),
        one_case(name, seed=1),
        one_case(name, seed=1, tie_break="upstream"),
        one_case(name, pod_files=pods),
        one_case(name, defaulting=False),
        one_case(name, preempt=True),
        one_case(name, validate="ignore"),
        one_case(name, validate="strict"),
        *cases_of(find_snapshots([name]), [weighted], (), OPTIONS),
    ]
    assert len({case.id for case in cases}) == len(cases)


def test_columns_are_no_part_of_an_id(folder: Path) -> None:
    """What is written beside the rest makes no other case; without a seed the rule of ties means nothing."""
    name = write(folder / "a.json", node_manifest("n1"))
    assert one_case(name, placements=True, timings=True, tie_break="upstream", version="9").id == one_case(name).id


def test_combinations(folder: Path) -> None:
    """Snapshots change slowest, seeds fastest; equal combinations are one case."""
    write_snapshots(folder / "snaps", 2)
    shutil.copy("snaps/s0.json", "snaps/s9.json")
    configurations = [Configuration(text, EngineSpec.parse(text)) for text in ("release=1.4", "release=1.16", "")]
    cases = cases_of(find_snapshots(["snaps"]), configurations, (0, 1), SweepOptions())
    found = [(case.snapshot.name[-7:], case.configuration.label, case.seed) for case in cases]
    assert found == [
        ("s0.json", "release=1.4", 0),
        ("s0.json", "release=1.4", 1),
        ("s0.json", "release=1.16", 0),
        ("s0.json", "release=1.16", 1),
        ("s1.json", "release=1.4", 0),
        ("s1.json", "release=1.4", 1),
        ("s1.json", "release=1.16", 0),
        ("s1.json", "release=1.16", 1),
    ]


# --- seeds -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "seeds"),
    [
        pytest.param("0..3", (0, 1, 2, 3), id="range"),
        pytest.param("7", (7,), id="one"),
        pytest.param("5, 1..2,5", (5, 1, 2), id="several"),
        pytest.param("-1..0", (-1, 0), id="negative"),
    ],
)
def test_seeds(text: str, seeds: tuple[int, ...]) -> None:
    """Numbers and ranges with both ends, each once."""
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a", "--seeds a: a is no whole number and no range; write 0..9 or 1,5,7"),
        ("1..", "--seeds 1..: 1.. is no whole number and no range; write 0..9 or 1,5,7"),
        ("3..1", "--seeds 3..1: 3..1 is empty; write the smaller number first"),
        (" ", "--seeds: there is none; write 0..9 or 1,5,7, or leave it out"),
    ],
    ids=["text", "open", "backwards", "none"],
)
def test_seeds_that_cannot_be(text: str, problem: str) -> None:
    """What is wrong, and what to write."""
    with pytest.raises(InputError) as error:
        parse_seeds(text)
    assert error.value.problems == (problem,)


# --- grids -------------------------------------------------------------------------------------

A, B = "LeastRequestedPriority", "ImageLocalityPriority"


GRID: dict[str, Any] = {
    "nothing": ({}, [("release=1.16", {})]),
    "base": ({"base": "release=1.4"}, [("release=1.4", {})]),
    "one-weight": ({"weights": {A: 5}}, [("release=1.16", {A: 5})]),
    "list": ({"weights": {A: [0, 2, 2]}}, [("release=1.16", {A: 0}), ("release=1.16", {A: 2})]),
    "product": (
        {"weights": {A: [1, 2], B: [3, 4]}},
        [("release=1.16", {A: a, B: b}) for a, b in ((1, 3), (1, 4), (2, 3), (2, 4))],
    ),
    "bases": (
        {"base": ["release=1.4", "release=1.16,provider=ClusterAutoscalerProvider"], "weights": {A: [1, 2]}},
        [
            ("release=1.4", {A: 1}),
            ("release=1.4", {A: 2}),
            ("release=1.16,provider=ClusterAutoscalerProvider", {A: 1}),
            ("release=1.16,provider=ClusterAutoscalerProvider", {A: 2}),
        ],
    ),
}


@pytest.mark.parametrize(("grid", "expected"), GRID.values(), ids=GRID)
def test_grid(grid: dict[str, Any], expected: list[tuple[str, dict[str, int]]]) -> None:
    """Every base with every combination of weights; the last name changes fastest."""
    assert [(one.label, dict(one.weights)) for one in grid_of(grid)] == expected


@pytest.mark.parametrize("name", ["grid.toml", "grid.yaml"])
def test_grid_file(folder: Path, name: str) -> None:
    """A grid is TOML or YAML."""
    texts = {"grid.toml": f"[weights]\n{A} = [1, 2]\n", "grid.yaml": f"weights: {{{A}: [1, 2]}}\n"}
    (folder / name).write_text(texts[name])
    assert [dict(one.weights) for one in read_grid(name)] == [{A: 1}, {A: 2}]


def test_faults_of_a_grid(folder: Path) -> None:
    """Every fault is told, with its path."""
    (folder / "grid.yaml").write_text(
        "bases: x\nbase: [release=1.5, 3, 'polcy=p']\nweights: {A: [], B: [1, -1, x], C: true}\n"
    )
    with pytest.raises(ConfigError) as error:
        read_grid("grid.yaml")
    told = error.value.problems
    assert told[0] == "grid.yaml: bases: there is no such key; did you mean base?"
    assert told[1].startswith("grid.yaml: base[0]: release=1.5: release 1.5 is not known")
    assert told[2:] == (
        "grid.yaml: base[1]: expected a text such as 'release=1.16', found 3",
        "grid.yaml: base[2]: polcy=p: polcy: there is no such key; did you mean policy?",
        "grid.yaml: weights.A: the list is empty; give weights, or take A out",
        "grid.yaml: weights.B[1]: expected a whole number, 0 or more, found -1",
        "grid.yaml: weights.B[2]: expected a whole number, 0 or more, found 'x'",
        "grid.yaml: weights.C: expected a whole number, 0 or more, found True",
    )


@pytest.mark.parametrize(
    ("grid", "problem"),
    [
        ({"base": []}, "base: there is none in the list; write 'release=1.16', or leave base out"),
        ({"weights": [1]}, "weights: expected names with a list of weights each, found [1]"),
    ],
    ids=["no-base", "no-mapping"],
)
def test_grids_of_another_shape(grid: dict[str, Any], problem: str) -> None:
    """Lists where there can be none, and none where there must be."""
    with pytest.raises(ConfigError) as error:
        grid_of(grid)
    assert error.value.problems == (problem,)


def test_too_many_seeds() -> None:
    """A range of a billion is refused before it is made, with the option to raise the limit."""
    with pytest.raises(InputError, match="more than 10,000 seeds; to allow more: kubescheduler --max"):
        parse_seeds("0..1000000000")
