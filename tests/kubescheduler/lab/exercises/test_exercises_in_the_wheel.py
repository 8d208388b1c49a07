"""The exercises are in what is installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.structure import ROOT
from kubescheduler.lab.exercises.shipped_exercises import SHIPPED

pytest.importorskip("setuptools")

BUILD = """\
import sys
from setuptools import Distribution

made = Distribution()
made.parse_config_files()
build = made.get_command_obj("build_py")
build.build_lib = sys.argv[1]
build.ensure_finalized()
for package, source, target, names in build.data_files:
    print(*(f"{package.replace('.', '/')}/{name}" for name in names), sep="\\n")
"""
"""Prints the data files that ``build_py`` puts into a wheel, without building one."""


def test_every_file_of_the_exercises_is_in_the_wheel(tmp_path: Path) -> None:
    """setup.cfg names them all: tasks, starts, solutions and hidden scenarios."""
    done = subprocess.run(
        [sys.executable, "-B", "-W", "ignore", "-c", BUILD, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    wanted = {str(path.relative_to(ROOT)) for path in SHIPPED.rglob("*") if path.is_file()}
    wanted = {path for path in wanted if "__pycache__" not in path}
    assert len(wanted) > 90
    assert wanted <= set(done.stdout.split())
