"""Which figures there are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import figures
from benchmarks.figures import all_figures

OPENB = (Path("nodes.csv"), Path("pods.csv"))


def test_titles_are_distinct() -> None:
    """Every figure has a title of its own, by which ``--only`` finds it, and shares are of figures that there are."""
    found = [headline for one in all_figures(Path("."), OPENB) for headline in one.headlines]
    titles = [headline.title for headline in found]
    assert len(titles) == len(set(titles)) > 60
    assert {headline.share_of for headline in found} - {""} <= set(titles)


def test_chosen_figures() -> None:
    """Of a process that measures several figures only the chosen ones are shown."""
    [one] = all_figures(Path("."), None, ["1.36 a claim changes, then a pod with a"])
    assert [headline.part for headline in one.headlines] == ["claim changes, pod with a claim"]
    assert not all_figures(Path("."), None, ["openb"])


def test_files_of_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file that a command reads is there once it has been prepared, and can be read."""
    for name in ("LISTED_NODES", "LISTED_PODS", "YAML_NODES"):
        monkeypatch.setattr(figures, name, 3)
    for one in figures.commands(tmp_path, None):
        if one.prepare is not None:
            one.prepare()
        read = [*one.arguments["arguments"], one.arguments.get("piped") or ""]
        assert all(Path(text).exists() for text in read if "/" in text)
    assert len(json.loads((tmp_path / "cluster.json").read_text())["items"]) == 6
    assert len(json.loads((tmp_path / "same-nodes.json").read_text())["items"]) == 3
