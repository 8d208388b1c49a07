"""Measures every figure of speed and the growth anew, and writes them into README and docs.

    python -m benchmarks.publish --openb NODES.csv PODS.csv

What was measured is kept in ``docs/measured``;
``python -m docs.generate README.md docs/explanation/speed.md`` makes the tables and the picture of it. Nothing is
written where a figure could not be measured. It takes about half an hour, and says more on the way.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import click

from benchmarks.child_process import HERE

MEASURED = HERE / "docs" / "measured"
PAGES = ("README.md", "docs/explanation/speed.md")


@click.command(context_settings={"show_default": True})
@click.option(
    "--openb", type=click.Path(exists=True, resolve_path=True), nargs=2, required=True, help="openb's CSV files."
)
@click.option("--rounds", type=int, default=5)
def main(openb: tuple[str, str], rounds: int) -> None:
    """Measure, and write README, docs and picture."""
    turns = str(rounds)
    _measured("run.py", "figures.jsonl", "--figures", "--openb", *openb, "--rounds", turns)
    _measured("scale.py", "growth.jsonl", accepted=(0, 1))
    sys.exit(_run("-m", "docs.generate", *PAGES))


def _measured(program: str, name: str, *arguments: str, accepted: tuple[int, ...] = (0,)) -> None:
    """Runs a benchmark that saves what it measures, and keeps that in place of what was there."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        status = _run(str(HERE / "benchmarks" / program), *arguments, "--save", str(path))
        if status not in accepted:
            sys.exit(status)
        (MEASURED / name).write_text(path.read_text(encoding="utf-8"), encoding="utf-8")


def _run(*arguments: str) -> int:
    return subprocess.run([sys.executable, *arguments], cwd=HERE, check=False).returncode


if __name__ == "__main__":
    main()
