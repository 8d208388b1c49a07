"""Writes anew what the documentation takes from the program: ``python -m docs.generate [FILE.md …]``.

That is the tables of the reference and of speed, the outputs shown in every document, the picture of the growth, and
``policy_examples/expected``.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from docs.generate.blocks import documents, example_decision, example_names, expected_file, refreshed
from docs.generate.reference_tables import filled
from docs.generate.speed_tables import CHART, chart


def main(chosen: list[str]) -> None:
    _write(CHART, chart())
    for path in [Path(name).resolve() for name in chosen] or documents():
        with tempfile.TemporaryDirectory() as folder:
            _write(path, refreshed(filled(path.read_text(encoding="utf-8")), Path(folder)))
    for name in () if chosen else example_names():
        with tempfile.TemporaryDirectory() as folder:
            _write(expected_file(name), example_decision(name, Path(folder)))


def _write(path: Path, text: str) -> None:
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(f"written: {path}")


if __name__ == "__main__":
    main(sys.argv[1:])
